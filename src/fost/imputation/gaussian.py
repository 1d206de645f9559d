"""Gaussian distributions whose covariance is diagonal in the domain of a transform."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.lapack import dpotrf, dpotri

from fost import _core
from fost._threads import single_threaded_blas
from fost._typing import Float64Array
from fost._validation import check_parameters
from fost.transforms import Dense, Transform

# Variances are at least this share of the largest one. Smaller ones are rounding errors, and the
# inverse of a covariance has no correct digits beyond.
_MIN_VARIANCE = 1e-12
# The core inverts covariances of up to this many features in batches; LAPACK inverts larger ones.
_MAX_BATCHED_FEATURES = 128


class Gaussian:
    r"""Gaussian distribution :math:`N(\mu, U \operatorname{diag}(v) U^T)`, U orthonormal.

    Parameters
    ----------
    mean : array-like of shape (n_features,)
        :math:`\mu`.
    transform : Transform
        :math:`U`, in whose domain the coefficients are uncorrelated.
    variances : array-like of shape (n_features,)
        :math:`v`, the variances of the coefficients, not negative.

    Examples
    --------
    Neighbouring entries are correlated, and one of them is missing:

    >>> import fost, numpy as np
    >>> gaussian = fost.imputation.Gaussian(np.zeros(4), fost.DCT(4), [4, 1, 0.1, 0.1])
    >>> mixture = fost.imputation.Mixture([gaussian])
    >>> mixture.fill([[1.0, np.nan, 1.0, 1.0]]).round(2)
    array([[1.  , 0.96, 1.  , 1.  ]])
    """

    def __init__(self, mean: ArrayLike, transform: Transform, variances: ArrayLike) -> None:
        if not isinstance(transform, Transform):
            raise TypeError(f"transform must be a transform, got {type(transform).__name__}")
        checked_mean = check_parameters(mean, "mean", (transform.n_features,))
        checked = check_parameters(variances, "variances", (transform.n_features,))
        if checked.min() < 0:
            raise ValueError(f"variances must not be negative, got {checked.min():g}")
        if not checked.max() > 0:
            raise ValueError("variances must not all be zero")
        checked = np.maximum(checked, _MIN_VARIANCE * checked.max())
        self._set(checked_mean, (checked, transform), None)

    @classmethod
    def _from_covariance(cls, mean: Float64Array, covariance: Float64Array) -> Self:
        """A Gaussian with a positive definite covariance, whose transform is computed on demand."""
        gaussian = cls.__new__(cls)
        gaussian._set(mean, None, covariance)
        return gaussian

    def _set(
        self,
        mean: Float64Array,
        spectrum: tuple[Float64Array, Transform] | None,
        covariance: Float64Array | None,
    ) -> None:
        self.mean = mean
        # Whether the transform is given; else it is computed from the covariance.
        self.has_transform = spectrum is not None
        self._spectrum = spectrum
        self._covariance = covariance
        # The precision with the log-determinant: one assignment, so that threads see both or none.
        self._inverse: tuple[Float64Array, float] | None = None

    @property
    def n_features(self) -> int:
        """Entries per signal."""
        return len(self.mean)

    @property
    def transform(self) -> Transform:
        """U, in whose domain the coefficients are uncorrelated."""
        return self._eigendecomposition()[1]

    @property
    def variances(self) -> Float64Array:
        """The variances of the coefficients."""
        return self._eigendecomposition()[0]

    def _eigendecomposition(self) -> tuple[Float64Array, Transform]:
        if self._spectrum is None:
            with single_threaded_blas:
                values, vectors = np.linalg.eigh(self.covariance)
            values = np.maximum(values[::-1], _MIN_VARIANCE * values[-1])
            self._spectrum = values, Dense(np.ascontiguousarray(vectors[:, ::-1]))
        return self._spectrum

    @property
    def covariance(self) -> Float64Array:
        """U diag(variances) U^T, of shape (n_features, n_features)."""
        if self._covariance is None:
            self._covariance = self._spectral_product(self.variances)
        return self._covariance

    @property
    def precision(self) -> Float64Array:
        """The inverse of the covariance."""
        if self._inverse is None:
            self._inverse = self._inverted()
        return self._inverse[0]

    @property
    def has_precision(self) -> bool:
        """Whether the inverse of the covariance has been computed."""
        return self._inverse is not None

    @property
    def log_determinant(self) -> float:
        """The logarithm of the determinant of the covariance."""
        if self.has_transform:
            return float(np.log(self.variances).sum())
        if self._inverse is None:
            self._inverse = self._inverted()
        return self._inverse[1]

    def _inverted(self) -> tuple[Float64Array, float]:
        """The inverse of the covariance and the logarithm of its determinant.

        Without a transform, uses the Cholesky factor of the correlation matrix. If the
        factorisation fails, uses its eigenvalues, clipped from below to rounding precision.
        """
        if self.has_transform:
            return self._spectral_product(1 / self.variances), self.log_determinant
        invert_covariances([self])
        if self._inverse is not None:
            return self._inverse
        deviations = np.sqrt(np.diag(self.covariance))
        scale = 1 / deviations
        correlations = self.covariance * scale * scale[:, None]
        with single_threaded_blas:
            factor, failed = dpotrf(correlations.T, lower=1)
            if failed:
                values, vectors = np.linalg.eigh(correlations)
                values = np.maximum(values, _MIN_VARIANCE * values[-1])
                inverse, logarithm = (vectors / values) @ vectors.T, np.log(values).sum()
            else:
                # The copy is contiguous: the logarithm of a strided view may differ in the last
                # bit from that of a contiguous array.
                logarithm = 2 * np.log(np.diag(factor).copy()).sum()
                inverse, _ = dpotri(factor, lower=1, overwrite_c=1)  # zero above the diagonal
                inverse = inverse + inverse.T
                inverse.flat[:: len(inverse) + 1] /= 2
        inverse *= scale
        inverse *= scale[:, None]
        return np.ascontiguousarray(inverse), float(logarithm + 2 * np.log(deviations).sum())

    def in_domain(self, transform: Transform) -> Gaussian:
        r"""The closest Gaussian whose covariance is diagonal in the domain of another transform.

        It minimises the Kullback-Leibler divergence: the mean stays, and the variances of the
        coefficients are the diagonal of :math:`U^T C U`.
        """
        half = transform.forward(self.covariance)
        variances = np.einsum("ij,ij->j", transform.matrix, half)
        return Gaussian(self.mean, transform, variances)

    def _spectral_product(self, values: Float64Array) -> Float64Array:
        """U diag(values) U^T, exactly symmetric."""
        matrix = self.transform.matrix
        with single_threaded_blas:
            product = (matrix * values) @ matrix.T
        return np.ascontiguousarray((product + product.T) / 2)

    def __repr__(self) -> str:
        return f"Gaussian(n_features={self.n_features})"


def invert_covariances(gaussians: Iterable[Gaussian]) -> None:
    """Compute the precisions of several Gaussians in one batch, bit-identical to one by one.

    Gaussians with a given transform, a known precision or too many features are left out. So are
    covariances that are singular up to rounding.
    """
    batch = {
        id(gaussian): gaussian
        for gaussian in gaussians
        if gaussian.n_features <= _MAX_BATCHED_FEATURES
        and not gaussian.has_transform
        and not gaussian.has_precision
    }
    if not batch:
        return
    covariances = [gaussian.covariance for gaussian in batch.values()]
    inverses, logarithms = [np.empty_like(one) for one in covariances], np.empty(len(batch))
    _core.invert_covariances(covariances, inverses, logarithms)
    for gaussian, inverse, logarithm in zip(
        batch.values(), inverses, logarithms.tolist(), strict=True
    ):
        if np.isfinite(logarithm):
            gaussian._inverse = inverse, logarithm
