"""Ways of looking at an array: patches of some shapes, each in the domain of a transform.

What is restored is the mean over all patches of all views. Which views there are depends on the
number of axes only; the transforms are learned from the array itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from fost._typing import Numbers
from fost.restoration.adaptation import adapted, general
from fost.restoration.grid import PATCHES, Grid, check_covers
from fost.restoration.shrinkage import threshold, wiener
from fost.transforms import DCT, Coder

# A coefficient is kept where it exceeds so many standard deviations of the noise.
_THRESHOLD = {1: 2.8, 2: 2.6, 3: 2.7}
_ROTATIONS_PER_SAMPLE = 4
_ITERATIONS = 5


@dataclass(frozen=True)
class Outlook:
    """Patches of one shape, and how to come to their transform.

    Members is how many transforms are learned, several as a bank, or 0 for the DCT. Steps are how
    many times the stride of the caller it is from patch to patch.
    """

    shape: tuple[int, ...]
    members: int = 0
    steps: tuple[int, ...] | None = None


# The first is for the patch that a caller asks for, and then the only one. Longer patches are
# better where an array is smooth, shorter ones at edges. (More weight for any of them gains there
# and loses elsewhere.)
_OUTLOOKS = {
    1: (Outlook(PATCHES[1], 4), Outlook((32,), 1), Outlook((128,), 1)),
    2: (Outlook(PATCHES[2], 1), Outlook((16, 16), 0, (4, 1))),
    3: (Outlook(PATCHES[3], 1), Outlook((4, 4, 4), 1)),
}


@dataclass(frozen=True)
class View:
    """Patches at some places of an array, in the domain of a transform."""

    transform: Coder
    grid: Grid


def views_with(
    dictionary: Coder, array: Numbers, shape: tuple[int, ...], stride: tuple[int, ...]
) -> list[View]:
    """The one view that a caller's dictionary gives."""
    grid = Grid.over(array.shape, shape, stride)
    check_covers(grid)
    return [View(dictionary, grid)]


def learned_views(
    array: Numbers,
    sigma: float,
    shape: tuple[int, ...],
    stride: tuple[int, ...],
    alone: bool,
    random: np.random.Generator,
) -> list[View]:
    """Views whose transforms are learned from what the DCT makes of an array."""
    first, *others = _OUTLOOKS[array.ndim]
    outlooks = [Outlook(shape, first.members)]
    for other in () if alone else others:
        if all(k <= n for k, n in zip(other.shape, array.shape, strict=True)):
            outlooks.append(other)
    grids = [_grid(array, outlook, stride) for outlook in outlooks]
    check_covers(grids[0])
    level = _THRESHOLD[array.ndim] * sigma
    smooth = mean([threshold(array, DCT(shape), grids[0], level)])
    chosen = (_transform(smooth, outlook, random) for outlook in outlooks)
    return [View(transform, grid) for transform, grid in zip(chosen, grids, strict=True)]


def _grid(array: Numbers, outlook: Outlook, stride: tuple[int, ...]) -> Grid:
    times = outlook.steps or (1,) * array.ndim
    sizes = zip(outlook.shape, stride, times, strict=True)
    if outlook.steps is None:
        return Grid.over(array.shape, outlook.shape, stride)
    return Grid.over(array.shape, outlook.shape, tuple(min(n, k * t) for n, k, t in sizes))


def _transform(smooth: Numbers, outlook: Outlook, random: np.random.Generator) -> Coder:
    if outlook.members == 0:
        return DCT(outlook.shape)
    count = _ROTATIONS_PER_SAMPLE * prod(outlook.shape)
    learned = adapted(smooth, outlook.shape, random, count, _ITERATIONS, n_members=outlook.members)
    return learned or general(outlook.shape)


def restored(array: Numbers, sigma: float, views: list[View], second_pass: bool) -> Numbers:
    """An array with noise of a level, without it."""
    level = _THRESHOLD[array.ndim] * sigma
    pilot = mean([threshold(array, view.transform, view.grid, level) for view in views])
    if not second_pass:
        return pilot
    return mean([wiener(array, pilot, view.transform, view.grid, sigma) for view in views])


def mean(parts: list[tuple[Numbers, Numbers]]) -> Numbers:
    """The array that sums and weights of all views make."""
    sums, weights = parts[0]
    for more, heavier in parts[1:]:
        sums += more
        weights += heavier
    sums /= weights
    return sums
