"""Matrices with orthonormal columns, and what a product with one costs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fost._validation import check_parameters

# max|U^T U - I| may be this large: more than rounding to float32 makes it.
TOLERANCE = 1e-4


def dense_flops(n: int) -> int:
    """(2 n - 1) n, the operations of a product with an n x n matrix."""
    return (2 * n - 1) * n


def check_orthonormal(
    matrix: ArrayLike, name: str, n: int | None = None
) -> tuple[NDArray[np.float64], float]:
    """A read-only copy to the last bit, orthonormal within the tolerance, and its gap."""
    checked = check_parameters(matrix, name, (n, n))
    if checked.shape[0] != checked.shape[1] or not checked.size:
        raise ValueError(f"{name} must be square, got shape {checked.shape}")
    gap = orthonormality_gap(checked)
    if not gap <= TOLERANCE:
        raise ValueError(f"{name} must have orthonormal columns, got max|U^T U - I| = {gap:.3g}")
    return checked, gap


def orthonormality_gap(matrix: NDArray[np.float64]) -> float:
    """max|U^T U - I|."""
    with np.errstate(over="ignore", invalid="ignore"):
        gram = matrix.T @ matrix
        gram.flat[:: len(gram) + 1] -= 1
        return float(max(gram.max(), -gram.min()))


def check_equal(matrix: NDArray[np.float64], forward: NDArray[np.float64], name: str) -> None:
    """Raises a ValueError where `forward` of the identity is not the matrix."""
    if np.shape(forward) != matrix.shape:
        raise ValueError(f"{name} must be that of forward, got shape {np.shape(forward)} from it")
    gap = np.abs(forward - matrix).max()
    if not gap <= TOLERANCE:
        raise ValueError(f"{name} must be that of forward, got entries that differ by {gap:.3g}")
