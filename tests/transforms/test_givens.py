from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fost
from tests import cases, reference

QUARTER_TURN = [[0.0, 1.0], [-1.0, 0.0]]


# A rotation rounds two entries, by at most 2 eps of their norm; after g of them on unit signals
# the errors, which are independent, stay below 4 eps sqrt(g), with eps 2.2e-16 or 1.2e-7.
def tolerance(dtype: Any, g: int) -> float:
    return 4 * float(np.finfo(dtype).eps) * np.sqrt(g + 1)


@given(
    n=st.integers(2, 300),
    g=st.integers(0, 400),
    count=cases.n_signals,
    dtype=cases.dtypes,
    seed=cases.seeds,
)
def test_rotations_equal_the_reference(
    isa: str, n: int, g: int, count: int, dtype: Any, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    transform = fost.Givens(cases.random_pairs(rng, g, n), cases.random_blocks(rng, g), n)
    Y = cases.make_signals("normal", count, n, dtype, rng)

    forward, inverse = transform.forward(Y), transform.inverse(Y)

    assert forward.dtype == inverse.dtype == dtype
    limit = tolerance(dtype, g)
    expected = reference.givens_forward(transform.pairs, transform.blocks, Y)
    error = np.abs(forward - expected).max(initial=0)
    assert error <= limit, f"forward: {error:.2g} > {limit:.2g}"
    expected = reference.givens_inverse(transform.pairs, transform.blocks, Y)
    error = np.abs(inverse - expected).max(initial=0)
    assert error <= limit, f"inverse: {error:.2g} > {limit:.2g}"


def test_matrix_is_the_product_with_the_first_rotation_on_the_right() -> None:
    rng = np.random.default_rng(0)
    pairs, blocks = [(0, 1), (2, 1)], cases.random_blocks(rng, 2)
    factors = []
    for pair, block in zip(pairs, blocks, strict=True):
        factor = np.eye(3)
        factor[np.ix_(pair, pair)] = block
        factors.append(factor)
    U = fost.Givens(pairs, blocks, 3).matrix
    np.testing.assert_allclose(U, factors[1] @ factors[0], rtol=0, atol=1e-15)
    assert np.abs(U - factors[0] @ factors[1]).max() > 0.1, "the order does not matter here"


def test_swapping_a_pair_permutes_its_block() -> None:
    forward = fost.Givens([(0, 2)], [QUARTER_TURN], 3).forward([[1.0, 2.0, 3.0]])
    turned = fost.Givens([(2, 0)], [np.transpose(QUARTER_TURN)], 3).forward([[1.0, 2.0, 3.0]])
    np.testing.assert_array_equal(forward, [[-3.0, 2.0, 1.0]])
    np.testing.assert_array_equal(forward, turned)


@pytest.mark.parametrize("n", [1, 5])
def test_no_rotations_are_the_identity(n: int) -> None:
    Y = np.random.default_rng(0).standard_normal((3, n))
    for pairs, blocks in [
        ([], []),
        (np.empty((0, 2), int), np.empty((0, 2, 2))),
        (np.empty((0, 2)), []),
    ]:
        transform = fost.Givens(pairs, blocks, n)
        assert transform.n_rotations == 0
        assert cases.same_bits(transform.forward(Y), Y)


def test_attributes() -> None:
    rng = np.random.default_rng(0)
    pairs, blocks = cases.random_pairs(rng, 4, 6), cases.random_blocks(rng, 4)
    transform = fost.Givens(pairs, blocks, 6)
    np.testing.assert_array_equal(transform.pairs, pairs)
    np.testing.assert_allclose(transform.blocks, blocks, rtol=0, atol=1e-15)
    assert transform.pairs.dtype == np.int32
    assert (transform.n_features, transform.n_rotations) == (6, 4)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
def test_pairs_of_any_integers(dtype: Any) -> None:
    expected = fost.Givens([(0, 1)], [QUARTER_TURN], 3)
    assert fost.Givens(np.array([[0, 1]], dtype), [QUARTER_TURN], np.int64(3)) == expected


@given(g=st.integers(1, 50), seed=cases.seeds)
def test_rounded_blocks_are_corrected_once(g: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rough = cases.random_blocks(rng, g).astype(np.float32)
    transform = fost.Givens(cases.random_pairs(rng, g, 8), rough, 8)
    gaps = transform.blocks @ transform.blocks.transpose(0, 2, 1) - np.eye(2)
    assert np.abs(gaps).max() < 1e-14
    assert np.abs(transform.blocks - rough).max() < 1e-6
    rebuilt = fost.Givens(transform.pairs, transform.blocks, 8)
    assert cases.same_bits(rebuilt.blocks, transform.blocks)
    assert np.abs(transform.matrix.T @ transform.matrix - np.eye(8)).max() < 1e-12


@pytest.mark.parametrize(
    ("pairs", "error", "message"),
    [
        (
            [(0, 4)],
            ValueError,
            r"pairs must be between 0 and n_features-1=3, got \(0, 4\) in row 0",
        ),
        ([(1, 0), (-1, 2)], ValueError, r"pairs must be between 0 .* got \(-1, 2\) in row 1"),
        ([(0, 1), (2, 2)], ValueError, r"pairs must be two different .* \(2, 2\) in row 1"),
        ([(0, 2**32 + 1)], ValueError, "pairs must be between 0"),
        (np.array([[0, 2**64 - 1]], np.uint64), ValueError, "pairs must be between 0"),
        ([(0.0, 1.0)], TypeError, "pairs must be integers, got dtype float64"),
        ([(0.5, 1.0)], TypeError, "pairs must be integers"),
        ([(True, False)], TypeError, "pairs must be integers, got dtype bool"),
        ([("0", "1")], TypeError, "pairs must be integers"),
        ([(0, 1, 2)], ValueError, r"pairs must have shape \(any, 2\), got \(1, 3\)"),
        ([0, 1], ValueError, r"pairs must have shape \(any, 2\), got \(2,\)"),
        (1, ValueError, r"pairs must have shape \(any, 2\), got \(\)"),
    ],
)
def test_bad_pairs(pairs: Any, error: type[Exception], message: str) -> None:
    blocks = np.tile(np.eye(2), (len(pairs) if np.ndim(pairs) == 2 else 1, 1, 1))
    with pytest.raises(error, match=message):
        fost.Givens(pairs, blocks, 4)


@pytest.mark.parametrize(
    ("block", "error", "message"),
    [
        ([[1.0, 0.0], [0.0, 2.0]], ValueError, "blocks must be orthogonal 2 x 2 .* in row 1"),
        ([[1.0, 0.0], [0.0, 0.0]], ValueError, "blocks must be orthogonal"),
        ([[1.0, 0.0], [0.0, 1.00002]], ValueError, "blocks must be orthogonal"),
        ([[1.0, 1.0], [0.0, 0.0]], ValueError, "blocks must be orthogonal"),
        ([[1e200, 1e200], [-1e200, 1e200]], ValueError, "blocks must be orthogonal"),
        ([[np.nan, 0.0], [0.0, 1.0]], ValueError, "blocks contains NaN or infinity"),
        ([[np.inf, 0.0], [0.0, 1.0]], ValueError, "blocks contains NaN or infinity"),
        ([[1j, 0.0], [0.0, 1.0]], TypeError, "blocks must be real numbers"),
    ],
)
def test_bad_blocks(block: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fost.Givens([(0, 1), (0, 1)], [np.eye(2), block], 4)


@pytest.mark.parametrize(
    "blocks", [[], np.eye(2), [np.eye(2)] * 2, np.zeros((1, 2, 3)), np.eye(2)[None, None]]
)
def test_as_many_blocks_as_pairs(blocks: Any) -> None:
    with pytest.raises(ValueError, match=r"blocks must have shape \(1, 2, 2\)"):
        fost.Givens([(0, 1)], blocks, 4)


@pytest.mark.parametrize(
    ("n_features", "error"),
    [(0, ValueError), (-3, ValueError), (2**31, ValueError), (4.0, TypeError), ("4", TypeError)],
)
def test_bad_n_features(n_features: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="n_features must be"):
        fost.Givens([], [], n_features)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [2, 3, 20])
@pytest.mark.parametrize("angle", ["any", "eighths", "tiny", "quarters"])
def test_many_rotations_stay_accurate(isa, dtype, n, angle):
    """Features are kept up to factors of their own, which neither lose digits nor overflow."""
    rng = np.random.default_rng(0)
    g = 3000
    pairs = cases.random_pairs(rng, g, n)
    angles = {
        "any": rng.uniform(0, 2 * np.pi, g),
        "eighths": np.full(g, np.pi / 4),  # the factors grow fastest
        "tiny": rng.uniform(-1e-9, 1e-9, g),
        "quarters": np.pi / 2 * rng.integers(0, 4, g) + 1e-12,
    }[angle]
    c, s = np.cos(angles), np.sin(angles)
    blocks = np.moveaxis(np.array([[c, s], [-s, c]]), 2, 0)
    transform = fost.Givens(pairs, blocks, n)
    Y = (rng.standard_normal((50, n)) * 1e30).astype(dtype)
    exact = reference.givens_forward(transform.pairs, transform.blocks, Y.astype(np.float64))
    # Equal angles are all rounded in the same direction, so that errors add up.
    steps = g / 2 if angle == "eighths" else np.sqrt(g)
    tolerance = steps * np.finfo(dtype).eps * np.linalg.norm(exact, axis=1).max()
    X = transform.forward(Y)
    assert np.abs(X - exact).max() < tolerance
    assert np.abs(transform.inverse(X) - Y).max() < 2 * tolerance
