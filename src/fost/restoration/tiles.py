"""Parts of large arrays: overlapping tiles to restore one by one, and samples to learn from.

Both follow from shapes alone, so that an array is cut in the same way wherever it lies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

Slices = tuple[slice, ...]
# Samples that are in work at a time, about, with all channels and without their surroundings:
# restoring takes some ten numbers of float32 for each.
MOST = 2**24
# The sides of samples of an array that is larger than what is learned from, by its number of axes.
_SIDES = {1: 2**16, 2: 256, 3: 48}


@dataclass(frozen=True)
class Tile:
    """A part of an array that is restored by itself, and what is looked at for that."""

    number: tuple[int, ...]  # along each axis
    core: Slices
    outer: Slices

    @property
    def inner(self) -> Slices:
        """The core, counted from where the outer part begins."""
        pairs = zip(self.core, self.outer, strict=True)
        return tuple(slice(c.start - o.start, c.stop - o.start) for c, o in pairs)

    def within(self, shape: tuple[int, ...], overlap: tuple[int, ...]) -> Tile:
        """The same core in surroundings of another size."""
        sizes = zip(self.core, shape, overlap, strict=True)
        outer = tuple(slice(max(0, c.start - k), min(n, c.stop + k)) for c, n, k in sizes)
        return Tile(self.number, self.core, outer)


def sides_for(shape: tuple[int, ...], channels: int, most: int = MOST) -> tuple[int, ...]:
    """The sides of tiles: those of the array, of which the longest is halved until they fit."""
    sides = list(shape)
    while prod(sides) * channels > most and max(sides) > 1:
        longest = sides.index(max(sides))
        sides[longest] = -(-sides[longest] // 2)
    return tuple(sides)


def tiles(
    shape: tuple[int, ...], sides: tuple[int, ...], overlap: tuple[int, ...]
) -> Iterator[Tile]:
    """Tiles that cover an array, the first axis slowest, with what lies around them."""
    counts = [-(-n // k) for n, k in zip(shape, sides, strict=True)]
    for number in product(*map(range, counts)):
        sizes = zip(number, sides, shape, strict=True)
        core = tuple(slice(i * k, min(n, (i + 1) * k)) for i, k, n in sizes)
        yield Tile(number, core, core).within(shape, overlap)


def samples_of(shape: tuple[int, ...], channels: int, most: int) -> list[Slices]:
    """Equal parts that stand for an array: all of it if that is no more than `most` samples.

    Else parts from all over it, the same ones for every array of the same shape.
    """
    if prod(shape) * channels <= most:
        return [tuple(slice(0, n) for n in shape)]
    sides = tuple(min(_SIDES[len(shape)], n) for n in shape)
    counts = [n // k for n, k in zip(shape, sides, strict=True)]
    wanted = max(1, most // (prod(sides) * channels))
    random = np.random.default_rng(0)
    chosen = random.choice(prod(counts), min(wanted, prod(counts)), replace=False)
    places = np.stack(np.unravel_index(np.sort(chosen), counts), axis=1)
    # Spread over the whole, with what `counts` leave over.
    room = [n - k for n, k in zip(shape, sides, strict=True)]
    steps = [r / max(1, c - 1) for r, c in zip(room, counts, strict=True)]
    starts = np.floor(places * steps).astype(int)
    return [
        tuple(slice(int(s), int(s) + k) for s, k in zip(row, sides, strict=True)) for row in starts
    ]


def with_channels(slices: Slices, channel_axis: int | None) -> Slices:
    """The same part of an array with an axis of channels, of which all are taken."""
    if channel_axis is None:
        return slices
    place = channel_axis % (len(slices) + 1)
    return (*slices[:place], slice(None), *slices[place:])
