"""Remarks 2 and 3 of the paper: can another orthonormal matrix do better?

Both ask about fixed codes X. A dictionary that passes is a fixed point of the alternation:
coding again gives the same X, and for that X nothing is better.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from fost._threads import single_threaded_blas
from fost.diagnostics.coded import Coded, code
from fost.diagnostics.findings import Finding, check_tolerance, percent


@dataclass(frozen=True, eq=False, repr=False)
class Symmetry(Finding):
    """How far Y X^T D^T is from symmetric positive semidefinite (Remark 2).

    Attributes
    ----------
    gap : float
        ||W - W^T||_F / (2 ||W||_F) of W = Y X^T D^T: 0 if symmetric, 1 if skew-symmetric.
    lowest_eigenvalue : float
        Of (W + W^T) / 2, as a share of ||Y||_F^2.
    tol : float
        What counts as zero in both.

    Examples
    --------
    >>> import fost, numpy as np
    >>> Y = np.cumsum(np.random.default_rng(0).standard_normal((500, 16)), axis=1)
    >>> U = fost.learn(Y, fost.Reflectors(4), 2).transform
    >>> found = fost.diagnostics.symmetry(U, Y, 2)
    >>> 0 <= found.gap < 0.1
    True
    """

    gap: float
    lowest_eigenvalue: float
    tol: float = field(repr=False)

    @property
    def holds(self) -> bool:
        """Whether no orthonormal Q makes Q D better than D for these codes."""
        return self.gap <= self.tol and self.lowest_eigenvalue >= -self.tol

    @property
    def sentence(self) -> str:
        kind = "symmetric" if self.gap <= self.tol else f"asymmetric by {percent(self.gap)}"
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
    """Remark 2: is Y X^T D^T symmetric, so that no orthonormal Q makes Q D better than D?

    The paper writes Y D^T X^T, whose sizes do not fit, and asks for symmetry alone. Its proof
    uses Y X^T D^T = U S U^T with S >= 0: symmetric *and positive semidefinite*. Without the
    latter it is false: for Y = -D X the matrix is symmetric, and Q = -I is perfect.
    The corrected condition is equivalent to that of Remark 3 (`procrustes`).

    Parameters
    ----------
    dictionary : Transform, fitted estimator, result of `learn`, or array of atoms in rows
        Any number of atoms, orthonormal or not.
    Y : array-like of shape (n_signals, n_features)
        Signals in rows.
    n_nonzero_coefs : int, optional
        Entries per code, s; by default the estimator's.
    tol : float
        What counts as zero, of the asymmetry and of the lowest eigenvalue over ||Y||_F^2.

    Returns
    -------
    Symmetry

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
    return symmetry_of(code(dictionary, Y, n_nonzero_coefs), check_tolerance(tol))


@single_threaded_blas
def symmetry_of(coded: Coded, tol: float) -> Symmetry:
    W = coded.reconstruction.T
    return Symmetry(asymmetry(W), coded.relative(lowest_eigenvalue(W)), tol)


@dataclass(frozen=True, eq=False, repr=False)
class Procrustes(Finding):
    """What the best orthonormal matrix in front of the dictionary would gain (Remark 3).

    Attributes
    ----------
    trace : float
        tr(Y X^T D^T), which is ||X||_F^2 for an orthonormal dictionary.
    nuclear_norm : float
        ||Y X^T D^T||_*, which is ||Y X^T||_* for an orthonormal dictionary.
    gain : float
        2 (nuclear_norm - trace): how much lower ||Y - Q D X||_F^2 is than ||Y - D X||_F^2.
    relative_gain : float
        The gain over ||Y||_F^2.
    matrix : ndarray of shape (n_features, n_features)
        The best Q.
    tol : float
        The relative gain up to which the condition counts as met.

    Examples
    --------
    >>> import fost, numpy as np
    >>> Y = np.cumsum(np.random.default_rng(0).standard_normal((500, 16)), axis=1)
    >>> U = fost.learn(Y, fost.Reflectors(4), 2).transform
    >>> found = fost.diagnostics.procrustes(U, Y, 2)
    >>> found.matrix.shape, found.nuclear_norm >= found.trace
    ((16, 16), True)
    """

    trace: float
    nuclear_norm: float
    gain: float = field(repr=False)
    relative_gain: float
    matrix: NDArray[np.float64] = field(repr=False)
    tol: float = field(repr=False)

    @property
    def holds(self) -> bool:
        """Whether trace and nuclear norm agree."""
        return self.relative_gain <= self.tol

    @property
    def sentence(self) -> str:
        if self.holds:
            return "No other orthonormal dictionary is better for these codes: a fixed point."
        return (
            f"The best orthonormal matrix would lower the error by {percent(self.relative_gain)} "
            "of the energy: not a local minimum among all orthonormal dictionaries."
        )


def procrustes(
    dictionary: object, Y: ArrayLike, n_nonzero_coefs: int | None = None, *, tol: float = 1e-6
) -> Procrustes:
    """Remark 3: a local minimum has tr(Y X^T D^T) = ||Y X^T D^T||_*.

    For an orthonormal dictionary Q the condition reads ||X||_F^2 = ||Y X^T||_*. It is necessary:
    where the nuclear norm is larger, the solution of the orthogonal Procrustes problem lowers the
    error by twice the difference while the codes stay as they are.

    Parameters
    ----------
    dictionary : Transform, fitted estimator, result of `learn`, or array of atoms in rows
        Any number of atoms, orthonormal or not.
    Y : array-like of shape (n_signals, n_features)
        Signals in rows.
    n_nonzero_coefs : int, optional
        Entries per code, s; by default the estimator's.
    tol : float
        Relative gain that counts as none: the default is that at which `fost.learn` stops.

    Returns
    -------
    Procrustes

    Notes
    -----
    The paper says that a matrix meets tr = ||.||_* for example if it is normal and positive
    semidefinite, and that a nearly skew-symmetric Y X^T will do (example in R^2). The equation
    holds if and only if the matrix is symmetric positive semidefinite: [[1, -1], [1, 1]] is
    normal and x^T A x >= 0, yet has trace 2 and nuclear norm 2 sqrt(2).

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
    return procrustes_of(code(dictionary, Y, n_nonzero_coefs), check_tolerance(tol))


@single_threaded_blas
def procrustes_of(coded: Coded, tol: float) -> Procrustes:
    u, values, vt = scipy.linalg.svd(coded.reconstruction.T, check_finite=False)
    trace, nuclear = float(np.trace(coded.reconstruction)), float(values.sum())
    gain = max(0.0, 2 * (nuclear - trace))
    return Procrustes(trace, nuclear, gain, coded.relative(gain), np.asarray(u @ vt), tol)


def lowest_eigenvalue(A: NDArray[np.float64]) -> float:
    """The lowest eigenvalue of (A + A^T) / 2."""
    values = scipy.linalg.eigvalsh((A + A.T) / 2, subset_by_index=[0, 0], check_finite=False)
    return float(values[0])


def asymmetry(A: NDArray[np.float64]) -> float:
    """||A - A^T||_F / (2 ||A||_F), 0 for zero."""
    largest = np.abs(A).max()
    if largest == 0:
        return 0.0
    A = A / largest  # squares of 1e200 overflow
    return float(np.linalg.norm(A - A.T) / (2 * np.linalg.norm(A)))
