"""How gaps are filled: settings, what is learned once, and the work on a part of an array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fost._progress import steps
from fost._typing import Numbers
from fost._validation import check_choice, check_each, check_integer, check_number
from fost.restoration.adaptation import general
from fost.restoration.arrays import channels_back, channels_first
from fost.restoration.expected import ORDERS, by_expectation
from fost.restoration.formats import ArrayFormat, to_restore
from fost.restoration.gaps import Mask, without
from fost.restoration.grid import Sizes, patch_shape
from fost.restoration.passes import by_shrinkage
from fost.restoration.pursued import Pursuing
from fost.transforms import Coder

# More passes than this are refused: all their thresholds are computed at the start.
_MOST_ASKED = 10**6
# Above this share of missing samples, pictures are better off with larger patches.
_LARGE, _LARGE_SHAPES = 0.6, {1: (64,), 2: (16, 16), 3: (4, 8, 8)}
# Longer windows tell more of what is to be expected.
_EXPECTED: dict[int, tuple[int, ...]] = {1: (128,)}
# How far around a tile of a large array filling looks, by the number of axes.
_OVERLAP = {1: (1024,), 2: (48, 48), 3: (16, 16, 16)}
METHODS = ("shrinkage", "pursuit", "gaussian")

# What fills one channel of an array.
Filler = Callable[[Numbers, Mask, np.random.Generator], Numbers]


@dataclass(frozen=True)
class Way:
    """How gaps are filled, in arguments that have been checked."""

    ndim: int
    method: str
    dictionary: Coder | None
    patch: Sizes | None
    stride: Sizes | None
    n_nonzero_coefs: int
    max_iter: int | None
    prior: float

    @classmethod
    def checked(
        cls,
        ndim: int,
        method: str | None,
        dictionary: Coder | None,
        patch: Sizes | None,
        stride: Sizes | None,
        n_nonzero_coefs: int,
        max_iter: int | None,
        prior: float,
        methods: tuple[str, ...] = METHODS,
    ) -> Way:
        if method is None:
            method = "gaussian" if ndim == 1 and dictionary is None else "shrinkage"
        check_choice(method, "method", methods)
        prior = check_number(prior, "prior", 0, 1)
        if max_iter is not None:
            max_iter = check_integer(max_iter, "max_iter", 0, _MOST_ASKED)
        if stride is not None:
            stride = check_each(stride, "stride", ndim)
        n_nonzero_coefs = check_integer(n_nonzero_coefs, "n_nonzero_coefs", 1, 2**31 - 1)
        # Checked also where nothing is missing.
        patch_shape(patch, dictionary, ndim, unions=method == "pursuit")
        if method == "gaussian" and dictionary is not None:
            raise ValueError("dictionary must be None for method='gaussian', which learns its own")
        return cls(ndim, method, dictionary, patch, stride, n_nonzero_coefs, max_iter, prior)

    @property
    def overlap(self) -> tuple[int, ...]:
        """What is looked at around a tile."""
        shape = patch_shape(self.patch, self.dictionary, self.ndim, self.method == "pursuit")
        return tuple(max(k, 4 * n) for k, n in zip(_OVERLAP[self.ndim], shape, strict=True))

    def whole(
        self,
        samples: Numbers,
        gaps: Mask,
        channel_axis: int | None,
        form: ArrayFormat,
        random: np.random.Generator,
        verbose: bool,
    ) -> Numbers:
        """All samples with their gaps filled, by what is learned from them."""
        planes = zip(*self._channels(samples, gaps, channel_axis, form), strict=True)
        whole = []
        for plane, holes in planes if gaps.any() else ():
            filler, filled = self._learned(plane, holes, None, random, verbose)
            whole.append(filler(plane, holes, random) if filled is None else filled)
        return self._back(samples, gaps, whole, channel_axis, form) if whole else samples.copy()

    def learned(
        self,
        parts: Sequence[tuple[Numbers, Mask]],
        channel_axis: int | None,
        form: ArrayFormat,
        shares: Sequence[float],
        random: np.random.Generator,
    ) -> Fillers:
        """What is learned once, from parts of an array; the shares are of what is missing of it."""
        split = [self._channels(*part, channel_axis, form) for part in parts]
        fillers = []
        for channel, share in enumerate(shares):
            some = [(planes[channel], holes[channel]) for planes, holes in split]
            plane, holes = self._stacked(some)
            fillers.append(self._learned(plane, holes, float(share), random, False)[0])
        return Fillers(self, tuple(fillers), channel_axis, form, int(random.integers(2**63)))

    def _stacked(self, parts: list[tuple[Numbers, Mask]]) -> tuple[Numbers, Mask]:
        """Parts below each other, so far apart that no patch sees two of them."""
        if len(parts) == 1:
            return parts[0]
        plane = parts[0][0]
        between = (max(self.overlap[0] // 4, _EXPECTED.get(self.ndim, (0,))[0]), *plane.shape[1:])
        empty = np.zeros(between, plane.dtype), np.ones(between, bool)
        rows = [each for part in parts for each in (part, empty)][:-1]
        planes, holes = zip(*rows, strict=True)
        return np.concatenate(planes), np.concatenate(holes)

    def _channels(
        self, samples: Numbers, gaps: Mask, channel_axis: int | None, form: ArrayFormat
    ) -> tuple[list[Numbers], list[Mask]]:
        """From 0 to 1, with zeros in the gaps; and the gaps."""
        known = without(samples, gaps)
        unit = form.unit_of(known) if self._free else to_restore(form, known)
        each = (channels_first(array, channel_axis) for array in (unit, gaps))
        planes, holes = ([np.ascontiguousarray(k) for k in array] for array in each)
        return planes, holes

    @property
    def _free(self) -> bool:
        """Whether a gap may hide a peak, which is to be expected from what is beside it."""
        return self.method == "gaussian"

    def _back(
        self,
        samples: Numbers,
        gaps: Mask,
        planes: list[Numbers],
        channel_axis: int | None,
        form: ArrayFormat,
    ) -> Numbers:
        found = form.of_unit(channels_back(planes, channel_axis), bounded=not self._free)
        return without(samples, gaps, found)

    def _learned(
        self,
        plane: Numbers,
        holes: Mask,
        share: float | None,
        random: np.random.Generator,
        verbose: bool,
    ) -> tuple[Filler, Numbers | None]:
        """What fills arrays like a plane, and the plane filled, if it is already."""
        shape = patch_shape(self.patch, self.dictionary, plane.ndim, self.method == "pursuit")
        if self.method == "gaussian":
            shape = _EXPECTED.get(plane.ndim, shape) if self.patch is None else shape
            with steps("filling, step", 1 + len(ORDERS), verbose) as done:
                return by_expectation(plane, holes, shape, self.stride, random, done), None
        if self.method == "pursuit":
            chosen = self.dictionary if self.dictionary is not None else general(shape)
            options = self.stride, self.n_nonzero_coefs, self.prior
            return Pursuing.learned(plane, holes, chosen, shape, *options), None
        usual = self.patch is None and self.dictionary is None
        if usual and (holes.mean() if share is None else share) > _LARGE:
            shape = _LARGE_SHAPES[plane.ndim]
        options_of_passes = self.stride, self.max_iter, random, verbose, share
        filled, filler = by_shrinkage(plane, holes, self.dictionary, shape, *options_of_passes)
        return filler, filled


@dataclass(frozen=True)
class Fillers:
    """What fills all parts of an array alike, channel by channel."""

    way: Way
    fillers: tuple[Filler, ...]
    channel_axis: int | None
    form: ArrayFormat
    seed: int

    def __call__(self, samples: Numbers, gaps: Mask, number: tuple[int, ...]) -> Numbers:
        """A part with its gaps filled; random numbers follow from which part it is."""
        random = np.random.default_rng((self.seed, *number))
        each = self.way._channels(samples, gaps, self.channel_axis, self.form)
        whole = [
            filler(plane, holes, random)
            for filler, plane, holes in zip(self.fillers, *each, strict=True)
        ]
        return self.way._back(samples, gaps, whole, self.channel_axis, self.form)
