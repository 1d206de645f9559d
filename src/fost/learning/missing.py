r"""Imputation of missing entries while a transform is learned from the observed ones.

A signal :math:`y` is completed to :math:`z`, which equals :math:`y` on observed entries. Learning
minimises :math:`\|Z - U X\|_F` over :math:`U`, :math:`X` and the completions :math:`Z`. For given
:math:`U` and :math:`X` the best completion is :math:`U x` itself, which leaves the error on
observed entries only. A pass therefore alternates between coding :math:`z` and filling it from its
code. Each of these steps never raises the error of a signal.

The first completion is the conditional mean of the missing entries under a Gaussian prior with the
second moments of the signals. It does not depend on earlier passes, so no signal has to be stored.
It also avoids poor minima. Codes that start from those of the previous pass end with larger errors
on image patches with 40 % of the pixels missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fost import _core
from fost._threads import single_threaded_blas
from fost._typing import Floats

# How often a pass codes signals with missing entries and fills these from the codes.
REFILLS = 3
# The variance of any direction is at least this share of the mean variance: second moments that
# are estimated from different signals for each pair of entries need not be positive definite.
_MIN_VARIANCE = 0.01


@dataclass(frozen=True)
class GaussianPrior:
    """A Gaussian of mean zero over signals: its covariance, up to a factor, and the inverse."""

    covariance: NDArray[np.float64]
    precision: NDArray[np.float64]

    @classmethod
    @single_threaded_blas
    def from_moments(cls, moments: NDArray[np.float64]) -> GaussianPrior:
        """The prior for second moments, whose eigenvalues are made positive."""
        values, vectors = np.linalg.eigh(moments)
        smallest = _MIN_VARIANCE * float(np.abs(values).mean())
        if not smallest > 0:
            return cls(np.eye(len(moments)), np.eye(len(moments)))
        values = np.maximum(values, smallest) / smallest
        return cls((vectors * values) @ vectors.T, (vectors / values) @ vectors.T)

    def fill(self, rows: Floats, missing: NDArray[np.bool_]) -> Floats:
        """Signals completed by the conditional means C_mo C_oo^-1 y_o of the missing entries.

        A signal without observed entries becomes zero.
        """
        known = np.where(missing, 0, rows).astype(np.float64, order="C")
        mask, mean = np.ascontiguousarray(missing), np.zeros(len(self.covariance))
        _core.condition(
            mean, self.covariance, self.precision, 0.0, known, mask, None, None, None, None
        )
        return np.where(missing, known.astype(rows.dtype), rows)


def encode_with_refills(
    block: Floats,
    missing: NDArray[np.bool_],
    prior: GaussianPrior,
    refills: int,
    encode: Callable[[Floats], csr_array],
    decode: Callable[[csr_array], Floats],
    name: str,
) -> tuple[Floats, csr_array, Floats]:
    """Completed signals, their codes and the decoded codes, after `refills` alternations."""
    if np.isinf(block).any():
        raise ValueError(f"{name} contains infinity")
    filled = prior.fill(block, missing)
    for _ in range(max(1, refills)):
        codes = encode(filled)
        decoded = decode(codes)
        filled = np.where(missing, decoded, block)
    return filled, codes, decoded
