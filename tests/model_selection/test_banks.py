"""AutoDictionary and banks: banks are chosen for heterogeneous signals only."""

from __future__ import annotations

import pickle
import signal
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import fost
from fost.model_selection.candidates import Candidate, Frontier, candidate_specs
from fost.model_selection.criteria import SelectionCriterion
from tests.learning.test_bank import mixed
from tests.learning.test_rotations import smooth_patches

BASES = {"": None, "DCT 16": fost.DCT(16)}


def walks_and_spikes(count: int = 1200, n: int = 16, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    Y = np.cumsum(rng.standard_normal((count, n)), axis=1)
    Y[::2] = 20 * rng.standard_normal((count // 2, n)) * (rng.random((count // 2, n)) < 0.15)
    return Y


@pytest.fixture(scope="module")
def fitted() -> fost.AutoDictionary:
    auto = fost.AutoDictionary(3, 16, max_flops=400, max_iter=20, random_state=0)
    return auto.fit(walks_and_spikes())


def best(auto: fost.AutoDictionary, banks: bool) -> float:
    return min(r.held_out_error for r in auto.frontier_ if (r.n_members > 1) == banks)


def test_a_bank_is_chosen_for_heterogeneous_signals(fitted):
    assert isinstance(fitted.dictionary_, fost.Bank)
    assert fitted.chosen_.n_members == fitted.dictionary_.n_members
    assert fitted.chosen_.held_out_error < 0.8 * best(fitted, banks=False)
    fresh = walks_and_spikes(seed=1)
    single = clone(fitted).set_params(max_members=1).fit(walks_and_spikes())
    assert fitted.score(fresh) > 0.8 * single.score(fresh), "signals that nobody saw agree"


@pytest.mark.parametrize("kinds", [1, 2, 3])
@pytest.mark.parametrize("seed", [0, 1])
def test_as_many_members_as_clusters(kinds, seed):
    Y = mixed(seed, 1200, kinds=kinds)
    settings = {"max_flops": None, "max_iter": 30, "max_members": 3}
    chosen = []
    for random_state in range(3):
        auto = fost.AutoDictionary(2, **settings, random_state=random_state).fit(Y)
        assert any(row.n_members == 3 for row in auto.frontier_)
        chosen.append(auto.chosen_.n_members)
    # At equal bits other numbers of dense members have at least 4 % more error. About one search in
    # fifty ends in a poor minimum.
    assert np.median(chosen) == kinds


@pytest.mark.parametrize("shape", [None, (8, 8)])
def test_homogeneous_signals_get_a_single_transform(shape):
    rng = np.random.default_rng(0)
    X = np.zeros((1500, 64))
    np.put_along_axis(X, rng.integers(64, size=(1500, 4)), rng.standard_normal((1500, 4)), axis=1)
    Y = fost.DCT((8, 8)).inverse(X) + 0.02 * rng.standard_normal((1500, 64))
    auto = fost.AutoDictionary(4, shape, max_flops=1500, max_iter=5, random_state=0).fit(Y)
    # At equal bits banks have at least 1.6 % more error. For banks of rotations, whose first pairs
    # may differ between machines, 0.2 % of that is chance.
    assert auto.chosen_.n_members == 1
    # The third bank is left out where four members are no better than two.
    assert {row.n_members for row in auto.frontier_} >= {1, 2, 4}


def test_banks_need_signals():
    tried = {}
    for count in (8, 40, 60, 100, 400):
        auto = fost.AutoDictionary(2, max_iter=1, random_state=0).fit(mixed(count=count, kinds=2))
        tried[count] = max(row.n_members for row in auto.frontier_)
    # A quarter is held out, and a member needs 16 signals.
    assert tried.pop(400) in (4, 8)  # eight members may be left out for two kinds of signals
    assert tried == {8: 1, 40: 1, 60: 2, 100: 4}


@settings(max_examples=20, deadline=None)
@given(
    st.integers(50, 900), st.integers(1, 9), st.sampled_from([None, 8, (2, 4)]), st.integers(0, 99)
)
def test_the_budget_is_never_exceeded(budget, most, shape, seed):
    Y = mixed(seed, 90, 8)
    auto = fost.AutoDictionary(2, shape, budget, max_members=most, max_iter=1, random_state=0)
    auto.fit(Y)
    assert auto.dictionary_.encode_flops(2) <= budget
    for row in auto.frontier_:
        assert row.flops == row.transform.encode_flops(2) <= budget
        assert row.n_members <= most
        assert 0 <= row.held_out_error <= 1


@given(st.integers(1, 300), st.none() | st.integers(1, 200_000), st.integers(1, 40), st.booleans())
def test_candidate_specs(n, limit, most, with_base):
    bases = {"": None} | ({"DCT": fost.DCT(n)} if with_base else {})
    singles, specs = candidate_specs(n, bases, limit), candidate_specs(n, bases, limit, most)
    assert specs[: len(singles)] == singles, "banks come after all single transforms"
    banks = specs[len(singles) :]
    assert not any(isinstance(spec.structure, fost.BankOf) for spec in singles)
    assert len({spec.name for spec in specs}) == len(specs)
    assert all(1 < spec.structure.n_members <= most for spec in banks)
    assert bool(banks) == (most > 1)
    for before, spec in pairwise(banks):
        if before.series == spec.series:
            assert before.structure.structure == spec.structure.structure
            assert before.structure.n_members < spec.structure.n_members
        else:
            assert spec.starts, "each series has a start of its own"


def test_a_limit_is_used_up():
    names = {
        spec.name: spec.flops for spec in candidate_specs(16, BASES, 400, 6) if spec.flops <= 400
    }
    base = fost.DCT(16).flops
    for count in (2, 4, 6):
        g = (400 - base) // (6 * count)
        assert names[f"DCT 16 + {count} x {g} rotations"] == base + 6 * count * g
        alone = 400 // (6 * count)
        assert names[f"{count} x {alone} rotations"] == 6 * count * alone
    assert names["2 x 3 reflectors"] == 2 * 3 * 64
    free = {spec.name for spec in candidate_specs(16, BASES, None, 6)}
    assert {"DCT 16 + 6 x 16 rotations", "2 x 1 reflector", "4 x dense"} <= free


def test_without_banks_there_are_the_same_single_transforms(fitted):
    Y = walks_and_spikes()
    single = clone(fitted).set_params(max_members=1).fit(Y)
    assert isinstance(single.dictionary_, fost.Transform)
    rows = {row.structure for row in fitted.frontier_ if isinstance(row.transform, fost.Transform)}
    assert {row.structure for row in single.frontier_} == rows
    assert single.chosen_.held_out_error == min(row.held_out_error for row in single.frontier_)


def test_the_same_seed_gives_the_same_bank(fitted, set_threads):
    set_threads(3)
    again = clone(fitted).fit(walks_and_spikes())
    assert again.dictionary_ == fitted.dictionary_
    np.testing.assert_array_equal(again.errors_, fitted.errors_)
    assert [r.structure for r in again.frontier_] == [r.structure for r in fitted.frontier_]


def test_codes_of_a_bank(fitted, tmp_path):
    Y = walks_and_spikes(seed=2)
    members = fitted.chosen_.n_members
    codes = fitted.transform(Y)
    assert codes.shape == (len(Y), members * 16)
    assert fitted.components_.shape == (members * 16, 16)
    assert len(fitted.get_feature_names_out()) == members * 16
    left = np.sum((Y - fitted.inverse_transform(codes)) ** 2) / np.sum(Y**2)
    assert fitted.score(Y) == pytest.approx(-left)
    assert fitted.error_ == pytest.approx(-fitted.score(walks_and_spikes()))
    fitted.dictionary_.save(tmp_path / "bank.safetensors")
    assert fost.load(tmp_path / "bank.safetensors") == fitted.dictionary_
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.transform(Y), codes)
    assert again.chosen_ == fitted.chosen_


def test_float32_and_signals_that_are_not_in_memory(fitted, tmp_path, monkeypatch):
    Y = walks_and_spikes().astype(np.float32)
    np.save(tmp_path / "Y.npy", Y)

    class Blocks:
        def __iter__(self):
            yield from np.array_split(Y, 7)

    monkeypatch.setattr("fost.estimators.auto._MAX_EXPLORED", 1000)
    for there in (np.load(tmp_path / "Y.npy", mmap_mode="r"), Blocks()):
        auto = clone(fitted).fit(there)
        assert isinstance(auto.dictionary_, fost.Bank)
        assert auto.dictionary_.flops <= 400
        assert auto.score(there) == pytest.approx(-auto.error_, rel=1e-5)
        assert auto.transform(Y).dtype == np.float32


@pytest.mark.parametrize(
    ("errors", "max_relative_error", "expected"),
    [
        ({1: 0.2, 2: 0.196, 8: 0.187}, None, 1),
        ({1: 0.2, 2: 0.180, 8: 0.175}, None, 2),
        ({1: 0.2, 2: 0.180, 8: 0.150}, None, 8),
        ({1: 1e-16, 2: 1e-17, 8: 0.0}, None, 1),
        ({1: 0.0, 2: 0.0, 8: 0.0}, None, 1),
        ({1: 0.2, 2: 0.196, 8: 0.187}, 0.197, 2),
    ],
)
def test_a_bank_pays_for_its_member_index(errors, max_relative_error, expected):
    # One more of 512 coefficients reduces the error to 0.8. The index of one of 8 members takes a
    # third of the bits of a position: a bank of 8 must reach 0.8 ** (1 / 3) = 0.928.
    Y = np.zeros((1, 512))
    Y[0, :6] = np.sqrt([1 - errors[1], *[errors[1] / 5] * 5])
    identity = fost.Dense(np.eye(512))
    rows = [
        Candidate(
            str(b), "banks", 100 * b, 0, e, e, 0.0, fost.Bank([identity] * b) if b > 1 else identity
        )
        for b, e in errors.items()
    ]
    assert SelectionCriterion(Y, 1, max_relative_error).best(Frontier(rows)).n_members == expected


@pytest.mark.usefixtures("interruptible")
def test_interrupting_banks_leaves_the_single_ones(monkeypatch):
    def interrupted(self, *arguments):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(fost.BankOf, "initialise", interrupted)
    auto = fost.AutoDictionary(3, 16, max_flops=400, max_iter=2, random_state=0)
    with pytest.warns(RuntimeWarning, match="interrupted after .* candidates"):
        auto.fit(walks_and_spikes())
    assert isinstance(auto.dictionary_, fost.Transform)
    assert {row.n_members for row in auto.frontier_} == {1}
    assert auto.dictionary_.flops <= 400


@pytest.mark.parametrize("Y", [np.zeros((80, 4)), np.ones((80, 4)), np.eye(4)[[0, 1] * 40]])
def test_very_few_signals(Y):
    auto = fost.AutoDictionary(1, 4, max_iter=2, random_state=0).fit(Y)
    assert auto.chosen_.n_members == 1, "nothing is to be gained"
    assert auto.score(Y) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("value", "error"), [(0, ValueError), (-1, ValueError), (2.5, TypeError), ("8", TypeError)]
)
def test_bad_parameters_are_named(value, error):
    auto = fost.AutoDictionary(2, max_members=value)
    with pytest.raises(error, match="max_members must be"):
        auto.fit(mixed())
    with pytest.raises(NotFittedError):
        auto.transform(mixed())


def test_plot_of_banks(fitted):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    ax = fost.plot_frontier(fitted)
    labels = {text.get_text() for text in ax.get_legend().get_texts()}
    families = {"DCT 16 + rotations", "DCT 16 + banks of rotations", "banks of reflectors"}
    assert families <= labels
    assert f"chosen: {fitted.chosen_.structure}" in labels
    # Fixed transforms have their names beside them: the DCT, and a wavelet if it is better.
    assert {"DCT 16"} <= {text.get_text() for text in ax.texts} <= {"DCT 16", "db4 16", "haar 16"}
    pyplot.close(ax.figure)
    table = repr(fitted.frontier_)
    assert fitted.chosen_.structure in table
    assert len({len(line) for line in table.splitlines()[:-1]}) == 1, "columns are aligned"


def test_smooth_patches_within_a_budget():
    """The whole search with as many patches as an image has."""
    Y = smooth_patches(2000)
    auto = fost.AutoDictionary(2, (8, 8), max_flops=1000, max_iter=3, random_state=0).fit(Y)
    assert auto.dictionary_.flops <= 1000
    assert {row.n_members for row in auto.frontier_} == {1, 2, 4, 8}
