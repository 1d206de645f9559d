from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given

import fost
from tests import cases


@given(n=cases.n_features, count=cases.n_signals, dtype=cases.dtypes, seed=cases.seeds)
def test_equals_the_product(isa: str, n: int, count: int, dtype: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    transform = fost.Dense(cases.random_orthonormal(rng, n))
    Y = cases.make_signals("normal", count, n, dtype, rng)

    forward, inverse = transform.forward(Y), transform.inverse(Y)

    assert forward.dtype == inverse.dtype == dtype
    exact = Y.astype(np.float64)
    # A dot product of unit vectors with n <= 300 terms is off by some eps (2.2e-16 and 1.2e-7)
    # at most; 1e-6 also covers the rounding of U to float32.
    limit = 1e-6 if dtype == np.float32 else 2e-15
    assert np.abs(forward - exact @ transform.matrix).max(initial=0) <= limit, "forward"
    assert np.abs(inverse - exact @ transform.matrix.T).max(initial=0) <= limit, "inverse"


def test_columns_are_atoms() -> None:
    U = cases.random_orthonormal(np.random.default_rng(0), 5)
    transform = fost.Dense(U)
    assert cases.same_bits(transform.matrix, np.ascontiguousarray(U))
    np.testing.assert_allclose(transform.inverse(np.eye(5)[1:2])[0], U[:, 1], rtol=0, atol=1e-16)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 64, 300])
def test_rounded_matrices_are_corrected_once(n: int) -> None:
    rough = cases.random_orthonormal(np.random.default_rng(n), n).astype(np.float32)
    transform = fost.Dense(rough)
    U = transform.matrix
    assert np.abs(U.T @ U - np.eye(n)).max() < 1e-12
    assert np.abs(U - rough).max() < 1e-6
    assert cases.same_bits(fost.Dense(U).matrix, U)


def test_reflections_and_negative_determinants() -> None:
    assert fost.Dense([[-1.0]]).forward([[2.0]]) == [[-2.0]]
    np.testing.assert_array_equal(
        fost.Dense([[0.0, 1.0], [1.0, 0.0]]).forward([[3.0, 4.0]]), [[4.0, 3.0]]
    )


@pytest.mark.parametrize(
    ("matrix", "error", "message"),
    [
        (np.eye(3)[:2], ValueError, r"matrix must be square, got shape \(2, 3\)"),
        (np.eye(3)[:, :2], ValueError, r"matrix must be square, got shape \(3, 2\)"),
        (np.zeros((0, 0)), ValueError, r"matrix must be square, got shape \(0, 0\)"),
        (np.ones(3), ValueError, r"matrix must have shape \(any, any\), got \(3,\)"),
        (np.eye(3)[None], ValueError, r"matrix must have shape \(any, any\)"),
        (2 * np.eye(3), ValueError, "matrix must have orthonormal columns"),
        (np.zeros((3, 3)), ValueError, "matrix must have orthonormal columns"),
        (np.ones((3, 3)), ValueError, "matrix must have orthonormal columns"),
        (1.001 * np.eye(3), ValueError, r"matrix must have orthonormal .* = 0\.002"),
        (1e200 * np.eye(3), ValueError, "matrix must have orthonormal columns"),
        # Products of this matrix overflow to infinities of both signs, hence to NaN.
        (
            1e200 * scipy.linalg.hadamard(512),
            ValueError,
            "matrix must have orthonormal columns",
        ),
        (np.diag([1.0, np.nan]), ValueError, "matrix contains NaN or infinity"),
        (np.diag([1.0, np.inf]), ValueError, "matrix contains NaN or infinity"),
        (1j * np.eye(3), TypeError, "matrix must be real numbers, got dtype complex128"),
        (scipy.sparse.eye_array(3), TypeError, "matrix must be a dense array, got a sparse"),
    ],
    ids=range(15),
)
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
def test_bad_matrices(matrix: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fost.Dense(matrix)


def test_huge_matrices_are_refused_without_warnings() -> None:
    with pytest.raises(ValueError, match="matrix must have orthonormal columns"):
        fost.Dense(1e200 * np.eye(3))
