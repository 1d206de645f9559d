"""Signals of any form as a stream; blocks of them may be of any form themselves."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from fost._typing import DType, Numbers, SlicedArray
from fost._validation import check_array, check_choice, check_real
from fost.streams.annotated import Annotated, check_gaps, check_weights
from fost.streams.base import Stream, check_size
from fost.streams.files import Called, is_function, is_list_of_blocks, is_path, opened
from fost.streams.local import Array, Mapped, Sliced, mapping_of, read_ahead


def is_lazy(Y: object) -> bool:
    """Whether signals are anywhere but in memory, so that they are read block by block."""
    if isinstance(Y, np.ndarray):
        return mapping_of(Y) is not None
    return is_dask(Y) or is_sliced(Y) or _is_blocks(Y) or is_path(Y) or is_function(Y)


def as_stream(
    Y: object, name: str = "Y", missing: object = None, sample_weight: object = None
) -> Stream:
    """Signals in rows as a stream: see `fost.learning.as_source` for what they may be."""
    if missing is None and sample_weight is None:
        return _plain(Y, name)
    gaps = isinstance(missing, str)
    if gaps:
        check_choice(missing, "missing", ("nan",))
        missing = None
    if is_dask(Y):
        from fost.streams.cluster import DaskRows

        return DaskRows(Y, name, gaps, missing, sample_weight)
    stream = _plain(Y, name)
    if missing is not None and not (is_sliced(missing) or _is_blocks(missing)):
        mask, rows = check_array(missing, "missing"), stream.n_signals
        if rows is None and mask.ndim == 2:  # of blocks, which the first pass compares
            rows = len(mask)
        missing = check_gaps(mask, (rows or 0, stream.n_features), name)
    weights = None
    if sample_weight is not None:
        weights = check_weights(sample_weight, stream.n_signals, name)
    return Annotated(stream, gaps or stream.gaps, missing, weights)


def _plain(Y: object, name: str) -> Stream:
    if is_path(Y):
        Y = opened(Y, name)
    elif is_function(Y):
        Y = Called(Y, name)
    if isinstance(Y, Stream):
        return Y
    if isinstance(Y, np.ndarray):
        return Array(Y, name) if mapping_of(Y) is None else Mapped(Y, name)
    if is_dask(Y):
        from fost.streams.cluster import DaskRows

        return DaskRows(Y, name)
    if is_sliced(Y):
        return Sliced(Y, name)
    if _is_blocks(Y):
        return Blocks(Y, name)
    return Array(Y, name)


def is_dask(Y: object) -> bool:
    """Whether Y is a Dask array, without importing Dask."""
    dask = sys.modules.get("dask.array")
    return dask is not None and isinstance(Y, dask.Array)


def is_sliced(Y: object) -> TypeGuard[SlicedArray]:
    """Whether Y is an array of Zarr or HDF5, or any object whose parts are read by slicing."""
    return isinstance(getattr(Y, "dtype", None), np.dtype) and hasattr(Y, "chunks")


def _is_blocks(Y: object) -> TypeGuard[Iterable[ArrayLike]]:
    """Whether Y is none of the things that NumPy makes an array of, but can be iterated."""
    if isinstance(Y, Stream) or is_list_of_blocks(Y):
        return True
    if isinstance(Y, list | tuple | str | bytes | dict | set | range | np.generic):
        return False
    arrays = ("__array__", "__array_interface__", "__dataframe__", "tocsr")
    if not hasattr(Y, "__iter__") or any(hasattr(Y, name) for name in arrays):
        return False
    return not _is_buffer(Y)


def _is_buffer(Y: Any) -> bool:
    """Whether Y has its numbers in memory, as array.array and memoryview have."""
    try:
        memoryview(Y)
    except TypeError:
        return False
    return True


class Blocks(Stream):
    """Blocks of rows from an object that yields them anew whenever it is iterated.

    A thread gets the next block ahead of the kernels. Each pass must yield as many signals
    as the first one.
    """

    def __init__(self, Y: Iterable[ArrayLike], name: str) -> None:
        if iter(Y) is Y:
            raise TypeError(
                f"{name} is an iterator, which can be read only once; give an object whose "
                "__iter__ begins anew"
            )
        self._source, self.name = Y, name
        self._n_signals: int | None = None
        self._dtype = np.dtype(np.float32)
        first = next((block for block in self._arrays() if len(block)), None)
        if first is None:
            raise ValueError(f"{name} must have at least one signal and one feature, got none")
        check_size(first.shape, name)
        self._n_features = int(first.shape[1])
        self._note(first)

    @property
    def n_features(self) -> int:
        return self._n_features

    @property
    def n_signals(self) -> int | None:
        return self._n_signals

    @property
    def dtype(self) -> DType:
        return self._dtype

    def blocks(self) -> Iterator[Numbers]:
        count = 0
        for block in self._arrays():
            if block.shape[1] != self._n_features:
                raise ValueError(
                    f"the blocks of {self.name} must have equally many columns, "
                    f"got {self._n_features} and {block.shape[1]}"
                )
            self._note(block)
            if len(block):
                yield block
            count += len(block)
        if self._n_signals not in (None, count):
            raise ValueError(
                f"{self.name} must yield the same blocks in every pass, got {self._n_signals} "
                f"signals in the first and {count} in a later one"
            )
        self._n_signals = count

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

    def _note(self, block: Numbers) -> None:
        self._dtype = np.promote_types(self._dtype, block.dtype)
