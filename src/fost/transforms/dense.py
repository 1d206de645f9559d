"""Dense orthonormal matrices."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import polar

from fost import _core
from fost._threads import single_threaded_blas
from fost._validation import check_orthonormal, orthonormality_gap
from fost.transforms.base import Transform


class Dense(Transform):
    """An orthonormal matrix U, applied by BLAS.

    Parameters
    ----------
    matrix : array-like of shape (n_features, n_features)
        U; its columns are the atoms. Rounding errors of up to 1e-4 in U^T U are corrected.

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
        # Newton iteration to the nearest orthonormal matrix. A matrix that is orthonormal up to
        # rounding is kept bit for bit.
        while gap > 1e-13 * n:
            checked = checked @ (3 * np.eye(n) - checked.T @ checked) / 2
            gap = orthonormality_gap(checked)
        checked.flags.writeable = False
        self._matrix = checked

    @classmethod
    @single_threaded_blas
    def _exact(cls, matrix: ArrayLike) -> Self:  # type: ignore[override]
        dense = cls.__new__(cls)
        dense._matrix, _ = check_orthonormal(matrix, "matrix")
        return dense

    @classmethod
    def _unchecked(cls, matrix: NDArray[np.float64]) -> Self:
        """A transform that keeps this matrix, neither checked nor copied."""
        dense = cls.__new__(cls)
        dense._matrix = matrix
        matrix.flags.writeable = False
        return dense

    @property
    def matrix(self) -> NDArray[np.float64]:
        """U; read-only."""
        return self._matrix

    _has_matrix = True

    @property
    def n_features(self) -> int:
        return len(self._matrix)

    def _packed(self, compact: bool) -> dict[str, object]:
        return {"matrix": self._matrix.astype(np.float16) if compact else self._matrix}

    @classmethod
    @single_threaded_blas
    def _unpacked(cls, packed: dict[str, Any]) -> dict[str, Any]:
        """The arguments; a compact matrix becomes the nearest orthonormal one."""
        matrix = packed["matrix"]
        return (
            {"matrix": polar(matrix.astype(np.float64))[0]}
            if matrix.dtype == np.float16
            else packed
        )

    def _add_to(self, plan: _core.Plan) -> None:
        plan.add_dense(self._matrix)
