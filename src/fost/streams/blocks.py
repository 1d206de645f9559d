"""Streams of blocks that an iterable or a function yields; a block may have any supported form."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from fost._typing import Numbers
from fost._validation import check_real
from fost.streams.arrays import as_stream, check_size, is_lazy, read_ahead
from fost.streams.base import Stream


def is_function(Y: object) -> TypeGuard[Callable[[], Iterable[ArrayLike]]]:
    """Whether Y is called to get blocks, such as a generator function."""
    return inspect.isroutine(Y) or isinstance(Y, partial)


def is_blocks(Y: object) -> TypeGuard[Iterable[ArrayLike]]:
    """Whether Y can be iterated and is not something that NumPy converts to an array."""
    if isinstance(Y, Stream) or _is_list_of_matrices(Y):
        return True
    if isinstance(Y, list | tuple | str | bytes | dict | set | range | np.generic):
        return False
    arrays = ("__array__", "__array_interface__", "__dataframe__", "tocsr")
    if not hasattr(Y, "__iter__") or any(hasattr(Y, name) for name in arrays):
        return False
    return not _is_buffer(Y)


def _is_list_of_matrices(Y: object) -> bool:
    if not isinstance(Y, list | tuple):
        return False
    return len(Y) > 0 and all(getattr(block, "ndim", None) == 2 for block in Y)


def _is_buffer(Y: object) -> bool:
    """Whether Y has its numbers in memory, as array.array and memoryview have."""
    try:
        memoryview(Y)  # type: ignore[arg-type]
    except TypeError:
        return False
    return True


class FunctionBlocks:
    """Blocks from a function, which is called again for each pass."""

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


class BlockStream(Stream):
    """Blocks of rows from an object that yields them again whenever it is iterated.

    A thread gets the next block ahead of the kernels. Each pass must yield as many signals as the
    first pass.
    """

    def __init__(self, Y: Iterable[ArrayLike], name: str) -> None:
        if iter(Y) is Y:
            raise TypeError(
                f"{name} is an iterator, which can be read only once; give an object whose "
                "__iter__ begins anew"
            )
        self._source, self.name = Y, name
        self.n_signals: int | None = None
        first = next((block for block in self._arrays() if len(block)), None)
        if first is None:
            raise ValueError(f"{name} must have at least one signal and one feature, got none")
        check_size(first.shape, name)
        self.n_features = int(first.shape[1])
        self.dtype = np.promote_types(np.float32, first.dtype)

    def blocks(self) -> Iterator[Numbers]:
        count = 0
        for block in self._arrays():
            if block.shape[1] != self.n_features:
                raise ValueError(
                    f"the blocks of {self.name} must have equally many columns, "
                    f"got {self.n_features} and {block.shape[1]}"
                )
            self.dtype = np.promote_types(self.dtype, block.dtype)
            if len(block):
                yield block
            count += len(block)
        if self.n_signals not in (None, count):
            raise ValueError(
                f"{self.name} must yield the same blocks in every pass, got {self.n_signals} "
                f"signals in the first and {count} in a later one"
            )
        self.n_signals = count

    def _arrays(self) -> Iterator[Numbers]:
        for block in read_ahead(self._source):
            if is_lazy(block) and 0 not in getattr(block, "shape", ()):
                yield from as_stream(block, self.name).blocks()
                continue
            array = check_real(block, f"a block of {self.name}")
            if array.ndim != 2:
                raise ValueError(
                    f"{self.name} must yield blocks of shape (any, n_features), "
                    f"got one of shape {array.shape}"
                )
            yield array
