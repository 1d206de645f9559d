"""Arrays with gaps: masks, and what all ways of filling them need."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fost._typing import DType, Numbers
from fost._validation import check_array, check_each, truths
from fost.imputation.conditioning import keep_observed
from fost.restoration.arrays import channels_first
from fost.restoration.formats import extremes, ranges_by_values
from fost.restoration.grid import Sizes
from fost.restoration.sources import Source, as_source, is_sliced
from fost.restoration.tiles import Slices, Tile, samples_of, with_channels
from fost.streams.files import is_path, opened

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Survey:
    """What a first look at an array with gaps tells."""

    low: float  # of what is observed
    high: float
    missing: NDArray[np.int64]  # samples, by channels

    @property
    def total(self) -> int:
        return int(self.missing.sum())

    @classmethod
    def of(cls, samples: Numbers, gaps: Mask, channel_axis: int | None) -> Survey:
        """What a part of an array tells."""
        low, high = np.inf, -np.inf
        # What lies under the gaps says nothing about the range of the array.
        if ranges_by_values(samples.dtype) and not gaps.all():
            # Boolean indices guess each gap, and are wrong about every other one.
            some = samples[np.unravel_index(gaps.argmin(), gaps.shape)]
            low, high = extremes(without(samples, gaps, some))
        channels = channels_first(gaps, channel_axis)
        return cls(low, high, channels.sum(axis=tuple(range(1, channels.ndim)), dtype=np.int64))

    @classmethod
    def joined(cls, parts: Iterable[Survey], size: int, what: str = "samples") -> Survey:
        """What all parts tell. Raises a ValueError where nothing is observed of a channel.

        `size` is that of a channel, `what` errors call its samples.
        """
        each = list(parts)
        missing = np.sum([part.missing for part in each], axis=0)
        if missing.max() == size:
            raise ValueError(f"missing is True for all {what}: there is nothing to go by")
        return cls(min(part.low for part in each), max(part.high for part in each), missing)


class Gapped:
    """An array wherever it is, and where it has gaps: those of a mask, of `missing`, or of both.

    `missing` is an array of bool or, where that is `nan`, NaN in the array itself.
    """

    def __init__(
        self, source: Source, hidden: Mask | None, missing: Source | None, nan: bool = False
    ) -> None:
        self.source, self._hidden, self._missing = source, hidden, missing
        self._nan = nan and source.dtype.kind == "f"

    @classmethod
    def of(
        cls,
        array: Any,
        missing: Any,
        channel_axis: int | None,
        name: str = "array",
        as_samples: Callable[[Any, str, int | None], Source] = as_source,
    ) -> Gapped:
        """What a caller means; `as_samples` makes a source of the array, which is no masked one."""
        data, hidden = split_masked(array)
        source = as_samples(data, name, channel_axis)
        if missing is None and hidden is None:
            raise ValueError(
                f"missing must be given for an {name} that is no masked array: an array of bool, "
                'or "nan"'
            )
        if missing is None or (isinstance(missing, str) and missing == "nan"):
            return cls(source, hidden, None, missing is not None)
        mask: Any = missing
        if is_path(missing):
            mask = opened(missing, "missing")
        elif not is_sliced(missing):
            mask = check_array(missing, "missing")
        axis = check_mask(mask.dtype, tuple(mask.shape), source)
        return cls(source, hidden, Source(mask, "missing", axis))

    def read(self, part: Slices) -> tuple[Numbers, Mask]:
        """A part and where it has gaps, finite elsewhere."""
        source, axis = self.source, self.source.channel_axis
        samples, gaps = source.read(part), np.zeros((), bool)
        if self._missing is not None:
            gaps = truths(self._missing.read(part))
            if gaps.ndim < samples.ndim and axis is not None:
                gaps = np.expand_dims(gaps, axis)
        if self._hidden is not None:
            gaps = gaps | self._hidden[with_channels(part, axis)]
        if self._nan:
            gaps = gaps | np.isnan(samples)
        gaps = np.broadcast_to(gaps, samples.shape)
        check_observed(samples, gaps, source.name)
        return samples, gaps

    def read_around(self, tile: Tile, overlap: tuple[int, ...]) -> tuple[Numbers, Mask, Tile]:
        """A tile with what lies around it, which is more where nothing of it is observed."""
        axis, shape = self.source.channel_axis, self.source.spatial
        everything = tuple(slice(0, n) for n in shape)
        while True:
            samples, gaps = self.read(tile.outer)
            if observed(gaps, axis) or tile.outer == everything:
                return samples, gaps, tile
            overlap = tuple(2 * k for k in overlap)
            tile = tile.within(shape, overlap)

    def samples(self, most: int) -> list[tuple[Numbers, Mask]]:
        """Parts to learn from, of which something is observed."""
        source = self.source
        parts = map(self.read, samples_of(source.spatial, source.channels, most))
        seen = [part for part in parts if observed(part[1], source.channel_axis)]
        # Where next to nothing is, all of it is looked at.
        return seen or [self.read(tuple(slice(0, n) for n in source.spatial))]

    def survey(self, what: str = "samples") -> Survey:
        """Raises a ValueError where nothing is observed; `what` errors call the samples."""
        axis = self.source.channel_axis
        parts = (Survey.of(*self.read(part), axis) for part in self.source.parts())
        return Survey.joined(parts, prod(self.source.spatial), what)


def check_observed(samples: Numbers, gaps: Mask, name: str) -> None:
    if samples.dtype.kind == "f" and not (np.isfinite(samples) | gaps).all():
        raise ValueError(f"{name} contains NaN or infinity where it is not missing")


def without(samples: Numbers, gaps: Mask, others: Any = 0) -> Numbers:
    """Samples with others in the gaps: those of an array, or one value."""
    others = np.asarray(others)
    if others.ndim == 0:
        others = others.astype(samples.dtype).reshape((1,) * samples.ndim)
    # By bits, where there are as many.
    if others.dtype == samples.dtype and samples.itemsize <= np.dtype(np.int64).itemsize:
        return keep_observed(others, samples, gaps)
    return np.where(gaps, others, samples)


def check_mask(dtype: DType, shape: tuple[int, ...], source: Source) -> int | None:
    """Whether a mask is one, and the axis of channels that it has."""
    if dtype != np.bool_:
        raise TypeError(f"missing must be boolean, got dtype {dtype}")
    if shape not in (source.shape, source.spatial):
        raise ValueError(
            f"missing must have the shape of {source.name}, {source.shape}, got {shape}"
        )
    return source.channel_axis if shape == source.shape else None


def observed(gaps: Mask, channel_axis: int | None) -> bool:
    """Whether something is observed of every channel."""
    return not any(channel.all() for channel in channels_first(gaps, channel_axis))


def split_masked(array: ArrayLike) -> tuple[ArrayLike, Mask | None]:
    """What a masked array holds and where it is masked; None of others."""
    if isinstance(array, np.ma.MaskedArray):
        return array.data, np.ma.getmaskarray(array)
    return array, None


def checked_steps(
    stride: Sizes | None, default: tuple[int, ...], shape: tuple[int, ...]
) -> tuple[int, ...]:
    """Steps from patch to patch that leave no sample out."""
    steps = default if stride is None else check_each(stride, "stride", len(shape))
    if not all(k <= n for k, n in zip(steps, shape, strict=True)):
        raise ValueError(f"stride must be between 1 and the patch, {shape}, got {stride!r}")
    return steps
