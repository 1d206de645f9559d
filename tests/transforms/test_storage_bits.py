"""Bits of stored parameters, counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

import fost
from tests import cases

RNG = np.random.default_rng(0)


def rotations(g: int, n: int = 64) -> fost.Givens:
    return fost.Givens(cases.random_pairs(RNG, g, n), cases.random_blocks(RNG, g), n)


@pytest.mark.parametrize(
    ("coder", "bits"),
    [
        (fost.DCT((8, 8)), 0),
        (fost.Wavelet(64, "db2"), 0),
        (fost.Hadamard(64), 0),
        (fost.Householder(np.eye(64)[:3]), 3 * 64 * 16),
        (fost.Dense(np.eye(64)), 65_536),
        (rotations(10), 10 * (16 + 6 + 6)),
        (rotations(10).T, 10 * (16 + 6 + 6)),
        (rotations(10, 65), 10 * (16 + 7 + 7)),
        (fost.DCT(64) @ rotations(5) @ fost.Householder(np.eye(64)[:1]), 5 * 28 + 64 * 16),
        (fost.Bank([fost.DCT(64) @ rotations(64) for _ in range(8)]), 14_336),
        (fost.Union([fost.DCT(64) @ rotations(16) for _ in range(16)]), 7_168),
        # A shared stage is stored once.
        (fost.Union([fost.Dense(np.eye(64)) @ rotations(1) for _ in range(2)]), 65_536 + 56),
    ],
    ids=repr,
)
def test_hand_counted_bits(coder: fost.Coder, bits: int) -> None:
    assert coder.storage_bits() == bits


def test_bits_per_value() -> None:
    assert rotations(10).storage_bits(7) == 10 * (7 + 12)
    assert fost.Dense(np.eye(4)).storage_bits(bits_per_value=1) == 16
    with pytest.raises(ValueError, match="bits_per_value must be between 1 and 64, got 0"):
        fost.DCT(4).storage_bits(0)


def test_own_transforms_with_indices() -> None:
    class Permutation(fost.Transform):
        def __init__(self, order: np.ndarray) -> None:
            self._order = order

        @property
        def order(self) -> np.ndarray:
            return self._order

        @property
        def n_features(self) -> int:
            return len(self._order)

        @property
        def matrix(self) -> np.ndarray:
            return np.eye(self.n_features)[self._order]

    assert Permutation(np.arange(20)[::-1]).storage_bits() == 20 * 5
