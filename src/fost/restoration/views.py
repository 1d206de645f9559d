"""Ways of looking at an array: patches of some shapes, each in the domain of a transform.

What is restored is the mean over all patches of all views. Which views there are depends on the
number of axes only; the transforms are learned from the array itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from fost._typing import Numbers
from fost.restoration.adaptation import adapted, general
from fost.restoration.grid import PATCHES, Grid
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
class Look:
    """Patches of an outlook in the domain of the transform that was found for them."""

    outlook: Outlook
    transform: Coder

    def fits(self, shape: tuple[int, ...]) -> bool:
        return _fits(self.outlook, shape)


@dataclass(frozen=True)
class View:
    """Patches at some places of an array, in the domain of a transform."""

    transform: Coder
    grid: Grid


def looks_with(dictionary: Coder, shape: tuple[int, ...]) -> list[Look]:
    """The one look that a caller's dictionary gives."""
    return [Look(Outlook(shape), dictionary)]


def learned_looks(
    arrays: Sequence[Numbers],
    sigma: float,
    shape: tuple[int, ...],
    stride: tuple[int, ...],
    alone: bool,
    random: np.random.Generator,
) -> list[Look]:
    """Looks whose transforms are learned from what the DCT makes of an array, or parts of it."""
    ndim, sides = len(shape), arrays[0].shape
    first, *others = _OUTLOOKS[ndim]
    outlooks = [Outlook(shape, first.members)]
    outlooks += [other for other in ([] if alone else others) if _fits(other, sides)]
    level = _THRESHOLD[ndim] * sigma
    grid = Grid.over(sides, shape, stride)
    smooth = [mean([threshold(array, DCT(shape), grid, level)]) for array in arrays]
    return [Look(outlook, _transform(smooth, outlook, random)) for outlook in outlooks]


def views_of(looks: Sequence[Look], shape: tuple[int, ...], stride: tuple[int, ...]) -> list[View]:
    """Those of an array of some shape, at least as large as the first patch."""
    return [
        View(look.transform, _grid(shape, look.outlook, stride))
        for look in looks
        if look.fits(shape)
    ]


def _fits(outlook: Outlook, shape: tuple[int, ...]) -> bool:
    return all(k <= n for k, n in zip(outlook.shape, shape, strict=True))


def _grid(shape: tuple[int, ...], outlook: Outlook, stride: tuple[int, ...]) -> Grid:
    if outlook.steps is None:
        return Grid.over(shape, outlook.shape, stride)
    sizes = zip(outlook.shape, stride, outlook.steps, strict=True)
    return Grid.over(shape, outlook.shape, tuple(min(n, k * t) for n, k, t in sizes))


def _transform(smooth: list[Numbers], outlook: Outlook, random: np.random.Generator) -> Coder:
    if outlook.members == 0:
        return DCT(outlook.shape)
    count = _ROTATIONS_PER_SAMPLE * prod(outlook.shape)
    learned = adapted(smooth, outlook.shape, random, count, _ITERATIONS, n_members=outlook.members)
    return learned or general(outlook.shape)


def restored(
    array: Numbers,
    sigma: float,
    views: Sequence[View],
    second_pass: bool,
    done: Callable[[], None] = lambda: None,
) -> Numbers:
    """An array with noise of a level, without it; says when a pass over it is `done`."""
    level = _THRESHOLD[array.ndim] * sigma
    clean = mean(threshold(array, view.transform, view.grid, level) for view in views)
    done()
    if second_pass:
        clean = mean(wiener(array, clean, view.transform, view.grid, sigma) for view in views)
        done()
    return clean


def mean(parts: Iterable[tuple[Numbers, Numbers]]) -> Numbers:
    """The array that sums and weights of all views make."""
    each = iter(parts)
    sums, weights = next(each)
    for more, heavier in each:
        sums += more
        weights += heavier
    sums /= weights
    return sums
