"""Missing samples by what is to be expected, given what is observed.

Of patches, under a Gaussian or a mixture of them that is learned from all patches, gaps and all; of
signals, under the rule of an autoregression instead, where that is better.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.ndimage import binary_dilation

from fost._typing import Floats, Numbers
from fost.imputation import Mixture, fit_mixture
from fost.restoration.arrays import cropped, padded
from fost.restoration.assembly import Assembler
from fost.restoration.autoregressive import rule_of
from fost.restoration.filling import fill
from fost.restoration.gaps import Mask, checked_steps
from fost.restoration.grid import Sizes
from fost.restoration.patches import blocks

# Patches that learning looks at, at most; and at least so many for each of their samples, below
# which a smaller patch is used.
_MOST, _LEAST = 8192, 8
# No sample is more certain than this, for values from 0 to 1.
_LEAST_VARIANCE = 1e-12
# Orders of autoregressions that are tried, and observed samples that decide: at least so many, and
# of those that lie as the gaps do, elsewhere, this share.
ORDERS = (8, 16, 32, 64)
_FEWEST, _HIDDEN = 16, 0.3

# What fills an array, perhaps, by random numbers; and what finds that out from an array.
Filler = Callable[[Floats, Mask, np.random.Generator], Floats | None]
Learner = Callable[[Floats, Mask], Filler | None]


@dataclass(frozen=True)
class Expecting:
    """Gaps are filled by what is to be expected: by the first of some ways that can."""

    ways: tuple[Filler, ...]

    def __call__(self, array: Numbers, missing: Mask, random: np.random.Generator) -> Numbers:
        samples = array.astype(np.float64, copy=False)
        for way in self.ways:
            filled = way(samples, missing, random)
            if filled is not None:
                return filled.astype(array.dtype, copy=False)
        raise AssertionError("patches fill every array")


def by_expectation(
    array: Numbers,
    missing: Mask,
    shape: tuple[int, ...],
    stride: Sizes | None,
    random: np.random.Generator,
    done: Callable[[], None],
) -> Expecting:
    """What suits an array best; says when one of the ways that were tried is `done`."""
    samples = array.astype(np.float64, copy=False)
    learners: list[Learner] = [partial(_patchwise, shape=shape, stride=stride, random=random)]
    if array.ndim == 1:
        learners += [partial(rule_of, order=order) for order in ORDERS]
        learners = _best_first(learners, samples, missing, random, done)
    ways: list[Filler] = []
    for learner in learners:
        way = learner(samples, missing)
        if way is not None:
            ways.append(way)
        if isinstance(way, _Patchwise):  # which fill every array
            break
    return Expecting(tuple(ways))


def _best_first(
    learners: list[Learner],
    signal: Floats,
    missing: Mask,
    random: np.random.Generator,
    done: Callable[[], None],
) -> list[Learner]:
    """Ways by their errors of observed samples that are hidden from them."""
    hidden = _like_gaps(missing, random)
    if hidden.sum() < _FEWEST:
        return learners
    errors = []
    for learner in learners:
        way = learner(signal, missing | hidden)
        filled = None if way is None else way(signal, missing | hidden, random)
        squares = np.inf if filled is None else np.square((filled - signal)[hidden]).sum()
        errors.append(float(squares))
        done()
    return [learners[k] for k in np.argsort(errors, kind="stable")]


def _like_gaps(missing: Mask, random: np.random.Generator) -> Mask:
    """Observed samples in runs like the missing ones, apart from them where that can be.

    As far apart as a run is long, or else they would be harder to fill than those; failing that,
    by a sample.
    """
    elsewhere = np.roll(missing, int(random.integers(len(missing))))
    begins = elsewhere & ~np.r_[False, elsewhere[:-1]]
    run = np.cumsum(begins) * elsewhere  # the number of the run that a sample is in, or 0
    count = int(run.max(initial=0)) + 1
    taken = random.random(count) < _HIDDEN
    taken[0] = False
    length = int(elsewhere.sum()) // max(1, count - 1)
    for reach in (max(1, length), 1):
        apart = taken.copy()
        apart[run[binary_dilation(missing, iterations=reach)]] = False
        hidden = apart[run]
        if hidden.sum() >= _FEWEST:
            return np.asarray(hidden)
    return np.asarray(taken[run] & ~missing)


@dataclass(frozen=True)
class _Patchwise:
    """Patches are filled by their mean given what is observed of them.

    Where patches overlap, what is more certain counts more. Where too little is known of what is
    usual, the array is filled smoothly.
    """

    usual: Mixture | None
    shape: tuple[int, ...]
    steps: tuple[int, ...]

    def __call__(self, array: Floats, missing: Mask, random: object) -> Floats:
        if self.usual is None:
            return fill(array, missing)[0]
        shape, steps = self.shape, self.steps
        known, holes = padded(array, shape), padded(missing, shape)
        assembler = Assembler(known.shape, shape, steps)
        parts = (blocks(plane, shape, steps) for plane in (known, holes))
        for (where, rows), (_, marks) in zip(*parts, strict=True):
            expected, spread = self.usual.fill(rows, marks > 0, return_std=True)
            assembler.add(where, expected, 1 / (np.square(spread) + _LEAST_VARIANCE))
        return cropped(assembler.result(), array.shape)


def _patchwise(
    array: Floats,
    missing: Mask,
    shape: tuple[int, ...],
    stride: Sizes | None,
    random: np.random.Generator,
) -> _Patchwise:
    """Patches as they are usual in an array; smaller ones where there are too few."""
    while prod(shape) > 1 and prod(array.shape) < _LEAST * prod(shape):
        shape = tuple(max(1, k // 2) for k in shape)
    steps = tuple(max(1, k // 8) for k in shape)
    if stride is not None:
        steps = checked_steps(stride, steps, shape)
    known, holes = padded(array, shape), padded(missing, shape)
    rows = _examples(np.where(holes, np.nan, known), shape, random)
    if prod(shape) == 1 or np.isnan(rows).all(axis=0).any():
        return _Patchwise(None, shape, steps)
    return _Patchwise(fit_mixture(rows, random_state=random), shape, steps)


def _examples(array: Floats, shape: tuple[int, ...], random: np.random.Generator) -> Floats:
    """Patches with NaN for gaps, all that are not missing as a whole or some of them."""
    windows = sliding_window_view(array, shape)
    counts = windows.shape[: array.ndim]
    n_patches = prod(counts)
    chosen = np.arange(n_patches)
    if n_patches > _MOST:
        chosen = np.sort(random.choice(n_patches, _MOST, replace=False))
    rows = windows[np.unravel_index(chosen, counts)].reshape(len(chosen), -1)
    return np.asarray(rows[~np.isnan(rows).all(axis=1)])
