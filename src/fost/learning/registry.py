"""The registered structures, which the command line, `AutoDictionary` and error messages offer.

The decorator `register` gives a structure a name when its module is imported. Packages can declare
structures as entry points of the group ``fost.structures``, which the command line imports.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import TypeVar

from fost.learning.structure import Structure, with_fields

ENTRY_POINTS = "fost.structures"

S = TypeVar("S", bound=type[Structure])


@dataclass(frozen=True)
class RegisteredStructure:
    """A structure with a name, as ``fost learn --structure`` takes it."""

    name: str
    summary: str
    structure: type[Structure]
    options: Mapping[str, object]

    def of_size(self, size: int | None, n_features: int) -> Structure:
        """The structure of a given size, or of a default size for `n_features` if None."""
        return with_fields(self.structure.of_size(size, n_features), **self.options)


_REGISTERED: dict[str, RegisteredStructure] = {}
# Banks and unions are made of other structures and have no name of their own.
_COLLECTIONS = ["BankOf(structure, n_members)", "UnionOf(structure, n_members)"]


def register(name: str, summary: str, **options: object) -> Callable[[S], S]:
    """Register a structure under a name: a decorator of its class.

    Parameters
    ----------
    name : str
        As ``fost learn --structure NAME`` takes it.
    summary : str
        The parts of such a transform in a few words, for the help.
    **options
        Fields of the structure with values other than their defaults. A structure may have
        several names, with different options.

    Examples
    --------
    >>> import fost
    >>> registered = fost.learning.registered_structures()
    >>> registered["orthogonal-householder"].of_size(3, n_features=8)
    Reflectors(n_reflectors=3, orthogonal=True, order='cyclic', triangular=False)
    """

    def decorator(structure: S) -> S:
        known = _REGISTERED.get(name)
        if known is not None and _location(known.structure) != _location(structure):
            raise ValueError(f"there is a structure {name!r} already, {known.structure.__name__}")
        _REGISTERED[name] = RegisteredStructure(name, summary, structure, options)
        return structure

    return decorator


def registered_structures() -> dict[str, RegisteredStructure]:
    """All registered structures by their names.

    Examples
    --------
    >>> import fost
    >>> {"orthonormal", "givens", "householder"} <= set(fost.learning.registered_structures())
    True
    """
    return dict(_REGISTERED)


@cache
def load_entry_points() -> None:
    """Import the structures that installed packages declare; the second call does nothing."""
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            entry.load()
        except Exception as error:  # modules of others may raise anything
            raise ImportError(f"cannot import the structure {entry.value!r}: {error}") from error


def structure_classes() -> list[type[Structure]]:
    """The classes of all registered structures, each once."""
    return list(dict.fromkeys(registered.structure for registered in _REGISTERED.values()))


def describe_structures(collections: bool = False) -> str:
    """The choices for error messages: "Orthonormal(), Reflectors(n_reflectors) or ..."."""
    calls = sorted(f"{cls.__name__}({_required_fields(cls)})" for cls in structure_classes())
    calls += _COLLECTIONS if collections else []
    return " or ".join(filter(None, (", ".join(calls[:-1]), calls[-1])))


def _required_fields(structure: type[Structure]) -> str:
    """The fields of a structure without default values."""
    if not dataclasses.is_dataclass(structure):
        return ""
    required = (
        field.name
        for field in dataclasses.fields(structure)
        if field.default is field.default_factory is dataclasses.MISSING
    )
    return ", ".join(required)


def _location(structure: type) -> tuple[str, str]:
    """Where a class was defined: a module that is imported again defines the class again."""
    return structure.__module__, structure.__qualname__
