"""Missing samples of a signal as a linear prediction from those before and after them."""

from __future__ import annotations

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


@single_threaded_blas
def predicted(signal: Floats, missing: Mask, order: int) -> Floats | None:
    """A signal whose missing samples make the errors of its best linear prediction least.

    Each sample is predicted from as many before it as `order` says, with coefficients that suit the
    windows without gaps best. Of a signal without noise that follows such a rule, this is exact.
    None where there are too few windows without gaps.
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
    size = (len(signal) - order, len(signal))
    errors = csc_array(diags_array([*-coefficients, 1.0], offsets=range(order + 1), shape=size))
    known = np.where(missing, 0, signal - mean)
    holes = np.flatnonzero(missing)
    of_holes = errors[:, holes]
    try:
        factors = splu(csc_array(of_holes.T @ of_holes))
    except RuntimeError:  # singular: the rule does not tell what is missing
        return None
    known[holes] = factors.solve(-(of_holes.T @ (errors @ known)))
    return known + mean if np.isfinite(known).all() else None
