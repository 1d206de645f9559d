"""Missing samples of a signal as a linear prediction from those before and after them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.linalg import lstsq
from scipy.sparse import csc_array, diags_array
from scipy.sparse.linalg import splu

from fost._threads import single_threaded_blas
from fost._typing import Floats
from fost.restoration.gaps import Mask

# Complete windows for each coefficient, at least, and in all, at most.
_LEAST, _MOST = 4, 2**15

# What windows have less of than this, beside what they have most of, is taken for rounding.
_RANK = 1e-7


@dataclass(frozen=True)
class Rule:
    """Each sample is about a sum of those before it, times coefficients; the mean is taken out."""

    coefficients: Floats  # the last is for the sample just before
    mean: float

    @single_threaded_blas
    def __call__(self, signal: Floats, missing: Mask, random: object = None) -> Floats | None:
        """A signal whose missing samples make the errors of the rule least; None if many do."""
        order = len(self.coefficients)
        if len(signal) <= order:
            return None
        size = (len(signal) - order, len(signal))
        diagonals = [*-self.coefficients, 1.0]
        errors = csc_array(diags_array(diagonals, offsets=range(order + 1), shape=size))
        known = np.where(missing, 0, signal - self.mean)
        holes = np.flatnonzero(missing)
        of_holes = errors[:, holes]
        try:
            factors = splu(csc_array(of_holes.T @ of_holes))
        except RuntimeError:  # singular: the rule does not tell what is missing
            return None
        known[holes] = factors.solve(-(of_holes.T @ (errors @ known)))
        return known + self.mean if np.isfinite(known).all() else None


@single_threaded_blas
def rule_of(signal: Floats, missing: Mask, order: int) -> Rule | None:
    """The best linear prediction of each sample from as many before it as `order` says.

    Best for the windows without gaps; None where there are too few of them. A signal without noise
    may follow such a rule exactly.
    """
    if len(signal) <= order:
        return None
    observed = ~sliding_window_view(missing, order + 1).any(axis=1)
    if observed.sum() < _LEAST * order:
        return None
    whole = sliding_window_view(signal, order + 1)[observed]
    mean = signal[~missing].mean()
    rows = whole[:: -(-len(whole) // _MOST)] - mean
    coefficients = lstsq(rows[:, :-1], rows[:, -1], cond=_RANK, check_finite=False)[0]
    return Rule(coefficients, float(mean))


def predicted(signal: Floats, missing: Mask, order: int) -> Floats | None:
    """A signal whose missing samples make the errors of its best linear prediction least."""
    rule = rule_of(signal, missing, order)
    return None if rule is None else rule(signal, missing)
