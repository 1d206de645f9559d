"""Learning banks: against brute force, descent, starts and special cases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import fost
from fost.learning.statistics import Statistic
from fost.learning.structure import Problem
from fost.learning.training_data import TrainingData
from tests.cases import random_orthonormal, seeds


def mixed(seed=0, count=900, n=16, kinds=3, s=2, dtype=np.float64):
    """Heterogeneous signals: each cluster is sparse in its own dictionary, with some noise."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(kinds):
        X = np.zeros((count // kinds, n))
        for row in X:
            row[rng.choice(n, s, replace=False)] = rng.standard_normal(s)
        rows.append(X @ random_orthonormal(rng, n))
    Y = rng.permutation(np.concatenate(rows))
    return (Y + 0.01 * rng.standard_normal(Y.shape)).astype(dtype)


def brute_force(Y, bank, s):
    """M of each member and the kept energy, from every member's own codes."""
    kept = np.array([np.square(t.encode(Y, s).toarray()).sum(axis=1) for t in bank.members])
    chosen = kept.argmax(axis=0)
    sums = []
    for b, member in enumerate(bank.members):
        own = Y[chosen == b]
        sums.append(member.encode(own, s).T @ own if len(own) else np.zeros((Y.shape[1],) * 2))
    return np.concatenate(sums), kept.max(axis=0).sum()


@given(seeds, st.integers(1, 4), st.booleans())
def test_statistic_equals_brute_force(seed, count, with_base):
    rng = np.random.default_rng(seed)
    Y = mixed(seed, 90, 8)
    base = fost.DCT(8) if with_base else None
    bank = fost.Bank([fost.Dense(random_orthonormal(rng, 8)) for _ in range(count)])
    found = TrainingData.from_rows(Y).statistic(base, bank, 2)
    M, energy = brute_force(Y if base is None else base.forward(Y), bank, 2)
    np.testing.assert_allclose(found.matrix, M, atol=1e-9)
    assert found.energy == pytest.approx(energy)


@pytest.mark.parametrize(
    "structure", [fost.Orthonormal(), fost.Reflectors(4), fost.Rotations(12)], ids=str
)
@pytest.mark.parametrize("base", [None, fost.DCT(16)], ids=str)
@pytest.mark.parametrize("init", ["splitting", "farthest", "subsets"])
def test_the_error_never_increases(structure, base, init):
    Y = mixed()
    result = fost.learn(
        Y, fost.BankOf(structure, 3), 2, base=base, init=init, max_iter=20, tol=0, random_state=0
    )
    assert (np.diff(result.errors) <= 1e-12).all()
    assert result.transform.n_members == 3
    codes = result.transform.encode(Y, 2)
    assert 1 - np.sum(codes.data**2) / np.sum(Y**2) == pytest.approx(result.error)
    left = np.sum((Y - result.transform.decode(codes)) ** 2) / np.sum(Y**2)
    assert left == pytest.approx(result.error)


def test_members_find_the_clusters_of_signals():
    Y = mixed()
    one = fost.learn(Y, fost.Orthonormal(), 2).error
    three = fost.learn(Y, fost.BankOf(fost.Orthonormal(), 3), 2, random_state=0).error
    assert three < one / 10


def test_one_member_is_a_single_transform():
    Y = mixed()
    bank = fost.learn(Y, fost.BankOf(fost.Orthonormal(), 1), 2, max_iter=100, tol=0)
    single = fost.learn(Y, fost.Orthonormal(), 2, max_iter=105, tol=0)
    assert bank.error == pytest.approx(single.error, rel=1e-6)


def test_an_unused_member_is_replaced_without_increasing_the_error():
    Y = mixed()
    used = fost.learn(Y, fost.Orthonormal(), 2, max_iter=5).transform
    structure = fost.BankOf(fost.Orthonormal(), 3)
    problem = Problem(TrainingData.from_rows(Y), None, 2, np.random.default_rng(0), 10, 0.0)
    bank = fost.Bank([used] * 3)  # ties go to the first: the others are never used
    statistic = structure.statistic(problem, bank)
    assert not statistic.matrix[16:].any()
    new = structure.update(problem, statistic, bank)
    assert structure.statistic(problem, new).energy > statistic.energy
    assert len(set(new.chosen(new.encode(Y, 2)))) == 3


def test_replaced_members_are_recorded(tmp_path):
    Y = mixed()
    same = fost.Bank([fost.DCT(16)] * 3)
    bank = fost.BankDictionary(3, 2, structure=fost.Orthonormal(), init=same, max_iter=6, tol=0)
    assert bank.fit(Y).reseeded_.tolist() == [2, 0, 0, 0, 0, 0]
    assert (np.diff(bank.errors_) <= 1e-12).all()
    single = fost.learn(Y, fost.Orthonormal(), 2, max_iter=3, tol=0)
    assert single.reseeded.tolist() == [0, 0, 0]
    # A resumed run has the full history.
    options = {"init": same, "tol": 0, "random_state": 0, "checkpoint": tmp_path / "state"}
    stop = {"callback": lambda iteration, *_: iteration == 2}
    half = fost.learn(Y, fost.BankOf(fost.Orthonormal(), 3), 2, max_iter=6, **options, **stop)
    whole = fost.learn(Y, fost.BankOf(fost.Orthonormal(), 3), 2, max_iter=6, **options)
    assert (half.n_iter, whole.n_iter) == (2, 6)
    assert whole.reseeded.tolist() == [2, 0, 0, 0, 0, 0]


def test_checkpoints_keep_fitted_member_structures(tmp_path):
    Y = mixed()
    structure = fost.BankOf(fost.Reflectors("auto"), 2)
    options = {"max_iter": 6, "tol": 0, "random_state": 0}
    stop = {"callback": lambda iteration, *_: iteration == 2}
    fost.learn(Y, structure, 2, **options, **stop, checkpoint=tmp_path / "state")
    resumed = fost.learn(Y, structure, 2, **options, checkpoint=tmp_path / "state")
    whole = fost.learn(Y, structure, 2, **options)
    assert resumed.transform == whole.transform
    np.testing.assert_array_equal(resumed.errors, whole.errors)


@pytest.mark.parametrize(
    "Y",
    [np.zeros((40, 8)), np.ones((40, 8)), np.eye(8)[:2], np.repeat(np.eye(8)[:2], 20, axis=0)],
    ids=["zeros", "one signal", "two signals", "two kinds"],
)
@pytest.mark.parametrize("init", ["splitting", "farthest", "subsets"])
def test_more_members_than_distinct_signals(Y, init):
    for structure in (fost.Orthonormal(), fost.Reflectors(2), fost.Rotations(3)):
        result = fost.learn(Y, fost.BankOf(structure, 5), 1, init=init, random_state=0, max_iter=5)
        assert result.transform.n_members == 5
        assert np.isfinite(result.errors).all()


@pytest.mark.parametrize("init", ["splitting", "farthest", "subsets"])
def test_many_more_members_than_signals(init):
    Y = mixed(count=12)
    structure = fost.BankOf(fost.Rotations(3), 300)
    result = fost.learn(Y, structure, 2, init=init, random_state=0, max_iter=3)
    assert result.transform.n_members == 300
    assert (np.diff(result.errors) <= 1e-12).all()


def test_a_bank_can_be_continued():
    Y = mixed()
    structure = fost.BankOf(fost.Rotations(12), 3)
    options = {"base": fost.DCT(16), "tol": 0, "random_state": 0}
    first = fost.learn(Y, structure, 2, max_iter=4, **options)
    rest = fost.learn(Y, structure, 2, max_iter=3, init=first.transform, **options)
    whole = fost.learn(Y, structure, 2, max_iter=7, **options)
    np.testing.assert_allclose(np.r_[first.errors, rest.errors], whole.errors, rtol=1e-9)


@pytest.mark.parametrize(
    "member", [fost.Orthonormal(), fost.Reflectors(4), fost.Rotations(12)], ids=str
)
def test_a_smaller_bank_is_a_start(member):
    Y = mixed()
    options = {"base": fost.DCT(16), "max_iter": 20, "tol": 0, "random_state": 0}
    two = fost.learn(Y, fost.BankOf(member, 2), 2, **options)
    four = fost.learn(Y, fost.BankOf(member, 4), 2, init=two.transform, **options)
    assert four.transform.n_members == 4
    assert four.start_error < two.error, "splitting helps before anything is learned"
    assert (np.diff(four.errors) <= 1e-12).all()
    again = fost.learn(Y, fost.BankOf(member, 4), 2, init=two.transform, **options)
    assert again.transform == four.transform
    foreign = fost.Bank([fost.DCT(16)])
    assert fost.learn(Y, fost.BankOf(member, 2), 2, init=foreign, **options).error < 0.5
    online = fost.BankDictionary(4, 2, structure=member, base=fost.DCT(16), init=two.transform)
    assert online.partial_fit(Y).dictionary_.n_members == 4


def test_threads_and_types(set_threads):
    results = []
    for count in (1, 3):
        set_threads(count)
        Y = mixed(count=6000, dtype=np.float32)
        results.append(
            fost.learn(Y, fost.BankOf(fost.Orthonormal(), 3), 2, max_iter=5, random_state=0)
        )
    assert results[0].transform == results[1].transform
    np.testing.assert_array_equal(results[0].errors, results[1].errors)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: fost.BankOf(fost.Orthonormal(), 0), ValueError, "n_members must be between 1"),
        (lambda: fost.BankOf(3, 2), TypeError, "structure must be Orthonormal"),
        (
            lambda: fost.BankOf(fost.BankOf(fost.Orthonormal(), 2), 2),
            TypeError,
            "structure must be Orthonormal",
        ),
        (
            lambda: learn(init="svd"),
            ValueError,
            "init must be .* 'splitting', 'farthest', 'subsets'",
        ),
        (
            lambda: learn(base=bank_of_two()),
            TypeError,
            "base must be a transform, a name or None, got a Bank",
        ),
        (
            lambda: fost.learn(mixed(), fost.Orthonormal(), 2, init=bank_of_two()),
            TypeError,
            "init must be a name or a transform, got a Bank",
        ),
        (lambda: learn(init=fost.DCT(16)), ValueError, "init must be a bank of at most 2"),
        (lambda: learn(init=fost.Bank([fost.DCT(16)] * 3)), ValueError, "a bank of at most 2"),
        (lambda: learn(init=fost.Bank([fost.DCT(8)] * 2)), ValueError, "n_features=8"),
    ],
)
def test_bad_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()


