"""What is missing of signals while a transform is learned from the rest.

A signal y is completed to z, which is y where y is observed. Learning minimises ||Z - U X||_F over
U, X and the completions Z, which leaves the error on observed entries only: for given U and X the
best completion is U x itself. So a pass codes z and refills it from the code, a few times; each of
these steps lowers the error of each signal, or leaves it as it is.

Where a pass begins to fill does not depend on earlier passes, so nothing is kept of any signal: it
begins with the conditional mean of what is missing under a Gaussian with the second moments of the
signals. That is more than a saving of memory: on pictures with 40 % of the pixels missing, codes
that start from those of the pass before get stuck, and end with larger errors.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fost._typing import Floats

# The variance of any direction is at least this share of the mean one: what is known of pairs of
# entries from different signals need not fit together.
_LEAST_VARIANCE = 0.01
# Steps of conjugate gradients; more no longer change what is learned (benchmarks/gaps.py).
_STEPS = 8
# Entries of signals that are filled at once: what belongs to them stays in the cache.
_ENTRIES = 2**14


def prior_of(moments: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nearest covariance to second moments that need not be one, up to a factor."""
    values, vectors = np.linalg.eigh(moments)
    least = _LEAST_VARIANCE * np.abs(values).mean()
    if not least > 0:
        return np.eye(len(moments))
    prior: NDArray[np.float64] = (vectors * np.maximum(values, least) / least) @ vectors.T
    return prior


def conditional_means(
    rows: Floats, missing: NDArray[np.bool_], prior: NDArray[np.float64]
) -> Floats:
    """Signals with their gaps filled by C_mo C_oo^-1 y_o, C the prior.

    A signal without observed entries becomes zero.
    """
    filled, single = np.empty_like(rows), prior.astype(np.float32)
    step = max(32, _ENTRIES // rows.shape[1])
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        filled[part] = _filled(rows[part], missing[part], single)
    return filled


def _filled(rows: Floats, missing: NDArray[np.bool_], prior: NDArray[np.float32]) -> Floats:
    """C_oo a = y_o is solved for all signals at once: a step is a product of matrices.

    In float32, since this is where filling begins, and no more.
    """
    observed = (~missing).astype(np.float32)
    known = np.where(missing, 0, rows)
    scale = np.abs(known).max(axis=1, keepdims=True, initial=0)
    residual = (known / np.where(scale > 0, scale, 1)).astype(np.float32)
    solution, direction = np.zeros_like(residual), residual.copy()
    energy = np.einsum("ij,ij->i", residual, residual)
    for _ in range(_STEPS):
        image = direction @ prior
        image *= observed
        step = _ratio(energy, np.einsum("ij,ij->i", direction, image))
        solution += step * direction
        image *= step
        residual -= image
        before, energy = energy, np.einsum("ij,ij->i", residual, residual)
        direction *= _ratio(energy, before)
        direction += residual
    return np.where(missing, (solution @ prior) * scale, rows)


def _ratio(above: NDArray[np.float32], below: NDArray[np.float32]) -> NDArray[np.float32]:
    ratio: NDArray[np.float32] = np.divide(above, below, out=np.zeros_like(above), where=below > 0)
    return ratio[:, None]
