"""Weights of signals are equivalent to copies; canonical order."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import fost
from fost.coding.selection import SelectionRule
from fost.learning import as_training_data
from fost.learning.bank import BankOf
from fost.learning.canonical_order import (
    ContentHashPass,
    canonical_order,
    content_hashes,
    split_by_weight,
)
from tests import reference
from tests.learning.test_learn import STRUCTURES, correlated, structures

WEIGHTS = np.random.default_rng(5).integers(0, 4, 400)


@pytest.mark.parametrize("rule", [SelectionRule(3), SelectionRule(16, threshold=1.0)])
@pytest.mark.parametrize("incomplete", [False, True])
def test_sums_are_those_of_repetitions(isa, rule, incomplete, rng):
    Y = correlated(400, 16)
    missing = rng.random(Y.shape) < 0.3 if incomplete else None
    again = np.repeat(np.arange(400), WEIGHTS)
    one = as_training_data(Y, missing, WEIGHTS)
    many = as_training_data(Y[again], None if missing is None else missing[again])
    np.testing.assert_allclose(one.gram(None), many.gram(None), rtol=1e-10, atol=1e-8)
    assert one.energy == pytest.approx(many.energy, rel=1e-12)
    a, b = (source.statistic(None, fost.DCT(16), rule, with_energy=True) for source in (one, many))
    np.testing.assert_allclose(a.matrix, b.matrix, rtol=1e-9, atol=1e-7)
    assert a.energy == pytest.approx(b.energy, rel=1e-10)
    assert a.signal_energy == pytest.approx(b.signal_energy, rel=1e-12)


@structures
def test_weights_are_repetitions(name):
    """After few iterations results agree, since the sums agree up to rounding."""
    Y = correlated(400, 8)
    options = {"max_iter": 3, "tol": 0, "random_state": 0}
    one = fost.learn(Y, STRUCTURES[name](8), 3, sample_weight=WEIGHTS, **options)
    many = fost.learn(np.repeat(Y, WEIGHTS, axis=0), STRUCTURES[name](8), 3, **options)
    np.testing.assert_allclose(one.errors, many.errors, rtol=1e-6)
    assert np.all(np.diff(one.errors[1:]) <= 1e-12)


def test_signals_of_weight_zero_are_ignored():
    Y = correlated(300, 8)
    weights = np.ones(300)
    Y[::3], weights[::3] = 1e6, 0
    rest = weights > 0
    one = fost.learn(Y, fost.Orthonormal(), 2, sample_weight=weights, max_iter=4, tol=0)
    other = fost.learn(Y[rest], fost.Orthonormal(), 2, max_iter=4, tol=0)
    np.testing.assert_allclose(one.errors, other.errors, rtol=1e-6)


@pytest.mark.parametrize("incomplete", [False, True])
@pytest.mark.parametrize("kind", [fost.Bank, fost.Union])
def test_errors_are_those_of_repetitions(kind, incomplete, rng):
    Y = correlated(400, 16)
    Y[WEIGHTS == 3] = rng.standard_normal((np.sum(WEIGHTS == 3), 16))  # with much larger errors
    missing = rng.random(Y.shape) < 0.3 if incomplete else None
    again = np.repeat(np.arange(400), WEIGHTS)
    one = as_training_data(Y, missing, WEIGHTS)
    many = as_training_data(Y[again], None if missing is None else missing[again])
    coder = kind([fost.DCT(16), fost.Hadamard(16)])
    want = many.relative_error(coder, 3)
    assert one.relative_error(coder, 3) == pytest.approx(want, rel=1e-10)
    assert as_training_data(Y, missing).relative_error(coder, 3) != pytest.approx(want, rel=0.1)


class Thirds:
    def __init__(self, Y):
        self.Y = Y

    def __iter__(self):
        yield from np.array_split(self.Y, 3)


def test_weights_go_with_blocks_and_with_dask(rng):
    Y, weights = correlated(500, 8), rng.uniform(0, 2, 500)
    want = as_training_data(Y, None, weights).statistic(None, fost.DCT(8), 2)
    da = pytest.importorskip("dask.array")
    lazy = da.from_array(Y, chunks=(120, 8))
    for signals, own in (
        (Thirds(Y), weights),
        (lazy, weights),
        (lazy, da.from_array(weights, chunks=77)),
    ):
        found = as_training_data(signals, None, own).statistic(None, fost.DCT(8), 2)
        np.testing.assert_allclose(found.matrix, want.matrix, rtol=1e-10, atol=1e-9)
        assert found.energy == pytest.approx(want.energy, rel=1e-10)


def test_estimators_take_weights(rng):
    Y, weights = correlated(300, 8), rng.uniform(0.5, 2, 300)
    for estimator in (
        fost.OrthonormalDictionary(2, max_iter=4),
        fost.BankDictionary(2, 2, fost.Orthonormal(), max_iter=4, random_state=0),
    ):
        weighted = estimator.fit(Y, sample_weight=weights).errors_
        assert not np.allclose(weighted, estimator.fit(Y).errors_)
        estimator.fit_transform(Y, sample_weight=weights)
        np.testing.assert_array_equal(estimator.errors_, weighted)
        estimator.partial_fit(Y, sample_weight=weights)


def test_threads_change_nothing(rng):
    Y, weights = correlated(3000, 16), rng.uniform(0, 2, 3000)
    before, results = fost.get_num_threads(), []
    try:
        for count in (1, 3):
            fost.set_num_threads(count)
            results.append(as_training_data(Y, None, weights).statistic(None, fost.DCT(16), 4))
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
def test_bad_arguments_are_refused(weights, message):
    Y = correlated(50, 4)
    with pytest.raises(ValueError, match=message):
        fost.learn(Y, fost.Orthonormal(), 2, sample_weight=weights)
    with pytest.raises(ValueError, match=message.split()[0]):
        fost.learn(Thirds(Y), fost.Orthonormal(), 2, sample_weight=weights)
    da = pytest.importorskip("dask.array")
    signals = da.from_array(Y, chunks=(20, 4))
    with pytest.raises(ValueError, match="sample_weight"):
        fost.learn(signals, fost.Orthonormal(), 2, sample_weight=weights)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("share", [None, 1.0, 40.5, 1e9])
def test_weights_are_split_like_repetitions(count, share, rng):
    order = rng.permutation(400)
    again = np.repeat(order, WEIGHTS[order])
    one = list(split_by_weight(order, WEIGHTS.astype(float), share, count))
    many = list(split_by_weight(again, None, share, count))
    assert len(one) == len(many) == count
    for (places, weights), (repeated, none) in zip(one, many, strict=True):
        assert none is None
        np.testing.assert_array_equal(np.repeat(places, weights.astype(int)), repeated)


def test_fractional_weights_are_split_equally(rng):
    weights = rng.random(50)
    parts = list(split_by_weight(np.arange(50), weights, None, 4))
    sums = [own.sum() for _, own in parts]
    np.testing.assert_allclose(sums, weights.sum() / 4)
    total = np.zeros(50)
    for places, own in parts:
        total[places] += own
    np.testing.assert_allclose(total, weights)


def test_weights_may_be_huge():
    weights = np.full(400, 1e12)
    (part,) = split_by_weight(np.arange(400), weights, 2.5e12)
    np.testing.assert_array_equal(part[1], [1e12, 1e12, 5e11])
    Y = correlated(400, 8)
    assert counted(as_training_data(Y, None, weights).sample(50)) == 50
    options = {"max_iter": 2, "tol": 0, "random_state": 0}
    huge = fost.learn(Y, fost.BankOf(fost.Orthonormal(), 3), 2, sample_weight=weights, **options)
    plain = fost.learn(Y, fost.BankOf(fost.Orthonormal(), 3), 2, **options)
    np.testing.assert_allclose(huge.errors, plain.errors, rtol=1e-6)


def test_samples_of_weights_are_those_of_repetitions():
    Y = correlated(400, 8)
    one = as_training_data(Y, None, WEIGHTS).sample(100)
    many = as_training_data(np.repeat(Y, WEIGHTS, axis=0)).sample(100)
    assert counted(one) == counted(many) == 100
    np.testing.assert_array_equal(one.rows(), many.rows())
    half = as_training_data(Y, None, WEIGHTS / 2).sample(100)
    assert counted(half) == 100
    assert (WEIGHTS[np.isin(Y[:, 0], half.rows()[:, 0])] > 0).all()


@pytest.mark.parametrize("init", ["splitting", "farthest"])
def test_starts_of_banks_are_those_of_repetitions(init):
    """Also if the start uses a sample of the signals."""
    rng = np.random.default_rng(1)
    Y = correlated(400, 8)
    Y[::2] = 20 * rng.standard_normal((200, 8)) * (rng.random((200, 8)) < 0.3)
    options = {"init": init, "max_iter": 1, "tol": 0, "random_state": 0}
    bank = fost.BankOf(fost.Orthonormal(), 3)
    one = fost.learn(Y, bank, 2, sample_weight=WEIGHTS, **options)
    many = fost.learn(np.repeat(Y, WEIGHTS, axis=0), bank, 2, **options)
    assert one.start_error == pytest.approx(many.start_error, rel=1e-6)
    np.testing.assert_allclose(one.errors, many.errors, rtol=1e-6)


def counted(source):
    """The sum of the weights."""
    return source.n_signals if source.weights is None else source.weights.sum()


ESTIMATORS = [
    fost.OrthonormalDictionary(2, max_iter=8),
    fost.OrthonormalDictionary(threshold=3.0, max_iter=8),
    fost.HouseholderDictionary(max_iter=8),
    fost.GivensDictionary("auto", 2, max_iter=8),
    fost.BankDictionary(3, 2, max_iter=8, random_state=0),
    fost.BankDictionary(3, 2, fost.Orthonormal(), init="subsets", max_iter=8, random_state=0),
    fost.UnionDictionary(2, 2, max_iter=8, random_state=0),
    fost.AutoDictionary(2, max_members=2, max_iter=2, random_state=0),
    fost.AutoDictionary(threshold=3.0, max_members=2, max_iter=2, random_state=0),
    fost.baselines.KSVD(12, 2, batch_size=30, max_iter=8, random_state=0),
    fost.baselines.MOD(12, 2, max_iter=8, random_state=0),
]
estimators = pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)


def learned(estimator, Y, weights=None):
    return clone(estimator).fit(Y, sample_weight=weights).components_


@estimators
@pytest.mark.parametrize(("count", "most"), [(12, 30), (150, 3)])
@pytest.mark.parametrize("incomplete", [False, True])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_neither_order_nor_copies_matter(estimator, count, most, incomplete):
    """Not by a bit, where signals are few; also where they do not decide what is learned.

    Weights of up to 3 are laid out as copies, those of up to 30 are not.
    """
    rng = np.random.default_rng(count)
    Y = correlated(count, 16)
    if incomplete:
        Y[rng.random(Y.shape) < 0.1] = np.nan
    weights = rng.integers(0, most, count, endpoint=True)
    shuffled, again = rng.permutation(count), np.repeat(np.arange(count), weights)
    want = learned(estimator, Y, weights)
    for other in (
        learned(estimator, Y[shuffled], weights[shuffled]),
        learned(estimator, Y[again]),
        learned(estimator, Y[rng.permutation(again)]),
        learned(estimator, Y[weights > 0], weights[weights > 0]),
    ):
        np.testing.assert_array_equal(other, want)


@estimators
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_parts_of_weights_add_up(estimator):
    rng = np.random.default_rng(3)
    Y, weights = correlated(60, 16), rng.integers(1, 2**20, 60) / 2**18  # sums are exact
    want = learned(estimator, Y, weights)
    shuffled = rng.permutation(120)
    halves = np.tile(Y, (2, 1))[shuffled], np.tile(weights / 2, 2)[shuffled]
    np.testing.assert_array_equal(learned(estimator, *halves), want)
    codes = clone(estimator).fit_transform(Y, sample_weight=weights)
    fitted = clone(estimator).fit(Y, sample_weight=weights)
    assert np.array_equal(codes, fitted.transform(Y)), "in the order of the signals"


@pytest.mark.parametrize("init", BankOf.starts)
@pytest.mark.parametrize("kind", [fost.BankOf, fost.UnionOf])
def test_samples_for_starts_depend_on_the_content_only(kind, init, monkeypatch, rng):
    """Many signals are not sorted, so that sums differ in their last bits."""
    monkeypatch.setattr("fost.learning.training_data._MAX_SORTED_ENTRIES", 0)
    Y = correlated(400, 8)
    again = rng.permutation(np.repeat(np.arange(400), WEIGHTS))
    options = {"init": init, "max_iter": 2, "tol": 0, "random_state": 0}
    one = fost.learn(Y, kind(fost.Orthonormal(), 3), 2, sample_weight=WEIGHTS, **options)
    many = fost.learn(Y[again], kind(fost.Orthonormal(), 3), 2, **options)
    np.testing.assert_allclose(one.errors, many.errors, rtol=1e-6)


def test_partial_fit_does_not_depend_on_the_order(rng):
    Y = correlated(400, 8)
    again = rng.permutation(np.repeat(np.arange(400), WEIGHTS))
    bank = fost.BankDictionary(3, 2, fost.Orthonormal(), init="subsets", random_state=0)
    one = clone(bank).partial_fit(Y, sample_weight=WEIGHTS)
    many = clone(bank).partial_fit(Y[again])
    np.testing.assert_allclose(one.errors_, many.errors_, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_one_signal_many_times_is_one_signal():
    Y = np.tile(correlated(1, 8), (9, 1))
    for estimator in ESTIMATORS:
        found = clone(estimator).fit(Y)
        assert np.isfinite(found.components_).all()
    assert fost.AutoDictionary(2).fit(Y).error_ < 1e-12


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 7, 16, 65])
def test_content_hashes_equal_the_reference(dtype, n, rng):
    Y = rng.standard_normal((50, n)).astype(dtype)
    Y[3], Y[4], Y[5, 0] = 0, np.round(Y[4]), np.nan
    want = reference.content_hashes(Y)
    for same in (Y, np.asfortranarray(Y), np.repeat(Y, 2, axis=1)[:, ::2], Y[::-1][::-1]):
        np.testing.assert_array_equal(content_hashes(same), want)
    np.testing.assert_array_equal(content_hashes(Y.repeat(2, axis=0)), want.repeat(2))


def test_threads_do_not_change_content_hashes(rng):
    Y = rng.standard_normal((20_000, 16))
    before, found = fost.get_num_threads(), []
    try:
        for count in (1, 3):
            fost.set_num_threads(count)
            found.append(content_hashes(Y))
    finally:
        fost.set_num_threads(before)
    np.testing.assert_array_equal(*found)


def test_signals_of_few_digits_have_distinct_hashes(rng):
    """The bits of such signals are mostly zeros."""
    Y = np.unique(rng.integers(0, 4, (20_000, 8)), axis=0).astype(float)
    assert len(np.unique(content_hashes(Y))) == len(Y)
    ones = np.arange(-5000.0, 5000.0)[:, None]  # signals of one entry
    assert len(np.unique(content_hashes(ones))) == len(ones)


def test_neither_units_nor_last_bits_change_the_order(rng):
    Y = rng.standard_normal((2000, 32))
    order = np.argsort(content_hashes(Y))
    noise = 1 + 4e-16 * rng.standard_normal(Y.shape)
    for same in (1000 * Y, 2.0**-900 * Y, noise * Y):
        np.testing.assert_array_equal(np.argsort(content_hashes(same)), order)
    single = np.argsort(content_hashes(Y.astype(np.float32)))
    assert len(set(single[:1000]) & set(order[:1000])) > 980  # a few round to other steps


def test_hash_collisions_are_resolved():
    """Signals with equal hashes are compared if they are in memory."""
    Y = np.array([[1.0], [2.0], [1.0], [3.0], [1.0]])
    found = np.array([7, 7, 7, 2, 7], np.uint64)
    places, weights = canonical_order(found, np.array([1.0, 1.0, 0.5, 0.0, 1.0]), Y)
    assert set(Y[places, 0]) == {1.0, 2.0}
    assert weights.sum() == 3.5
    places, weights = canonical_order(found, None)
    assert list(places[-4:]) == [places[-1]] * 4, "without rows, equal hashes mean equal signals"
    assert weights is None


def test_hashes_of_blocks_are_concatenated():
    Y = correlated(100, 8)
    (found,) = as_training_data(Thirds(Y)).stream.total(ContentHashPass())
    np.testing.assert_array_equal(found.array, content_hashes(Y))