def learn(**options):
    return fost.learn(mixed(), fost.BankOf(fost.Orthonormal(), 2), 2, **options)


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        fost.BankDictionary(2, 1, structure=fost.Orthonormal(), random_state=0, max_iter=5),
        fost.BankDictionary(
            3, 1, structure=fost.Reflectors(1), random_state=0, max_iter=5, sparse_output=False
        ),
    ],
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_estimator_is_learn():
    Y = mixed()
    estimator = fost.BankDictionary(3, 2, base=fost.DCT(16), max_iter=6, tol=0, random_state=0)
    fitted = clone(estimator).fit(Y)
    structure = fost.BankOf(fost.Rotations(16), 3)
    result = fost.learn(Y, structure, 2, base=fost.DCT(16), max_iter=6, tol=0, random_state=0)
    assert fitted.dictionary_ == result.transform
    np.testing.assert_array_equal(fitted.errors_, result.errors)
    assert fitted.components_.shape == (48, 16)
    assert fitted.transform(Y).shape == (900, 48)
    assert fitted.score(Y) == pytest.approx(-result.error)
    np.testing.assert_allclose(
        fitted.inverse_transform(fitted.transform(Y)), Y, atol=np.abs(Y).max()
    )


def test_batches_blocks_and_checkpoints(tmp_path):
    Y = mixed(count=3000)

    class Blocks:
        def __iter__(self):
            yield from np.array_split(Y, 7)

    options = {"structure": fost.Orthonormal(), "max_iter": 6, "tol": 0, "random_state": 0}
    whole = fost.BankDictionary(3, 2, **options).fit(Y)
    parts = fost.BankDictionary(3, 2, **options).fit(Blocks())
    np.testing.assert_allclose(parts.errors_, whole.errors_, rtol=1e-8)
    path = tmp_path / "checkpoint.safetensors"
    kept = fost.BankDictionary(3, 2, checkpoint=path, **options).fit(Y)
    assert kept.dictionary_ == whole.dictionary_
    again = fost.BankDictionary(3, 2, checkpoint=path, **options).fit(Y)
    assert again.dictionary_ == whole.dictionary_
    online = fost.BankDictionary(3, 2, structure=fost.Orthonormal(), random_state=0)
    for _ in range(5):
        for batch in np.array_split(Y, 5):
            online.partial_fit(batch)
    assert -online.score(Y) < 1.5 * whole.error_ + 0.01


