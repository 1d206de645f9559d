"""What tells transforms apart: their kind, and the arguments that make an equal one.

By them they are compared, copied, sent to other processes and written to files. Every subclass
with a `kind` is known by that name from then on, whoever wrote it.
"""

from __future__ import annotations

import inspect
from importlib.metadata import entry_points
from typing import Any, ClassVar, Self

import numpy as np

# Packages announce their kinds under this name, so that files of them load without an import.
ENTRY_POINTS = "fost.transforms"

_kinds: dict[str, type[Described]] = {}


class Described:
    """An immutable object that its kind and the arguments of `__init__` describe in full.

    Each parameter of ``__init__`` is an attribute of the same name: an array, a number, a string,
    None, another such object, or a tuple of those.
    """

    # The name of the class in files; "" for classes whose objects are not saved.
    kind: ClassVar[str] = ""
    _parameters: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__init__ is not object.__init__:
            cls._parameters = tuple(inspect.signature(cls.__init__).parameters)[1:]
        if "kind" in cls.__dict__:
            _register(cls)

    @classmethod
    def exactly(cls, *values: Any, **arguments: Any) -> Self:
        """The one with these arguments to the last bit, where ``__init__`` would polish them.

        They are checked as ``__init__`` does: files and pickles are what others wrote.
        """
        return cls(*values, **arguments)

    def arguments(self) -> dict[str, Any]:
        """The arguments that make an equal one, by name."""
        return {name: getattr(self, name) for name in self._parameters}

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_"):
            raise AttributeError(
                f"cannot set {name!r}: transforms are immutable; a class keeps its own under "
                f"'_{name}' and has a property"
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

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuilt, (type(self), self.arguments())


def rebuilt(cls: type[Described], arguments: dict[str, Any]) -> Described:
    """One from a pickle, to the last bit: other processes must find the same sums."""
    return cls.exactly(**arguments)


def kind_of(described: Described) -> str:
    """The name of its class in files."""
    cls = type(described)
    if not cls.__dict__.get("kind"):
        raise TypeError(
            f"cannot save a {cls.__name__}: give the class a `kind`, its name in files, "
            'such as kind = "mypackage.mykind"'
        )
    return cls.kind


def class_of(kind: Any) -> type[Described]:
    """The class of a kind. Nothing is imported but what installed packages announce."""
    if isinstance(kind, str):
        if kind not in _kinds:
            for entry in entry_points(group=ENTRY_POINTS, name=kind):
                entry.load()
        if kind in _kinds:
            return _kinds[kind]
    raise ValueError(
        f"there is no kind of transform called {kind!r}; if a module of yours defines it, import "
        "that first (on the command line: fost --import MODULE ...)"
    )


def _register(cls: type[Described]) -> None:
    if not isinstance(cls.kind, str) or not cls.kind:
        raise TypeError(f"the kind of {cls.__name__} must be a name, got {cls.kind!r}")
    known = _kinds.setdefault(cls.kind, cls)
    # A class that is defined once more, in a notebook for instance, takes the old one's place.
    if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ValueError(
            f"the kind {cls.kind!r} of {cls.__name__} is taken by "
            f"{known.__module__}.{known.__qualname__}"
        )
    _kinds[cls.kind] = cls


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return all(_equal(a[key], b[key]) for key in a)
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    return bool(a == b)


def _hashable(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return tuple(_hashable(entry) for entry in value)
    # + 0.0 makes equal arrays equal bytes: it turns -0.0 into 0.0.
    return (value + 0.0).tobytes() if isinstance(value, np.ndarray) else value
