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

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fost import _core
from fost._threads import single_threaded_blas
from fost._typing import Floats

# The variance of any direction is at least this share of the mean one: what is known of pairs of
# entries from different signals need not fit together.
_LEAST_VARIANCE = 0.01


@dataclass(frozen=True)
class Prior:
    """A Gaussian of signals: the covariance, up to a factor, and its inverse."""

    covariance: NDArray[np.float64]
    precision: NDArray[np.float64]

    @classmethod
    @single_threaded_blas
    def of(cls, moments: NDArray[np.float64]) -> Prior:
        """The one nearest to second moments that need not fit together."""
        values, vectors = np.linalg.eigh(moments)
        least = _LEAST_VARIANCE * float(np.abs(values).mean())
        if not least > 0:
            return cls(np.eye(len(moments)), np.eye(len(moments)))
        values = np.maximum(values, least) / least
        return cls((vectors * values) @ vectors.T, (vectors / values) @ vectors.T)

    def filled(self, rows: Floats, missing: NDArray[np.bool_]) -> Floats:
        """Signals with the conditional means of what is missing, C_mo C_oo^-1 y_o.

        A signal without observed entries becomes zero.
        """
        known = np.where(missing, 0, rows).astype(np.float64, order="C")
        gaps, mean = np.ascontiguousarray(missing), np.zeros(len(self.covariance))
        _core.condition(
            mean, self.covariance, self.precision, 0.0, known, gaps, None, None, None, None
        )
        return np.where(missing, known.astype(rows.dtype), rows)
