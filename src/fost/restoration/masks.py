"""Arrays with missing samples: masks, readers of masked arrays, and their statistics.

A mask is True where a sample is missing, as in scikit-image.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fost._typing import DType, Mask, Numbers, SlicedArray
from fost._validation import as_bool_mask, check_array
from fost.imputation.conditioning import keep_observed
from fost.restoration.arrays import has_value_range, split_channels, value_range
from fost.restoration.tiling import ArrayReader, Slices, Tile, insert_channels, open_reader
from fost.streams.arrays import is_sliced
from fost.streams.files import is_path, opened


@dataclass(frozen=True)
class MaskSummary:
    """The range of the observed samples, and the number of missing samples by channel."""

    low: float
    high: float
    n_missing: NDArray[np.int64]

    @property
    def total(self) -> int:
        return int(self.n_missing.sum())

    @classmethod
    def of(cls, samples: Numbers, mask: Mask, channel_axis: int | None) -> MaskSummary:
        """The summary of a part of an array."""
        low, high = np.inf, -np.inf
        # Values at missing samples must not affect the range of the array.
        if has_value_range(samples.dtype) and not mask.all():
            # An observed value replaces the missing ones: boolean indexing is slower, because the
            # branch predictor fails at random masks.
            some = samples[np.unravel_index(mask.argmin(), mask.shape)]
            low, high = value_range(replace_masked(samples, mask, some))
        channels = split_channels(mask, channel_axis)
        return cls(low, high, channels.sum(axis=tuple(range(1, channels.ndim)), dtype=np.int64))

    @classmethod
    def combine(cls, parts: Iterable[MaskSummary], channel_size: int) -> MaskSummary:
        """The summary of all parts. Raises a ValueError if all samples of a channel are missing."""
        each = list(parts)
        n_missing = np.sum([part.n_missing for part in each], axis=0)
        if n_missing.max() == channel_size:
            raise ValueError(
                "mask is True for all samples of a channel: at least one must be observed"
            )
        return cls(min(part.low for part in each), max(part.high for part in each), n_missing)


class MaskedReader:
    """Reads an array and its mask part by part.

    Missing samples are those of a NumPy masked array, of a boolean array, both, or NaN.
    """

    def __init__(
        self, reader: ArrayReader, hidden: Mask | None, mask: ArrayReader | None, nan: bool
    ) -> None:
        self.reader, self._hidden, self._mask = reader, hidden, mask
        self._nan = nan and reader.dtype.kind == "f"

    @classmethod
    def open(cls, x: object, mask: object, channel_axis: int | None) -> MaskedReader:
        """The reader for the arguments of a user, which are validated."""
        hidden = None
        if isinstance(x, np.ma.MaskedArray):
            x, hidden = x.data, np.ma.getmaskarray(x)
        reader = open_reader(x, "x", channel_axis)
        if mask is None and hidden is None:
            raise ValueError(
                'mask must be given unless x is a masked array: a boolean array, or "nan"'
            )
        if mask is None or is_nan(mask):
            return cls(reader, hidden, None, mask is not None)
        found: SlicedArray
        if is_path(mask):
            found = cast(SlicedArray, opened(mask, "mask"))
        elif is_sliced(mask):
            found = mask
        else:
            found = check_array(mask, "mask")
        axis = check_mask(found.dtype, tuple(found.shape), reader)
        return cls(reader, hidden, ArrayReader(found, "mask", axis), False)

    def read(self, part: Slices) -> tuple[Numbers, Mask]:
        """A part of the array, whose observed samples are finite, and of its mask."""
        axis = self.reader.channel_axis
        samples, mask = self.reader.read(part), np.zeros((), bool)
        if self._mask is not None:
            mask = as_bool_mask(self._mask.read(part))
            if mask.ndim < samples.ndim and axis is not None:
                mask = np.expand_dims(mask, axis)
        if self._hidden is not None:
            mask = mask | self._hidden[insert_channels(part, axis)]
        if self._nan:
            mask = mask | np.isnan(samples)
        mask = np.broadcast_to(mask, samples.shape)
        check_observed(samples, mask, self.reader.name)
        return samples, mask

    def read_around(self, tile: Tile, margin: tuple[int, ...]) -> tuple[Numbers, Mask, Tile]:
        """A tile with its margin, which is doubled until each channel has an observed sample."""
        axis, shape = self.reader.channel_axis, self.reader.spatial_shape
        everything = tuple(slice(0, n) for n in shape)
        while True:
            samples, mask = self.read(tile.outer)
            if has_observed(mask, axis) or tile.outer == everything:
                return samples, mask, tile
            margin = tuple(2 * k for k in margin)
            tile = tile.with_margin(shape, margin)

    def training_parts(self, max_samples: int) -> list[tuple[Numbers, Mask]]:
        """Parts to learn from, each with observed samples in all channels."""
        parts = map(self.read, self.reader.regions(max_samples))
        seen = [part for part in parts if has_observed(part[1], self.reader.channel_axis)]
        # If almost everything is missing, the whole array is used.
        return seen or [self.read(tuple(slice(0, n) for n in self.reader.spatial_shape))]

    def summary(self) -> MaskSummary:
        """Raises a ValueError if all samples of a channel are missing."""
        axis = self.reader.channel_axis
        parts = (MaskSummary.of(*self.read(part), axis) for part in self.reader.parts())
        return MaskSummary.combine(parts, prod(self.reader.spatial_shape))


def is_nan(mask: object) -> bool:
    """Whether a mask argument says that missing samples are NaN."""
    return isinstance(mask, str) and mask == "nan"


def check_observed(samples: Numbers, mask: Mask, name: str) -> None:
    if samples.dtype.kind == "f" and not (np.isfinite(samples) | mask).all():
        raise ValueError(f"{name} contains NaN or infinity where mask is False")


def check_mask(dtype: DType, shape: tuple[int, ...], reader: ArrayReader) -> int | None:
    """Validate a mask; return its channel axis, which is None if it applies to all channels."""
    if dtype != np.bool_:
        raise TypeError(f"mask must be boolean, got dtype {dtype}; use mask > 0")
    if shape not in (reader.shape, reader.spatial_shape):
        is_of_pixels = reader.channel_axis is None and shape == reader.shape[:-1]
        hint = "; pass channel_axis=-1 if the last axis has channels" if is_of_pixels else ""
        raise ValueError(
            f"mask must have the shape of {reader.name}, {reader.shape}, got {shape}{hint}"
        )
    return reader.channel_axis if shape == reader.shape else None


def has_observed(mask: Mask, channel_axis: int | None) -> bool:
    """Whether every channel has an observed sample."""
    return not any(channel.all() for channel in split_channels(mask, channel_axis))


def replace_masked(samples: Numbers, mask: Mask, values: ArrayLike = 0) -> Numbers:
    """Samples with other values where the mask is True: those of an array, or one value."""
    values = np.asarray(values)
    if values.ndim == 0:
        values = values.astype(samples.dtype).reshape((1,) * samples.ndim)
    # Types of up to 64 bits are selected by bitwise operations, which need no branches.
    if values.dtype == samples.dtype and samples.itemsize <= np.dtype(np.int64).itemsize:
        return keep_observed(values, samples, mask)
    return np.where(mask, values, samples)
