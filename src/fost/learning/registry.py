"""The structures that the command line, `AutoDictionary` and errors know.

`register` is a decorator of structures, so those of other modules are known where these have
been imported. Packages can announce their structures as entry points of the group
``fost.structures``; the command line knows these too, and what ``fost --import`` imports.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import TypeVar

from fost.learning.structure import Structure, changed

ENTRY_POINTS = "fost.structures"

S = TypeVar("S", bound=type[Structure])


@dataclass(frozen=True)
class Kind:
    """A structure by name, as ``fost learn --structure`` takes it."""

    name: str
    summary: str
    structure: type[Structure]
    options: Mapping[str, object]

    def made(self, size: int | None, n_features: int) -> Structure:
        """The structure of a size, or of that which suits so many features."""
        return changed(self.structure.of_size(size, n_features), **self.options)


_KINDS: dict[str, Kind] = {}
# Structures of other structures, which have no name of their own.
_OF_SEVERAL = ["BankOf(structure, n_members)", "UnionOf(structure, n_members)"]


def register(name: str, summary: str, **options: object) -> Callable[[S], S]:
    """Make a structure known by a name: a decorator of its class.

    Parameters
    ----------
    name : str
        As ``fost learn --structure NAME`` takes it.
    summary : str
        What such a transform is made of, in a few words, for the help.
    **options
        Fields of the structure that have other values than their defaults. A structure may have
        several names, with different options.

    Examples
    --------
    >>> import fost
    >>> fost.learning.kinds()["orthogonal-householder"].made(3, n_features=8)
    Reflectors(n_reflectors=3, orthogonal=True, order='cyclic', triangular=False)
    """

    def registered(structure: S) -> S:
        known = _KINDS.get(name)
        if known is not None and _place(known.structure) != _place(structure):
            raise ValueError(f"there is a structure {name!r} already, {known.structure.__name__}")
        _KINDS[name] = Kind(name, summary, structure, options)
        return structure

    return registered


def kinds() -> dict[str, Kind]:
    """All registered structures by their names.

    Examples
    --------
    >>> import fost
    >>> {"orthonormal", "givens", "householder"} <= set(fost.learning.kinds())
    True
    """
    return dict(_KINDS)


def load_announced() -> None:
    """Import the structures that installed packages announce."""
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            entry.load()
        except Exception as error:  # whatever a module may raise that others wrote
            raise ImportError(f"cannot import the structure {entry.value!r}: {error}") from error


def families() -> list[type[Structure]]:
    """The classes of all registered structures, each once."""
    return list(dict.fromkeys(kind.structure for kind in _KINDS.values()))


def known(several: bool = False) -> str:
    """What errors offer: "Orthonormal(), Reflectors(n_reflectors) or ...", and banks and unions."""
    calls = sorted(f"{family.__name__}({_required(family)})" for family in families())
    calls += _OF_SEVERAL if several else []
    return " or ".join(filter(None, (", ".join(calls[:-1]), calls[-1])))


def _required(structure: type[Structure]) -> str:
    """The arguments that a structure cannot do without."""
    if not dataclasses.is_dataclass(structure):
        return ""
    needed = (
        field.name
        for field in dataclasses.fields(structure)
        if field.default is field.default_factory is dataclasses.MISSING
    )
    return ", ".join(needed)


def _place(structure: type) -> tuple[str, str]:
    """Where a class was defined: a module that is read again defines it anew."""
    return structure.__module__, structure.__qualname__
