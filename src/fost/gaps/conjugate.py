"""Gaps of long signals under a Gaussian in the domain of a fast transform.

With U the transform, v the variances, P = U diag(1 / v) U^T the inverse of the covariance, m what
is missing and d what is observed less its mean, zero elsewhere, the conditional mean x of what is
missing solves P_mm x = -(P d)_m. Factors of P_mm cost the cube of its size, for each signal.
Conjugate gradients cost two transforms per product with P instead, and about as many steps as the
condition of P_mm has it, which a preconditioner M = (U diag(1 / (1 / v + shift)) U^T)_mm lowers.

Gaps of a length l know nothing of what is slower than that: they see of P what is above the
frequency 1 / l. So for scattered gaps P_mm is near a multiple of the identity, for long ones near
the inverse of C_mm, and in between the shift falls with the square of the length. The transform
need not be one of frequencies, but then there may be more steps.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fost.gaps.conditioning import Gaps, Rows, condition
from fost.gaps.gaussian import Gaussian

# Residuals, in the norm of the preconditioner, are at most this share of those at the start.
_TOL = 1e-10
# What has not come down to this share within the steps is solved by factors.
_POOR = 1e-6
# Shorter signals have factors in no time.
_SHORT = 128
# The shift of inverse variances, as a share of their mean, for gaps of one entry.
_SHIFT = 0.3
# Steps at most: as many as there are features, and some more.
_MOST_MORE = 200
# Numbers that are worked on at once.
_ENTRIES = 2**20
# For a guess of what is cheaper: steps that are usual; nanoseconds of a step per entry, beside
# those of an operation of transforms; and of an operation of factors and of products of matrices.
_USUAL, _ENTRY, _OPERATION, _FACTOR, _PRODUCT = 60, 15.0, 0.1, 0.025, 0.05


def is_cheaper(gaussian: Gaussian, gaps: Gaps) -> bool:
    """Whether conjugate gradients seem to take less time than factors, for signals with gaps.

    Signals with the same gaps share a factor; the covariance and its inverse have to be made of the
    transform, if they are not there yet.
    """
    n = gaussian.n_features
    if not gaussian.has_transform or n < _SHORT:
        return False
    missing = gaps.sum(axis=1)
    sizes = np.minimum(missing, n - missing).astype(np.float64)
    apart = len(np.unique(np.packbits(gaps, axis=1), axis=0)) / max(1, len(gaps))
    factors = _FACTOR * apart * 2 / 3 * float((sizes**3).sum()) + _PRODUCT * 4 * len(gaps) * n**2
    if "precision" not in gaussian.__dict__:
        factors += _PRODUCT * 4 * n**3
    step = _ENTRY * n + _OPERATION * 4 * gaussian.transform.flops
    return len(gaps) * _USUAL * step < factors


def conjugate(gaussian: Gaussian, rows: Rows, gaps: Gaps) -> Rows:
    """Signals whose gaps hold their mean given what is observed."""
    out = np.array(rows, dtype=np.float64, order="C")
    step = max(1, _ENTRIES // gaussian.n_features)
    for start in range(0, len(out), step):
        part = slice(start, start + step)
        known, holes = out[part] - gaussian.mean, gaps[part]
        known[holes] = 0.0
        found, poor = _solved(gaussian, known, holes)
        out[part] = np.where(holes, gaussian.mean + found, out[part])
        if poor.any():
            again = start + np.flatnonzero(poor)
            out[again] = condition(gaussian, rows, gaps, again).rows
    return out


def _solved(gaussian: Gaussian, known: Rows, gaps: Gaps) -> tuple[Rows, NDArray[np.bool_]]:
    """x, zero where entries are observed, and which signals it is not good enough for."""
    n, transform = gaussian.n_features, gaussian.transform
    precision = gaussian.variances.mean() / gaussian.variances
    shift = _SHIFT * precision.mean() / _lengths(gaps) ** 2
    weights = 1 / (precision + shift[:, None])

    def product(x: Rows, holes: Gaps) -> Rows:
        return np.where(holes, transform.inverse(transform.forward(x) * precision), 0)

    def preconditioned(r: Rows, holes: Gaps, own: Rows) -> Rows:
        return np.where(holes, transform.inverse(transform.forward(r) * own), 0)

    solution = np.zeros_like(known)
    active = np.arange(len(known))  # signals that are worked on, of which those below are the rows
    r = -product(known, gaps)
    z = preconditioned(r, gaps, weights)
    p, x, holes = z, np.zeros_like(known), gaps
    size = np.einsum("ij,ij->i", r, z)
    first = size.copy()  # of all signals
    left = np.ones(len(known))
    for _ in range(n + _MOST_MORE):
        done = ~(size > _TOL**2 * first[active])
        if done.any():
            solution[active[done]] = x[done]
            keep = ~done
            left[active[done]] = 0.0
            active, r, p, x = active[keep], r[keep], p[keep], x[keep]
            size, holes, weights = size[keep], holes[keep], weights[keep]
        if not len(active):
            break
        q = product(p, holes)
        length = (size / np.einsum("ij,ij->i", p, q))[:, None]
        x = x + length * p
        r = r - length * q
        z = preconditioned(r, holes, weights)
        following = np.einsum("ij,ij->i", r, z)
        p = z + (following / size)[:, None] * p
        size = following
    solution[active] = x
    left[active] = size / first[active]
    return solution, ~(left <= _POOR**2)


def _lengths(gaps: Gaps) -> NDArray[np.float64]:
    """How many missing entries follow each other, on average over the gaps of each signal."""
    begins = (gaps[:, 1:] & ~gaps[:, :-1]).sum(axis=1) + gaps[:, 0]
    return np.asarray(gaps.sum(axis=1) / np.maximum(begins, 1)).clip(min=1.0)
