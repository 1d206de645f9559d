"""Canonical order of signals, and integer weights that stand for copies of signals.

Random draws must depend neither on the order of the signals nor on whether equal signals are given
as copies or as weights.

1. Each signal gets a content hash of 64 bits.
2. Sorting by content hash gives a pseudo-random canonical order with equal signals side by side.
   The leading bits of a hash ignore the scale and the last bits of a signal. Another unit or
   another machine therefore gives the same order.
3. Equal signals are merged into one signal with the sum of their weights.

Weights are None where every signal has weight one.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fost import _core
from fost._typing import Floats
from fost.streams import Sums
from fost.streams.base import Weights

# Signals that are compared at once.
_COMPARED = 2**13
# A pass over weighted signals takes three to five times as long as over as many without weights.
_MAX_COPIES = 4

Hashes = NDArray[np.uint64]
# Row numbers of signals, and their weights in this selection.
WeightedRows = tuple[NDArray[np.intp], Weights | None]


class ContentHashPass:
    """The content hashes of a block; the sum over blocks concatenates them."""

    def __call__(self, block: Floats, weights: Weights | None = None) -> Sums:
        return (Concatenation(content_hashes(block)),)


class Concatenation:
    """Arrays that are concatenated by addition; addition takes constant time."""

    def __init__(self, *parts: Concatenation | Hashes) -> None:
        self._parts = parts

    def __add__(self, other: Concatenation) -> Concatenation:
        return Concatenation(self, other)

    @property
    def array(self) -> Hashes:
        """All parts as one array."""
        found, remaining = [], list[Concatenation | Hashes]([self])
        while remaining:  # not by recursion, whose depth would be the number of blocks
            part = remaining.pop()
            if isinstance(part, Concatenation):
                remaining.extend(reversed(part._parts))
            else:
                found.append(part)
        return np.concatenate(found)


def content_hashes(rows: Floats) -> Hashes:
    """A hash of the entries of each signal: equal for equal signals, rarely for others."""
    hashes = np.empty(len(rows), np.uint64)
    _core.mark_signals(rows, hashes)
    return hashes


def canonical_order(
    hashes: Hashes, weights: Weights | None, rows: Floats | None = None
) -> WeightedRows:
    """Row numbers of the distinct signals in canonical order, with the sums of their weights.

    Signals of weight zero are left out. Signals with equal hashes are compared if `rows` are
    given, and assumed equal otherwise. See `as_copies` for the form of the weights.
    """
    if weights is None:
        order = np.argsort(hashes)
    else:
        positive = np.flatnonzero(weights)
        # Equal signals are sorted by weight, because a sum of fractions depends on its order.
        order = positive[np.lexsort((weights[positive], hashes[positive]))]
    sorted_hashes = hashes[order]
    first = np.ones(len(order), np.bool_)
    np.not_equal(sorted_hashes[1:], sorted_hashes[:-1], out=first[1:])
    if rows is not None:
        _mark_hash_collisions(first, rows, order)
    starts = np.flatnonzero(first)
    if weights is None:
        sums = np.diff(starts, append=len(order)).astype(np.float64)
    else:
        sums = np.add.reduceat(weights[order], starts)
    return as_copies(order[starts], sums)


def _mark_hash_collisions(first: NDArray[np.bool_], rows: Floats, order: NDArray[np.intp]) -> None:
    """Set `first` for signals whose bytes differ from the signal before with the same hash."""
    kind = np.dtype(f"u{rows.itemsize}")
    same_hash = np.flatnonzero(~first)
    for start in range(0, len(same_hash), _COMPARED):
        these = same_hash[start : start + _COMPARED]
        one, other = (rows[order[k]].view(kind) for k in (these, these - 1))
        first[these] = (one != other).any(axis=1)


def as_copies(rows: NDArray[np.intp], weights: Weights) -> WeightedRows:
    """Signals repeated by their integer weights, without weights, if that is less work."""
    many = weights.sum() > _MAX_COPIES * len(rows)
    if many or not _all_integers(weights):
        return rows, weights
    return np.repeat(rows, weights.astype(np.intp)), None


def total_weight(weights: Weights | None, count: int) -> float:
    """The sum of the weights of `count` signals."""
    return float(count if weights is None else weights.sum())


def split_by_weight(
    order: NDArray[np.intp], weights: Weights | None, amount: float | None, count: int = 1
) -> Iterator[WeightedRows]:
    """The first signals of an order, up to a total weight, in `count` parts of about equal weight.

    All signals are used if `amount` is None. A signal of weight w is treated as w consecutive
    copies, so that it may belong to two parts.
    """
    own = np.ones(len(order)) if weights is None else weights[order]
    ends = np.cumsum(own)
    total = float(ends[-1]) if len(ends) else 0.0
    total = total if amount is None else min(total, round_down(amount, weights))
    bounds = total * np.arange(count + 1) / count
    if _all_integers(weights):
        # The first parts have one signal more where the division leaves a remainder.
        quotient, remainder = divmod(total, count)
        parts = np.arange(count + 1)
        bounds = np.asarray(quotient * parts + np.minimum(parts, remainder), np.float64)
    for low, high in pairwise(bounds):
        inside = np.minimum(ends, high) - np.maximum(ends - own, low)
        kept = inside > 0
        yield order[kept], None if weights is None else inside[kept]


def round_down(amount: float, weights: Weights | None) -> float:
    """A number of signals: an integer of at least one if all weights are integers."""
    return max(1.0, float(np.floor(amount))) if _all_integers(weights) else amount


def _all_integers(weights: Weights | None) -> bool:
    return weights is None or bool((weights == np.floor(weights)).all())
