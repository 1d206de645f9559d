"""Streams over arrays: in memory, memory maps, chunked files; missing entries and weights.

`as_stream` makes a stream of signals in any supported form.
"""

from __future__ import annotations

import mmap
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from itertools import pairwise
from typing import Any, TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

from fost._typing import Floats, Numbers, SlicedArray
from fost._validation import check_array, check_choice, check_real, not_in_rows
from fost.streams.base import Pass, Stream, Sums, Weights, add

T = TypeVar("T")

# Bytes of a block, as the kernels see it: about 20 ms of work for 12 reflectors. The cost of a
# block's sums (up to 64 matrices that are cleared and added) is negligible beside that.
_BLOCK_BYTES = 2**26


def as_stream(
    Y: object, name: str = "Y", missing: object = None, sample_weight: object = None
) -> Stream:
    """Signals in rows as a stream; `fost.learning.as_training_data` lists the supported forms."""
    if missing is None and sample_weight is None:
        return _unannotated_stream(Y, name)
    nan_is_missing = isinstance(missing, str)
    if nan_is_missing:
        check_choice(missing, "missing", ("nan",))
        missing = None
    if is_dask(Y):
        from fost.streams.dask import DaskStream

        return DaskStream(Y, name, nan_is_missing, missing, sample_weight)
    stream = _unannotated_stream(Y, name)
    if missing is not None and not _is_read_in_blocks(missing):
        mask, rows = check_array(missing, "missing"), stream.n_signals
        if rows is None and mask.ndim == 2:  # the first pass over the blocks compares the sizes
            rows = len(mask)
        missing = check_missing_mask(mask, (rows or 0, stream.n_features), name)
    weights = None
    if sample_weight is not None:
        weights = check_weights(sample_weight, stream.n_signals, name)
    return AnnotatedStream(stream, nan_is_missing or stream.has_missing, missing, weights)


def _unannotated_stream(Y: object, name: str) -> Stream:
    """A stream of the signals without a mask and weights."""
    if isinstance(Y, Stream):
        return Y
    if isinstance(Y, np.ndarray):
        if mapping_of(Y) is not None:
            return MemoryMapStream(Y, name)
    elif (stream := _lazy_stream(Y, name)) is not None:
        return stream
    rows = check_real(Y, name)
    check_size(rows.shape, name)
    return ArrayStream(rows, name)


def _lazy_stream(Y: object, name: str) -> Stream | None:
    """A stream of signals that are read block by block; None for signals in memory."""
    from fost.streams.blocks import BlockStream, FunctionBlocks, is_blocks, is_function
    from fost.streams.files import is_path, opened

    if is_path(Y):
        return _unannotated_stream(opened(Y, name), name)
    if is_function(Y):
        return BlockStream(FunctionBlocks(Y, name), name)
    if is_dask(Y):
        from fost.streams.dask import DaskStream

        return DaskStream(Y, name)
    if is_sliced(Y):
        return ChunkedStream(Y, name)
    return BlockStream(Y, name) if is_blocks(Y) else None


def is_lazy(Y: object) -> bool:
    """Whether signals are read block by block instead of lying in memory."""
    if isinstance(Y, np.ndarray):
        return mapping_of(Y) is not None
    from fost.streams.blocks import is_function
    from fost.streams.files import is_path

    return is_dask(Y) or _is_read_in_blocks(Y) or is_path(Y) or is_function(Y)


def is_dask(Y: object) -> bool:
    """Whether Y is a Dask array; Dask is not imported for the answer."""
    dask = sys.modules.get("dask.array")
    return dask is not None and isinstance(Y, dask.Array)


def _is_read_in_blocks(Y: object) -> bool:
    if isinstance(Y, np.ndarray):
        return False
    from fost.streams.blocks import is_blocks

    return is_sliced(Y) or is_blocks(Y)


def is_sliced(Y: object) -> TypeGuard[SlicedArray]:
    """Whether Y is an array of Zarr or HDF5, or any object whose parts are read by slicing."""
    return isinstance(getattr(Y, "dtype", None), np.dtype) and hasattr(Y, "chunks")


def check_size(shape: tuple[int, ...], name: str) -> None:
    """Raises a ValueError unless the shape is a matrix with at least one signal and feature."""
    if len(shape) != 2:
        raise not_in_rows(shape, name)
    if 0 in shape:
        raise ValueError(f"{name} must have at least one signal and one feature, got shape {shape}")


