"""AutoDictionary within a budget of operations, bits or measured time, over all families."""

from __future__ import annotations

import numpy as np
import pytest

import fost
from fost.model_selection.candidates import Candidate, Frontier
from fost.model_selection.criteria import SelectionCriterion, bases_for
from fost.model_selection.successive_halving import SuccessiveHalving, _is_slow
from tests.learning.test_union import spikes_and_waves

N, S = 16, 3


def sums_of_general_atoms(count: int = 1000) -> np.ndarray:
    """Signals with three of 2 n random atoms each, for which no orthonormal transform suits."""
    rng = np.random.default_rng(0)
    atoms = rng.standard_normal((2 * N, N))
    codes = rng.standard_normal((count, 2 * N)) * (rng.random((count, 2 * N)).argsort(axis=1) < S)
    return codes @ (atoms / np.linalg.norm(atoms, axis=1, keepdims=True))


def auto(**settings: object) -> fost.AutoDictionary:
    options = {"max_members": 2, "max_iter": 10, "random_state": 0, "verbose": False}
    return fost.AutoDictionary(S, **{"signal_shape": N, **options, **settings})


def check_choice(fitted: fost.AutoDictionary, cost: str, budget: float) -> None:
    within = [row for row in fitted.frontier_ if getattr(row, cost) <= budget]
    assert fitted.chosen_.held_out_error == min(row.held_out_error for row in within)
    assert fitted.chosen_ in within
    assert fitted.score(spikes_and_waves(5)) <= 0


@pytest.mark.parametrize("budget", [300, 1500, 6000])
def test_the_lowest_error_within_a_budget_of_operations(budget):
    fitted = auto(criterion="flops", budget=budget).fit(sums_of_general_atoms())
    check_choice(fitted, "flops", budget)
    assert fitted.dictionary_.encode_flops(S) <= budget
    assert all(row.flops <= budget for row in fitted.frontier_)


@pytest.mark.parametrize("budget", [500, 5000])
def test_the_lowest_error_within_a_budget_of_bits(budget):
    fitted = auto(criterion="bits", budget=budget).fit(sums_of_general_atoms())
    check_choice(fitted, "bits", budget)
    assert fitted.dictionary_.storage_bits() <= budget
    bits = [row.bits for row in fitted.frontier_]
    assert bits == sorted(bits)
    assert max(bits) <= budget


@pytest.mark.parametrize("signal_shape", [N, None])
def test_a_wavelet_is_chosen_where_it_is_exact(signal_shape):
    pytest.importorskip("pywt")
    rng = np.random.default_rng(0)
    codes = rng.standard_normal((400, N)) * (rng.random((400, N)).argsort(axis=1) < S)
    steps = fost.Wavelet(N, "haar").inverse(codes)
    fitted = auto(criterion="flops", budget=200, signal_shape=signal_shape).fit(steps)
    assert fitted.chosen_.structure == f"haar {N}"
    assert fitted.chosen_.held_out_error < 1e-12


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ({"dct": 0.5, "haar": 0.6, "db4": 0.4, "none": 0.9}, ["", "db4 16", "DCT 16"]),
        ({"dct": 0.5, "haar": 0.6, "db4": 0.7, "none": 0.9}, ["", "haar 16", "DCT 16"]),
        ({"dct": 0.5, "haar": 0.9, "db4": 0.9, "none": 0.8}, ["", "DCT 16"]),
        ({"dct": 0.5, "haar": 0.6, "db4": 0.3, "none": 0.4}, ["", "db4 16", "DCT 16"]),
    ],
)
def test_a_wavelet_must_be_better_or_cheaper_than_the_dct(errors, expected):
    pytest.importorskip("pywt")

    def error(transform: fost.Transform) -> float:
        name = getattr(transform, "name", "dct" if isinstance(transform, fost.DCT) else "none")
        return errors[name]

    assert fost.Wavelet(N, "haar").flops < fost.DCT(N).flops < fost.Wavelet(N, "db4").flops
    assert list(bases_for(N, N, error)) == expected


def test_times_are_measured_and_limited(monkeypatch):
    """Times are replaced by operations, since a test must not depend on time."""

    def measured(self: SuccessiveHalving, coder: fost.Coder) -> float:
        assert real(self, coder) > 0
        return coder.encode_flops(S) / 10

    real = SuccessiveHalving._nanoseconds
    monkeypatch.setattr(SuccessiveHalving, "_nanoseconds", measured)
    Y = sums_of_general_atoms(300)
    fitted = auto(criterion="time", budget=150).fit(Y)
    check_choice(fitted, "nanoseconds", 150)
    assert fitted.dictionary_.encode_flops(S) <= 1500
    assert any(row.nanoseconds > 150 for row in fitted.frontier_)
    with pytest.raises(ValueError, match=r"budget=0.1 is below the cheapest candidate.* ns"):
        auto(criterion="time", budget=0.1).fit(Y)


def test_larger_sizes_are_not_measured_beyond_the_budget_of_time():
    coder = fost.DCT(16)
    row = Candidate("small", "family", 100, 0, 0.1, 0.1, 0.0, coder, nanoseconds=9.0)
    spec = fost.model_selection.candidates.CandidateSpec
    assert _is_slow(spec("large", "family", None, None, "", 200), [row])
    assert not _is_slow(spec("smaller", "family", None, None, "", 50), [row])
    assert not _is_slow(spec("other", "other family", None, None, "", 200), [row])


