"""Signals that count several times, dealt out as if they were as many signals.

Without weights (None) each of them counts once. A part of signals is their places, and the weights
that they have in it, if signals have any.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

# A pass over signals with weights takes three to five times as long as one over as many without.
_MOST_COPIES = 4

Weights = NDArray[np.float64] | None
Part = tuple[NDArray[np.intp], Weights]


def laid_out(places: NDArray[np.intp], weights: NDArray[np.float64]) -> Part:
    """Signals that count several times, as often in a row, without weights, if that is less work.

    It may be where all weights are whole.
    """
    many = weights.sum() > _MOST_COPIES * len(places)
    if many or (weights != np.floor(weights)).any():
        return places, weights
    return np.repeat(places, weights.astype(np.intp)), None


def number(places: NDArray[np.intp] | slice, weights: Weights, count: int | None = None) -> float:
    """How many signals there are at some places, each as often as it counts."""
    if weights is not None:
        return float(weights[places].sum())
    return float(len(places) if not isinstance(places, slice) else count or 0)


def times(values: NDArray[np.float64], weights: Weights) -> NDArray[np.float64]:
    """Values of signals, each as often as these count."""
    return values if weights is None else values * weights


def whole(share: float, weights: Weights) -> float:
    """A number of signals: a whole one, and not none, where all weights are whole."""
    if weights is not None and (weights != np.floor(weights)).any():
        return share
    return max(1.0, float(np.floor(share)))


def dealt(
    order: NDArray[np.intp], weights: Weights, share: float | None, count: int = 1
) -> Iterator[Part]:
    """The first signals of an order, so many of them (all if None), in parts of about equal size.

    A signal of weight w is as w signals in a row, of which some may be in one part and some in the
    next.
    """
    own = np.ones(len(order)) if weights is None else weights[order]
    ends = np.cumsum(own)
    total = float(ends[-1]) if len(ends) else 0.0
    total = total if share is None else min(total, whole(share, weights))
    bounds = total * np.arange(count + 1) / count
    if weights is None or (weights == np.floor(weights)).all():
        # The first ones have one more where it does not come out even.
        least, more = divmod(total, count)
        parts = np.arange(count + 1)
        bounds = np.asarray(least * parts + np.minimum(parts, more), np.float64)
    for low, high in pairwise(bounds):
        inside = np.minimum(ends, high) - np.maximum(ends - own, low)
        kept = inside > 0
        yield order[kept], None if weights is None else inside[kept]
