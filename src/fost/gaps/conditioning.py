"""Passes over signals with gaps under a Gaussian, in Python's terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fost import _core
from fost._typing import Floats
from fost.gaps.gaussian import Gaussian, invert

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


def blanked(signals: Floats, gaps: Gaps) -> Floats:
    """Signals with zeros for gaps, whatever these hold.

    By bits: `np.where` guesses each gap, and is wrong about every other one.
    """
    integers = np.dtype(f"i{signals.itemsize}")
    bits = gaps.astype(integers)
    bits -= 1  # all of them where there is something
    bits &= signals.view(integers)
    return bits.view(signals.dtype)


def merged(filled: Floats, signals: Floats, gaps: Gaps) -> Floats:
    """What was filled in where signals have gaps, and these elsewhere, of the same type."""
    integers = np.dtype(f"i{signals.itemsize}")
    own, bits = signals.view(integers), -gaps.astype(integers)
    bits &= own ^ filled.view(integers)
    bits ^= own
    return bits.view(signals.dtype)


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


def condition_members(
    gaussians: Sequence[Gaussian],
    rows: Floats,
    missing: Gaps,
    used: list[NDArray[np.int64]],
    *,
    variances: bool = False,
) -> list[Conditioned]:
    """Fill gaps of those signals that each of several Gaussians is used for, with densities."""
    places, begins = _joined(used)
    filled, densities = np.empty((len(places), rows.shape[1])), np.empty(len(places))
    spread = np.empty_like(filled) if variances else None
    _condition(gaussians, rows, missing, places, begins, None, filled, densities, spread, None)
    parts = [slice(*ends) for ends in pairwise(begins.tolist())]
    return [
        Conditioned(filled[p], densities[p], None if spread is None else spread[p]) for p in parts
    ]


def conditional_covariances(
    gaussians: Sequence[Gaussian],
    missing: Gaps,
    used: list[NDArray[np.int64]],
    weights: list[NDArray[np.float64]],
) -> Rows:
    """The sums of the weighted conditional covariances of those signals that each of several
    Gaussians is used for."""
    places, begins = _joined(used)
    n = missing.shape[1]
    sums = np.zeros((len(gaussians), n, n))
    rows = np.empty((len(missing), n))  # which nobody looks at
    joined = np.concatenate(weights)
    _condition(gaussians, rows, missing, places, begins, joined, None, None, None, sums)
    return sums


def _joined(used: list[NDArray[np.int64]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Numbers of signals one after the other, and where those of each Gaussian begin."""
    begins = np.cumsum([0, *map(len, used)], dtype=np.int64)
    return np.concatenate(used).astype(np.int64, copy=False), begins


def _condition(gaussians: Sequence[Gaussian], rows: Floats, missing: Gaps, *arrays: Any) -> None:
    invert(gaussians)
    _core.condition_members(
        [one.mean for one in gaussians],
        [one.covariance for one in gaussians],
        [one.precision for one in gaussians],
        [one.log_determinant for one in gaussians],
        np.ascontiguousarray(rows, np.float64),
        np.ascontiguousarray(missing),
        *arrays,
    )
