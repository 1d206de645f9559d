"""Weights of signals: each counts as often as its weight says."""

from __future__ import annotations

import numpy as np
import pytest

import fost
from fost.learning import as_source
from fost.learning.copies import dealt
from fost.selection import Rule
from tests.learning.test_loop import STRUCTURES, correlated, structures

RNG = np.random.default_rng(5)
WEIGHTS = RNG.integers(0, 4, 400)


@pytest.mark.parametrize("rule", [Rule(3), Rule(16, threshold=1.0)])
@pytest.mark.parametrize("gaps", [False, True])
def test_sums_are_those_of_repetitions(isa, rule, gaps):
    Y = correlated(400, 16)
    missing = RNG.random(Y.shape) < 0.3 if gaps else None
    again = np.repeat(np.arange(400), WEIGHTS)
    one = as_source(Y, missing, WEIGHTS)
    many = as_source(Y[again], None if missing is None else missing[again])
    np.testing.assert_allclose(one.gram(None), many.gram(None), rtol=1e-10, atol=1e-8)
    assert one.energy == pytest.approx(many.energy, rel=1e-12)
    a, b = (source.statistic(None, fost.DCT(16), rule, True) for source in (one, many))
    np.testing.assert_allclose(a.matrix, b.matrix, rtol=1e-9, atol=1e-7)
    assert a.energy == pytest.approx(b.energy, rel=1e-10)
    assert a.total == pytest.approx(b.total, rel=1e-12)


@structures
def test_weights_are_repetitions(name):
    """After few iterations: what is learned from sums that agree to rounding agrees as well."""
    Y = correlated(400, 8)
    options = {"max_iter": 3, "tol": 0, "random_state": 0}
    one = fost.learn(Y, STRUCTURES[name](8), 3, sample_weight=WEIGHTS, **options)
    many = fost.learn(np.repeat(Y, WEIGHTS, axis=0), STRUCTURES[name](8), 3, **options)
    np.testing.assert_allclose(one.errors, many.errors, rtol=1e-6)
    assert np.all(np.diff(one.errors[1:]) <= 1e-12)


def test_a_signal_of_no_weight_does_not_count():
    Y = correlated(300, 8)
    weights = np.ones(300)
    Y[::3], weights[::3] = 1e6, 0
    rest = weights > 0
    one = fost.learn(Y, fost.Full(), 2, sample_weight=weights, max_iter=4, tol=0)
    other = fost.learn(Y[rest], fost.Full(), 2, max_iter=4, tol=0)
    np.testing.assert_allclose(one.errors, other.errors, rtol=1e-6)


class Thirds:
    def __init__(self, Y):
        self.Y = Y

    def __iter__(self):
        yield from np.array_split(self.Y, 3)


def test_weights_go_with_blocks_and_with_dask():
    Y, weights = correlated(500, 8), RNG.uniform(0, 2, 500)
    want = as_source(Y, None, weights).statistic(None, fost.DCT(8), 2)
    da = pytest.importorskip("dask.array")
    lazy = da.from_array(Y, chunks=(120, 8))
    for signals, own in (
        (Thirds(Y), weights),
        (lazy, weights),
        (lazy, da.from_array(weights, chunks=77)),
    ):
        found = as_source(signals, None, own).statistic(None, fost.DCT(8), 2)
        np.testing.assert_allclose(found.matrix, want.matrix, rtol=1e-10, atol=1e-9)
        assert found.energy == pytest.approx(want.energy, rel=1e-10)


def test_estimators_take_weights():
    Y, weights = correlated(300, 8), RNG.uniform(0.5, 2, 300)
    for estimator in (
        fost.OrthonormalDictionary(2, max_iter=4),
        fost.BankDictionary(2, 2, fost.Full(), max_iter=4, random_state=0),
    ):
        weighted = estimator.fit(Y, sample_weight=weights).errors_
        assert not np.allclose(weighted, estimator.fit(Y).errors_)
        estimator.fit_transform(Y, sample_weight=weights)
        np.testing.assert_array_equal(estimator.errors_, weighted)
        estimator.partial_fit(Y, sample_weight=weights)


def test_threads_change_nothing():
    Y, weights = correlated(3000, 16), RNG.uniform(0, 2, 3000)
    before, results = fost.get_num_threads(), []
    try:
        for count in (1, 3):
            fost.set_num_threads(count)
            results.append(as_source(Y, None, weights).statistic(None, fost.DCT(16), 4))
    finally:
        fost.set_num_threads(before)
    np.testing.assert_array_equal(results[0].matrix, results[1].matrix)
    assert results[0].energy == results[1].energy


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (-np.ones(50), "sample_weight must not be negative, got -1"),
        (np.zeros(50), "sample_weight must not be zero for all signals"),
        (np.ones(49), r"sample_weight must have shape \(50,\)"),
        (np.ones((50, 1)), r"sample_weight must have shape \(50,\)"),
        (np.full(50, np.nan), "sample_weight contains NaN"),
        (np.full(50, np.inf), "sample_weight contains NaN or infinity"),
    ],
)
def test_what_is_refused(weights, message):
    Y = correlated(50, 4)
    with pytest.raises(ValueError, match=message):
        fost.learn(Y, fost.Full(), 2, sample_weight=weights)
    with pytest.raises(ValueError, match=message.split()[0]):
        fost.learn(Thirds(Y), fost.Full(), 2, sample_weight=weights)
    da = pytest.importorskip("dask.array")
    signals = da.from_array(Y, chunks=(20, 4))
    with pytest.raises(ValueError, match="sample_weight"):
        fost.learn(signals, fost.Full(), 2, sample_weight=weights)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("share", [None, 1.0, 40.5, 1e9])
