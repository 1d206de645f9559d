"""Learning unions: their sums, updates, starts and special cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import fost
from fost.learning import as_training_data
from fost.learning.structure import Problem
from fost.learning.training_data import TrainingData
from fost.learning.union import PursuitPass
from tests import reference
from tests.cases import dtypes, random_orthonormal, seeds
from tests.learning.test_bank import mixed

STRUCTURES = [fost.Orthonormal(), fost.Reflectors(3), fost.Rotations(12)]


def problem(Y, s=2, base=None, max_iter=10):
    return Problem(TrainingData.from_rows(Y), base, s, np.random.default_rng(0), max_iter, 0.0)


def spikes_and_waves(count=600, n=16, seed=0):
    """Sums of a spike and a wave, which are not sparse in a single orthonormal transform."""
    rng = np.random.default_rng(seed)
    Y = np.zeros((count, n))
    Y[np.arange(count), rng.integers(n, size=count)] += 3 + rng.random(count)
    waves = fost.DCT(n).matrix.T[rng.integers(n, size=count)]
    return Y + waves * (3 + rng.random((count, 1)))


@given(seeds, st.sampled_from([1, 7, 300, 5_000]), dtypes)
def test_sums_equal_the_reference(seed, count, dtype):
    rng = np.random.default_rng(seed)
    union = fost.Union([fost.DCT(8), fost.Dense(random_orthonormal(rng, 8))])
    Y = rng.standard_normal((count, 8)).astype(dtype)
    found = PursuitPass(union, 3, "Y")(Y)
    wanted = reference.code_sums(union.encode(Y, 3).toarray(), Y)
    for a, b in zip(found, (*wanted, 0.0), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10 * count)


def test_threads_change_no_sum(set_threads):
    rng = np.random.default_rng(0)
    union = fost.Union([fost.DCT(16), fost.Dense(random_orthonormal(rng, 16))])
    Y = rng.standard_normal((20_000, 16)).astype(np.float32)
    set_threads(1)
    one = PursuitPass(union, 3, "Y")(Y)
    set_threads(6)
    for a, b in zip(PursuitPass(union, 3, "Y")(Y), one, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("with_base", [False, True])
@pytest.mark.parametrize("member", STRUCTURES, ids=lambda member: member.label)
def test_an_update_never_raises_the_error_for_given_codes(member, with_base):
    Y = mixed(count=600)
    base = fost.DCT(16) if with_base else None
    asked = problem(Y, 3, base)
    structure = fost.UnionOf(member, 3).fit_to(asked)
    union = structure.initialise(asked, "splitting")
    Z = Y if base is None else base.forward(Y)
    before = np.inf
    for _ in range(4):
        statistic = structure.statistic(asked, union)
        X = union.encode(Z, 3)
        error = np.linalg.norm(Z - union.decode(X)) ** 2
        kept = np.linalg.norm(Z) ** 2 - error
        assert statistic.energy == pytest.approx(kept, rel=1e-9)
        following = structure.update(asked, statistic, union)
        updated = np.linalg.norm(Z - following.decode(X)) ** 2
        assert updated <= error * (1 + 1e-9) + 1e-12
        assert isinstance(following, fost.Union)
        union, before = following, min(before, updated)


def test_a_union_beats_all_banks_on_mixtures():
    """Two atoms of different members explain each signal; no member alone has both."""
    Y = spikes_and_waves()
    options = {"init": fost.Bank([fost.DCT(16), fost.Dense(np.eye(16))]), "max_iter": 5}
    union = fost.learn(Y, fost.UnionOf(fost.Orthonormal(), 2), 2, **options)
    bank = fost.learn(Y, fost.BankOf(fost.Orthonormal(), 2), 2, **options)
    assert union.error < 0.05
    assert bank.error > 2 * union.error


@pytest.mark.parametrize("member", STRUCTURES, ids=lambda member: member.label)
def test_is_better_than_the_bank_that_it_starts_from(member):
    Y = mixed(count=1200)
    union = fost.learn(Y, fost.UnionOf(member, 3), 3, max_iter=8, random_state=0)
    bank = fost.Bank(union.transform.members)
    kept = np.square(bank.encode(Y, 3).data).sum()
    assert union.error < 1 - kept / np.square(Y).sum()
    found = union.transform
    error = np.linalg.norm(Y - found.decode(found.encode(Y, 3))) ** 2 / np.linalg.norm(Y) ** 2
    assert error == pytest.approx(union.error, rel=1e-6)


@pytest.mark.parametrize("member", STRUCTURES, ids=lambda member: member.label)
def test_batches_improve_a_start(member):
    Y = mixed(count=3000)
    asked = problem(Y, 3, None)
    structure = fost.UnionOf(member, 3).fit_to(asked)
    start = fost.Union(
        fost.BankOf(structure.structure, structure.n_members).initialise(asked, "subsets").members
    )
    better = structure._learn_batches(asked, start)
    energies = [structure.statistic(asked, union).energy for union in (start, better)]
    assert energies[1] > energies[0]
    few = problem(Y[:100], 3, None)  # a batch would contain all signals
    assert structure._learn_batches(few, start) is start


def test_streams_and_arrays_find_the_same():
    Y = mixed(count=900)
    structure = fost.UnionOf(fost.Rotations(10), 2)
    options = {"base": fost.DCT(16), "max_iter": 4, "init": fost.Bank([fost.DCT(16)] * 2)}
    options["init"] = fost.Bank(
        [fost.Chain([fost.DCT(16), fost.Dense(np.eye(16))]), fost.Chain([fost.DCT(16)])]
    )

    class Blocks:
        def __iter__(self):
            return iter(np.array_split(Y, 4))

    whole = fost.learn(Y, structure, 2, **options)
    parts = fost.learn(Blocks(), structure, 2, **options)
    np.testing.assert_allclose(parts.errors, whole.errors, atol=1e-6)


def test_resumed_runs_are_bit_identical(tmp_path):
    Y = mixed(count=600)
    structure = fost.UnionOf(fost.Rotations(10), 2)
    options = {"max_iter": 6, "random_state": 0, "tol": 0.0}
    plain = fost.learn(Y, structure, 2, **options)
    file = tmp_path / "union.checkpoint"
    fost.learn(Y, structure, 2, checkpoint=file, callback=lambda i, *_: i == 3, **options)
    resumed = fost.learn(Y, structure, 2, checkpoint=file, **options)
    assert resumed.transform == plain.transform
    np.testing.assert_array_equal(resumed.errors, plain.errors)


def test_more_members_than_signals():
    Y = np.random.default_rng(0).standard_normal((3, 8))
    result = fost.learn(Y, fost.UnionOf(fost.Orthonormal(), 5), 2, max_iter=3, random_state=0)
    assert result.transform.n_members == 5
    assert result.error < 1e-6 or result.error <= result.start_error + 1e-9


def test_signals_of_zeros():
    result = fost.learn(np.zeros((10, 8)), fost.UnionOf(fost.Orthonormal(), 2), 2, max_iter=3)
    assert (result.errors == 0).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fost.UnionOf(fost.UnionOf(fost.Orthonormal(), 2), 2), "structure must be"),
        (lambda: fost.BankOf(fost.UnionOf(fost.Orthonormal(), 2), 2), "structure must be"),
        (lambda: fost.UnionOf(fost.Orthonormal(), 0), "n_members must be"),
        (
            lambda: fost.learn(
                np.ones((9, 4)), fost.UnionOf(fost.Orthonormal(), 2), 2, init=fost.DCT(4)
            ),
            "init must be a bank or a union of 2",
        ),
        (
            lambda: fost.learn(np.ones((9, 128)), fost.UnionOf(fost.Orthonormal(), 2**19), 2),
            "n_members must be at most 128",
        ),
    ],
)
def test_wrong_arguments(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [fost.UnionDictionary(2, 1, structure=fost.Orthonormal(), random_state=0, max_iter=4)],
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_the_estimator_learns_what_learn_does():
    Y = mixed(count=600)
    estimator = fost.UnionDictionary(2, 3, fost.Rotations(8), fost.DCT(16), max_iter=5)
    estimator = clone(estimator).set_params(random_state=0).fit(Y)
    structure = fost.UnionOf(fost.Rotations(8), 2)
    wanted = fost.learn(Y, structure, 3, base=fost.DCT(16), max_iter=5, random_state=0)
    assert estimator.dictionary_ == wanted.transform
    assert -estimator.score(Y) == pytest.approx(wanted.error, rel=1e-6)
    np.testing.assert_allclose(
        estimator.inverse_transform(estimator.transform(Y)),
        wanted.transform.decode(wanted.transform.encode(Y, 3)),
    )


def test_partial_fit():
    Y = mixed(count=2400)
    estimator = fost.UnionDictionary(3, 3, fost.Orthonormal(), random_state=0)
    for _ in range(2):
        for batch in np.array_split(Y, 6):
            estimator.partial_fit(batch)
    assert estimator.errors_[-1] < estimator.errors_[1]
    one = fost.OrthonormalDictionary(3).fit(Y)
    assert estimator.score(Y) > one.score(Y)


def test_weights_are_repetitions():
    rng = np.random.default_rng(0)
    Y = mixed(count=600)
    counts = rng.integers(0, 4, len(Y))
    start = fost.Bank([fost.DCT(16), fost.Dense(random_orthonormal(rng, 16))])
    options = {"init": start, "max_iter": 4, "tol": 0.0}
    structure = fost.UnionOf(fost.Orthonormal(), 2)
    weighted = fost.learn(Y, structure, 3, sample_weight=counts, **options)
    repeated = fost.learn(np.repeat(Y, counts, axis=0), structure, 3, **options)
    np.testing.assert_allclose(weighted.errors, repeated.errors, rtol=1e-6)


def gappy(count=900, share=0.2, seed=0):
    """Spikes and waves, and a mask of missing entries."""
    Y = spikes_and_waves(count, seed=seed)
    return Y, np.random.default_rng(seed + 1).random(Y.shape) < share


@pytest.mark.parametrize("refills", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_with_missing_entries_equal_the_reference(refills, weighted):
    Y, missing = gappy(200)
    rng = np.random.default_rng(5)
    weights = rng.random(len(Y)) if weighted else None
    union = fost.Union([fost.DCT(16), fost.Dense(np.eye(16))])
    prior = as_training_data(Y, missing).prior
    assert prior is not None
    found = PursuitPass(union, 2, "Y", prior, refills)(np.where(missing, np.nan, Y), weights)
    filled = prior.fill(Y, missing)
    for _ in range(refills):
        X = fost.omp(filled, union.matrix.T, 2).toarray()
        filled = np.where(missing, X @ union.matrix.T, Y)
    W = np.ones(len(Y)) if weights is None else weights
    wanted = (X.T * W) @ filled, (X.T * W) @ X, np.sum(W @ np.where(missing, filled, 0) ** 2)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def test_the_energy_is_that_of_observed_entries():
    Y, missing = gappy(300)
    source = as_training_data(Y, missing)
    asked = Problem(source, fost.DCT(16), 2, np.random.default_rng(0), 5, 0.0)
    structure = fost.UnionOf(fost.Orthonormal(), 2).fit_to(asked)
    union = fost.Union([fost.Dense(np.eye(16)), fost.DCT(16)])
    statistic = structure.statistic(asked, union)
    whole = fost.Union([fost.DCT(16), fost.Chain([fost.DCT(16), fost.DCT(16)])])
    filled = source.prior.fill(Y, missing)
    for _ in range(3):
        decoded = whole.decode(whole.encode(filled, 2))
        filled = np.where(missing, decoded, Y)
    lost = np.sum(np.where(missing, 0, Y - decoded) ** 2)
    kept = np.sum(np.where(missing, 0, Y) ** 2) - lost
    assert statistic.energy == pytest.approx(kept, rel=1e-9)


def test_missing_entries_beat_zero_filling():
    """On complete held-out signals."""
    Y, missing = gappy(3000)
    others, _ = gappy(1000, seed=7)
    start = fost.Bank([fost.DCT(16), fost.Dense(np.eye(16))])

    def error(Y: Any, **options: Any) -> float:
        structure = fost.UnionOf(fost.Orthonormal(), 2)
        union = fost.learn(Y, structure, 2, init=start, max_iter=10, **options).transform
        return as_training_data(others).relative_error(union, 2)

    whole, zeros, incomplete = error(Y), error(np.where(missing, 0, Y)), error(Y, missing=missing)
    assert incomplete - whole < 0.5 * (zeros - whole)


def test_the_estimator_accepts_missing_entries():
    Y, missing = gappy(600)
    marked = np.where(missing, np.nan, Y)
    estimator = fost.UnionDictionary(2, 2, fost.Orthonormal(), max_iter=4, random_state=0).fit(
        marked
    )
    options = {"max_iter": 4, "random_state": 0}
    wanted = fost.learn(Y, fost.UnionOf(fost.Orthonormal(), 2), 2, missing=missing, **options)
    assert estimator.dictionary_ == wanted.transform
    assert estimator.errors_.min() < wanted.errors[0]
    for batch in np.array_split(marked, 3):
        estimator.partial_fit(batch)
    filled = estimator.inverse_transform(estimator.transform(marked))
    assert np.isfinite(filled).all()
