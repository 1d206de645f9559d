"""Transforms without structure: any orthonormal matrix."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
        checked, gap = _checked(matrix)
        n = len(checked)
        # Newton's step to the nearest orthonormal matrix. A matrix that is right to rounding
        # stays as it is, bit for bit.
        while gap > 1e-13 * n:
            checked = checked @ (3 * np.eye(n) - checked.T @ checked) / 2
            gap = _gap(checked)
        checked.flags.writeable = False
        self.__dict__["matrix"] = checked

    @property
    def n_features(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def flops(self) -> int:
        """(2 n - 1) n."""
        return dense_flops(self.n_features)

    @property
    def n_parameters(self) -> int:
        """n^2."""
        return self.n_features**2

    def _add_to(self, plan: _core.Plan) -> None:
        plan.add_dense(self.matrix)

    @classmethod
    def _exactly(cls, **arguments: Any) -> Self:
        return cls._trusted(matrix=_checked(**arguments)[0])

    def _arguments(self) -> dict[str, Any]:
        return {"matrix": self.matrix}


def dense_flops(n_features: int) -> int:
    """(2 n - 1) n, the operations of a product with an n x n matrix."""
    return (2 * n_features - 1) * n_features


def _checked(matrix: ArrayLike) -> tuple[NDArray[np.float64], float]:
    """A copy to the last bit, orthonormal within the tolerance, and its gap."""
    checked = check_parameters(matrix, "matrix", (None, None))
    n = checked.shape[0]
    if checked.shape != (n, n) or n < 1:
        raise ValueError(f"matrix must be square, got shape {checked.shape}")
    gap = _gap(checked)
    if not gap <= _TOLERANCE:
        raise ValueError(f"matrix must have orthonormal columns, got max|U^T U - I| = {gap:.3g}")
    return checked, gap


def _gap(matrix: NDArray[np.float64]) -> float:
    """max|U^T U - I|."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.abs(matrix.T @ matrix - np.eye(len(matrix))).max())
