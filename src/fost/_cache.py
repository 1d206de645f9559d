"""A property that is computed once per object."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from functools import cached_property as lazy_property  # noqa: TID251
else:

    class lazy_property:
        """`functools.cached_property` of Python 3.12 or newer, for all versions.

        Before, each cached_property had one lock for all objects of a class. Two threads that
        computed two properties in opposite order on different objects waited for each other
        forever. Without the lock, two threads may both compute a value; all get the first one
        that was stored.
        """

        def __init__(self, compute: Callable[[object], object]) -> None:
            self._compute = compute
            self.__doc__ = compute.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self._name = name

        def __get__(self, instance: object, owner: type | None = None) -> object:
            if instance is None:
                return self
            return vars(instance).setdefault(self._name, self._compute(instance))


__all__ = ["lazy_property"]
