"""Registry of transform classes, and transforms described by kind and arguments.

Comparison, copies, pickles and files use the kind and the arguments of a transform. Every subclass
with a `kind` is registered under that name when it is defined.
"""

from __future__ import annotations

import inspect
from importlib.metadata import entry_points
from typing import Any, ClassVar, Self

import numpy as np

# Packages declare their kinds in this group, so that files load without an explicit import.
ENTRY_POINTS = "fost.transforms"

_kinds: dict[str, type[Described]] = {}


class Described:
    """An immutable object that is determined by its kind and the arguments of `__init__`.

    Each parameter of ``__init__`` is an attribute of the same name. Its value is an array, a
    number, a string, None, another such object, or a tuple of these.
    """

    # The name of the class in files; "" for classes that cannot be saved.
    kind: ClassVar[str] = ""
    _parameters: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        if cls.__init__ is not object.__init__:
            cls._parameters = tuple(inspect.signature(cls.__init__).parameters)[1:]
        if "kind" in cls.__dict__:
            _register(cls)

    @classmethod
    def _exact(cls, **arguments: object) -> Self:
        """An object with bit-exact arguments, without the corrections of rounding in ``__init__``.

        The arguments are validated, because files and pickles may come from any source.
        """
        return cls(**arguments)

    def arguments(self) -> dict[str, object]:
        """The arguments of ``__init__`` for an equal object, by name."""
        return {name: getattr(self, name) for name in self._parameters}

    def _packed(self, compact: bool) -> dict[str, object]:
        """The arguments in the form that files have; `compact` allows rounding to 16 bits."""
        return self.arguments()

    @classmethod
    def _unpacked(cls, packed: dict[str, Any]) -> dict[str, Any]:
        """The arguments of ``__init__`` from those of `_packed`."""
        return packed

    def __setattr__(self, name: str, value: object) -> None:
        if not name.startswith("_"):
            raise AttributeError(
                f"cannot set {name!r}: transforms are immutable; in a class, store '_{name}' and "
                f"define a property"
            )
        super().__setattr__(name, value)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return False if isinstance(other, Described) else NotImplemented
        return _equal(self.arguments(), other.arguments())

    def __hash__(self) -> int:
        return hash((type(self), _hashable(tuple(self.arguments().values()))))

    def __reduce__(self) -> tuple[object, ...]:
        return unpickle, (type(self), self.arguments())


def unpickle(cls: type[Described], arguments: dict[str, object]) -> Described:
    """A bit-exact object from a pickle, so that all processes compute the same sums."""
    return cls._exact(**arguments)


def kind_of(described: Described) -> str:
    """The name of its class in files."""
    cls = type(described)
    if not cls.__dict__.get("kind"):
        raise TypeError(
            f"cannot save a {cls.__name__}: give the class a `kind`, its name in files, "
            'such as kind = "mypackage.mykind"'
        )
    return cls.kind


def class_of(kind: object) -> type[Described]:
    """The class of a kind. Imports nothing except declared entry points of that name."""
    if isinstance(kind, str):
        if kind not in _kinds:
            for entry in entry_points(group=ENTRY_POINTS, name=kind):
                entry.load()
        if kind in _kinds:
            return _kinds[kind]
    raise ValueError(
        f"there is no kind of transform called {kind!r}; if a module defines it, import the module "
        "first (on the command line: fost --import MODULE ...)"
    )


def _register(cls: type[Described]) -> None:
    if not isinstance(cls.kind, str) or not cls.kind:
        raise TypeError(f"the kind of {cls.__name__} must be a name, got {cls.kind!r}")
    known = _kinds.setdefault(cls.kind, cls)
    # A class that is defined again, for instance in a notebook, replaces the old one.
    if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ValueError(
            f"the kind {cls.kind!r} of {cls.__name__} is taken by "
            f"{known.__module__}.{known.__qualname__}"
        )
    _kinds[cls.kind] = cls


def _equal(a: object, b: object) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return all(_equal(a[key], b[key]) for key in a)
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b)  # type: ignore[arg-type]
    return bool(a == b)


def _hashable(value: object) -> object:
    if isinstance(value, tuple | list):
        return tuple(map(_hashable, value))
    # + 0.0 makes equal arrays equal bytes: it turns -0.0 into 0.0.
    return (value + 0.0).tobytes() if isinstance(value, np.ndarray) else value
