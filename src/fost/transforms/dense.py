"""Transforms without structure: any orthonormal matrix."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fost import _core
from fost._threads import single_threaded_blas
from fost.transforms.base import Transform
from fost.transforms.orthonormal import check_orthonormal, dense_flops, orthonormality_gap


class Dense(Transform):
    """An orthonormal matrix U, applied by BLAS.

    Parameters
    ----------
    matrix : array-like of shape (n_features, n_features)
        U; its columns are the atoms. Rounding errors (up to 1e-4 in U^T U) are removed.

    Examples
    --------
    >>> import fost
    >>> fost.Dense([[0.6, -0.8], [0.8, 0.6]])
    Dense(n_features=2, flops=6)
    """

    kind = "dense"

    @single_threaded_blas
    def __init__(self, matrix: ArrayLike) -> None:
        checked, gap = check_orthonormal(matrix, "matrix")
        n = len(checked)
        # Newton's step to the nearest orthonormal matrix. A matrix that is right to rounding
        # stays as it is, bit for bit.
        while gap > 1e-13 * n:
            checked = checked @ (3 * np.eye(n) - checked.T @ checked) / 2
            gap = orthonormality_gap(checked)
        checked.flags.writeable = False
        self.__dict__["matrix"] = checked

    @classmethod
    @single_threaded_blas
    def exactly(cls, matrix: ArrayLike) -> Self:
        made = cls.__new__(cls)
        made.__dict__["matrix"], _ = check_orthonormal(matrix, "matrix")
        return made

    @classmethod
    def made(cls, matrix: NDArray[np.float64]) -> Self:
        """What has just been computed by LAPACK: taken as it is, neither checked nor copied."""
        made = cls.__new__(cls)
        made.__dict__["matrix"] = matrix
        matrix.flags.writeable = False
        return made

    @property
    def n_features(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def flops(self) -> int:
        """(2 n - 1) n."""
        return dense_flops(self.n_features)

    def _add_to(self, plan: _core.Plan) -> None:
        plan.add_dense(self.matrix)
