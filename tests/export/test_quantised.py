"""Integer arithmetic: exact inverses, ranges, loss and operation counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fost
from fost.export import Quantised
from fost.export.quantised import signed_digits
from tests import cases


def patches(rng: np.random.Generator, count: int = 500) -> np.ndarray:
    """Smooth integer patches of 8 x 8 entries without means."""
    steps = rng.standard_normal((count, 8, 8)) * 20
    Y = np.rint(np.cumsum(np.cumsum(steps, axis=1), axis=2)).reshape(count, 64).astype(np.int64)
    return Y - np.rint(Y.mean(axis=1, keepdims=True)).astype(np.int64)


def rotations(rng: np.random.Generator, n: int, g: int) -> fost.Givens:
    return fost.Givens(cases.random_pairs(rng, g, n), cases.random_blocks(rng, g), n)


@pytest.mark.parametrize(
    "options", [{}, {"bits": 3}, {"fraction_bits": 0}, {"max_digits": 1}], ids=str
)
@pytest.mark.parametrize("shape", [1, 8, 12, 15, (8, 8), (3, 4), (2, 2, 4)])
def test_inverse_is_exact(rng: np.random.Generator, shape: Any, options: dict[str, int]) -> None:
    base = fost.DCT(shape)
    n = base.n_features
    U = base @ rotations(rng, n, 2 * n) if n > 1 else base
    quantised = Quantised(U, **options)
    most = quantised.max_input
    Y = np.concatenate([rng.integers(-most, most + 1, (50, n)), rng.integers(-9, 10, (50, n))])
    assert np.array_equal(quantised.inverse(quantised.forward(Y)), Y)


def test_coefficients_approach_those_of_the_transform(rng: np.random.Generator) -> None:
    U = fost.DCT((8, 8)) @ rotations(rng, 64, 64)
    Y = patches(rng)
    exact = U.forward(Y.astype(float))
    errors = []
    for bits, fraction_bits in ((6, 2), (8, 4), (11, 5)):
        quantised = Quantised(U, bits, fraction_bits)
        X = quantised.forward(Y) * quantised.scales / 2**fraction_bits
        errors.append(np.linalg.norm(X - exact) / np.linalg.norm(exact))
    assert errors[0] > errors[1] > errors[2]
    # 26 lifts of a line and 4 more, each with an error of at most 2^-9 of its operand.
    assert errors[1] < 30 * 2**-9
    assert errors[2] < 30 * 2**-12


def test_codes_lose_little(rng: np.random.Generator) -> None:
    Y = patches(rng, 2000)
    U = fost.learn(Y[:1000].astype(float), fost.Rotations(64), 4, base=fost.DCT((8, 8))).transform
    test = Y[1000:]
    residual = test - U.decode(U.encode(test.astype(float), 4))
    exact = float(np.sum(residual**2) / np.sum(test.astype(float) ** 2))
    # Measured: less than 0.1 % and 0.3 %; ten times that is no coincidence.
    assert Quantised(U).relative_error(test, 4) < 1.01 * exact
    digits = Quantised(U, max_digits=2)
    assert digits.relative_error(test, 4) < 1.03 * exact
    assert digits.operation_counts.additions <= 1100
    assert digits.operation_counts.multiplications == 0


def test_banks_use_the_best_member(rng: np.random.Generator) -> None:
    bank = fost.Bank([fost.DCT((8, 8)), fost.Hadamard((8, 8))])
    quantised = Quantised(bank, 10, 6)
    codes = np.zeros((40, 128))
    codes[:20, rng.permutation(64)[:3]] = 800
    codes[20:, 64 + rng.permutation(64)[:3]] = 800
    Y = np.rint(bank.decode(codes)).astype(np.int64)
    found = quantised.encode(Y, 3)
    assert np.array_equal(found.toarray() != 0, codes != 0)
    assert np.abs(quantised.decode(found) - Y).max() < 8  # 1 % of the largest coefficient
    assert quantised.relative_error(Y, 3) < 1e-4


def test_counts_of_the_dct_of_eight() -> None:
    """Nine butterflies of two additions and four rotations of three lifts, on sixteen lines."""
    counts = Quantised(fost.DCT((8, 8))).operation_counts
    assert counts.multiplications == 16 * 12
    assert counts.additions == 16 * (9 * 2 + 12)


@given(st.integers(-(2**14), 2**14), st.integers(1, 4))
def test_signed_digits(value: int, count: int) -> None:
    digits = signed_digits(value)
    assert sum(digits) == value
    assert all(abs(d) & (abs(d) - 1) == 0 for d in digits)
    few = signed_digits(value, count)
    assert few == digits[:count]
    assert abs(value - sum(few)) <= abs(value) / 3**count


def test_overflow_names_the_range() -> None:
    quantised = Quantised(fost.DCT((8, 8)))
    Y = np.full((1, 64), quantised.max_input + 1)
    for call in (quantised.forward, lambda y: quantised.encode(y, 4)):
        with pytest.raises(ValueError, match=rf"Y must be between -\d+ and {quantised.max_input}"):
            call(Y)
    with pytest.raises(ValueError, match="fraction_bits must be smaller for bits=14"):
        Quantised(fost.DCT(256), 14, 12)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"bits": 1}, ValueError, "bits must be between 2 and 14"),
        ({"fraction_bits": 13}, ValueError, "fraction_bits must be between 0 and 12"),
        ({"max_digits": 0}, ValueError, "max_digits must be between 1 and 14"),
        ({"bits": 8.0}, TypeError, "bits must be an integer"),
    ],
)
def test_arguments(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Quantised(fost.DCT(8), **options)


def test_signals_must_be_integers() -> None:
    quantised = Quantised(fost.DCT(8))
    with pytest.raises(TypeError, match="Y must be integers, got dtype float64"):
        quantised.forward(np.zeros((1, 8)))
    with pytest.raises(ValueError, match="shape"):
        quantised.forward(np.zeros((1, 7), int))
    with pytest.raises(ValueError, match="member must be between 0 and 0"):
        quantised.forward(np.zeros((1, 8), int), member=1)


@pytest.mark.parametrize("bits", [7, 15])
def test_quantised_parameters_are_refused_with_a_hint(bits: int, rng: np.random.Generator) -> None:
    def rounded(array: np.ndarray) -> np.ndarray:
        return np.rint(array * 2**bits) / 2**bits

    vectors = rounded(cases.random_vectors(rng, 2, 8))
    blocks = rounded(cases.random_blocks(rng, 20))
    with pytest.raises(ValueError, match=r"from orthogonal.*fost\.export\.Quantised"):
        fost.Givens(cases.random_pairs(rng, 20, 8), blocks, 8)
    with pytest.raises(ValueError, match=r"from orthogonal.*fost\.export\.Quantised"):
        fost.Householder(vectors)
    with pytest.raises(ValueError, match="unit rows") as caught:
        fost.Householder(3 * vectors)
    assert "Quantised" not in str(caught.value)
