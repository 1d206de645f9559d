"""Remark 4: the gain of one more reflector, and the value of each existing one."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from fost._threads import single_threaded_blas
from fost._typing import Float64Array
from fost._validation import check_number
from fost.diagnostics.sums import (
    CodingSums,
    DiagnosticResult,
    canonical_dictionary,
    coding_sums,
    distinct_percents,
    percent,
    plural,
    split_reflectors,
)
from fost.learning.initialise import fixed_signs
from fost.transforms import Bank, Chain, Coder, Householder, Transform


@dataclass(frozen=True, eq=False, repr=False)
class OneMoreReflector(DiagnosticResult):
    """The best reflector in front of a dictionary (Remark 4).

    Attributes
    ----------
    lowest_eigenvalue : float
        Of Z_1 = D X Y^T + Y (D X)^T.
    gain : float
        The difference of ||Y - D X||_F^2 and ||Y - U_1 D X||_F^2: -2 times the lowest eigenvalue,
        or 0 if that is not negative. Encoding again can only increase it.
    relative_gain : float
        The gain divided by ||Y||_F^2.
    error : float
        The relative error without the reflector.
    vector : ndarray of shape (n_features,)
        u_1, the unit eigenvector; zero if no reflector helps.
    eigenvalues : ndarray of shape (n_features,)
        All eigenvalues of Z_1, in ascending order.
    tol : float
        The largest relative gain that counts as zero.
    """

    lowest_eigenvalue: float = field(repr=False)
    gain: float = field(repr=False)
    relative_gain: float
    error: float
    vector: Float64Array = field(repr=False)
    eigenvalues: Float64Array = field(repr=False)
    tol: float = field(repr=False)

    @property
    def helps(self) -> bool:
        """Whether the relative gain exceeds `tol`."""
        return self.relative_gain > self.tol

    @property
    def transform(self) -> Householder:
        """The reflector U_1 alone."""
        return Householder(self.vector[None, :])

    def add_to(self, dictionary: object) -> Coder | Float64Array:
        """U_1 D: the dictionary with the reflector in front.

        Reflectors, alone or at the end of a chain, become one more reflector. Any other transform
        becomes a chain, and a bank becomes a bank of extended members. Atoms that are not
        orthonormal become atoms in rows.
        """
        form = canonical_dictionary(dictionary)
        if form.n_features != len(self.vector):
            raise ValueError(
                f"dictionary has {form.n_features} features, but the reflector {len(self.vector)}"
            )
        if form.coder is None:
            return form.atoms - 2 * np.outer(form.atoms @ self.vector, self.vector)
        members = [self._extended(member) for member in form.coder.members]
        return Bank(members) if form.transform is None else members[0]

    def _extended(self, transform: Transform) -> Transform:
        prefix, reflectors = split_reflectors(transform)
        if reflectors is None or reflectors.n_reflectors == reflectors.n_features:
            return Chain([self.transform, transform])
        # U_1 B H = B (B^T U_1 B) H, and B^T U_1 B is the reflector of B^T u_1.
        added = self.vector if prefix is None else self.vector[None, :] @ prefix
        extended = Householder(np.vstack([reflectors.vectors, added]))
        return extended if prefix is None else Chain([prefix, extended])

    @property
    def sentence(self) -> str:
        if not self.helps:
            return "No further reflector lowers the error: a local minimum in this sense."
        before, after = distinct_percents(self.error, self.error - self.relative_gain)
        return (
            f"One more reflector would lower the error by {percent(self.relative_gain)} of the "
            f"energy, from {before} to {after} or less: not a local minimum."
        )


def one_more_reflector(
    dictionary: object, Y: ArrayLike, n_nonzero_coefs: int | None = None, *, tol: float = 1e-6
) -> OneMoreReflector:
    r"""Gain of the best reflector in front of the dictionary (Remark 4).

    For fixed codes X,
    :math:`\|Y - U_1 D X\|_F^2 - \|Y - D X\|_F^2 = 2 u_1^T Z_1 u_1` with
    :math:`Z_1 = D X Y^T + Y (D X)^T`. No reflector helps if and only if Z_1 is positive
    semidefinite. Otherwise the eigenvector of the lowest eigenvalue is the best one, and it gains
    -2 times that eigenvalue. The condition is necessary for a local minimum, not sufficient.

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
    OneMoreReflector
        Whether the reflector `helps`; its `vector`, `gain`, `relative_gain`, the relative `error`
        before, and the method `add_to(dictionary)`.

    Examples
    --------
    >>> import fost, numpy as np
    >>> Y = np.cumsum(np.random.default_rng(0).standard_normal((500, 16)), axis=1)
    >>> result = fost.learn(Y, fost.Reflectors(4), 2)
    >>> found = fost.diagnostics.one_more_reflector(result, Y, 2)
    >>> found.helps
    True
    >>> better = found.add_to(result.transform)
    >>> better
    Householder(n_features=16, n_reflectors=5, flops=320)
    >>> error = fost.diagnostics.one_more_reflector(better, Y, 2).error
    >>> error <= found.error - found.relative_gain
    True
    """
    sums = coding_sums(dictionary, Y, n_nonzero_coefs)
    return one_more_reflector_from_sums(sums, check_number(tol, "tol", 0))


@single_threaded_blas
def one_more_reflector_from_sums(sums: CodingSums, tol: float) -> OneMoreReflector:
    W = sums.reconstruction
    values, vectors = scipy.linalg.eigh(W + W.T, check_finite=False)
    lowest = float(values[0])
    gain = max(0.0, -2 * lowest)
    return OneMoreReflector(
        lowest_eigenvalue=lowest,
        gain=gain,
        relative_gain=sums.relative(gain),
        error=sums.relative(sums.error),
        vector=fixed_signs(vectors[:, :1])[:, 0] if gain > 0 else np.zeros(len(values)),
        eigenvalues=values,
        tol=tol,
    )


@dataclass(frozen=True, eq=False, repr=False)
class EachReflector(DiagnosticResult):
    """Value of each reflector of a dictionary, and the gain of the best one in its place.

    Attributes
    ----------
    worth : ndarray of shape (n_reflectors,)
        The increase of the relative error without u_j.
    gains : ndarray of shape (n_reflectors,)
        The decrease of the relative error with the best reflector in place of u_j.
    tol : float
        The largest relative gain that counts as zero.
    """

    worth: Float64Array = field(repr=False)
    gains: Float64Array = field(repr=False)
    tol: float = field(repr=False)

    @property
    def n_reflectors(self) -> int:
        """m."""
        return len(self.worth)

    @property
    def holds(self) -> bool:
        """Whether no replacement of a single reflector helps: a local minimum of H_m-DLA."""
        return bool((self.gains <= self.tol).all())

    def __repr__(self) -> str:
        return (
            f"EachReflector(n_reflectors={self.n_reflectors}, "
            f"largest_gain={self.gains.max(initial=0.0):.4g}, "
            f"least_worth={self.worth.min(initial=np.inf):.4g})"
        )

    @property
    def sentence(self) -> str:
        if not self.n_reflectors:
            return "There are no reflectors."
        least = int(np.argmin(self.worth))
        text = (
            f"The least valuable of {plural(self.n_reflectors, 'reflector')}, u_{least + 1}, is "
            f"worth {percent(self.worth[least])} of the energy. "
        )
        if self.holds:
            return text + "Each is the best one in its place: a fixed point of H-DLA."
        j = int(np.argmax(self.gains))
        return text + (
            f"A better one in place of u_{j + 1} would lower the error by "
            f"{percent(self.gains[j])} of the energy: learning has not converged, or its "
            "reflectors are constrained to be orthogonal."
        )


def each_reflector(
    dictionary: object, Y: ArrayLike, n_nonzero_coefs: int | None = None, *, tol: float = 1e-6
) -> EachReflector:
    r"""Value of each reflector of :math:`U = U_m \cdots U_1`, and the gain of replacing it.

    For fixed codes and fixed other reflectors, the objective depends on u_j by :math:`u_j^T Z u_j`
    with :math:`Z = 2 \tilde Z` of equation (theSecondZ). The best reflector attains the lowest
    eigenvalue of Z. H_m-DLA has converged if no reflector can be improved.

    Parameters
    ----------
    dictionary : Transform, fitted estimator or result of `learn`
        `Householder`, or a chain that ends with it.
    Y : array-like of shape (n_signals, n_features)
        Signals in rows.
    n_nonzero_coefs : int, optional
        Entries per code, s; by default the estimator's.
    tol : float
        The largest relative gain that counts as zero; the default is the `tol` of `fost.learn`.

    Returns
    -------
    EachReflector
        The arrays `worth` and `gains`, one entry per reflector, and whether each reflector `holds`
        its place.

    Examples
    --------
    >>> import fost, numpy as np
    >>> Y = np.cumsum(np.random.default_rng(0).standard_normal((500, 16)), axis=1)
    >>> result = fost.learn(Y, fost.Reflectors(3), 3, max_iter=500, tol=0)
    >>> found = fost.diagnostics.each_reflector(result, Y, 3)
    >>> found.holds, bool((found.worth > 0).all())
    (True, True)
    """
    sums = coding_sums(dictionary, Y, n_nonzero_coefs)
    return each_reflector_from_sums(sums, check_number(tol, "tol", 0))


@single_threaded_blas
def each_reflector_from_sums(sums: CodingSums, tol: float) -> EachReflector:
    prefix, reflectors = sums.dictionary.split_reflectors()
    if reflectors is None:
        raise ValueError(
            "dictionary must consist of reflectors, or be a chain that ends with them, "
            f"got {sums.dictionary.name}"
        )
    R = sums.statistic if prefix is None else sums.statistic @ prefix
    vectors = reflectors.vectors
    for u in vectors[:0:-1]:  # R_1 = M U_m ... U_2
        R = R - 2 * np.outer(R @ u, u)
    worth, gains = np.zeros(len(vectors)), np.zeros(len(vectors))
    for j, u in enumerate(vectors):
        Z = R + R.T
        lowest = float(scipy.linalg.eigvalsh(Z, subset_by_index=[0, 0], check_finite=False).item())
        present = float(u @ Z @ u)
        worth[j] = sums.relative(-2 * present)
        gains[j] = sums.relative(max(0.0, 2 * (present - min(0.0, lowest))))
        if j + 1 < len(vectors):  # R_(j+1) = U_j R_j U_(j+1)
            R = R - 2 * np.outer(u, u @ R)
            R = R - 2 * np.outer(R @ vectors[j + 1], vectors[j + 1])
    return EachReflector(worth, gains, tol)
