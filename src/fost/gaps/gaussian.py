"""A Gaussian whose covariance is a transform with a variance for each coefficient."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.lapack import dpotrf, dpotri

from fost import _core
from fost._threads import single_threaded_blas
from fost._validation import check_parameters
from fost.transforms import Dense, Transform

# Variances are at least this share of the largest one: below is rounding, and the inverse of a
# covariance has no digits beyond.
_LEAST = 1e-12
# Features of covariances that are inverted by the core, several at once; LAPACK has the others.
_SIDE_BY_SIDE = 128


class Gaussian:
    """The Gaussian N(mean, U diag(variances) U^T) of signals, with U orthonormal.

    Parameters
    ----------
    mean : array-like of shape (n_features,)
    transform : Transform
        U: coefficients of signals in its domain have nothing to do with each other.
    variances : array-like of shape (n_features,)
        Those of the coefficients, not negative.

    Examples
    --------
    Neighbours that are alike, of which one is missing:

    >>> import fost, numpy as np
    >>> gaussian = fost.gaps.Gaussian(np.zeros(4), fost.DCT(4), [4, 1, 0.1, 0.1])
    >>> mixture = fost.gaps.Mixture([gaussian])
    >>> mixture.fill([[1.0, np.nan, 1.0, 1.0]]).round(2)
    array([[1.  , 0.96, 1.  , 1.  ]])
    """

    def __init__(self, mean: ArrayLike, transform: Transform, variances: ArrayLike) -> None:
        if not isinstance(transform, Transform):
            raise TypeError(f"transform must be a transform, got {type(transform).__name__}")
        self.mean = check_parameters(mean, "mean", (transform.n_features,))
        given = check_parameters(variances, "variances", (transform.n_features,))
        if given.min() < 0:
            raise ValueError(f"variances must not be negative, got {given.min():g}")
        if not given.max() > 0:
            raise ValueError("variances must not all be zero")
        self.__dict__["transform"] = transform
        self.__dict__["variances"] = np.maximum(given, _LEAST * given.max())

    @classmethod
    def of_covariance(cls, mean: NDArray[np.float64], covariance: NDArray[np.float64]) -> Self:
        """One with this covariance, which is definite; its transform is found when asked for."""
        made = cls.__new__(cls)
        made.mean = mean
        made.__dict__["covariance"] = covariance
        return made

    @property
    def has_transform(self) -> bool:
        """Whether it was made of a transform, and not of a covariance."""
        return "transform" in self.__dict__ and "_spectrum" not in self.__dict__

    @property
    def n_features(self) -> int:
        """Entries per signal."""
        return len(self.mean)

    @cached_property
    def _spectrum(self) -> tuple[NDArray[np.float64], Transform]:
        """Eigenvalues and eigenvectors of the covariance."""
        with single_threaded_blas:
            values, vectors = np.linalg.eigh(self.covariance)
        values = np.maximum(values[::-1], _LEAST * values[-1])
        return values, Dense(np.ascontiguousarray(vectors[:, ::-1]))

    @cached_property
    def transform(self) -> Transform:
        """U, in whose domain coefficients have nothing to do with each other."""
        return self._spectrum[1]

    @cached_property
    def variances(self) -> NDArray[np.float64]:
        """The variances of the coefficients."""
        return self._spectrum[0]

    @cached_property
    def covariance(self) -> NDArray[np.float64]:
        """U diag(variances) U^T, of shape (n_features, n_features)."""
        return self._with(self.variances)

    @cached_property
    def precision(self) -> NDArray[np.float64]:
        """The inverse of the covariance."""
        if self.has_transform:
            return self._with(1 / self.variances)
        return self._inverse[0]

    @cached_property
    def log_determinant(self) -> float:
        """The logarithm of the determinant of the covariance."""
        if self.has_transform:
            return float(np.log(self.variances).sum())
        return self._inverse[1]

    @cached_property
    def _inverse(self) -> tuple[NDArray[np.float64], float]:
        """The inverse of the covariance, and the logarithm of its determinant.

        By the Cholesky factor of correlations; by their eigenvalues, of which none is below
        rounding, where there is none.
        """
        invert([self])
        if "_inverse" in self.__dict__:
            found: tuple[NDArray[np.float64], float] = self.__dict__["_inverse"]
            return found
        units = np.sqrt(np.diag(self.covariance))
        scale = 1 / units
        correlations = self.covariance * scale * scale[:, None]
        with single_threaded_blas:
            factor, failed = dpotrf(correlations.T, lower=1)
            if failed:
                values, vectors = np.linalg.eigh(correlations)
                values = np.maximum(values, _LEAST * values[-1])
                inverse, logarithm = (vectors / values) @ vectors.T, np.log(values).sum()
            else:
                logarithm = 2 * np.log(np.diag(factor).copy()).sum()  # a copy: see Traps
                inverse, _ = dpotri(factor, lower=1, overwrite_c=1)  # above are zeros
                inverse = inverse + inverse.T
                inverse.flat[:: len(inverse) + 1] /= 2
        inverse *= scale
        inverse *= scale[:, None]
        return np.ascontiguousarray(inverse), float(logarithm + 2 * np.log(units).sum())

    def in_domain(self, transform: Transform) -> Gaussian:
        """The nearest one whose covariance is diagonal in the domain of another transform.

        Nearest by Kullback and Leibler: it has the same mean, and the variances of its
        coefficients are those that this one has there, the diagonal of U^T C U.
        """
        half = transform.forward(self.covariance)
        variances = np.einsum("ij,ij->j", transform.matrix, half)
        return Gaussian(self.mean, transform, variances)

    def _with(self, variances: NDArray[np.float64]) -> NDArray[np.float64]:
        matrix = self.transform.matrix
        with single_threaded_blas:
            product = (matrix * variances) @ matrix.T
        return np.ascontiguousarray((product + product.T) / 2)

    def __repr__(self) -> str:
        return f"Gaussian(n_features={self.n_features})"


def invert(gaussians: Iterable[Gaussian]) -> None:
    """Find the inverse covariances of several Gaussians at once, to the bits that each would find.

    Only those that will be computed anyway, and that are not too large for that, nor singular but
    for rounding.
    """
    found = {
        id(one): one
        for one in gaussians
        if one.n_features <= _SIDE_BY_SIDE and not one.has_transform and "_inverse" not in vars(one)
    }
    if not found:
        return
    covariances = [one.covariance for one in found.values()]
    inverses, logarithms = [np.empty_like(one) for one in covariances], np.empty(len(found))
    _core.invert_covariances(covariances, inverses, logarithms)
    for one, inverse, logarithm in zip(found.values(), inverses, logarithms.tolist(), strict=True):
        if np.isfinite(logarithm):
            vars(one)["_inverse"] = inverse, logarithm
