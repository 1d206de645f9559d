from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fost
from tests import cases, reference

REFLECTORS = ("random", "repeated", "zero rows", "leading zeros", "basis", "nearly equal")


def make_vectors(kind: str, m: int, n: int, rng: np.random.Generator) -> np.ndarray:
    vectors = cases.random_vectors(rng, m, n)
    match kind:
        case "repeated":
            vectors = vectors[rng.integers(0, max(m // 2, 1), m)] if m else vectors
        case "zero rows":
            vectors[rng.random(m) < 0.5] = 0
        case "leading zeros":  # as learned transforms have them; the kernel skips them
            vectors = rng.standard_normal((m, n)) * (np.arange(n) >= np.arange(m)[:, None])
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        case "basis":
            vectors = np.eye(n)[rng.permutation(n)[:m]]
        case "nearly equal":
            vectors = vectors[:1] + 1e-6 * vectors if m else vectors
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


# A reflector moves a unit signal along one vector and rounds by a few eps of its norm; the
# errors of m reflectors are independent, so they add up like sqrt(m).
# float64 (eps 2.2e-16): 4e-15 is 18 eps. float32 (eps 1.2e-7): 2e-6 is 17 eps, whatever m,
# since the rounding of the vectors outweighs that of the signals.
def tolerance(dtype: Any, m: int) -> float:
    return 2e-6 if dtype == np.float32 else 4e-15 * np.sqrt(max(m, 1))


@given(
    data=st.data(),
    n=cases.n_features,
    count=cases.n_signals,
    kind=st.sampled_from(REFLECTORS),
    dtype=cases.dtypes,
    seed=cases.seeds,
)
def test_reflectors_equal_the_reference(
    isa: str, data: st.DataObject, n: int, count: int, kind: str, dtype: Any, seed: int
) -> None:
    m = data.draw(st.integers(0, n), label="m")
    rng = np.random.default_rng(seed)
    transform = fost.Householder(make_vectors(kind, m, n, rng))
    Y = cases.make_signals("normal", count, n, dtype, rng)

    forward, inverse = transform.forward(Y), transform.inverse(Y)

    assert forward.dtype == inverse.dtype == dtype
    limit = tolerance(dtype, m)
    error = np.abs(forward - reference.householder_forward(transform.vectors, Y)).max(initial=0)
    assert error <= limit, f"forward, {kind} reflectors: {error:.2g} > {limit:.2g}"
    error = np.abs(inverse - reference.householder_inverse(transform.vectors, Y)).max(initial=0)
    assert error <= limit, f"inverse, {kind} reflectors: {error:.2g} > {limit:.2g}"


# Groups hold up to eight reflectors and their vectors are taken four or eight at once.
@pytest.mark.parametrize("m", range(0, 34))
def test_every_size_of_a_group(isa: str, m: int) -> None:
    rng = np.random.default_rng(m)
    transform = fost.Householder(cases.random_vectors(rng, m, 40))
    Y = cases.make_signals("normal", 37, 40, np.float64, rng)
    np.testing.assert_allclose(
        transform.forward(Y),
        reference.householder_forward(transform.vectors, Y),
        rtol=0,
        atol=tolerance(np.float64, m),
    )
    np.testing.assert_allclose(
        transform.inverse(Y),
        reference.householder_inverse(transform.vectors, Y),
        rtol=0,
        atol=tolerance(np.float64, m),
    )


def test_matrix_is_the_product_with_the_first_reflector_on_the_right() -> None:
    u_1, u_2 = cases.random_vectors(np.random.default_rng(0), 2, 3)
    first, second = (np.eye(3) - 2 * np.outer(u, u) for u in (u_1, u_2))
    U = fost.Householder([u_1, u_2]).matrix
    np.testing.assert_allclose(U, second @ first, rtol=0, atol=1e-15)
    assert np.abs(U - first @ second).max() > 0.1, "the order does not matter in this example"


def test_no_reflectors_are_the_identity() -> None:
    transform = fost.Householder(np.empty((0, 5)))
    Y = np.random.default_rng(0).standard_normal((3, 5))
    for result in (transform.forward(Y), transform.inverse(Y)):
        assert cases.same_bits(result, Y)
        assert not np.shares_memory(result, Y)


def test_a_zero_row_is_the_identity() -> None:
    rng = np.random.default_rng(0)
    vectors = cases.random_vectors(rng, 3, 6)
    with_zero = np.insert(vectors, 1, 0, axis=0)
    Y = rng.standard_normal((4, 6))
    np.testing.assert_allclose(
        fost.Householder(with_zero).forward(Y), fost.Householder(vectors).forward(Y), atol=1e-14
    )
    assert fost.Householder(with_zero).n_reflectors == 4


def test_attributes() -> None:
    vectors = cases.random_vectors(np.random.default_rng(0), 3, 7)
    transform = fost.Householder(vectors)
    assert cases.same_bits(transform.vectors, vectors)
    assert (transform.n_features, transform.n_reflectors) == (7, 3)


@given(n=st.integers(1, 2000), seed=cases.seeds)
def test_rounded_norms_are_corrected_once(n: int, seed: int) -> None:
    rough = cases.random_vectors(np.random.default_rng(seed), min(n, 5), n).astype(np.float32)
    transform = fost.Householder(rough)
    assert np.abs(np.linalg.norm(transform.vectors, axis=1) - 1).max() < 1e-14
    assert np.abs(transform.vectors - rough).max() < 1e-6
    assert cases.same_bits(fost.Householder(transform.vectors).vectors, transform.vectors)


def test_float32_vectors_make_an_orthonormal_matrix() -> None:
    vectors = cases.random_vectors(np.random.default_rng(0), 30, 64).astype(np.float32)
    U = fost.Householder(vectors).matrix
    np.testing.assert_allclose(U.T @ U, np.eye(64), rtol=0, atol=1e-12)


@pytest.mark.parametrize("factor", [0.0, 2.0, 1 + 2e-5, 1 - 2e-5, -0.5, 1e-200, 1e200, 1e-320])
def test_norms_must_be_one(factor: float) -> None:
    vectors = cases.random_vectors(np.random.default_rng(0), 3, 4)
    vectors[1] *= factor
    if factor == 0:
        assert fost.Householder(vectors).n_reflectors == 3
        return
    with pytest.raises(ValueError, match=r"vectors must have unit rows .* in row 1"):
        fost.Householder(vectors)


def test_at_most_as_many_reflectors_as_features() -> None:
    assert fost.Householder(np.eye(4)).n_reflectors == 4
    with pytest.raises(ValueError, match="vectors must be at most n_features=4 reflectors, got 5"):
        fost.Householder(np.eye(5)[:, :4])


@pytest.mark.parametrize(
    ("vectors", "error", "message"),
    [
        (np.ones(4) / 2, ValueError, r"vectors must have shape \(any, any\), got \(4,\)"),
        (np.zeros((1, 2, 3)), ValueError, r"vectors must have shape \(any, any\)"),
        (np.zeros((0, 0)), ValueError, "vectors must have at least one feature"),
        (1.0, ValueError, r"vectors must have shape \(any, any\), got \(\)"),
        ([[np.nan, 0.0]], ValueError, "vectors contains NaN or infinity"),
        ([[np.inf, 0.0]], ValueError, "vectors contains NaN or infinity"),
        ([[1j, 0.0]], TypeError, "vectors must be real numbers, got dtype complex128"),
        ([["a", "b"]], TypeError, "vectors must be real numbers"),
        (None, TypeError, "vectors must be real numbers"),
    ],
)
def test_bad_vectors(vectors: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fost.Householder(vectors)
