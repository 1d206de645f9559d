"""Signals wherever they are: in memory, in files, in blocks, on a cluster.

Everything that fost computes of signals is a sum over them, or row by row. So a stream is asked
for two things: `total`, the sum of what a function makes of each block, and `map_blocks`.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from fost.streams.base import Measure, Stream, Sums
from fost.streams.local import Array, Blocks, Mapped, Sliced, mapping_of

__all__ = ["Measure", "Stream", "Sums", "as_stream", "is_lazy"]


def is_lazy(Y: Any) -> bool:
    """Whether signals are anywhere but in memory, so that they are read block by block."""
    if isinstance(Y, np.ndarray):
        return mapping_of(Y) is not None
    return _is_dask(Y) or _is_sliced(Y) or _is_blocks(Y)


def as_stream(Y: Any, name: str = "Y") -> Stream:
    """Signals in rows as a stream: see `fost.learning.as_source` for what they may be."""
    if isinstance(Y, Stream):
        return Y
    if isinstance(Y, np.ndarray):
        return Array(Y, name) if mapping_of(Y) is None else Mapped(Y, name)
    if _is_dask(Y):
        from fost.streams.cluster import DaskRows

        return DaskRows(Y, name)
    if _is_sliced(Y):
        return Sliced(Y, name)
    if _is_blocks(Y):
        return Blocks(Y, name)
    return Array(Y, name)


def _is_dask(Y: Any) -> bool:
    # Nobody has a Dask array who has not imported Dask.
    dask = sys.modules.get("dask.array")
    return dask is not None and isinstance(Y, dask.Array)


def _is_sliced(Y: Any) -> bool:
    """Whether Y is like an array of Zarr or HDF5: chunks that are read when it is sliced."""
    return isinstance(getattr(Y, "dtype", None), np.dtype) and hasattr(Y, "chunks")


def _is_blocks(Y: Any) -> bool:
    """Whether Y is none of the things that NumPy makes an array of, but can be iterated."""
    if isinstance(Y, Stream):
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
