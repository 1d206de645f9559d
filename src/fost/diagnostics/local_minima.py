"""Remarks 1, 2 and 3 of the paper: is another orthonormal matrix better for the same codes?

All three assume fixed codes `X`. A dictionary that passes is a fixed point of the alternation:
encoding again gives the same `X`, and no orthonormal matrix is better for `X`. Remark 3
(`procrustes`) decides the question, Remark 2 (`symmetry`) is equivalent, and Remark 1
(`gershgorin`) is sufficient.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from fost._threads import single_threaded_blas
from fost._typing import Float64Array, Mask
from fost._validation import check_number
from fost.diagnostics.sums import CodingSums, DiagnosticResult, coding_sums, percent


@dataclass(frozen=True, eq=False, repr=False)
class Procrustes(DiagnosticResult):
    """Gain of the best orthonormal matrix in front of the dictionary (Remark 3).

    Attributes
    ----------
    trace : float
        tr(Y X^T D^T), which is ||X||_F^2 for an orthonormal dictionary.
    nuclear_norm : float
        ||Y X^T D^T||_*, which is ||Y X^T||_* for an orthonormal dictionary.
    gain : float
        2 (nuclear_norm - trace), the difference of ||Y - D X||_F^2 and ||Y - Q D X||_F^2.
    relative_gain : float
        The gain divided by ||Y||_F^2.
    matrix : ndarray of shape (n_features, n_features)
        The best Q.
    tol : float
        The largest relative gain that counts as zero.
    """

    trace: float
    nuclear_norm: float
    gain: float = field(repr=False)
    relative_gain: float
    matrix: Float64Array = field(repr=False)
    tol: float = field(repr=False)

    @property
    def holds(self) -> bool:
        """Whether trace and nuclear norm agree."""
        return self.relative_gain <= self.tol

    @property
    def sentence(self) -> str:
        if self.holds:
            return "No orthonormal matrix in front improves it for these codes: a fixed point."
        return (
            f"The best orthonormal matrix in front would lower the error by "
            f"{percent(self.relative_gain)} of the energy for these codes: not a fixed point."
        )


def procrustes(
    dictionary: object, Y: ArrayLike, n_nonzero_coefs: int | None = None, *, tol: float = 1e-6
) -> Procrustes:
    r"""Gain of the best orthonormal matrix in front of the dictionary (Remark 3).

    A local minimum has :math:`\operatorname{tr}(Y X^T D^T) = \|Y X^T D^T\|_*`. For an orthonormal
    dictionary Q the condition reads :math:`\|X\|_F^2 = \|Y X^T\|_*`. The condition is necessary. If
    the nuclear norm is larger, the solution of the orthogonal Procrustes problem lowers the error
    by twice the difference, for fixed codes.

    Parameters
    ----------
    dictionary : Transform, fitted estimator, result of `learn`, or array of atoms in rows
        Any number of atoms, orthonormal or not.
    Y : array-like of shape (n_signals, n_features)
        Signals in rows.
    n_nonzero_coefs : int, optional
        Entries per code, s; by default the estimator's.
    tol : float
        The largest relative gain that counts as zero; the default is the `tol` of `fost.learn`.

    Returns
    -------
    Procrustes
        Whether the condition `holds`; `trace`, `nuclear_norm`, `gain`, `relative_gain`, and the
        best orthonormal `matrix`.

    Notes
    -----
    The paper says that a normal and positive semidefinite matrix has a trace equal to its nuclear
    norm. It also says that a nearly skew-symmetric :math:`Y X^T` suffices (example in R^2).
    In fact, the two are equal if and only if the matrix is symmetric positive semidefinite. A
    counterexample is ``A = [[1, -1], [1, 1]]``: it is normal with ``x^T A x >= 0``, but has trace 2
    and nuclear norm ``2 sqrt(2)``.

    Examples
    --------
    >>> import fost, numpy as np
    >>> Y = np.random.default_rng(0).standard_normal((500, 8))
    >>> fost.diagnostics.procrustes(fost.DCT(8), Y, 2).holds
    False
    >>> result = fost.learn(Y, fost.Orthonormal(), 2, max_iter=1000, tol=0)
    >>> fost.diagnostics.procrustes(result, Y, 2).holds
    True
    """
    sums = coding_sums(dictionary, Y, n_nonzero_coefs)
    return procrustes_from_sums(sums, check_number(tol, "tol", 0))


@single_threaded_blas
def procrustes_from_sums(sums: CodingSums, tol: float) -> Procrustes:
    u, values, vt = scipy.linalg.svd(sums.reconstruction.T, check_finite=False)
    trace, nuclear = float(np.trace(sums.reconstruction)), float(values.sum())
    gain = max(0.0, 2 * (nuclear - trace))
    return Procrustes(trace, nuclear, gain, sums.relative(gain), np.asarray(u @ vt), tol)


@dataclass(frozen=True, eq=False, repr=False)
class Symmetry(DiagnosticResult):
    """Deviation of Y X^T D^T from symmetric positive semidefinite (Remark 2).

    Attributes
    ----------
    asymmetry : float
        ||W - W^T||_F / (2 ||W||_F) of W = Y X^T D^T: 0 if symmetric, 1 if skew-symmetric.
    lowest_eigenvalue : float
        Of (W + W^T) / 2, divided by ||Y||_F^2.
    tol : float
        The largest magnitude of both that counts as zero.
    """

    asymmetry: float
    lowest_eigenvalue: float
    tol: float = field(repr=False)

    @property
    def holds(self) -> bool:
        """Whether no orthonormal Q makes Q D better than D for these codes."""
        return self.asymmetry <= self.tol and self.lowest_eigenvalue >= -self.tol

    @property
    def sentence(self) -> str:
        kind = (
            "symmetric"
            if self.asymmetry <= self.tol
            else f"asymmetric by {percent(self.asymmetry)}"
        )
        sign = "has" if self.lowest_eigenvalue < -self.tol else "has no"
        verdict = (
            "no orthonormal matrix in front of the dictionary lowers the error."
            if self.holds
            else "some orthonormal matrix would do better (Remark 3 says by how much)."
        )
        return f"Y X^T D^T is {kind} and {sign} negative eigenvalues: {verdict}"


def symmetry(
    dictionary: object, Y: ArrayLike, n_nonzero_coefs: int | None = None, *, tol: float = 1e-6
) -> Symmetry:
    r"""Whether :math:`Y X^T D^T` is symmetric positive semidefinite (Remark 2).

    If so, no orthonormal Q makes Q D better than D for these codes. The paper writes
    :math:`Y D^T X^T`, whose sizes do not fit, and asks for symmetry alone. Its proof uses
    :math:`Y X^T D^T = U S U^T` with :math:`S \ge 0`, so the matrix must be positive semidefinite,
    too: for :math:`Y = -D X` it is symmetric, and :math:`Q = -I` is perfect. The corrected
    condition is equivalent to that of Remark 3 (`procrustes`).

    Parameters
    ----------
    dictionary : Transform, fitted estimator, result of `learn`, or array of atoms in rows
        Any number of atoms, orthonormal or not.
    Y : array-like of shape (n_signals, n_features)
        Signals in rows.
    n_nonzero_coefs : int, optional
        Entries per code, s; by default the estimator's.
    tol : float
        The largest asymmetry, and magnitude of a negative eigenvalue over ||Y||_F^2, that counts
        as zero.

    Returns
    -------
    Symmetry
        Whether the condition `holds`; the `asymmetry` and the `lowest_eigenvalue`.

    Examples
    --------
    >>> import fost, numpy as np
    >>> Y = np.random.default_rng(0).standard_normal((500, 8))
    >>> fost.diagnostics.symmetry(fost.DCT(8), Y, 2).holds
    False
    >>> result = fost.learn(Y, fost.Orthonormal(), 2, max_iter=1000, tol=0)
    >>> fost.diagnostics.symmetry(result, Y, 2).holds
    True
    """
    sums = coding_sums(dictionary, Y, n_nonzero_coefs)
    return symmetry_from_sums(sums, check_number(tol, "tol", 0))


@single_threaded_blas
def symmetry_from_sums(sums: CodingSums, tol: float) -> Symmetry:
    W = sums.reconstruction.T
    return Symmetry(_asymmetry(W), sums.relative(_lowest_eigenvalue(W)), tol)


@dataclass(frozen=True, eq=False, repr=False)
class Gershgorin(DiagnosticResult):
    """Gershgorin disks of R = X (Q^T Y)^T (Remark 1).

    Attributes
    ----------
    centres : ndarray of shape (n_features,)
        R_jj = ||row j of X||^2, the energy of the coefficients of atom j.
    radii : ndarray of shape (n_features,)
        The sums of ``|R_ji|`` over i != j.
    mu : float
        The largest ``|R_ji|``, i != j.
    lowest_eigenvalue : float
        Of (R + R^T) / 2; the disks are a lower bound for it if R is symmetric.
    asymmetry : float
        ||R - R^T||_F / (2 ||R||_F), between 0 and 1.
    tol : float
        The largest asymmetry that counts as zero.
    """

    centres: Float64Array = field(repr=False)
    radii: Float64Array = field(repr=False)
    mu: float
    lowest_eigenvalue: float
    asymmetry: float
    tol: float = field(repr=False)

    @property
    def rows(self) -> Mask:
        """Which rows are diagonally dominant: R_jj >= sum of ``|R_ji|``, i != j."""
        return np.asarray(self.centres >= self.radii)

    @property
    def used(self) -> Mask:
        """Which atoms are used; rows of unused atoms are zero and count as dominant."""
        return np.asarray(self.centres > 0)

    @property
    def bound(self) -> float:
        """(n - 1) mu, a coarser bound: if all R_jj reach it, all rows are dominant."""
        return (len(self.centres) - 1) * self.mu

    @property
    def holds(self) -> bool:
        """Whether the disks prove that R is symmetric positive semidefinite."""
        return bool(self.rows.all()) and self.asymmetry <= self.tol

    @property
    def sentence(self) -> str:
        n_used, n_dominant = int(self.used.sum()), int((self.rows & self.used).sum())
        if self.holds:
            return "All disks lie right of zero: no orthonormal dictionary is better for the codes."
        if self.rows.all():
            return (
                "All disks lie right of zero, but R is not symmetric "
                f"(by {percent(self.asymmetry)}): some orthonormal dictionary would do better "
                "(Remark 3 says by how much)."
            )
        return (
            f"{n_dominant} of {n_used} used rows have their disk right of zero: the disks prove "
            "nothing here (Remark 3 decides)."
        )


def gershgorin(
    dictionary: object, Y: ArrayLike, n_nonzero_coefs: int | None = None, *, tol: float = 1e-6
) -> Gershgorin:
    r"""Whether Gershgorin disks prove :math:`R = X (Q^T Y)^T` positive semidefinite (Remark 1).

    A symmetric matrix with a dominant diagonal, :math:`R_{jj} \ge \sum_{i \ne j} |R_{ji}|`, is
    positive semidefinite. For such an R, no orthonormal dictionary is better for these codes.
    :math:`R_{jj}` is the energy of row j of :math:`X = T_s(Q^T Y)`.

    The paper prints the inequality the wrong way round, :math:`R_{jj} \le \sum \le (n - 1) \mu`.
    The true implications are: :math:`R_{jj} \ge (n - 1) \mu` implies :math:`R_{jj} \ge \sum` for
    all j, which implies that R is positive semidefinite. The condition is sufficient, not
    necessary, and rarely met by data with many features.

    Parameters
    ----------
    dictionary : Transform, fitted estimator, result of `learn`, or array of atoms in rows
        Orthonormal.
    Y : array-like of shape (n_signals, n_features)
        Signals in rows.
    n_nonzero_coefs : int, optional
        Entries per code, s; by default the estimator's.
    tol : float
        The largest asymmetry of R that counts as zero.

    Returns
    -------
    Gershgorin
        Whether the condition `holds`; the `centres` and `radii` of the disks, the dominant `rows`,
        `mu`, the `lowest_eigenvalue` and the `asymmetry`.

    Examples
    --------
    >>> import fost
    >>> found = fost.diagnostics.gershgorin(fost.DCT(2), [[3.0, 1.0], [2.0, -4.0]], 1)
    >>> found.rows, round(found.mu, 12)
    (array([ True,  True]), 6.0)
    """
    sums = coding_sums(dictionary, Y, n_nonzero_coefs)
    return gershgorin_from_sums(sums, check_number(tol, "tol", 0))


@single_threaded_blas
def gershgorin_from_sums(sums: CodingSums, tol: float) -> Gershgorin:
    if sums.dictionary.transform is None:
        raise ValueError("dictionary must be orthonormal for Remark 1, but its atoms are not")
    R = sums.statistic @ sums.dictionary.atoms.T
    off = np.abs(R)
    np.fill_diagonal(off, 0.0)
    return Gershgorin(
        centres=sums.atom_energies,
        radii=off.sum(axis=1),
        mu=float(off.max()),
        lowest_eigenvalue=_lowest_eigenvalue(R),
        asymmetry=_asymmetry(R),
        tol=tol,
    )


def _lowest_eigenvalue(A: Float64Array) -> float:
    """The lowest eigenvalue of (A + A^T) / 2."""
    values = scipy.linalg.eigvalsh((A + A.T) / 2, subset_by_index=[0, 0], check_finite=False)
    return float(values[0])


def _asymmetry(A: Float64Array) -> float:
    """||A - A^T||_F / (2 ||A||_F), 0 for zero."""
    largest = np.abs(A).max()
    if largest == 0:
        return 0.0
    A = A / largest  # squares of 1e200 overflow
    return float(np.linalg.norm(A - A.T) / (2 * np.linalg.norm(A)))
