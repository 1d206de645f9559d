"""Signals that this process reads itself: arrays, memory maps, chunked files."""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fost._typing import DType, Numbers
from fost._validation import check_real
from fost.streams.base import Stream, check_size

T = TypeVar("T")

# Bytes of a block, as the kernels see it: some 20 ms of work for 12 reflectors, against which
# the sums of a block (up to 64 matrices that are cleared and added) do not count.
_BLOCK_BYTES = 2**26


class _Rows(Stream):
    """Signals that have a shape and can be sliced."""

    at_hand = True

    def __init__(self, Y: Any, name: str) -> None:
        check_size(Y.shape, name)
        self._rows, self.name = Y, name
        self._dtype = check_real(np.empty(0, Y.dtype), name).dtype

    @property
    def n_features(self) -> int:
        return int(self._rows.shape[1])

    @property
    def n_signals(self) -> int:
        return int(self._rows.shape[0])

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def _step(self) -> int:
        """Signals in a block."""
        return max(1, _BLOCK_BYTES // (self.n_features * self._dtype.itemsize))

    def _block(self, start: int, step: int) -> Numbers:
        return check_real(self._rows[start : start + step], self.name)


class Array(_Rows):
    """An array in memory, which is one block."""

    resident = True

    def __init__(self, Y: object, name: str) -> None:
        super().__init__(check_real(Y, name), name)

    @property
    def rows(self) -> Numbers:
        """The signals."""
        rows: Numbers = self._rows
        return rows

    def blocks(self) -> Iterator[Numbers]:
        yield self._rows

    def take(self, places: NDArray[np.int64]) -> Numbers:
        taken: Numbers = self._rows[places]
        return taken


class Mapped(_Rows):
    """A memory map, used where it lies; what has been read does not stay resident.

    The system reads the next block while the kernels work on this one.
    """

    def blocks(self) -> Iterator[Numbers]:
        mapping, step = mapping_of(self._rows), self._step
        for start in range(0, self.n_signals, step):
            self._announce(start + step, step)
            yield self._block(start, step)
            if mapping is not None:
                release_pages(mapping)

    def take(self, places: NDArray[np.int64]) -> Numbers:
        return check_real(self._rows[places], self.name)

    def _announce(self, start: int, step: int) -> None:
        """Tell the system that these rows will be read."""
        ahead, mapping = self._rows[start : start + step], mapping_of(self._rows)
        whole_pages = ahead.size and ahead.flags.c_contiguous
        if whole_pages and mapping is not None and hasattr(mmap, "MADV_WILLNEED"):
            begin = ahead.ctypes.data - np.frombuffer(mapping, np.uint8).ctypes.data
            begin -= begin % mmap.PAGESIZE
            mapping.madvise(mmap.MADV_WILLNEED, begin, min(ahead.nbytes, len(mapping) - begin))


class Sliced(_Rows):
    """An array of Zarr or HDF5, of which a thread reads the next rows ahead of the kernels."""

    @property
    def _step(self) -> int:
        """Whole chunks, since none should be read twice."""
        chunks = getattr(self._rows, "shards", None) or self._rows.chunks or (1,)
        return max(chunks[0], super()._step // chunks[0] * chunks[0])

    def blocks(self) -> Iterator[Numbers]:
        step = self._step
        return read_ahead(self._block(start, step) for start in range(0, self.n_signals, step))


def mapping_of(array: Numbers) -> mmap.mmap | None:
    """The map of a file behind an array, if what it maps can be dropped and read again."""
    mode: Any = None
    found: Any = array
    if type(array) not in (np.ndarray, np.memmap):
        return None
    while isinstance(found, np.ndarray):
        mode = getattr(found, "mode", mode)
        found = found.base
    # Maps of mode "c" hold what was written to them in this process alone.
    return found if isinstance(found, mmap.mmap) and mode in ("r", "r+", "w+") else None


def release_pages(mapping: mmap.mmap) -> None:
    """Drop the pages of a memory map from this process; they stay in the system's page cache."""
    if hasattr(mmap, "MADV_DONTNEED"):
        mapping.madvise(mmap.MADV_DONTNEED)


def read_ahead(items: Iterable[T]) -> Iterator[T]:
    """The same items, of which a thread gets the next one while this one is in use."""
    iterator, end = iter(items), object()
    with ThreadPoolExecutor(1, "fost-reader") as thread:
        ahead = thread.submit(next, iterator, end)
        while (item := ahead.result()) is not end:
            ahead = thread.submit(next, iterator, end)
            yield item  # type: ignore[misc]
