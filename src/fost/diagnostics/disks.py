"""Remark 1: Gershgorin's disks, a bound that is easy to compute."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fost._threads import single_threaded_blas
from fost.diagnostics.coded import Coded, code
from fost.diagnostics.findings import Finding, check_tolerance, percent
from fost.diagnostics.remarks import asymmetry, lowest_eigenvalue


@dataclass(frozen=True, eq=False, repr=False)
class Gershgorin(Finding):
    """Gershgorin's disks of R = X (Q^T Y)^T (Remark 1).

    Attributes
    ----------
    centres : ndarray of shape (n_features,)
        R_jj = ||psi_j||^2, the energy that atom j takes.
    radii : ndarray of shape (n_features,)
        The sums of |R_ji| over i != j.
    mu : float
        The largest |R_ji|, i != j.
    lowest_eigenvalue : float
        Of (R + R^T) / 2, which the disks bound from below where R is symmetric.
    asymmetry : float
        ||R - R^T||_F / (2 ||R||_F), between 0 and 1.
    tol : float
        The asymmetry up to which R counts as symmetric.

    Examples
    --------
    >>> import fost, numpy as np
    >>> Y = np.cumsum(np.random.default_rng(0).standard_normal((500, 16)), axis=1)
    >>> U = fost.learn(Y, fost.Reflectors(4), 2).transform
    >>> found = fost.diagnostics.gershgorin(U, Y, 2)
    >>> len(found.centres) == len(found.radii) == 16
    True
    """

    centres: NDArray[np.float64] = field(repr=False)
    radii: NDArray[np.float64] = field(repr=False)
    mu: float
    lowest_eigenvalue: float
    asymmetry: float
    tol: float = field(repr=False)

    @property
    def rows(self) -> NDArray[np.bool_]:
        """Which rows satisfy the bound: R_jj >= sum of |R_ji|."""
        return np.asarray(self.centres >= self.radii)

    @property
    def used(self) -> NDArray[np.bool_]:
        """Which atoms are used at all; rows of the others are zero and satisfy the bound."""
        return np.asarray(self.centres > 0)

    @property
    def bound(self) -> float:
        """(n - 1) mu, the coarser bound: where all R_jj reach it all rows satisfy the finer one."""
        return (len(self.centres) - 1) * self.mu

    @property
    def holds(self) -> bool:
        """Whether the disks prove that R is symmetric positive semidefinite."""
        return bool(self.rows.all()) and self.asymmetry <= self.tol

    @property
    def sentence(self) -> str:
        n_used, n_good = int(self.used.sum()), int((self.rows & self.used).sum())
        if self.holds:
            return "All disks lie right of zero: no orthonormal dictionary is better for the codes."
        if self.rows.all():
            return (
                "All disks lie right of zero, but R is not symmetric "
                f"(by {percent(self.asymmetry)}): some orthonormal dictionary would do better "
                "(Remark 3 says by how much)."
            )
        return (
            f"{n_good} of {n_used} used rows have their disk right of zero: the disks prove "
            "nothing here (Remark 3 decides)."
        )


def gershgorin(
    dictionary: object, Y: ArrayLike, n_nonzero_coefs: int | None = None, *, tol: float = 1e-6
) -> Gershgorin:
    """Remark 1: do Gershgorin's disks prove that R = X (Q^T Y)^T is positive semidefinite?

    A symmetric matrix whose diagonal dominates, R_jj >= sum over i != j of |R_ji|, is positive
    semidefinite, and with R so no orthonormal dictionary represents Y better with these codes.
    R_jj is the energy of row j of X = T_s(Q^T Y).

    The paper prints the inequality the wrong way round, R_jj <= sum <= (n - 1) mu; what is true is
    R_jj >= (n - 1) mu  =>  R_jj >= sum for all j  =>  R is positive semidefinite.
    The condition suffices; it is not necessary, and rarely met by data with many features.

    Parameters
    ----------
    dictionary : Transform, fitted estimator, result of `learn`, or array of atoms in rows
        Orthonormal.
    Y : array-like of shape (n_signals, n_features)
        Signals in rows.
    n_nonzero_coefs : int, optional
        Entries per code, s; by default the estimator's.
    tol : float
        The asymmetry of R up to which it counts as symmetric.

    Returns
    -------
    Gershgorin

    Examples
    --------
    >>> import fost
    >>> found = fost.diagnostics.gershgorin(fost.DCT(2), [[3.0, 1.0], [2.0, -4.0]], 1)
    >>> found.rows, round(found.mu, 12)
    (array([ True,  True]), 6.0)
    """
    return gershgorin_of(code(dictionary, Y, n_nonzero_coefs), check_tolerance(tol))


@single_threaded_blas
def gershgorin_of(coded: Coded, tol: float) -> Gershgorin:
    if coded.dictionary.transform is None:
        raise ValueError("dictionary must be orthonormal for Remark 1, but its atoms are not")
    R = coded.statistic @ coded.dictionary.atoms.T
    off = np.abs(R)
    np.fill_diagonal(off, 0.0)
    return Gershgorin(
        centres=coded.atom_energies,
        radii=off.sum(axis=1),
        mu=float(off.max()),
        lowest_eigenvalue=lowest_eigenvalue(R),
        asymmetry=asymmetry(R),
        tol=tol,
    )
