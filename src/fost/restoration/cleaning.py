"""How noise is removed from an array: settings, what is learned once, and the work on a part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fost._typing import DType, Numbers
from fost._validation import check_choice, check_each, check_flag, check_number
from fost.restoration.arrays import channels_back, channels_first, cropped, padded
from fost.restoration.best import PASSES, refined
from fost.restoration.colour import recoloured
from fost.restoration.counts import Counts
from fost.restoration.formats import ArrayFormat, to_restore
from fost.restoration.grid import Sizes, check_covers, patch_shape
from fost.restoration.noise import level_of
from fost.restoration.views import Look, learned_looks, looks_with, restored, views_of
from fost.transforms import Coder

# Beyond this, in units of the array's range, noise leaves nothing of it; squares stay small.
_LOUDEST = 1e8
# How far around a tile of a large array restoring looks, by the number of axes: so far that seams
# are much smaller than what is left of the noise (tools/measure_seams.py). Of patches alone it is
# two passes over the longest ones; groups reach farther.
_OVERLAP = {
    "fast": {1: (256,), 2: (32, 32), 3: (8, 16, 16)},
    "best": {1: (2**14,), 2: (48, 48), 3: (16, 16, 16)},
}


def _nothing() -> None:
    """What is done after a pass that nobody waits for."""


@dataclass(frozen=True)
class Cleaning:
    """How noise is removed, in arguments that have been checked."""

    sigma: float | None
    dictionary: Coder | None
    patch: tuple[int, ...]
    alone: bool  # whether there are patches of this shape only
    stride: tuple[int, ...]
    channel_axis: int | None
    second_pass: bool
    quality: str
    counts: Counts | None = None
    name: str = "array"

    @classmethod
    def checked(
        cls,
        ndim: int,
        sigma: float | None,
        dictionary: Coder | None,
        stride: Sizes,
        channel_axis: int | None,
        patch: Sizes | None,
        second_pass: bool,
        quality: str | None,
        counts: Counts | None = None,
        name: str = "array",
    ) -> Cleaning:
        shape = patch_shape(patch, dictionary, ndim)
        second_pass = check_flag(second_pass, "second_pass")
        steps = check_each(stride, "stride", ndim)
        plain = dictionary is None and patch is None and set(steps) == {1} and second_pass
        if quality is None:
            quality = "best" if plain else "fast"
        check_choice(quality, "quality", ("best", "fast"))
        check_covers(shape, steps)
        if sigma is not None:
            sigma = check_number(sigma, "sigma", 0)
        alone, chosen = patch is not None, (channel_axis, second_pass, quality, counts, name)
        return cls(sigma, dictionary, shape, alone, steps, *chosen)

    @property
    def overlap(self) -> tuple[int, ...]:
        """What is looked at around a tile."""
        usual = _OVERLAP[self.quality][len(self.patch)]
        return tuple(max(k, 2 * n) for k, n in zip(usual, self.patch, strict=True))

    def learned(
        self,
        parts: Sequence[Numbers],
        dtype: DType,
        ends: tuple[float, float],
        random: np.random.Generator,
    ) -> Cleaner:
        """What is learned once, from parts of an array of a type and with these extremes."""
        form = result = ArrayFormat.between(dtype, *ends, self.name)
        sigma = self.sigma
        if self.counts is not None:
            parts = [self.counts.stabilised(part) for part in parts]
            low, high = self.counts.stabilised(np.array(ends))
            form = ArrayFormat.between(low.dtype, float(low), float(high), self.name)
            sigma = 1.0
        elif sigma is None:
            sigma = level_of(parts, self.channel_axis)
        level = min(sigma / form.scale, _LOUDEST)
        cleaner = Cleaner(self, result, form, level, ())
        if level == 0:
            return cleaner
        split = [cleaner.planes(part) for part in parts]
        looks = []
        for planes in zip(*split, strict=True):
            if self.dictionary is not None:
                looks.append(looks_with(self.dictionary, self.patch))
                continue
            whole = [padded(plane, self.patch) for plane in planes]
            options = self.patch, self.stride, self.alone, random
            looks.append(learned_looks(whole, level, *options))
        return Cleaner(self, result, form, level, tuple(looks))

    def passes(self, channels: int) -> int:
        """Over each part of an array."""
        groups = PASSES[len(self.patch)] * (1 if channels == 3 else channels)
        return channels * (1 + self.second_pass) + (groups if self.quality == "best" else 0)


@dataclass(frozen=True)
class Cleaner:
    """What removes the noise from all parts of an array alike."""

    way: Cleaning
    result: ArrayFormat  # of the array
    form: ArrayFormat  # of what noise is removed from
    level: float  # of the noise, in units of that
    looks: tuple[list[Look], ...]  # at each channel

    def __call__(self, samples: Numbers, done: Callable[[], None] = _nothing) -> Numbers:
        """A part of the array without noise; says when a pass over it is `done`."""
        way = self.way
        if self.level == 0:
            return samples.copy()
        counted = samples if way.counts is None else way.counts.stabilised(samples)
        noisy = self.planes(counted)
        clean = []
        for plane, looks in zip(noisy, self.looks, strict=True):
            whole = padded(plane, way.patch)
            views = views_of(looks, whole.shape, way.stride)
            found = restored(whole, self.level, views, way.second_pass, done)
            clean.append(cropped(found, plane.shape))
        if way.quality == "best":
            clean = self._refined(noisy, clean, done)
        together = recoloured(np.stack(clean), back=True) if len(clean) == 3 else clean
        found = self.form.of_unit(channels_back(together, way.channel_axis))
        if way.counts is None:
            return found
        return self.result.of_unit(self.result.unit_of(way.counts.means(found)))

    def planes(self, samples: Numbers) -> Numbers:
        """Channels from 0 to 1, the first of three as luma."""
        unit = to_restore(self.form, samples, self.level)
        channels = channels_first(unit, self.way.channel_axis)
        return recoloured(channels) if len(channels) == 3 else channels

    def _refined(
        self, noisy: Numbers, clean: list[Numbers], done: Callable[[], None]
    ) -> list[Numbers]:
        """Better planes, by groups that are found in luma, or in each channel by itself."""
        if len(clean) == 3:
            return list(refined(noisy, np.stack(clean), self.level, done))
        pairs = zip(noisy, clean, strict=True)
        return [refined(plane[None], pilot[None], self.level, done)[0] for plane, pilot in pairs]
