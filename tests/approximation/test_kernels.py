"""Rotations of symmetric matrices: the kernels against NumPy, for every instruction set."""

from __future__ import annotations

import numpy as np
import pytest

from fost import _core
from fost.approximation.rotation_search import RotationSearch
from tests import reference_learning as twin

# n = 2 has one pair only; 17 and 33 leave a remainder in vectors of any width.
SIZES = [2, 3, 5, 17, 33]


def symmetric(n: int, seed: int = 0) -> np.ndarray:
    S = np.random.default_rng(seed).standard_normal((n, n))
    return S + S.T


def padded(S: np.ndarray) -> np.ndarray:
    return np.hstack([S, np.full((len(S), 3), np.nan)])  # kernels must not read the padding


def random_chain(n: int, g: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    pairs = np.array([rng.permutation(n)[:2] for _ in range(g)], np.int32)
    t = rng.uniform(-1, 1, g)
    return pairs, np.stack([np.cos(t), np.sin(t)], axis=1)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", SIZES)
def test_greedy_rotations(n, weighted, isa):
    S, g = symmetric(n), min(n - 1, 12)  # later gains of small matrices are rounding errors
    weights = np.random.default_rng(1).uniform(0, 2, n) if weighted else None
    A, pairs, angles = padded(S), np.empty((g, 2), np.int32), np.empty((g, 2))
    gains = np.empty(g)
    assert _core.greedy_rotations(A, weights, pairs, angles, gains, 0.0, np.inf) == g
    expected, rotated = twin.greedy_jacobi(S, g, weights)
    np.testing.assert_allclose(gains, expected, atol=1e-9)
    np.testing.assert_allclose(np.abs(A[:, :n]), np.abs(rotated), atol=1e-8)  # signs are free
    U = twin.symmetric_product(pairs, angles, n)
    np.testing.assert_allclose(U.T @ S @ U, A[:, :n], atol=1e-10)


@pytest.mark.parametrize("n", [40, 65])
def test_best_partners_stay_right_over_many_rotations(n, isa):
    A, g = padded(symmetric(n)), 6 * n
    pairs, angles, gains = np.empty((g, 2), np.int32), np.empty((g, 2)), np.empty(g)
    _core.greedy_rotations(A, None, pairs, angles, gains, 0.0, np.inf)
    again = np.empty(1)
    left = np.square(np.triu(A[:, :n], 1)).max()
    _core.greedy_rotations(A, None, pairs[:1], angles[:1], again, 0.0, np.inf)
    assert again[0] == left


def test_greedy_rotations_end_at_enough():
    A, gains = padded(symmetric(9)), np.empty(20)
    pairs, angles = np.empty((20, 2), np.int32), np.empty((20, 2))
    expected, _ = twin.greedy_jacobi(symmetric(9), 5)
    enough = sum(expected[:3]) - expected[2] / 2  # reached by the third rotation
    assert _core.greedy_rotations(A, None, pairs, angles, gains, 0.0, enough) == 3
    assert _core.greedy_rotations(padded(np.eye(9)), None, pairs, angles, gains, 0.0, np.inf) == 0


@pytest.mark.parametrize("n", SIZES)
def test_sweep_angles(n, isa):
    S, w = symmetric(n), np.random.default_rng(2).standard_normal(n)
    pairs, angles = random_chain(n, 9)
    U = twin.symmetric_product(pairs, angles, n)
    A, D, gains = padded(S), padded(U * w @ U.T), np.empty(9)
    begin = A.copy()
    for backward in (False, True):
        expected, best = twin.sweep_angles(S, w, pairs, angles, backward)
        _core.sweep_angles(A, D, pairs, angles, gains, backward)
        np.testing.assert_allclose(gains, best, atol=1e-8)
        # Half turns change signs only, and are ties where D is diagonal. The gain is flat at its
        # maximum, so that angles are less accurate than gains.
        U, V = (twin.symmetric_product(pairs, found, n) for found in (angles, expected))
        np.testing.assert_allclose(U * w @ U.T, V * w @ V.T, atol=1e-5)
    np.testing.assert_allclose(A, begin, atol=1e-9)
    U = twin.symmetric_product(pairs, angles, n)
    np.testing.assert_allclose(D[:, :n], U * w @ U.T, atol=1e-9)


@pytest.mark.parametrize("n", [2, 3, 9])
def test_propose_rotations(n, isa):
    S, w = symmetric(n), np.random.default_rng(3).standard_normal(n)
    pairs, angles = random_chain(n, 7)
    U = twin.symmetric_product(pairs, angles, n)
    A, D = padded(U.T @ S @ U), padded(np.diag(w))
    partners, scores = np.empty((7, 2), np.int32), np.empty((7, 2))
    _core.propose_rotations(A, D, pairs, angles, partners, scores)
    expected = twin.propose_rotations(S, w, pairs, angles)
    np.testing.assert_allclose(scores, expected.max(axis=2), atol=1e-9)
    picked = np.take_along_axis(expected, partners[..., None].astype(int), axis=2)[..., 0]
    np.testing.assert_allclose(picked, scores, atol=1e-9)
    np.testing.assert_allclose(A[:, :n], S, atol=1e-10)
    np.testing.assert_allclose(D[:, :n], U * w @ U.T, atol=1e-10)


def test_steps_never_increase_the_error_until_rotations_are_dropped():
    search = RotationSearch(symmetric(24))
    search.append(40)
    errors = [search.error]
    for _ in range(4):
        search.sweep()
        errors.append(search.error)
        assert search.insert(6) == 6
        errors.append(search.error)
    assert (np.diff(errors) <= 1e-12 * errors[0]).all()
    n_rotations = len(search)
    search.drop(5)
    assert len(search) == n_rotations - 5
    assert search.error >= errors[-1]
    U = twin.symmetric_product(search.pairs, search.angles, 24)
    np.testing.assert_allclose(U.T @ symmetric(24) @ U, search.rotated, atol=1e-10)