class ArrayStream(Stream):
    """A checked array in memory, as one block; missing entries are NaN."""

    in_memory = random_access = True
    n_signals: int

    def __init__(
        self, rows: Floats, name: str, has_missing: bool = False, weights: Weights | None = None
    ) -> None:
        self.rows, self.name, self._weights = rows, name, weights
        self.n_signals, self.n_features = rows.shape
        self.dtype = rows.dtype
        self.has_missing, self.weighted = has_missing, weights is not None

    def blocks(self) -> Iterator[Numbers]:
        yield self.rows

    def total(self, one_pass: Pass) -> Sums:
        return one_pass(self.rows) if self._weights is None else one_pass(self.rows, self._weights)

    def take(self, rows: NDArray[np.int64]) -> Numbers:
        return self.rows[rows]

    def weights_at(self, rows: NDArray[np.int64]) -> Weights | None:
        return None if self._weights is None else self._weights[rows]


class _FileStream(Stream):
    """Signals in a file, which have a shape and can be sliced."""

    random_access = True
    n_signals: int

    def __init__(self, Y: Any, name: str) -> None:
        check_size(Y.shape, name)
        self._array, self.name = Y, name
        self.n_signals, self.n_features = map(int, Y.shape)
        self.dtype = check_real(np.empty(0, Y.dtype), name).dtype

    @property
    def _step(self) -> int:
        """Signals in a block."""
        return max(1, _BLOCK_BYTES // (self.n_features * self.dtype.itemsize))

    def _block(self, start: int, step: int) -> Numbers:
        return check_real(self._array[start : start + step], self.name)


class MemoryMapStream(_FileStream):
    """A memory map, used in place; pages are released after use.

    The system reads the next block while the kernels work on the current one.
    """

    def blocks(self) -> Iterator[Numbers]:
        mapping, step = mapping_of(self._array), self._step
        for start in range(0, self.n_signals, step):
            self._announce(start + step, step)
            yield self._block(start, step)
            if mapping is not None:
                release_pages(mapping)

    def take(self, rows: NDArray[np.int64]) -> Numbers:
        return check_real(_take_rows(self._array, rows, self._step), self.name)

    def _announce(self, start: int, step: int) -> None:
        """Tell the system that these rows will be read."""
        ahead, mapping = self._array[start : start + step], mapping_of(self._array)
        whole_pages = ahead.size and ahead.flags.c_contiguous
        if whole_pages and mapping is not None and hasattr(mmap, "MADV_WILLNEED"):
            begin = ahead.ctypes.data - np.frombuffer(mapping, np.uint8).ctypes.data
            begin -= begin % mmap.PAGESIZE
            mapping.madvise(mmap.MADV_WILLNEED, begin, min(ahead.nbytes, len(mapping) - begin))


class ChunkedStream(_FileStream):
    """An array of Zarr or HDF5; a thread reads the next rows ahead of the kernels."""

    @property
    def _step(self) -> int:
        """Signals in whole chunks, so that no chunk is read twice."""
        chunks = getattr(self._array, "shards", None) or self._array.chunks or (1,)
        return max(chunks[0], super()._step // chunks[0] * chunks[0])

    def blocks(self) -> Iterator[Numbers]:
        step = self._step
        return read_ahead(self._block(start, step) for start in range(0, self.n_signals, step))


def mapping_of(array: Numbers) -> mmap.mmap | None:
    """The memory map behind an array, if its pages can be dropped and read again."""
    mode: object = None
    found: object = array
    if type(array) not in (np.ndarray, np.memmap):
        return None
    while isinstance(found, np.ndarray):
        mode = getattr(found, "mode", mode)
        found = found.base
    # Maps of mode "c" keep changes in this process only, so their pages must stay.
    return found if isinstance(found, mmap.mmap) and mode in ("r", "r+", "w+") else None


def _take_rows(array: Any, rows: NDArray[np.int64], step: int) -> Numbers:
    """Rows of an array by their sorted numbers; a memory map keeps the pages of few of them."""
    mapping = mapping_of(array)
    if mapping is None or not len(rows):
        return np.asarray(array[rows])
    found = np.empty((len(rows), array.shape[1]), array.dtype)
    bounds = np.searchsorted(rows, np.arange(0, len(array) + step, step))
    for first, last in pairwise(bounds):
        if last > first:
            found[first:last] = array[rows[first:last]]
            release_pages(mapping)
    return found


def release_pages(mapping: mmap.mmap) -> None:
    """Drop the pages of a memory map from this process; they stay in the system's page cache."""
    if hasattr(mmap, "MADV_DONTNEED"):
        mapping.madvise(mmap.MADV_DONTNEED)


def read_ahead(items: Iterable[T]) -> Iterator[T]:
    """The same items; a thread fetches the next one while the current one is in use."""
    iterator, end = iter(items), object()
    with ThreadPoolExecutor(1, "fost-reader") as thread:
        ahead = thread.submit(next, iterator, end)
        while (item := ahead.result()) is not end:
            ahead = thread.submit(next, iterator, end)
            yield item  # type: ignore[misc]


class AnnotatedStream(Stream):
    """A stream with a mask of missing entries, which become NaN, and a weight for each signal.

    The rows of `missing` are read as they are needed. Without `missing`, NaN in the signals marks
    the missing entries if `has_missing` is true.
    """

    def __init__(
        self,
        stream: Stream,
        has_missing: bool = False,
        missing: Any = None,
        weights: Weights | None = None,
    ) -> None:
        self._stream, self.name = stream, stream.name
        self._missing, self._weights = missing, weights
        self.n_features, self.n_signals = stream.n_features, stream.n_signals
        self.dtype = stream.dtype
        self.has_missing, self.weighted = has_missing or missing is not None, weights is not None
        self.in_memory = stream.in_memory and (missing is None or isinstance(missing, np.ndarray))
        self.random_access = stream.random_access and (missing is None or hasattr(missing, "shape"))

    def blocks(self) -> Iterator[Numbers]:
        rows = None if self._missing is None else _row_reader(self._missing)
        start = 0
        for block in self._stream.blocks():
            yield block if rows is None else nan_where(rows(start, len(block)), block, self.name)
            start += len(block)
        # A pass over blocks counts the signals and finds their type.
        self.n_signals, self.dtype = self._stream.n_signals, self._stream.dtype

    def total(self, one_pass: Pass) -> Sums:
        if self._weights is None:
            return super().total(one_pass)
        return reduce(add, (one_pass(*piece) for piece in self._weighted_blocks(self._weights)))

    def _weighted_blocks(self, all_weights: Weights) -> Iterator[tuple[Numbers, Weights]]:
        start = 0
        for block in self.blocks():
            weights = all_weights[start : start + len(block)]
            if len(weights) != len(block):
                break
            yield block, weights
            start += len(block)
        if start != len(all_weights) or start != self.n_signals:
            raise ValueError(
                f"sample_weight must have one entry per signal of {self.name}, "
                f"got {len(all_weights)}"
            )

    def take(self, rows: NDArray[np.int64]) -> Numbers:
        if self._missing is None:
            return self._stream.take(rows)
        if not hasattr(self._missing, "shape"):
            return super().take(rows)
        missing = _take_rows(self._missing, rows, _BLOCK_BYTES // self.n_features)
        return nan_where(missing, self._stream.take(rows), self.name)

    def weights_at(self, rows: NDArray[np.int64]) -> Weights | None:
        return None if self._weights is None else self._weights[rows]


def nan_where(missing: object, block: Numbers, name: str) -> Floats:
    """A block of signals with NaN exactly where entries are missing."""
    mask = check_missing_mask(missing, block.shape, name)
    if np.isnan(block).any() and np.isnan(block[~mask]).any():
        raise ValueError(f"{name} contains NaN where missing is false")
    return np.where(mask, block.dtype.type(np.nan), block)


def check_missing_mask(missing: object, shape: tuple[int, ...], name: str) -> NDArray[np.bool_]:
    """A mask of the given shape, True where an entry is unobserved."""
    mask = check_array(missing, "missing")
    if mask.dtype != np.bool_:
        raise TypeError(f"missing must be boolean, got dtype {mask.dtype}")
    if mask.shape != shape:
        raise ValueError(f"missing must have the shape of {name}, {shape}, got {mask.shape}")
    return mask


def check_weights(
    sample_weight: object, n_signals: int | None, name: str, allow_zeros: bool = False
) -> Weights:
    """One weight per signal: nonnegative numbers, not all zero unless `allow_zeros` is true."""
    weights = check_real(sample_weight, "sample_weight").astype(np.float64)
    if weights.ndim != 1 or n_signals not in (None, len(weights)):
        wanted = "(n_signals,)" if n_signals is None else f"({n_signals},)"
        raise ValueError(
            f"sample_weight must have shape {wanted}, one entry per signal of {name}, "
            f"got {weights.shape}"
        )
    if not np.isfinite(weights).all():
        raise ValueError("sample_weight contains NaN or infinity")
    if weights.size and weights.min() < 0:
        raise ValueError(f"sample_weight must not be negative, got {weights.min():g}")
    if not (allow_zeros or weights.any()):
        raise ValueError("sample_weight must not be zero for all signals")
    return weights


def _row_reader(missing: Any) -> Callable[[int, int], object]:
    """A function that returns rows of a mask: an array, or an object that yields blocks."""
    if hasattr(missing, "shape"):
        mapping = mapping_of(missing)

        def read_slice(start: int, count: int) -> object:
            if mapping is not None:
                release_pages(mapping)
            return missing[start : start + count]

        return read_slice
    blocks = iter(missing)
    ahead: list[Numbers] = []

    def read(start: int, count: int) -> object:
        while sum(map(len, ahead)) < count:
            block = next(blocks, None)
            if block is None:
                break
            ahead.append(check_array(block, "missing"))
        rows = np.concatenate(ahead) if ahead else np.empty((0, 0), np.bool_)
        ahead[:] = [rows[count:]]
        return rows[:count]

    return read