def test_the_cheapest_for_an_error_by_bits():
    Y = sums_of_general_atoms()
    fitted = auto(criterion="bits", max_relative_error=0.2).fit(Y)
    good = [row.bits for row in fitted.frontier_ if row.held_out_error <= 0.2]
    assert fitted.chosen_.bits == min(good)
    limited = auto(criterion="bits", max_relative_error=0.2, budget=max(good)).fit(Y)
    assert max(row.bits for row in limited.frontier_) <= max(good)


def test_general_atoms_are_found_by_ksvd():
    """Atoms without structure, which no other family has within these operations."""
    Y = sums_of_general_atoms(3000)
    budget = fost.diagnostics.batch_omp_flops(N, S, 2 * N)
    fitted = auto(criterion="flops", budget=budget, max_iter=60).fit(Y)
    assert isinstance(fitted.dictionary_, fost.SparseDictionary)
    others = [r for r in fitted.frontier_ if not isinstance(r.transform, fost.SparseDictionary)]
    assert fitted.chosen_.held_out_error < 0.7 * min(row.held_out_error for row in others)
    names = {row.structure for row in fitted.frontier_}
    assert "K-SVD, 32 atoms" in names
    assert fitted.error_ == pytest.approx(-fitted.score(Y))
    assert fitted.components_.shape == (fitted.dictionary_.n_atoms, N)


def test_shifted_pulses_are_found_by_circulants():
    rng = np.random.default_rng(0)
    pulses = rng.standard_normal((2, N))
    shifts = rng.integers(N, size=(600, 2))
    Y = sum(np.stack([np.roll(p, k) for k in ks]) for p, ks in zip(pulses, shifts.T, strict=True))
    fitted = fost.AutoDictionary(
        2, N, criterion="bits", budget=2 * 16 * N, max_iter=30, random_state=0, verbose=False
    ).fit(Y)
    assert isinstance(fitted.dictionary_, fost.Circulant)
    square = fost.AutoDictionary(
        2, (4, 4), criterion="bits", budget=2 * 16 * N, max_iter=1, random_state=0
    ).fit(Y)
    assert not any(isinstance(row.transform, fost.Circulant) for row in square.frontier_)


def test_the_same_seed_gives_the_same_choice():
    Y = sums_of_general_atoms(400)
    one, two = (auto(criterion="flops", budget=2000, max_iter=3).fit(Y) for _ in range(2))
    assert one.chosen_.structure == two.chosen_.structure
    np.testing.assert_array_equal(one.components_, two.components_)


def test_gaps_weights_and_streams():
    Y = sums_of_general_atoms(300)
    settings = {"criterion": "flops", "budget": 2000, "max_iter": 2}
    weights = np.linspace(1, 2, len(Y))
    missing = np.where(np.arange(Y.size).reshape(Y.shape) % 11 == 0, np.nan, Y)
    fits = [
        auto(**settings).fit(Y, sample_weight=weights),
        auto(**settings).fit(missing),
        auto(**settings).fit(lambda: iter([Y[:100], Y[100:]])),
    ]
    for fitted in fits:
        assert any(isinstance(row.transform, fost.SparseDictionary) for row in fitted.frontier_)
        assert fitted.dictionary_.encode_flops(S) <= 2000
        assert fitted.transform(Y).shape == (300, fitted.dictionary_.n_atoms)


def test_one_member_is_one_transform():
    fitted = auto(criterion="bits", budget=10_000, max_members=1, max_iter=1).fit(
        sums_of_general_atoms(200)
    )
    assert all(isinstance(row.transform, fost.Transform) for row in fitted.frontier_)


def test_no_pursuit_with_a_threshold():
    fitted = auto(criterion="flops", budget=2000, threshold=0.1, max_iter=1).fit(
        sums_of_general_atoms(200)
    )
    assert not any(isinstance(row.transform, fost.SparseDictionary) for row in fitted.frontier_)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"criterion": "parameters", "budget": 1}, "criterion must be None, 'flops', 'bits' or"),
        ({"criterion": 3, "budget": 1}, "criterion must be None"),
        ({"criterion": "bits"}, "budget or max_relative_error must be given"),
        ({"budget": 100}, "budget=100 needs a criterion"),
        ({"criterion": "bits", "budget": -1}, "budget must be at least 0"),
        ({"criterion": "flops", "budget": 3}, "budget=3 is below the cheapest candidate, .* oper"),
        ({"criterion": "bits", "budget": 1, "max_flops": 100}, "max_flops=100 must be 'auto'"),
        ({"max_members": "many"}, "max_members must be"),
    ],
)
def test_bad_arguments_are_named(parameters, match):
    with pytest.raises((ValueError, TypeError), match=match):
        auto(**parameters).fit(sums_of_general_atoms(100))


def test_ranks_put_candidates_beyond_the_budget_last():
    held_out = spikes_and_waves(20)
    rows = [
        Candidate(name, "", flops, 0, error, error, 0.0, fost.DCT(16))
        for name, flops, error in (("cheap", 10, 0.3), ("fits", 20, 0.2), ("beyond", 30, 0.1))
    ]
    criterion = SelectionCriterion(held_out, 3, None, cost="flops", budget=25)
    ranked = criterion.rank(rows, [row.held_out_error for row in rows])
    assert [row.structure for row in ranked] == ["fits", "cheap", "beyond"]
    assert criterion.best(Frontier(rows)).structure == "fits"
