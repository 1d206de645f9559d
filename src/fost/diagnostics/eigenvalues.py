"""The spectrum of Z~ = X Y^T + Y X^T: how many reflectors are worth having."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from fost._threads import single_threaded_blas
from fost._validation import check_integer, check_number
from fost.diagnostics.coded import Coded, code
from fost.diagnostics.findings import Finding, counted, percent
from fost.learning.reflectors import n_worthwhile
from fost.transforms import Transform


@dataclass(frozen=True, eq=False, repr=False)
class Spectrum(Finding):
    """Eigenvalues of Z~ and what they say about reflectors.

    Attributes
    ----------
    eigenvalues : ndarray of shape (n_features,)
        Of Z~, from the lowest.
    n_negative : int
        How many are negative, by more than rounding.
    total : float
        ||Y||_F^2.

    Examples
    --------
    >>> import fost, numpy as np
    >>> Y = np.cumsum(np.random.default_rng(0).standard_normal((500, 16)), axis=1)
    >>> U = fost.learn(Y, fost.Reflectors(4), 2).transform
    >>> found = fost.diagnostics.spectrum(U, Y, 2)
    >>> len(found.eigenvalues), found.suggested_m() <= found.n_negative
    (16, True)
    """

    eigenvalues: NDArray[np.float64] = field(repr=False)
    n_negative: int
    total: float

    @property
    def normalised(self) -> NDArray[np.float64]:
        """The eigenvalues over the largest magnitude among them, so in [-1, 1].

        The paper's figures show "normalized eigenvalues" without saying by what.
        """
        largest = np.abs(self.eigenvalues).max()
        return self.eigenvalues / largest if largest > 0 else self.eigenvalues

    @property
    def losses(self) -> NDArray[np.float64]:
        """By how much the relative error grows without each reflector: 2 alpha / ||Y||_F^2.

        One for each negative eigenvalue -alpha, the most valuable first.
        """
        negative = self.eigenvalues[: self.n_negative]
        return -2 * negative / self.total if self.total > 0 else 0 * negative

    def left_out(self, m: int) -> float:
        """By how much the relative error grows if only the first `m` reflectors are kept."""
        m = check_integer(m, "m", 0, len(self.eigenvalues), "n_features")
        return float(self.losses[m:].sum())

    def suggested_m(self, max_loss: float = 0.005) -> int:
        """The fewest reflectors for which `left_out` is at most `max_loss`.

        ``Reflectors("auto")`` decides by the same rule (but takes at least one), on the
        spectrum that QH-DLA with n / 2 reflectors has after ten iterations.
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
                f"1 of {counted(n, 'eigenvalue')} is negative: a reflector helps these codes, by "
                f"{first} of the energy."
            )
        m = self.suggested_m()
        left_out = self.left_out(m)
        rest = f"all but the first {m} together by {percent(left_out)}"
        return (
            f"{self.n_negative} of {n} eigenvalues are negative: as many orthogonal reflectors "
            f"help these codes, the first by {first} of the energy, "
            f"{rest if left_out > 0 else 'and none can be spared'}."
        )


def spectrum(
    dictionary: object,
    Y: ArrayLike,
    n_nonzero_coefs: int | None = None,
    *,
    base: Transform | None = None,
) -> Spectrum:
    """Eigenvalues of Z~ = X Y^T + Y X^T, the matrix from which QH-DLA takes its reflectors.

    With fixed codes X, m orthogonal reflectors change the objective (equation householdersymmetric)
    by the sum of u_j^T Z u_j, Z = 2 Z~. The best ones are the eigenvectors of the m lowest
    negative eigenvalues -alpha_j, each of which is worth 2 alpha_j. Few negative eigenvalues of
    large magnitude mean that few reflectors suffice.

    Parameters
    ----------
    dictionary : Transform, fitted estimator, result of `learn`, or array of atoms in rows
        Where the codes come from: X = T_s(U^T Y), or orthogonal matching pursuit if the atoms
        are not orthonormal. It must have as many atoms as features, else X Y^T is not square;
        `one_more_reflector` has no such limit.
    Y : array-like of shape (n_signals, n_features)
        Signals in rows (the paper's Y has them in columns).
    n_nonzero_coefs : int, optional
        Entries per code, s; by default the estimator's.
    base : Transform, optional
        A fixed transform B that reflectors shall be put on top of: Y is B^T Y then. By default
        the base of an estimator that has one. With the dictionary itself as its base, the
        eigenvalues are those of Remark 4.

    Returns
    -------
    Spectrum

    Examples
    --------
    Signals that one reflector makes sparse: Z~ has one negative eigenvalue.

    >>> import fost, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = fost.select(rng.standard_normal((1000, 8)), 1).toarray()
    >>> U = fost.Householder(np.full((1, 8), np.sqrt(1 / 8)))
    >>> found = fost.diagnostics.spectrum(U, U.inverse(X), 1)
    >>> found.n_negative, found.suggested_m()
    (1, 1)
    >>> found.normalised.round(2)[:3] + 0.0
    array([-0.85,  0.7 ,  0.73])
    """
    return spectrum_of(code(dictionary, Y, n_nonzero_coefs), base)


@single_threaded_blas
def spectrum_of(coded: Coded, base: Transform | None) -> Spectrum:
    M = coded.square_statistic(base, "the spectrum of X Y^T + Y X^T")
    values = scipy.linalg.eigvalsh(M + M.T, check_finite=False)
    slack = coded.rounding * len(values) * np.abs(values).max()
    return Spectrum(values, int(np.sum(values < -slack)), coded.total)
