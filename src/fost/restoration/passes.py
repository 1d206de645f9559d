"""Missing samples by passes over all patches with a threshold that falls from one to the next."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from fost import _core
from fost._progress import progress
from fost._typing import Numbers
from fost.restoration.adaptation import adapted, general
from fost.restoration.arrays import cropped, padded
from fost.restoration.filling import fill
from fost.restoration.gaps import Mask, checked_steps
from fost.restoration.grid import Sizes
from fost.restoration.shrinkage import go_on, threshold_at
from fost.transforms import DCT, Coder

# Thresholds fall from the first to the last, for values from 0 to 1; the first is lower where
# little is missing, because the start is better then.
_FIRST, _LAST = 0.4, 0.006
# How far beyond the shrunk array a pass goes: 1 is to it, 2 is as far again. Patterns are found by
# going far and often; irregular texture is better off with less.
_BOLD, _GENTLE = 1.7, 1.0
# The share of its last step that a bold pass goes again: fewer passes lead as far.
_MOMENTUM = 0.3
# Passes for a share f of missing samples: this over (1 - f)^2, within limits; and how many times
# fewer gentle ones.
_PASSES, _FEWEST, _MOST, _FEWER = 15, 36, 80, 4
# The share of observed samples that tell how much of both to take, and how many it takes. Holes
# that are wider than this power of two are not like single samples, which say nothing about them.
_HIDDEN, _LEAST_HIDDEN, _WIDEST = 0.03, 64, 2
# Passes that are added where they pay: so many at most, down to this share of the last threshold;
# after every so many the error of hidden samples must be less than this share of the least so far,
# but for so many times in a row. Where a greater share is missing, hidden samples are too few.
_MORE, _LOWEST, _EVERY, _PAYS, _PATIENCE = 40, 0.3, 5, 0.99, 1
_JUDGED = 0.6
# Errors that rise to more than this many times the least do not fall again, unless they are small:
# what is found nearly exactly (something smooth, patterns) gains from lower thresholds by leaps.
_RISEN, _ROUGH = 1.002, 0.015
_ROTATIONS_PER_SAMPLE = 1
_ITERATIONS = 2
_PATCHES_PER_SAMPLE = 64


def by_shrinkage(
    array: Numbers,
    missing: Mask,
    dictionary: Coder | None,
    shape: tuple[int, ...],
    stride: Sizes | None,
    max_iter: int | None,
    random: np.random.Generator,
    verbose: bool,
    share: float | None = None,
) -> tuple[Numbers, Shrinking]:
    """An array whose missing samples are found by passes, bold and gentle ones; and how.

    `share` is that of missing samples, if the array stands for another one.
    """
    steps = checked_steps(stride, (*shape[:-1], 1), shape)
    known, holes = padded(array, shape), padded(missing, shape)
    share = float(missing.mean()) if share is None else share
    hidden = np.zeros_like(holes) if max_iter is not None else _some_of(~holes, _HIDDEN, random)
    start, n_scales = fill(known, holes | hidden)
    wanted = max(_PASSES / max(1 - share, 0.05) ** 2, 5 * n_scales)
    count = round(min(max(wanted, _FEWEST), _MOST)) if max_iter is None else max_iter
    bold = Passes(shape, steps, count, _BOLD)
    if n_scales > _WIDEST or hidden.sum() < _LEAST_HIDDEN:
        start, _ = fill(known, holes)
        reached = bold.run(start, holes, dictionary, random, verbose)
        how = Shrinking(bold, None, dictionary, reached.learned, 1.0, share)
        return cropped(reached.estimate, array.shape), how
    gentle = Passes(shape, steps, bold.count // _FEWER, _GENTLE)
    judge = Judge(known, hidden) if share <= _JUDGED else None
    far = bold.run(start, holes | hidden, dictionary, random, verbose, judge=judge)
    near = gentle.run(start, holes | hidden, dictionary, random, verbose, far.learned)
    part = share_of(near.estimate, far.estimate, known, hidden)
    bold = replace(bold, more=far.passes - bold.count)
    how = Shrinking(bold, gentle, dictionary, far.learned, part, share)
    return cropped(between(near.estimate, far.estimate, part), array.shape), how


@dataclass(frozen=True)
class Shrinking:
    """How the gaps of one array were filled, for others of its kind."""

    bold: Passes
    gentle: Passes | None
    dictionary: Coder | None
    learned: Coder | None
    part: float  # of the bold passes
    share: float  # of missing samples

    def __call__(self, array: Numbers, missing: Mask, random: np.random.Generator) -> Numbers:
        known, holes = padded(array, self.bold.shape), padded(missing, self.bold.shape)
        start, _ = fill(known, holes)
        rest = holes, self.dictionary, random, False, self.learned
        far = self.bold.run(start, *rest, share=self.share).estimate
        if self.gentle is not None:
            near = self.gentle.run(start, *rest, share=self.share).estimate
            far = between(near, far, self.part)
        return cropped(far, array.shape)


@dataclass(frozen=True)
class Reached:
    """Where passes have led to."""

    estimate: Numbers
    learned: Coder | None  # half-way
    passes: int  # that it took


@dataclass(frozen=True)
class Passes:
    """Passes over all patches with a threshold that falls from one to the next."""

    shape: tuple[int, ...]
    steps: tuple[int, ...]
    count: int
    relaxation: float
    more: int = 0  # than planned

    def run(
        self,
        start: Numbers,
        holes: Mask,
        dictionary: Coder | None,
        random: np.random.Generator,
        verbose: bool,
        learned: Coder | None = None,
        judge: Judge | None = None,
        share: float | None = None,
    ) -> Reached:
        """What becomes of a start, and the transform that was learned half-way, if one was.

        With a judge there are more passes than planned, as long as they pay.

        Without a dictionary, the second half of the passes uses one that is learned, unless that
        has been done already. The first threshold follows from the share of what is missing.
        """
        estimate = start.copy()
        transform: Coder = dictionary if dictionary is not None else DCT(self.shape)
        share = float(holes.mean()) if share is None else share
        first = _LAST + (_FIRST - _LAST) * share
        found, error, idle = Reached(estimate, learned, 0), np.inf, 0
        velocity, overlay = np.zeros_like(estimate), (np.zeros_like(start), np.zeros_like(start))
        pace = self.relaxation, _MOMENTUM if self.relaxation > 1 else 0.0
        most = self.count + (_MORE if judge else self.more)
        with progress("iteration", most, verbose) as advance:
            for k, level in enumerate(self._levels(first, most)):
                if dictionary is None and k == self.count // 2:
                    learned = learned or _adapted(estimate, holes, self.shape, random)
                    transform = learned
                sizes = zip(estimate.shape, self.shape, self.steps, strict=True)
                starts = [_starts(*each, random) for each in sizes]
                blocks = transform, self.shape, starts, level
                if k == most - 1 if judge is None else self._judged(k):
                    sums, weights = threshold_at(estimate, *blocks, overlay)
                    reached = estimate + (sums / weights - estimate) * holes
                    now = judge(reached) if judge else 0.0
                    idle = 0 if now < _PAYS * error else idle + 1
                    if idle > _PATIENCE or (now > _RISEN * error and now > _ROUGH**2):
                        break
                    if now < error:
                        found, error = Reached(reached, learned, k + 1), now
                    if k < most - 1:
                        _core.advance(estimate, velocity, *overlay, holes, *pace)
                else:
                    go_on(estimate, velocity, holes, *blocks, *pace, overlay)
                advance(k + 1, "")
        return found

    def _judged(self, k: int) -> bool:
        """Whether the error of hidden samples is looked at after this pass."""
        beyond = k - (self.count - 1)
        return beyond >= 0 and beyond % _EVERY == 0

    def _levels(self, first: float, most: int) -> list[float]:
        """Thresholds of the passes, which go on falling where there are more than planned."""
        planned = np.geomspace(first, _LAST, self.count)
        more = _LAST * np.geomspace(1, _LOWEST, _MORE + 1)[1:]
        return [float(level) for level in np.r_[planned, more][:most]]


@dataclass(frozen=True)
class Judge:
    """The mean squared error of known samples that are hidden from an estimate."""

    known: Numbers
    hidden: Mask

    def __call__(self, estimate: Numbers) -> float:
        places, truth = self._truth
        apart = estimate.ravel()[places].astype(np.float64) - truth
        return float(apart @ apart) / len(truth)

    @cached_property
    def _truth(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Where the hidden samples are, and what they are."""
        places = np.flatnonzero(self.hidden)
        return places, self.known.ravel()[places].astype(np.float64)


