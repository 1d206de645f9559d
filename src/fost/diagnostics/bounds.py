"""Remark 5: what orthogonal reflectors can reach, and what any orthonormal matrix can."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from fost._threads import single_threaded_blas
from fost.diagnostics.coded import Coded, code
from fost.diagnostics.findings import Finding, percent
from fost.transforms import Transform


@dataclass(frozen=True, eq=False, repr=False)
class SymmetricBound(Finding):
    """What symmetric (QH) and general orthonormal dictionaries can reach (Remark 5).

    Attributes
    ----------
    full : float
        2 ||Y X^T||_*, by which the best orthonormal dictionary reduces ||Y||_F^2 + ||X||_F^2.
    symmetric : float
        ||X Y^T + Y X^T||_*, by which the best product of orthogonal reflectors does.
    full_error, symmetric_error : float
        The relative errors that remain, with the codes fixed.

    Examples
    --------
    >>> import fost, numpy as np
    >>> Y = np.cumsum(np.random.default_rng(0).standard_normal((500, 16)), axis=1)
    >>> U = fost.learn(Y, fost.Reflectors(4), 2).transform
    >>> found = fost.diagnostics.symmetric_bound(U, Y, 2)
    >>> found.full_error <= found.symmetric_error
    True
    """

    full: float
    symmetric: float
    full_error: float
    symmetric_error: float

    @property
    def gap(self) -> float:
        """By how much the relative error of the best QH dictionary is higher; never negative."""
        return self.symmetric_error - self.full_error

    @property
    def sentence(self) -> str:
        return (
            f"For these codes the best orthonormal dictionary has an error of "
            f"{percent(self.full_error)}, the best one of orthogonal reflectors "
            f"{percent(self.symmetric_error)}."
        )


def symmetric_bound(
    dictionary: object,
    Y: ArrayLike,
    n_nonzero_coefs: int | None = None,
    *,
    base: Transform | None = None,
) -> SymmetricBound:
    """Remark 5: 2 ||Y X^T||_* >= ||X Y^T + Y X^T||_*, so Q is never worse than QH.

    Both are reductions of ||Y||_F^2 + ||X||_F^2 for fixed codes X; the second needs as many
    reflectors as X Y^T + Y X^T has negative eigenvalues. They agree where Y X^T is symmetric, as
    the paper says, and more generally where its polar factor is. Whole runs of Q-DLA and
    QH_m-DLA end with different codes, about which the inequality says nothing.

    Parameters
    ----------
    dictionary : Transform, fitted estimator, result of `learn`, or array of atoms in rows
        Where the codes come from; as many atoms as features.
    Y : array-like of shape (n_signals, n_features)
        Signals in rows.
    n_nonzero_coefs : int, optional
        Entries per code, s; by default the estimator's.
    base : Transform, optional
        A fixed transform that reflectors shall be put on top of; by default the estimator's.

    Returns
    -------
    SymmetricBound

    Examples
    --------
    >>> import fost, numpy as np
    >>> Y = np.random.default_rng(0).standard_normal((500, 8))
    >>> found = fost.diagnostics.symmetric_bound(fost.DCT(8), Y, 2)
    >>> found.symmetric < found.full, found.gap > 0
    (True, True)
    """
    return symmetric_bound_of(code(dictionary, Y, n_nonzero_coefs), base)


@single_threaded_blas
def symmetric_bound_of(coded: Coded, base: Transform | None) -> SymmetricBound:
    M = coded.square_statistic(base, "Remark 5")
    full = 2 * float(scipy.linalg.svdvals(M, check_finite=False).sum())
    symmetric = float(np.abs(scipy.linalg.eigvalsh(M + M.T, check_finite=False)).sum())
    symmetric = min(symmetric, full)  # beyond it by rounding alone
    before = coded.total + coded.energy
    errors = (coded.relative(max(0.0, before - reduction)) for reduction in (full, symmetric))
    return SymmetricBound(full, symmetric, *errors)
