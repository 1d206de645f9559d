"""Arrays wherever they are: in memory, in a memory map, in chunks of Zarr or HDF5."""

from __future__ import annotations

import mmap
import sys
from collections.abc import Iterator
from typing import Any, TypeGuard

import numpy as np

from fost._typing import DType, Numbers
from fost._validation import check_array, has_masked
from fost.restoration.arrays import check_finite, check_kind
from fost.restoration.formats import extremes, ranges_by_values
from fost.restoration.tiles import Slices, sides_for, tiles, with_channels
from fost.streams.arrays import mapping_of
from fost.streams.files import is_path, opened


class Source:
    """An array that is read part by part; what has been read of a map does not stay in memory."""

    def __init__(self, array: Any, name: str, channel_axis: int | None) -> None:
        self._array, self.name, self.channel_axis = array, name, channel_axis
        self._mapping = mapping_of(array) if isinstance(array, np.ndarray) else None

    @property
    def shape(self) -> tuple[int, ...]:
        """With channels."""
        return tuple(int(k) for k in self._array.shape)

    @property
    def dtype(self) -> DType:
        dtype: DType = self._array.dtype
        return dtype

    @property
    def spatial(self) -> tuple[int, ...]:
        """The shape of a channel."""
        return without_channels(self.shape, self.channel_axis)

    @property
    def channels(self) -> int:
        return 1 if self.channel_axis is None else self.shape[self.channel_axis]

    def read(self, part: Slices) -> Numbers:
        """All channels of a part; what is in memory is not copied."""
        found = self._array[with_channels(part, self.channel_axis)]
        if self._mapping is None:
            return np.asarray(found)
        copy = np.array(found)
        forget(self._mapping)
        return copy

    def parts(self) -> Iterator[Slices]:
        """Parts that cover the array without overlap."""
        sides = sides_for(self.spatial, self.channels)
        return (tile.core for tile in tiles(self.spatial, sides, (0,) * len(sides)))

    def whole(self) -> Numbers:
        return self.read(tuple(slice(0, n) for n in self.spatial))

    def shares_memory(self, other: object) -> bool:
        arrays = isinstance(self._array, np.ndarray) and isinstance(other, np.ndarray)
        return other is self._array or (arrays and np.may_share_memory(self._array, other))

    def extremes(self, needed: bool = False) -> tuple[float, float]:
        """The least and the greatest value, where the type does not say enough or it is `needed`.

        Raises a ValueError unless all values are finite.
        """
        if not (needed or ranges_by_values(self.dtype)):
            return 0.0, 0.0
        ends = [extremes(check_finite(self.read(part), self.name)) for part in self.parts()]
        lows, highs = zip(*ends, strict=True)
        return min(lows), max(highs)


def as_source(array: Any, name: str, channel_axis: int | None) -> Source:
    """An array, a memory map, something in chunks, or a path to one of them."""
    found: Any = array
    if is_path(array):
        found = opened(array, name)
    elif has_masked(array) or not is_sliced(array):
        found = check_array(array, name)
    check_kind(found, name, channel_axis)
    return Source(found, name, channel_axis)


def is_dask(array: object) -> bool:
    # Nobody has a Dask array who has not imported Dask.
    dask = sys.modules.get("dask.array")
    return dask is not None and isinstance(array, dask.Array)


def is_sliced(array: object) -> TypeGuard[Any]:
    """Whether it is like an array of Zarr or HDF5, of which a part is read when it is sliced."""
    return isinstance(getattr(array, "dtype", None), np.dtype) and hasattr(array, "chunks")


def without_channels(shape: tuple[int, ...], channel_axis: int | None) -> tuple[int, ...]:
    if channel_axis is None:
        return shape
    place = channel_axis % len(shape)
    return shape[:place] + shape[place + 1 :]


def forget(mapping: mmap.mmap) -> None:
    """Out of this process, not out of the system's cache; shared maps lose nothing."""
    if hasattr(mmap, "MADV_DONTNEED"):
        mapping.madvise(mmap.MADV_DONTNEED)


class Target:
    """Where a restored array goes, part by part: what a caller gave, or a new array."""

    def __init__(self, out: Any, source: Source) -> None:
        shape, dtype = source.shape, source.dtype.newbyteorder("=")
        self._channel_axis = source.channel_axis
        if out is None:
            self.array: Any = np.empty(shape, dtype)
        else:
            self.array = _checked_out(out, shape, dtype)
            if source.shares_memory(out):
                raise ValueError(f"out must not be the {source.name} itself, or a part of it")
        self._mapping = mapping_of(self.array) if isinstance(self.array, np.ndarray) else None

    def write(self, part: Slices, samples: Numbers) -> None:
        self.array[with_channels(part, self._channel_axis)] = samples
        if self._mapping is not None:
            self._mapping.flush()
            forget(self._mapping)


def _checked_out(out: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    if not (isinstance(out, np.ndarray) or is_sliced(out)) or is_dask(out):
        raise TypeError(
            f"out must be an array, a memory map or an array of Zarr, got {type(out).__name__}"
        )
    if tuple(out.shape) != shape or out.dtype != dtype:
        raise ValueError(
            f"out must have the shape {shape} and the type {dtype}, got {tuple(out.shape)} and "
            f"{out.dtype}"
        )
    if isinstance(out, np.ndarray) and not out.flags.writeable:
        raise ValueError("out must be writeable")
    return out
