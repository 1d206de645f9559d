"""Signals told apart by what they hold, so that what is drawn hangs neither on order nor on copies.

1. Each signal gets a mark of 64 bits, which is made of its entries alone.
2. Signals in the order of their marks are in random order, but always in the same one, and equal
   ones are side by side. The first bits of marks do not see last bits of signals, nor their scale,
   so that neither another unit nor another machine makes for another order.
3. Equal ones become one, which counts as often as they do together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fost import _core
from fost._typing import Floats
from fost.learning.copies import Part, Weights, laid_out
from fost.streams import Sums

# Signals that are compared at once.
_COMPARED = 2**13

Marks = NDArray[np.uint64]


@dataclass(frozen=True)
class MarksOf:
    """The marks of a block, as a sum: those of several blocks are one after the other."""

    def __call__(self, block: Floats, weights: NDArray[np.float64] | None = None) -> Sums:
        return (Joined(marks(block)),)


class Joined:
    """Arrays one after the other; to add is to append."""

    def __init__(self, *parts: Joined | NDArray[Any]) -> None:
        self._parts = parts

    def __add__(self, other: Joined) -> Joined:
        return Joined(self, other)

    @property
    def array(self) -> NDArray[Any]:
        """All of them as one."""
        found, left = [], list[Joined | NDArray[Any]]([self])
        while left:  # not by recursion: there may be as many as there are blocks
            part = left.pop()
            if isinstance(part, Joined):
                left.extend(reversed(part._parts))
            else:
                found.append(part)
        return np.concatenate(found)


def marks(rows: Floats) -> Marks:
    """A number for each signal, by what it holds: equal for equal ones, and rarely for others."""
    found = np.empty(len(rows), np.uint64)
    _core.mark_signals(rows, found)
    return found


def told_apart(found: Marks, weights: Weights, rows: Floats | None = None) -> Part:
    """The places of signals in the order of their marks, equal ones once, and what they count.

    Those of weight zero are left out. Where the `rows` are at hand, they are compared; otherwise
    equal marks are believed. Weights are None, and places come several times in a row, where that
    is less work.
    """
    if weights is None:
        order = np.argsort(found)
    else:
        counts = np.flatnonzero(weights)
        # By weights, too: sums of fractions hang on their order.
        order = counts[np.lexsort((weights[counts], found[counts]))]
    sorted_marks = found[order]
    first = np.ones(len(order), np.bool_)
    np.not_equal(sorted_marks[1:], sorted_marks[:-1], out=first[1:])
    if rows is not None:
        _set_unlike(first, rows, order)
    starts = np.flatnonzero(first)
    if weights is None:
        own = np.diff(starts, append=len(order)).astype(np.float64)
    else:
        own = np.add.reduceat(weights[order], starts)
    return laid_out(order[starts], own)


def _set_unlike(first: NDArray[np.bool_], rows: Floats, order: NDArray[np.intp]) -> None:
    """Mark as first of their kind those that differ from the one before, by their bytes."""
    kind = np.dtype(f"u{rows.itemsize}")
    like = np.flatnonzero(~first)
    for start in range(0, len(like), _COMPARED):
        these = like[start : start + _COMPARED]
        one, other = (rows[order[k]].view(kind) for k in (these, these - 1))
        first[these] = (one != other).any(axis=1)
