"""Passes over signals with gaps under a Gaussian, in Python's terms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fost import _core
from fost._typing import Floats
from fost.gaps.gaussian import Gaussian

Rows = NDArray[np.float64]
Gaps = NDArray[np.bool_]


@dataclass(frozen=True)
class Conditioned:
    """Signals under a Gaussian: gaps filled with their conditional means, and what was asked for.

    `densities` are logarithms of the density of what is observed, `variances` those of what is
    missing, `covariance` the sum of weighted conditional covariances.
    """

    rows: Rows
    densities: NDArray[np.float64] | None = None
    variances: Rows | None = None
    covariance: Rows | None = None


def condition(
    gaussian: Gaussian,
    rows: Floats,
    missing: Gaps,
    used: NDArray[np.int64] | None = None,
    *,
    densities: bool = False,
    variances: bool = False,
    weights: NDArray[np.float64] | None = None,
    every: int = 1,
) -> Conditioned:
    """Fill gaps, of all signals or of those that are used; with weights, also add up conditional
    covariances, of some signals for those of all if `every` is more than one: they depend on the
    gaps alone and are much alike."""
    if used is None:
        filled, gaps = np.array(rows, dtype=np.float64, order="C"), missing
    else:
        filled, gaps = rows[used].astype(np.float64, copy=False), missing[used]
    n = gaussian.n_features
    found = Conditioned(
        filled,
        np.empty(len(filled)) if densities else None,
        np.empty_like(filled) if variances else None,
        np.zeros((n, n)) if weights is not None else None,
    )
    _core.condition(
        gaussian.mean,
        gaussian.covariance,
        gaussian.precision,
        gaussian.log_determinant,
        filled,
        np.ascontiguousarray(gaps),
        weights,
        found.densities,
        found.variances,
        found.covariance,
        every,
    )
    return found
