"""Conditional distributions of missing entries under Gaussians: passes of the compiled core.

The core groups signals by their pattern of missing entries and factors several submatrices of the
covariance (or of its inverse, whichever is smaller) at once, by a batched Cholesky decomposition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fost import _core
from fost._typing import Float64Array, Floats, Mask
from fost.imputation.gaussian import Gaussian, invert_covariances


@dataclass(frozen=True)
class Conditional:
    """Signals conditioned on their observed entries, under one Gaussian.

    Attributes
    ----------
    filled : ndarray of shape (n_signals, n_features)
        The signals, with conditional means where entries are missing.
    log_densities : ndarray of shape (n_signals,) or None
        Log-densities of the observed entries.
    variances : ndarray of shape (n_signals, n_features) or None
        Conditional variances of the missing entries, 0 where entries are observed.
    covariance : ndarray of shape (n_features, n_features) or None
        The weighted sum of the conditional covariances of all signals.
    """

    filled: Float64Array
    log_densities: Float64Array | None = None
    variances: Float64Array | None = None
    covariance: Float64Array | None = None


def zero_missing(signals: Floats, missing: Mask) -> Floats:
    """Signals with zeros in place of missing entries.

    Masks bits instead of calling `np.where`, whose branches are mispredicted at random masks.
    """
    integers = np.dtype(f"i{signals.itemsize}")
    bits = missing.astype(integers)
    bits -= 1  # all bits set where the entry is observed
    bits &= signals.view(integers)
    return bits.view(signals.dtype)


def keep_observed(filled: Floats, signals: Floats, missing: Mask) -> Floats:
    """`filled` where entries are missing and `signals` elsewhere; both of the same type."""
    integers = np.dtype(f"i{signals.itemsize}")
    own, bits = signals.view(integers), -missing.astype(integers)
    bits &= own ^ filled.view(integers)
    bits ^= own
    return bits.view(signals.dtype)


def condition(
    gaussian: Gaussian,
    signals: Floats,
    missing: Mask,
    rows: NDArray[np.int64] | None = None,
    *,
    log_densities: bool = False,
    variances: bool = False,
    weights: Float64Array | None = None,
    every: int = 1,
) -> Conditional:
    """Condition all signals, or those in `rows`, on their observed entries.

    With weights, the conditional covariances are added up, too. If `every` is more than one, a
    subset of one in `every` groups of eight signals stands for all: conditional covariances depend
    on the pattern of missing entries alone, and similar patterns have similar ones.
    """
    if rows is None:
        filled, mask = np.array(signals, dtype=np.float64, order="C"), missing
    else:
        filled, mask = signals[rows].astype(np.float64, copy=False), missing[rows]
    n = gaussian.n_features
    found = Conditional(
        filled,
        np.empty(len(filled)) if log_densities else None,
        np.empty_like(filled) if variances else None,
        np.zeros((n, n)) if weights is not None else None,
    )
    _core.condition(
        gaussian.mean,
        gaussian.covariance,
        gaussian.precision,
        gaussian.log_determinant,
        filled,
        np.ascontiguousarray(mask),
        weights,
        found.log_densities,
        found.variances,
        found.covariance,
        every,
    )
    return found


def condition_members(
    members: Sequence[Gaussian],
    signals: Floats,
    missing: Mask,
    rows: list[NDArray[np.int64]],
    *,
    variances: bool = False,
) -> list[Conditional]:
    """Condition signals under several Gaussians, signals `rows[k]` under member k."""
    all_rows, offsets = _concatenate(rows)
    filled = np.empty((len(all_rows), signals.shape[1]))
    log_densities = np.empty(len(all_rows))
    spread = np.empty_like(filled) if variances else None
    _core.condition_members(
        *_parameters(members),
        np.ascontiguousarray(signals, np.float64),
        np.ascontiguousarray(missing),
        all_rows,
        offsets,
        None,
        filled,
        log_densities,
        spread,
        None,
    )
    parts = [slice(*ends) for ends in pairwise(offsets.tolist())]
    return [
        Conditional(filled[p], log_densities[p], None if spread is None else spread[p])
        for p in parts
    ]


def conditional_covariances(
    members: Sequence[Gaussian],
    missing: Mask,
    rows: list[NDArray[np.int64]],
    weights: list[Float64Array],
) -> Float64Array:
    """Weighted sums of the conditional covariances of the signals `rows[k]` under member k."""
    all_rows, offsets = _concatenate(rows)
    n = missing.shape[1]
    sums = np.zeros((len(members), n, n))
    _core.condition_members(
        *_parameters(members),
        np.empty((len(missing), n)),  # covariances do not depend on the observed values
        np.ascontiguousarray(missing),
        all_rows,
        offsets,
        np.concatenate(weights),
        None,
        None,
        None,
        sums,
    )
    return sums


def _concatenate(rows: list[NDArray[np.int64]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The row numbers of all members one after another, and the offset of each member's part."""
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return np.concatenate(rows).astype(np.int64, copy=False), offsets


def _parameters(
    members: Sequence[Gaussian],
) -> tuple[list[Float64Array], list[Float64Array], list[Float64Array], list[float]]:
    """Means, covariances, precisions and log-determinants, the latter two computed in a batch."""
    invert_covariances(members)
    return (
        [member.mean for member in members],
        [member.covariance for member in members],
        [member.precision for member in members],
        [member.log_determinant for member in members],
    )
