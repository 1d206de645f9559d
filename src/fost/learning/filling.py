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
_STEPS = 12


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

    C_oo a = y_o is solved for all signals at once, by conjugate gradients: each step is a product
    of matrices. A signal without observed entries becomes zero.
    """
    observed = (~missing).astype(np.float64)
    residual = np.where(missing, 0, rows).astype(np.float64)
    scale = np.abs(residual).max(axis=1, keepdims=True, initial=0)
    residual /= np.where(scale > 0, scale, 1)
    solution, direction = np.zeros_like(residual), residual.copy()
    energy = np.einsum("ij,ij->i", residual, residual)
    for _ in range(_STEPS):
        image = (direction @ prior) * observed
        curvature = np.einsum("ij,ij->i", direction, image)
        step = _ratio(energy, curvature)
        solution += step * direction
        residual -= step * image
        before, energy = energy, np.einsum("ij,ij->i", residual, residual)
        direction = residual + _ratio(energy, before) * direction
    return np.where(missing, (solution @ prior) * scale, rows).astype(rows.dtype, copy=False)


def _ratio(above: NDArray[np.float64], below: NDArray[np.float64]) -> NDArray[np.float64]:
    ratio: NDArray[np.float64] = np.divide(above, below, out=np.zeros_like(above), where=below > 0)
    return ratio[:, None]