def test_scaled_statistics_keep_members_apart():
    """A member is updated from its own sums only, even if they are small."""
    structure = fost.BankOf(fost.Orthonormal(), 2)
    Y = mixed(n=8)
    problem = Problem(TrainingData.from_rows(Y), None, 2, np.random.default_rng(0), 10, 0.0)
    rng = np.random.default_rng(0)
    M = rng.standard_normal((16, 8))
    bank = fost.Bank([fost.DCT(8)] * 2)
    small = np.concatenate([M[:8], 1e-30 * M[8:]])
    first, second = (structure.update(problem, Statistic(m, 1.0), bank) for m in (M, small))
    np.testing.assert_allclose(first[1].matrix, second[1].matrix, atol=1e-9)


def bank_of_two():
    return fost.Bank([fost.DCT(16), fost.Dense(np.eye(16))])


def test_dense_codes_go_back_through_a_pipeline():
    Y = mixed()
    pipeline = make_pipeline(
        StandardScaler(), fost.BankDictionary(2, 16, fost.Orthonormal(), sparse_output=False)
    ).fit(Y)
    np.testing.assert_allclose(pipeline.inverse_transform(pipeline.transform(Y)), Y, atol=1e-10)


@pytest.mark.parametrize("init", ["splitting", "farthest", "subsets"])
def test_members_for_signals_whose_squares_vanish(init: str) -> None:
    Y = np.random.default_rng(0).standard_normal((30, 4))
    Y[1:] *= 1e-200
    result = fost.learn(Y, fost.BankOf(fost.Orthonormal(), 3), 1, init=init, random_state=0)
    assert result.error <= 1e-12
