"""Signals in files and behind functions: what a stream is made of instead of them."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeGuard

from numpy.typing import ArrayLike

from fost.io.samples import ARRAY_SUFFIXES, open_array


def is_path(Y: object) -> TypeGuard[str | os.PathLike[str]]:
    return isinstance(Y, str | os.PathLike)


def opened(path: str | os.PathLike[str], name: str) -> object:
    """The memory map or the Zarr array in the file at a path."""
    if Path(path).suffix.lower() not in ARRAY_SUFFIXES:
        raise ValueError(
            f"{name} must be an array of signals, blocks of them or a path to a .npy or .zarr "
            f"file, got {str(path)!r}"
        )
    try:
        return open_array(path)
    except ValueError as error:
        raise ValueError(f"{name} must be an array of numbers: {error}") from error


def is_function(Y: object) -> TypeGuard[Callable[[], Iterable[ArrayLike]]]:
    """Whether Y is called to get blocks: a generator function above all."""
    return inspect.isroutine(Y) or isinstance(Y, partial)


class Called:
    """Blocks from a function, which is called anew for each pass."""

    def __init__(self, function: Callable[[], Iterable[ArrayLike]], name: str) -> None:
        self._function, self._name = function, name

    def __iter__(self) -> Iterator[ArrayLike]:
        try:
            inspect.signature(self._function).bind()
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"{self._name} is a function, which must yield blocks without arguments: {error}"
            ) from error
        blocks = self._function()
        if not isinstance(blocks, Iterable):
            raise TypeError(
                f"{self._name} is a function, which must yield blocks, "
                f"but it returned {type(blocks).__name__}"
            )
        return iter(blocks)


def is_list_of_blocks(Y: object) -> TypeGuard[Iterable[ArrayLike]]:
    """Whether Y is a list or tuple of matrices, which would be no matrix itself."""
    if not isinstance(Y, list | tuple):
        return False
    return len(Y) > 0 and all(getattr(block, "ndim", None) == 2 for block in Y)
