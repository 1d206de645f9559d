r"""Conditional distributions of missing entries under Gaussians.

The compiled core groups signals by their pattern of missing entries. A batched Cholesky
decomposition factors several submatrices of the covariance, or of its inverse if that is smaller,
at once. Long signals are filled by preconditioned conjugate gradients instead.

Let U be the transform of a Gaussian, v the variances of the coefficients and ``P = U diag(1 / v)
U^T`` the precision. Let m be the missing entries of a signal, and d the observed entries less their
mean, zero elsewhere. The conditional mean x of the missing entries solves

    P_mm x = -(P d)_m.

A Cholesky factor of P_mm costs the cube of its size for each signal. Conjugate gradients cost two
transforms for each product with P. The number of iterations grows with the condition number of
P_mm. The preconditioner ``(U diag(1 / (1 / v + shift)) U^T)_mm`` lowers it.

A run of l missing entries depends on the part of P above the frequency 1 / l. So P_mm is close to a
multiple of the identity for isolated missing entries, and close to the inverse of C_mm for long
runs. In between, the shift falls with the square of the run length. The transform need not be one
of frequencies, but then there may be more iterations.
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

# Stop when the residual, in the norm of the preconditioner, is below this share of the first one.
_TOL = 1e-10
# Signals whose residual is above this share after the last iteration are solved by factorisation.
_ACCEPTABLE = 1e-6
# Below this length, factorisations take a negligible time.
_MIN_FEATURES = 128
# The shift as a share of the mean inverse variance, for isolated missing entries.
_SHIFT = 0.3
# The number of iterations is limited to the number of features and this many more.
_EXTRA_ITERATIONS = 200
# Entries that are processed at once, which bounds the memory of temporary arrays.
_BLOCK_ENTRIES = 2**20
# Cost model: a typical number of iterations, and times in nanoseconds of an iteration per entry,
# and of one operation of a transform, of a factorisation and of a matrix product.
_TYPICAL_ITERATIONS = 60
_NS_PER_ENTRY = 15.0
_NS_PER_TRANSFORM_FLOP = 0.1
_NS_PER_FACTOR_FLOP = 0.025
_NS_PER_PRODUCT_FLOP = 0.05


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
    subset of one in `every` groups of eight signals stands for all. Conditional covariances depend
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


def is_cheaper(gaussian: Gaussian, missing: Mask) -> bool:
    """Whether the cost model predicts conjugate gradients to be faster than factorisation.

    Signals with the same missing entries share a factor. The covariance and the precision have to
    be computed from the transform unless they are there already.
    """
    n = gaussian.n_features
    if not gaussian.has_transform or n < _MIN_FEATURES:
        return False
    counts = missing.sum(axis=1)
    sizes = np.minimum(counts, n - counts).astype(np.float64)
    distinct = len(np.unique(np.packbits(missing, axis=1), axis=0)) / max(1, len(missing))
    factors = (
        _NS_PER_FACTOR_FLOP * distinct * 2 / 3 * float((sizes**3).sum())
        + _NS_PER_PRODUCT_FLOP * 4 * len(missing) * n**2
    )
    if not gaussian.has_precision:
        factors += _NS_PER_PRODUCT_FLOP * 4 * n**3
    iteration = _NS_PER_ENTRY * n + _NS_PER_TRANSFORM_FLOP * 4 * gaussian.transform.flops
    return len(missing) * _TYPICAL_ITERATIONS * iteration < factors


def fill_iteratively(gaussian: Gaussian, signals: Float64Array, missing: Mask) -> Float64Array:
    """Signals whose missing entries are replaced by their conditional means."""
    out = np.array(signals, dtype=np.float64, order="C")
    step = max(1, _BLOCK_ENTRIES // gaussian.n_features)
    for start in range(0, len(out), step):
        part = slice(start, start + step)
        centred, mask = out[part] - gaussian.mean, missing[part]
        centred[mask] = 0.0
        solution, failed = _solve(gaussian, centred, mask)
        out[part] = np.where(mask, gaussian.mean + solution, out[part])
        if failed.any():
            rows = start + np.flatnonzero(failed)
            out[rows] = condition(gaussian, signals, missing, rows).filled
    return out


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


def _solve(gaussian: Gaussian, centred: Float64Array, missing: Mask) -> tuple[Float64Array, Mask]:
    """x, zero where entries are observed, and the signals for which it did not converge."""
    n, transform = gaussian.n_features, gaussian.transform
    precision = gaussian.variances.mean() / gaussian.variances
    shift = _SHIFT * precision.mean() / _mean_run_lengths(missing) ** 2
    weights = 1 / (precision + shift[:, None])

    def product(x: Float64Array, mask: Mask, diagonal: Float64Array) -> Float64Array:
        """(U diag(diagonal) U^T x)_m."""
        return np.where(mask, transform.inverse(transform.forward(x) * diagonal), 0)

    solution = np.zeros_like(centred)
    # The rows of the arrays below are the signals that have not converged yet.
    active = np.arange(len(centred))
    mask = missing
    residual = -product(centred, mask, precision)
    preconditioned = product(residual, mask, weights)
    direction, x = preconditioned, np.zeros_like(centred)
    norm = np.einsum("ij,ij->i", residual, preconditioned)
    first_norm = norm.copy()  # of all signals
    ratio = np.ones(len(centred))
    for _ in range(n + _EXTRA_ITERATIONS):
        done = ~(norm > _TOL**2 * first_norm[active])
        if done.any():
            solution[active[done]] = x[done]
            keep = ~done
            ratio[active[done]] = 0.0
            active, residual, direction = active[keep], residual[keep], direction[keep]
            x, norm, mask, weights = x[keep], norm[keep], mask[keep], weights[keep]
        if not len(active):
            break
        P_direction = product(direction, mask, precision)
        length = (norm / np.einsum("ij,ij->i", direction, P_direction))[:, None]
        x = x + length * direction
        residual = residual - length * P_direction
        preconditioned = product(residual, mask, weights)
        next_norm = np.einsum("ij,ij->i", residual, preconditioned)
        direction = preconditioned + (next_norm / norm)[:, None] * direction
        norm = next_norm
    solution[active] = x
    ratio[active] = norm / first_norm[active]
    return solution, ~(ratio <= _ACCEPTABLE**2)


def _mean_run_lengths(missing: Mask) -> Float64Array:
    """The mean length of the runs of consecutive missing entries of each signal, at least 1."""
    runs = (missing[:, 1:] & ~missing[:, :-1]).sum(axis=1) + missing[:, 0]
    return np.asarray(missing.sum(axis=1) / np.maximum(runs, 1)).clip(min=1.0)
