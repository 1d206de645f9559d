"""Spectrum of Z~ = X Y^T + Y X^T: how many reflectors are worthwhile, and Remark 5."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from fost._threads import single_threaded_blas
from fost._typing import Float64Array
from fost._validation import check_integer, check_number
from fost.diagnostics.sums import CodingSums, DiagnosticResult, coding_sums, percent, plural
from fost.learning.reflectors import n_worthwhile
from fost.transforms import Transform


@dataclass(frozen=True, eq=False, repr=False)
class Spectrum(DiagnosticResult):
    """Eigenvalues of Z~ and the value of reflectors.

    Attributes
    ----------
    eigenvalues : ndarray of shape (n_features,)
        Of Z~, in ascending order.
    n_negative : int
        The number of negative eigenvalues, beyond rounding errors.
    total : float
        ||Y||_F^2.
    """

    eigenvalues: Float64Array = field(repr=False)
    n_negative: int
    total: float

    @property
    def normalised(self) -> Float64Array:
        """The eigenvalues divided by their largest magnitude, in [-1, 1].

        The paper's figures show "normalized eigenvalues" without stating the divisor.
        """
        largest = np.abs(self.eigenvalues).max()
        return self.eigenvalues / largest if largest > 0 else self.eigenvalues

    @property
    def losses(self) -> Float64Array:
        """Increase of the relative error without each reflector: 2 alpha / ||Y||_F^2.

        One for each negative eigenvalue -alpha, in falling order.
        """
        negative = self.eigenvalues[: self.n_negative]
        return -2 * negative / self.total if self.total > 0 else 0 * negative

    def truncation_loss(self, n_reflectors: int) -> float:
        """Increase of the relative error if only the best `n_reflectors` are kept."""
        m = check_integer(n_reflectors, "n_reflectors", 0, len(self.eigenvalues), "n_features")
        return float(self.losses[m:].sum())

    def suggested_n_reflectors(self, max_loss: float = 0.005) -> int:
        """The least number of reflectors with a `truncation_loss` of at most `max_loss`.

        ``Reflectors("auto")`` applies the same rule (but uses at least one reflector) to the
        spectrum of QH-DLA with n / 2 reflectors after ten iterations.
        """
        share = check_number(max_loss, "max_loss", 0, 1)
        return n_worthwhile(self.eigenvalues, self.total, share)

    @property
    def sentence(self) -> str:
        n = len(self.eigenvalues)
        if self.n_negative == 0:
            return f"None of {n} eigenvalues is negative: no reflector helps these codes."
        first = percent(self.losses[0])
        if self.n_negative == 1:
            return (
                f"1 of {plural(n, 'eigenvalue')} is negative: a reflector helps these codes, by "
                f"{first} of the energy."
            )
        m = self.suggested_n_reflectors()
        loss = self.truncation_loss(m)
        rest = f"all but the first {m} together by {percent(loss)}"
        return (
            f"{self.n_negative} of {n} eigenvalues are negative: {self.n_negative} orthogonal "
            f"reflectors help these codes, the first by {first} of the energy, "
            f"{rest if loss > 0 else 'and each of them is needed'}."
        )


def spectrum(
    dictionary: object,
    Y: ArrayLike,
    n_nonzero_coefs: int | None = None,
    *,
    base: str | Transform | None = None,
) -> Spectrum:
    r"""Eigenvalues of :math:`\tilde Z = X Y^T + Y X^T`, from which QH-DLA takes its reflectors.

    For fixed codes X, m orthogonal reflectors change the objective by :math:`2 \sum_j u_j^T \tilde
    Z u_j`. The best ones are the eigenvectors of the m lowest negative eigenvalues
    :math:`-\alpha_j`. Each of them lowers the error by :math:`2 \alpha_j`. So a few negative
    eigenvalues of large magnitude mean that a few reflectors suffice.

    Parameters
    ----------
    dictionary : Transform, fitted estimator, result of `learn`, or array of atoms in rows
        It determines the codes: X = T_s(U^T Y), or orthogonal matching pursuit if the atoms are not
        orthonormal. It must have as many atoms as features, else X Y^T is not square;
        `one_more_reflector` has no such limit.
    Y : array-like of shape (n_signals, n_features)
        Signals in rows (the paper has them in columns).
    n_nonzero_coefs : int, optional
        Entries per code, s; by default the estimator's.
    base : Transform or str, optional
        A fixed transform B below the reflectors: Y is replaced by B^T Y. By default that of the
        estimator, if any. With the dictionary itself as base, the eigenvalues are those of
        Remark 4.

    Returns
    -------
    Spectrum
        `eigenvalues` in ascending order, `n_negative`, `losses`, and the methods
        `suggested_n_reflectors(max_loss)` and `truncation_loss(n_reflectors)`.

    Examples
    --------
    One reflector makes these signals sparse, and Z~ has one negative eigenvalue:

    >>> import fost, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = fost.select(rng.standard_normal((1000, 8)), 1).toarray()
    >>> U = fost.Householder(np.full((1, 8), np.sqrt(1 / 8)))
    >>> found = fost.diagnostics.spectrum(U, U.inverse(X), 1)
    >>> found.n_negative, found.suggested_n_reflectors()
    (1, 1)
    >>> found.normalised.round(2)[:3] + 0.0
    array([-0.85,  0.7 ,  0.73])
    """
    return spectrum_from_sums(coding_sums(dictionary, Y, n_nonzero_coefs), base)


@single_threaded_blas
def spectrum_from_sums(sums: CodingSums, base: str | Transform | None) -> Spectrum:
    M = sums.square_statistic(base, "the spectrum of X Y^T + Y X^T")
    values = scipy.linalg.eigvalsh(M + M.T, check_finite=False)
    slack = sums.rounding * len(values) * np.abs(values).max()
    return Spectrum(values, int(np.sum(values < -slack)), sums.total)


@dataclass(frozen=True, eq=False, repr=False)
class SymmetricBound(DiagnosticResult):
    """Lowest errors of symmetric (QH) and of general orthonormal dictionaries (Remark 5).

    Attributes
    ----------
    full : float
        2 ||Y X^T||_*, by which the best orthonormal dictionary reduces ||Y||_F^2 + ||X||_F^2.
    symmetric : float
        ||X Y^T + Y X^T||_*, the same for the best product of orthogonal reflectors.
    full_error, symmetric_error : float
        The remaining relative errors for fixed codes.
    """

    full: float
    symmetric: float
    full_error: float
    symmetric_error: float

    @property
    def gap(self) -> float:
        """The excess of the relative error of the best QH dictionary; never negative."""
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
    base: str | Transform | None = None,
) -> SymmetricBound:
    r"""Lowest errors of orthogonal reflectors and of any orthonormal matrix (Remark 5).

    For fixed codes X, :math:`2 \|Y X^T\|_* \ge \|X Y^T + Y X^T\|_*`: Q is never worse than QH. Both
    are reductions of :math:`\|Y\|_F^2 + \|X\|_F^2`; the second needs as many reflectors as
    :math:`X Y^T + Y X^T` has negative eigenvalues. They agree if :math:`Y X^T` is symmetric, as the
    paper says, and more generally if its polar factor is. Complete runs of Q-DLA and QH_m-DLA end
    with different codes, to which the inequality does not apply.

    Parameters
    ----------
    dictionary : Transform, fitted estimator, result of `learn`, or array of atoms in rows
        It determines the codes, and must have as many atoms as features.
    Y : array-like of shape (n_signals, n_features)
        Signals in rows.
    n_nonzero_coefs : int, optional
        Entries per code, s; by default the estimator's.
    base : Transform or str, optional
        A fixed transform below the reflectors; by default the estimator's.

    Returns
    -------
    SymmetricBound
        The reductions `full` and `symmetric`, the errors `full_error` and `symmetric_error`, and
        their difference `gap`.

    Examples
    --------
    >>> import fost, numpy as np
    >>> Y = np.random.default_rng(0).standard_normal((500, 8))
    >>> found = fost.diagnostics.symmetric_bound(fost.DCT(8), Y, 2)
    >>> found.symmetric < found.full, found.gap > 0
    (True, True)
    """
    return symmetric_bound_from_sums(coding_sums(dictionary, Y, n_nonzero_coefs), base)


@single_threaded_blas
def symmetric_bound_from_sums(sums: CodingSums, base: str | Transform | None) -> SymmetricBound:
    M = sums.square_statistic(base, "Remark 5")
    full = 2 * float(scipy.linalg.svdvals(M, check_finite=False).sum())
    symmetric = float(np.abs(scipy.linalg.eigvalsh(M + M.T, check_finite=False)).sum())
    symmetric = min(symmetric, full)  # larger by rounding errors only
    before = sums.total + sums.energy
    errors = (sums.relative(max(0.0, before - reduction)) for reduction in (full, symmetric))
    return SymmetricBound(full, symmetric, *errors)
