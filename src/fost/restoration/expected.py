"""Missing samples by what is to be expected, given what is observed.

Of patches, under a Gaussian or a mixture of them that is learned from all patches, gaps and all; of
signals, under the rule of an autoregression instead, where that is better.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from fost._typing import Floats, Numbers
from fost.gaps import learn
from fost.restoration.arrays import cropped, padded
from fost.restoration.assembly import Assembler
from fost.restoration.autoregressive import predicted
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
_ORDERS = (8, 16, 32, 64)
_FEWEST, _HIDDEN = 16, 0.3

Way = Callable[[Floats, Mask], Floats | None]


def by_gaussian(
    array: Numbers,
    missing: Mask,
    shape: tuple[int, ...],
    stride: Sizes | None,
    random: np.random.Generator,
) -> Numbers:
    """An array whose gaps are filled by what is to be expected given what is observed."""
    samples = array.astype(np.float64, copy=False)
    patchwise: Way = partial(_by_patches, shape=shape, stride=stride, random=random)
    ways = [patchwise]
    if array.ndim == 1:
        ways += [partial(predicted, order=order) for order in _ORDERS]
        ways = _best_first(ways, samples, missing, random)
    for way in ways:
        filled = way(samples, missing)
        if filled is not None:
            return filled.astype(array.dtype, copy=False)
    raise AssertionError("patches fill every array")


def _best_first(
    ways: list[Way], signal: Floats, missing: Mask, random: np.random.Generator
) -> list[Way]:
    """Ways by their errors of observed samples that are hidden from them."""
    hidden = _like_gaps(missing, random)
    if hidden.sum() < _FEWEST:
        return ways
    errors = []
    for way in ways:
        filled = way(signal, missing | hidden)
        squares = np.inf if filled is None else np.square((filled - signal)[hidden]).sum()
        errors.append(float(squares))
    return [ways[k] for k in np.argsort(errors, kind="stable")]


def _like_gaps(missing: Mask, random: np.random.Generator) -> Mask:
    """Observed samples in runs like the missing ones, apart from them where that can be."""
    elsewhere = np.roll(missing, int(random.integers(len(missing))))
    begins = elsewhere & ~np.r_[False, elsewhere[:-1]]
    run = np.cumsum(begins) * elsewhere  # the number of the run that a sample is in, or 0
    count = int(run.max(initial=0)) + 1
    taken = random.random(count) < _HIDDEN
    taken[0] = False
    near = missing | np.r_[missing[1:], False] | np.r_[False, missing[:-1]]
    apart = taken.copy()
    apart[run[near]] = False
    hidden = apart[run]
    return np.asarray(hidden if hidden.sum() >= _FEWEST else taken[run] & ~missing)


def _by_patches(
    array: Floats,
    missing: Mask,
    shape: tuple[int, ...],
    stride: Sizes | None,
    random: np.random.Generator,
) -> Floats:
    """An array whose patches are filled by their mean given what is observed of them.

    Where patches overlap, what is more certain counts more. Of an array that has too few patches
    to learn from, patches are smaller, and at last it is filled smoothly.
    """
    while prod(shape) > 1 and prod(array.shape) < _LEAST * prod(shape):
        shape = tuple(max(1, k // 2) for k in shape)
    steps = tuple(max(1, k // 8) for k in shape)
    if stride is not None:
        steps = checked_steps(stride, steps, shape)
    known, holes = padded(array, shape), padded(missing, shape)
    rows = _examples(np.where(holes, np.nan, known), shape, random)
    if prod(shape) == 1 or np.isnan(rows).all(axis=0).any():
        return fill(array, missing)[0]
    usual = learn(rows, random_state=random)
    assembler = Assembler(known.shape, shape, steps)
    parts = (blocks(plane, shape, steps) for plane in (known, holes))
    for (where, rows), (_, marks) in zip(*parts, strict=True):
        expected, spread = usual.fill(rows, marks > 0, return_std=True)
        assembler.add(where, expected, 1 / (np.square(spread) + _LEAST_VARIANCE))
    return cropped(assembler.result(), array.shape)


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
