"""Transforms without structure: any orthonormal matrix."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from fost import _core
from fost._threads import single_threaded_blas
from fost._validation import check_parameters
from fost.transforms.base import Transform

# max|U^T U - I| may be this large: more than rounding to float32 makes it.
_TOLERANCE = 1e-4


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
        checked = check_parameters(matrix, "matrix", (None, None))
        n = checked.shape[0]
        if checked.shape != (n, n) or n < 1:
            raise ValueError(f"matrix must be square, got shape {checked.shape}")
        with np.errstate(over="ignore", invalid="ignore"):
            gap = np.abs(checked.T @ checked - np.eye(n)).max()
        if not gap <= _TOLERANCE:
            raise ValueError(
                f"matrix must have orthonormal columns, got max|U^T U - I| = {gap:.3g}"
            )
        # Newton's step to the nearest orthonormal matrix. A matrix that is right to rounding
        # stays as it is, bit for bit.
        while gap > 1e-13 * n:
            checked = checked @ (3 * np.eye(n) - checked.T @ checked) / 2
            gap = np.abs(checked.T @ checked - np.eye(n)).max()
        checked.flags.writeable = False
        self.__dict__["matrix"] = checked

    @property
    def n_features(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def flops(self) -> int:
        """(2 n - 1) n."""
        return (2 * self.n_features - 1) * self.n_features

    @property
    def n_parameters(self) -> int:
        """n^2."""
        return self.n_features**2

    def _add_to(self, plan: _core.Plan) -> None:
        plan.add_dense(self.matrix)

    @classmethod
    def _exactly(cls, **arguments: Any) -> Self:
        return cls._trusted(**arguments)

    def _arguments(self) -> dict[str, Any]:
        return {"matrix": self.matrix}