def test_weights_are_dealt_like_repetitions(count, share):
    order = RNG.permutation(400)
    again = np.repeat(order, WEIGHTS[order])
    one = list(dealt(order, WEIGHTS.astype(float), share, count))
    many = list(dealt(again, None, share, count))
    assert len(one) == len(many) == count
    for (places, weights), (repeated, none) in zip(one, many, strict=True):
        assert none is None
        np.testing.assert_array_equal(np.repeat(places, weights.astype(int)), repeated)


def test_any_weights_are_dealt_in_equal_parts():
    weights = RNG.random(50)
    parts = list(dealt(np.arange(50), weights, None, 4))
    sums = [own.sum() for _, own in parts]
    np.testing.assert_allclose(sums, weights.sum() / 4)
    total = np.zeros(50)
    for places, own in parts:
        total[places] += own
    np.testing.assert_allclose(total, weights)


def test_weights_may_be_huge():
    weights = np.full(400, 1e12)
    (part,) = dealt(np.arange(400), weights, 2.5e12)
    np.testing.assert_array_equal(part[1], [1e12, 1e12, 5e11])
    Y = correlated(400, 8)
    assert as_source(Y, None, weights).sample(50).weights.sum() == 50
    options = {"max_iter": 2, "tol": 0, "random_state": 0}
    huge = fost.learn(Y, fost.BankOf(fost.Full(), 3), 2, sample_weight=weights, **options)
    plain = fost.learn(Y, fost.BankOf(fost.Full(), 3), 2, **options)
    np.testing.assert_allclose(huge.errors, plain.errors, rtol=1e-6)


def test_samples_of_weights_are_those_of_repetitions():
    Y = correlated(400, 8)
    one = as_source(Y, None, WEIGHTS).sample(100)
    many = as_source(np.repeat(Y, WEIGHTS, axis=0)).sample(100)
    assert one.weights.sum() == many.n_signals == 100
    np.testing.assert_allclose(one.gram(None), many.gram(None), rtol=1e-10, atol=1e-8)
    half = as_source(Y, None, WEIGHTS / 2).sample(100)
    assert half.weights.sum() == 100
    assert (WEIGHTS[np.isin(Y[:, 0], half.in_memory()[:, 0])] > 0).all()


@pytest.mark.parametrize("init", ["splitting", "farthest"])
def test_starts_of_banks_are_those_of_repetitions(init):
    """Also where the signals that a start looks at are a sample."""
    rng = np.random.default_rng(1)
    Y = correlated(400, 8)
    Y[::2] = 20 * rng.standard_normal((200, 8)) * (rng.random((200, 8)) < 0.3)
    options = {"init": init, "max_iter": 1, "tol": 0, "random_state": 0}
    bank = fost.BankOf(fost.Full(), 3)
    one = fost.learn(Y, bank, 2, sample_weight=WEIGHTS, **options)
    many = fost.learn(np.repeat(Y, WEIGHTS, axis=0), bank, 2, **options)
    assert one.start_error == pytest.approx(many.start_error, rel=1e-6)
    np.testing.assert_allclose(one.errors, many.errors, rtol=1e-6)


def test_what_few_signals_leave_open_hangs_on_their_order_too():
    """Why scikit-learn's check of weights fails: its 15 signals of 30 entries do not decide.

    The same repetitions in another order, without any weights, give another transform, too, that
    is as good.
    """
    rng = np.random.RandomState(42)
    Y, weights = rng.rand(15, 30), rng.randint(0, 5, 15)
    again = np.repeat(Y, weights, axis=0)
    assert np.linalg.matrix_rank(again) < 30
    options = {"max_iter": 3, "tol": 0}
    first = fost.learn(again, fost.Full(), 4, **options)
    others = [
        fost.learn(rng.permutation(again), fost.Full(), 4, **options),
        fost.learn(rng.permutation(again), fost.Full(), 4, **options),
        fost.learn(Y, fost.Full(), 4, sample_weight=weights, **options),
    ]
    changes = [np.abs(other.transform.matrix - first.transform.matrix).max() for other in others]
    assert max(changes[:2]) > 1e-3  # in their last bits, all might agree by chance
    assert [other.error for other in others] == pytest.approx([first.error] * 3, rel=0.05)