def _some_of(observed: Mask, share: float, random: np.random.Generator) -> Mask:
    """A share of what is observed; also where the mask was drawn by a generator of the same seed.

    Numbers below a limit would be those that the mask has taken already.
    """
    places = np.flatnonzero(observed)
    hidden = np.zeros(observed.shape, bool)
    hidden.flat[random.choice(places, round(share * len(places)), replace=False)] = True
    return hidden


def share_of(near: Numbers, far: Numbers, known: Numbers, hidden: Mask) -> float:
    """How far from one estimate to another known samples lie that are hidden from both."""
    places = np.flatnonzero(hidden)
    start, end, truth = (each.ravel()[places].astype(np.float64) for each in (near, far, known))
    way = end - start
    length = float(way @ way)
    part = float((truth - start) @ way) / length if length > 0 else 0.0
    return min(max(part, 0.0), 1.0)


def between(near: Numbers, far: Numbers, part: float) -> Numbers:
    """So far on the way from one estimate to another."""
    mixed: Numbers = near + near.dtype.type(part) * (far - near)
    return mixed


def _adapted(
    estimate: Numbers, holes: Mask, shape: tuple[int, ...], random: np.random.Generator
) -> Coder:
    """A transform learned from what has been found, or a general one where that is too little."""
    n = prod(shape)
    learned = adapted(
        [estimate],
        shape,
        random,
        _ROTATIONS_PER_SAMPLE * n,
        _ITERATIONS,
        trusted=[~holes],
        most=_PATCHES_PER_SAMPLE * n,
    )
    return learned or general(shape)


def _starts(size: int, side: int, step: int, random: np.random.Generator) -> NDArray[np.int32]:
    """Places `step` apart from a random one on, with the first and the last possible one."""
    return _places(size - side, step, int(random.integers(step)))


@lru_cache(maxsize=256)
def _places(last: int, step: int, offset: int) -> NDArray[np.int32]:
    starts = np.arange(offset, last + 1, step, dtype=np.int32)
    before = np.zeros(int(offset > 0), np.int32)
    reached = starts[-1] if starts.size else 0
    after = np.full(int(reached < last), last, np.int32)
    return np.concatenate([before, starts, after])
