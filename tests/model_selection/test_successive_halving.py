"""Successive halving: its schedule, its ranking and its winner."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fost
from fost.model_selection.candidates import Candidate, Frontier, candidate_specs, relative_error
from fost.model_selection.criteria import SelectionCriterion
from fost.model_selection.successive_halving import (
    SuccessiveHalving,
    _is_hopeless,
    _steps_to,
    halving_schedule,
)
from tests.learning.test_bank import mixed

BASES = {"": None, "DCT 16": fost.DCT(16)}


def walks(count: int, n: int = 16, seed: int = 0) -> np.ndarray:
    return np.cumsum(np.random.default_rng(seed).standard_normal((count, n)), axis=1)


def held(train: np.ndarray, held_out: np.ndarray) -> list[Candidate]:
    specs = candidate_specs(16, BASES, max_members=2)
    search = SuccessiveHalving(train, held_out, 3, 100, 1e-6, np.random.default_rng(0))
    plan = halving_schedule(*train.shape, len(specs))
    return list(search.run(specs, plan, SelectionCriterion(held_out, 3, None).rank))


@given(st.integers(1, 200_000), st.integers(1, 2000), st.integers(1, 200))
def test_the_schedule_goes_from_a_sample_to_all_signals(n_signals, n_features, n_candidates):
    plan = halving_schedule(n_signals, n_features, n_candidates)
    assert len(plan) >= 2
    assert plan[0].n_candidates == n_candidates
    assert plan[-1].n_signals == n_signals
    assert all(a.n_signals <= b.n_signals for a, b in pairwise(plan))
    assert all(1 <= b.n_candidates <= a.n_candidates for a, b in pairwise(plan))
    assert plan[0].n_signals >= min(n_signals, 4096, 32 * n_features)


def test_few_candidates_reach_the_last_rung():
    rows = held(walks(20_000), walks(2_000, seed=1))
    specs = candidate_specs(16, BASES, max_members=2)
    plan = halving_schedule(20_000, 16, len(specs))
    assert [each.n_signals for each in plan] == [4096, 20_000]
    last = {row.structure: row for row in rows}
    assert len(last) <= len(specs)
    finals = -(-len(last) // 4)
    expected = [4096] * len(last) + [20_000] * finals
    assert [row.n_signals for row in rows] == [*expected, 20_000], "the winner once more"
    finalists = [row for row in rows if row.n_signals == 20_000]
    dropped = [row for row in last.values() if row.n_signals == 4096 and row.n_members == 1]
    # No discarded candidate is better by more than the sampling error.
    least = min(row.held_out_error for row in finalists)
    assert least <= 1.05 * min(row.held_out_error for row in dropped)


def candidate(error: float, flops: int) -> Candidate:
    return Candidate("", "", flops, 1, error, error, 0.0, fost.DCT(16), 100)


@pytest.mark.parametrize(
    ("errors", "cheaper", "hopeless"),
    [
        ([0.4], 0.1, False),  # nothing is known about the series
        ([0.4, 0.2], 0.11, False),  # 0.1 is predicted
        ([0.4, 0.2], 0.09, True),
        ([0.4, 0.399], 0.5, True),  # saturated
        ([0.4, 0.0], 0.5, False),
        ([0.0, 0.0], 0.5, False),
    ],
)
def test_series_end_where_larger_candidates_are_hopeless(errors, cheaper, hopeless):
    spec = candidate_specs(16, BASES)[-1]
    before = [candidate(error, spec.flops // 2) for error in errors]
    others = [*before, candidate(cheaper, spec.flops - 1), candidate(0.0, spec.flops + 1)]
    assert _is_hopeless(spec, before, others) == hopeless


def test_all_sizes_are_tried_for_a_bound_on_the_error():
    Y = walks(400)
    tried = [
        {
            row.structure
            for row in fost.AutoDictionary(3, 16, **limit, random_state=0).fit(Y).frontier_
        }
        for limit in ({"max_flops": None}, {"max_relative_error": 0.9})
    ]
    assert tried[0] < tried[1]


def test_errors_are_those_of_the_transforms():
    train, held_out = walks(5_000), walks(1_000, seed=1)
    for row in held(train, held_out)[-3:]:
        assert row.held_out_error == relative_error(held_out, row.transform, 3)
        assert row.train_error == relative_error(train[: row.n_signals], row.transform, 3)


def test_predicted_errors_shrink_with_more_signals():
    search = SuccessiveHalving(walks(1_000), walks(10), 3, 1, 0.0, np.random.default_rng(0))
    row = Candidate("", "", 1, 1, 0.1, 0.3, 0.0, fost.DCT(16), 100)
    assert search._predicted_error(row) == pytest.approx(0.2 + 0.1 * 0.1)
    seen = Candidate("", "", 1, 1, 0.1, 0.3, 0.0, fost.DCT(16), 1_000)
    assert search._predicted_error(seen) == pytest.approx(0.3)


def test_candidates_close_to_the_error_limit_are_kept():
    flops = {"cheap": 10, "near": 20, "good": 30, "dear": 40}
    errors = {"cheap": 0.5, "near": 0.104, "good": 0.09, "dear": 0.05}
    rows = [
        Candidate(name, "", flops[name], 0, 0.0, errors[name], 0.0, fost.DCT(16)) for name in flops
    ]
    criterion = SelectionCriterion(walks(10), 3, 0.1)
    ordered = criterion.rank(rows, [row.held_out_error for row in rows])
    assert [row.structure for row in ordered] == ["near", "good", "dear", "cheap"]
    assert criterion.best(Frontier(rows)).structure == "good", "in the end nearly is not enough"


def test_the_number_of_threads_changes_nothing(set_threads):
    Y = mixed(0, 6_000, 16, kinds=2)
    found = []
    for count in (1, 3):
        set_threads(count)
        found.append(held(Y[:5_000], Y[5_000:]))
    for one, three in zip(*found, strict=True):
        assert one.transform == three.transform
        assert one.held_out_error == three.held_out_error


def test_the_winner_is_retrained_from_its_series() -> None:
    specs = candidate_specs(16, {"": None, "DCT": fost.DCT(16)}, None, 8)

    def steps(name: str) -> list[str]:
        return [spec.name for spec in _steps_to(specs, name)]

    banks = [spec.name for spec in specs if spec.series.startswith("DCT + banks")][:3]
    assert [name.split(" x ")[0] for name in banks] == ["DCT + 2", "DCT + 4", "DCT + 8"]
    assert steps(banks[2]) == banks
    assert steps(banks[0]) == banks[:1]
    for alone in ("DCT", "DCT + 16 rotations", "dense"):
        assert steps(alone) == [alone], "which has a start of its own"
