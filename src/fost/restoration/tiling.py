"""Tiled processing of arrays of any size: tiles, readers and writers.

An array is read tile by tile, with a margin around each tile, from memory, a memory map, or a
chunked Zarr or HDF5 array. Tiles and training regions depend on the shape of an array only, so
results do not depend on where the array is stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import cast

import numpy as np

from fost._typing import DType, Numbers, SlicedArray, WritableArray
from fost._validation import check_array, has_masked
from fost.restoration.arrays import (
    check_axes,
    check_finite,
    has_value_range,
    spatial_shape,
    value_range,
)
from fost.streams.arrays import is_dask, is_sliced, mapping_of, release_pages
from fost.streams.files import is_path, opened

Slices = tuple[slice, ...]
# Samples of all channels that are processed at a time, without margins. Restoration needs about
# ten float32 numbers per sample.
MAX_SAMPLES = 2**24
# Sides of the training regions of an array of more than `MAX_SAMPLES`, by number of axes.
_REGION_SIDES = {1: 2**16, 2: 256, 3: 48}


@dataclass(frozen=True)
class Tile:
    """A part of an array that is restored on its own, and the larger part that is read for it."""

    index: tuple[int, ...]  # along each axis
    core: Slices
    outer: Slices

    @property
    def inner(self) -> Slices:
        """The core relative to the start of the outer part."""
        pairs = zip(self.core, self.outer, strict=True)
        return tuple(slice(c.start - o.start, c.stop - o.start) for c, o in pairs)

    def with_margin(self, shape: tuple[int, ...], margin: tuple[int, ...]) -> Tile:
        """The same core with another margin, clipped to an array of this shape."""
        sizes = zip(self.core, shape, margin, strict=True)
        outer = tuple(slice(max(0, c.start - k), min(n, c.stop + k)) for c, n, k in sizes)
        return Tile(self.index, self.core, outer)


def tile_sides(
    shape: tuple[int, ...], n_channels: int, max_samples: int = MAX_SAMPLES
) -> tuple[int, ...]:
    """The default sides of tiles: the longest side is halved until a tile is small enough."""
    sides = list(shape)
    while prod(sides) * n_channels > max_samples and max(sides) > 1:
        longest = sides.index(max(sides))
        sides[longest] = -(-sides[longest] // 2)
    return tuple(sides)


def iterate_tiles(
    shape: tuple[int, ...], sides: tuple[int, ...], margin: tuple[int, ...]
) -> Iterator[Tile]:
    """Tiles that cover an array in row-major order."""
    counts = [-(-n // k) for n, k in zip(shape, sides, strict=True)]
    for index in product(*map(range, counts)):
        sizes = zip(index, sides, shape, strict=True)
        core = tuple(slice(i * k, min(n, (i + 1) * k)) for i, k, n in sizes)
        yield Tile(index, core, core).with_margin(shape, margin)


def training_regions(shape: tuple[int, ...], n_channels: int, max_samples: int) -> list[Slices]:
    """Regions of equal size that represent an array: all of it, if it is small enough.

    A larger array is represented by random regions that depend on its shape only.
    """
    if prod(shape) * n_channels <= max_samples:
        return [tuple(slice(0, n) for n in shape)]
    sides = tuple(min(_REGION_SIDES[len(shape)], n) for n in shape)
    counts = [n // k for n, k in zip(shape, sides, strict=True)]
    wanted = max(1, max_samples // (prod(sides) * n_channels))
    random = np.random.default_rng(0)
    chosen = random.choice(prod(counts), min(wanted, prod(counts)), replace=False)
    places = np.stack(np.unravel_index(np.sort(chosen), counts), axis=1)
    # Regions are spread such that the last one along each axis ends at the border.
    room = [n - k for n, k in zip(shape, sides, strict=True)]
    steps = [r / max(1, c - 1) for r, c in zip(room, counts, strict=True)]
    starts = np.floor(places * steps).astype(int)
    return [
        tuple(slice(int(s), int(s) + k) for s, k in zip(row, sides, strict=True)) for row in starts
    ]


def insert_channels(part: Slices, channel_axis: int | None) -> Slices:
    """A part of an array with all of its channels."""
    if channel_axis is None:
        return part
    place = channel_axis % (len(part) + 1)
    return (*part[:place], slice(None), *part[place:])


class ArrayReader:
    """Reads an array part by part, without keeping pages of a memory map in memory."""

    def __init__(self, array: SlicedArray, name: str, channel_axis: int | None) -> None:
        self._array, self.name, self.channel_axis = array, name, channel_axis
        self._mapping = mapping_of(array) if isinstance(array, np.ndarray) else None
        self.shape = tuple(int(k) for k in array.shape)
        self.spatial_shape = spatial_shape(self.shape, channel_axis)
        self.n_channels = 1 if channel_axis is None else self.shape[channel_axis]

    @property
    def dtype(self) -> DType:
        return self._array.dtype

    def read(self, part: Slices) -> Numbers:
        """All channels of a part. Arrays in memory are not copied."""
        found = self._array[insert_channels(part, self.channel_axis)]
        if self._mapping is None:
            return np.asarray(found)
        copy = np.array(found)
        release_pages(self._mapping)
        return copy

    def parts(self) -> Iterator[Slices]:
        """Parts that cover the array without overlap."""
        sides = tile_sides(self.spatial_shape, self.n_channels)
        return (tile.core for tile in iterate_tiles(self.spatial_shape, sides, (0,) * len(sides)))

    def regions(self, max_samples: int) -> list[Slices]:
        """Regions to learn from: see `training_regions`."""
        return training_regions(self.spatial_shape, self.n_channels, max_samples)

    def shares_memory(self, other: object) -> bool:
        arrays = isinstance(self._array, np.ndarray) and isinstance(other, np.ndarray)
        return other is self._array or (arrays and np.may_share_memory(self._array, other))

    def value_range(self, required: bool = False) -> tuple[float, float]:
        """The smallest and largest value, if the type does not imply the range or it is required.

        Raises a ValueError unless all values are finite.
        """
        if not (required or has_value_range(self.dtype)):
            return 0.0, 0.0
        ends = [value_range(check_finite(self.read(part), self.name)) for part in self.parts()]
        lows, highs = zip(*ends, strict=True)
        return min(lows), max(highs)


def open_reader(x: object, name: str, channel_axis: int | None) -> ArrayReader:
    """A reader of an array, a memory map, a chunked array, or a path to one of them."""
    array: SlicedArray
    if is_path(x):
        array = cast(SlicedArray, opened(x, name))
    elif is_sliced(x) and not has_masked(x):
        array = x
    else:
        array = check_array(x, name)
    check_axes(array, name, channel_axis)
    return ArrayReader(array, name, channel_axis)


class ArrayWriter:
    """Writes a restored array part by part, to the array of a caller or to a new one."""

    def __init__(self, out: object, reader: ArrayReader, dtype: DType | None = None) -> None:
        shape, own = reader.shape, reader.dtype.newbyteorder("=")
        dtype = own if dtype is None else dtype.newbyteorder("=")
        self._channel_axis = reader.channel_axis
        if out is None:
            self.array: WritableArray = np.empty(shape, dtype)
        else:
            self.array = _check_out(out, shape, dtype, own)
            if reader.shares_memory(out):
                raise ValueError(f"out must not share memory with {reader.name}")
        self._mapping = mapping_of(self.array) if isinstance(self.array, np.ndarray) else None

    def write(self, part: Slices, samples: Numbers) -> None:
        self.array[insert_channels(part, self._channel_axis)] = samples
        if self._mapping is not None:
            self._mapping.flush()
            release_pages(self._mapping)


def _check_out(out: object, shape: tuple[int, ...], dtype: DType, other: DType) -> WritableArray:
    """`out`, of the type of the result or of the array."""
    if is_dask(out) or not (isinstance(out, np.ndarray) or is_sliced(out)):
        raise TypeError(
            f"out must be an array, a memory map or an array of Zarr, got {type(out).__name__}"
        )
    if tuple(out.shape) != shape or out.dtype not in (dtype, other):
        raise ValueError(
            f"out must have shape {shape} and type {dtype}, got {tuple(out.shape)} and {out.dtype}"
        )
    if isinstance(out, np.ndarray) and not out.flags.writeable:
        raise ValueError("out must be writeable")
    return cast(WritableArray, out)
