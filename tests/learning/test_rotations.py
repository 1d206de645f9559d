"""Rotations: the sweep against brute force, the starts, and the gain over a base."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fost
from fost import _core
from fost.learning import rotations
from fost.learning.rotations import _aligned, identities, removal_losses
from fost.learning.structure import Problem
from fost.learning.training_data import TrainingData, as_training_data
from tests import reference_learning as twin
from tests.learning.test_learn import correlated, relative_error


def smooth_patches(n_signals: int, seed: int = 0) -> np.ndarray:
    """8 x 8 patches with more variance along one direction, which the DCT does not know."""
    rng = np.random.default_rng(seed)
    i, j = np.mgrid[:8, :8]
    phase = rng.uniform(0, 2 * np.pi, (n_signals, 1, 1))
    slope = rng.normal(0.5, 0.1, (n_signals, 1, 1))
    waves = np.cos(slope * (i + 0.7 * j) + phase)
    return (waves + 0.1 * rng.standard_normal((n_signals, 8, 8))).reshape(n_signals, 64)


@given(n=st.integers(2, 9), g=st.integers(1, 12), seed=st.integers(0, 2**32 - 1))
def test_sweep_matches_brute_force(n, g, seed, isa):
    M = np.random.default_rng(seed).standard_normal((n, n))
    pairs, blocks = identities(g)
    gains = np.empty(g)
    trace = np.trace(M)
    for _ in range(2):
        expected_pairs, expected_blocks, expected_gains = twin.sweep_rotations(M, pairs, blocks)
        assert _core.sweep_rotations(M, pairs, blocks, gains, -1.0) == g
        np.testing.assert_allclose(gains, expected_gains, atol=1e-10)
        np.testing.assert_array_equal(np.sort(pairs, axis=1), np.sort(expected_pairs, axis=1))
        U = fost.Givens(pairs, blocks, n).matrix
        V = fost.Givens(expected_pairs, expected_blocks, n).matrix
        np.testing.assert_allclose(U, V, atol=1e-8)
        # The trace, which is maximised, never decreases.
        assert np.trace(M @ U) >= trace - 1e-10
        trace = np.trace(M @ U)


@pytest.mark.parametrize("n", [10, 64, 65])
def test_scores_stay_right_over_many_updates(n, isa):
    """After hundreds of incremental updates the gains still equal those from scratch."""
    M = np.random.default_rng(n).standard_normal((n, n))
    pairs, blocks = identities(300)
    gains = np.empty(300)
    _core.sweep_rotations(M, pairs, blocks, gains, -1.0)
    left = fost.Givens(pairs[:299], blocks[:299], n).matrix
    R = left @ M
    a, d = np.diag(R)[:, None], np.diag(R)[None, :]
    turn, mirror = np.hypot(a + d, R - R.T), np.hypot(a - d, R + R.T)
    scores = np.maximum(turn, mirror) - (a + d)
    np.fill_diagonal(scores, -1)
    assert gains[299] == pytest.approx(scores.max(), abs=1e-9)


@given(n=st.integers(2, 9), g=st.integers(1, 12), seed=st.integers(0, 2**32 - 1))
def test_losses_of_removed_rotations_match_brute_force(n, g, seed):
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((n, n))
    pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(g)], np.int32)
    blocks = np.linalg.qr(rng.standard_normal((g, 2, 2)))[0]
    chain = fost.Givens(pairs, blocks, n)
    without = [fost.Givens(np.delete(pairs, k, 0), np.delete(blocks, k, 0), n) for k in range(g)]
    expected = [np.sum(M * (chain.matrix - other.matrix).T) for other in without]
    # Entries of M are below 6, and each of the 2 g products has n^2 rounding errors.
    np.testing.assert_allclose(removal_losses(M, chain), expected, rtol=0, atol=1e-12 * n * n * g)


def test_pruned_chains_keep_the_better_half_in_order():
    Y = correlated(300, 8)
    problem = Problem(as_training_data(Y), None, 2, np.random.default_rng(0), 10, 0)
    learned = fost.learn(Y, fost.Rotations(7), 2, base=None, max_iter=5).transform
    losses = removal_losses(fost.Rotations(7).statistic(problem, learned).scaled, learned)
    pruned = fost.Rotations(7).prune(problem, learned)
    kept = sorted(np.argsort(losses)[3:])
    assert pruned == fost.Givens(learned.pairs[kept], learned.blocks[kept], 8)
    one = fost.Givens(learned.pairs[:1], learned.blocks[:1], 8)
    assert fost.Rotations(1).prune(problem, one) is None


def test_a_sweep_ends_at_the_least_gain():
    M = np.diag([1.0, -2.0, 3.0, -0.5])
    pairs, blocks = identities(6)
    gains = np.empty(6)
    # Flipping both negative entries gains 2 (2 + 0.5); no other rotation does.
    assert _core.sweep_rotations(M, pairs, blocks, gains, 1e-9) == 1
    assert gains[0] == pytest.approx(5.0)
    assert gains[1] == pytest.approx(0.0)


def test_positive_definite_statistics_leave_the_identity():
    M = np.diag(np.arange(1.0, 6.0))
    pairs, blocks = identities(4)
    _core.sweep_rotations(M, pairs, blocks, np.empty(4), -1.0)
    np.testing.assert_allclose(fost.Givens(pairs, blocks, 5).matrix, np.eye(5), atol=1e-15)


@pytest.mark.parametrize("init", ["aligned", "base", fost.DCT(64)])
def test_rotations_over_the_dct_beat_the_dct(init):
    Y, base = smooth_patches(1500), fost.DCT((8, 8))
    before = relative_error(Y, base, 4)
    errors = []
    for g in (8, 64):
        result = fost.learn(
            Y, fost.Rotations(g), 4, base=base, init=init, max_iter=20, random_state=0
        )
        assert result.transform.flops == 672 + 6 * g
        assert np.all(np.diff(result.errors) <= 1e-12)
        errors.append(result.error)
    assert before > errors[0] > errors[1]


def test_shorter_chains_are_continued_and_longer_ones_restarted():
    Y, base = smooth_patches(800), fost.DCT((8, 8))
    short = fost.learn(Y, fost.Rotations(8), 4, base=base, max_iter=10)
    long = fost.learn(Y, fost.Rotations(16), 4, base=base, init=short.transform, max_iter=10)
    assert long.start_error == pytest.approx(short.error)
    assert long.error < short.error
    again = fost.learn(Y, fost.Rotations(8), 4, base=base, init=long.transform, max_iter=1)
    assert again.start_error == pytest.approx(long.error)


def test_fewer_reflectors_are_continued_too():
    Y = correlated(500, 16)
    few = fost.learn(Y, fost.Reflectors(2), 3, max_iter=10)
    more = fost.learn(Y, fost.Reflectors(5), 3, init=few.transform, max_iter=10, tol=0)
    assert more.start_error == pytest.approx(few.error)
    assert np.all(np.diff(more.errors) <= 1e-12)


def test_auto_stops_when_rotations_gain_too_little():
    """With the codes of the start, each rotation lowers the error by 1e-4, and one more would not.

    How many that are may differ from machine to machine: of two pairs of features that gain as
    much as each other the one or the other is rotated first.
    """
    Y, base = smooth_patches(1500), fost.DCT((8, 8))
    auto = fost.learn(Y, fost.Rotations("auto"), 4, base=base, max_iter=20, random_state=0)
    g = auto.transform.stages[1].n_rotations
    assert 4 <= g <= 400
    problem = Problem(TrainingData.from_rows(Y), base, 4, np.random.default_rng(0), 20, 1e-6)
    M = problem.data.statistic(problem.base, _aligned(problem), problem.rule).matrix
    # ||Y - U X||^2 is a constant minus 2 tr(M U).
    gains = 2 * np.array(twin.sweep_rotations(M, *identities(g + 1))[2]) / problem.signal_energy
    assert gains[:g].min() >= 1e-4 * (1 - 1e-6)
    assert gains[g] < 1e-4 * (1 + 1e-6)
    # Twice as many gain less than that each when the codes follow too: 0.4e-5 to 2e-5.
    double = fost.learn(Y, fost.Rotations(2 * g), 4, base=base, max_iter=20, random_state=0)
    assert auto.error - double.error < 1e-4 * g


@pytest.mark.parametrize(
    ("g", "error", "match"),
    [
        (0, ValueError, "n_rotations must be between 1"),
        (-1, ValueError, "n_rotations must be between 1"),
        (1.5, TypeError, "n_rotations must be an integer"),
        ("some", ValueError, "n_rotations must be an integer or 'auto'"),
    ],
)
def test_bad_numbers_of_rotations(g, error, match):
    with pytest.raises(error, match=match):
        fost.Rotations(g)


def test_one_feature_cannot_be_rotated():
    with pytest.raises(ValueError, match="at least two features"):
        fost.learn(np.ones((5, 1)), fost.Rotations(1), 1)


def test_auto_on_zeros_adds_nothing():
    result = fost.learn(np.zeros((10, 6)), fost.Rotations("auto"), 2)
    assert result.transform.n_rotations == 1


def test_the_default_start_follows_random_state():
    Y = smooth_patches(4500)  # more than the aligned start uses
    one, two, three = (
        fost.learn(rows, fost.Rotations(8), 4, base=fost.DCT((8, 8)), max_iter=2, random_state=k)
        for rows, k in ((Y, 0), (Y, 0), (Y, 1))
    )
    assert one.transform == two.transform
    assert one.transform != three.transform


@pytest.mark.parametrize("base", [None, fost.DCT((8, 8))], ids=["no base", "base"])
@pytest.mark.parametrize("kind", ["complete", "missing", "weighted"])
def test_the_aligned_start_learns_from_the_leading_features(base, kind, monkeypatch, rng):
    """It is orthonormal, better than the base, and keeps the other features of the base."""
    monkeypatch.setattr(rotations, "_ALIGNED_FEATURES", 24)
    Y = smooth_patches(800)
    missing = rng.random(Y.shape) < 0.05 if kind == "missing" else None
    weights = rng.uniform(0.5, 2, len(Y)) if kind == "weighted" else None
    data = as_training_data(Y, missing, weights)
    problem = Problem(data, base, 4, rng, 20, 1e-6)
    U = _aligned(problem)
    np.testing.assert_allclose(U.matrix.T @ U.matrix, np.eye(64), atol=1e-12)
    assert (np.diag(U.matrix) >= 0).all()
    coefficients = Y if base is None else base.forward(Y)
    fixed = np.flatnonzero(np.diag(U.matrix) == 1)
    assert len(fixed) == (0 if base is None else 64 - 24)
    if base is not None:
        energies = np.diag(problem.gram)
        assert energies[fixed].max() <= np.delete(energies, fixed).min()
    before = relative_error(Y, base or fost.DCT(64), 4)
    assert relative_error(coefficients, U, 4) < before


def test_long_signals_start_from_256_features():
    """More features than Q-DLA learns from: the error still decreases, below that of the base."""
    Y = np.cumsum(np.random.default_rng(0).standard_normal((400, 300)), axis=1)
    base = fost.DCT(300)
    result = fost.learn(Y, fost.Rotations(30), 8, base=base, max_iter=3, random_state=0)
    assert np.all(np.diff(result.errors) <= 1e-12)
    assert result.error < relative_error(Y, base, 8)


def test_unknown_starts_are_refused():
    with pytest.raises(ValueError, match="init must be a transform or, for Rotations, one of"):
        fost.learn(np.eye(4), fost.Rotations(1), 1, init="svd")
