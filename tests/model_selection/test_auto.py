"""AutoDictionary: the best transform within a budget."""

from __future__ import annotations

import dataclasses
import signal

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import fost
from fost.model_selection.candidates import Frontier, relative_error
from tests.learning.test_rotations import smooth_patches


@pytest.fixture(scope="module")
def Y() -> np.ndarray:
    return smooth_patches(400)


@pytest.fixture(scope="module")
def fitted(Y: np.ndarray) -> fost.AutoDictionary:
    return fost.AutoDictionary(4, (8, 8), max_iter=5, random_state=0).fit(Y)


def test_the_frontier_is_a_table(fitted):
    rows = fitted.frontier_
    assert [row.flops for row in rows] == sorted(row.flops for row in rows)
    names = {row.structure for row in rows}
    assert {"DCT 8x8", "DCT 8x8 + 64 rotations", "3 reflectors", "dense"} <= names
    for row in rows:
        assert row.transform.encode_flops(4) == row.flops
        assert row.transform.n_parameters == row.n_parameters
        assert 0 <= row.train_error <= 1
        assert row.seconds >= 0
    plain = rows.as_dicts()
    assert set(plain[0]) == {
        "structure", "family", "n_members", "flops", "bits", "nanoseconds", "n_parameters",
        "train_error", "held_out_error", "seconds", "n_signals", "best",
    }  # fmt: skip
    assert "DCT 8x8 + 64 rotations" in repr(rows)


def test_the_columns_of_the_table_stand_below_each_other(fitted):
    long = "DCT 16x16 + union of 16 x 1024 rotations"
    rows = [*fitted.frontier_[:3], dataclasses.replace(fitted.frontier_[3], structure=long)]
    *lines, note = repr(Frontier(rows)).splitlines()
    assert note.startswith("* ")
    assert long in lines[-1]
    assert len({len(line) for line in lines}) == 1


def test_the_best_rows_are_not_dominated(fitted):
    best = fitted.frontier_.best
    for row in best:
        for other in fitted.frontier_:
            assert other.flops > row.flops or other.held_out_error >= row.held_out_error
    for row in fitted.frontier_:
        assert any(b.flops <= row.flops and b.held_out_error <= row.held_out_error for b in best)


def test_each_larger_size_has_no_larger_training_error(fitted):
    for kind in ("DCT 8x8 + {} rotations", "{} rotations"):
        errors = [
            row.train_error
            for g in (8, 16, 32, 64, 128, 256)
            for row in fitted.frontier_
            if row.structure == kind.format(g)
        ]
        assert len(errors) >= 3  # a series ends where the error hardly falls
        assert np.all(np.diff(errors) <= 1e-3), (kind, errors)


def test_a_budget_of_operations_is_kept(Y, fitted):
    for budget in (100, 700, 1100, 3072):
        auto = fost.AutoDictionary(4, (8, 8), max_flops=budget, max_iter=3, random_state=0).fit(Y)
        assert auto.dictionary_.flops <= budget
        assert all(row.flops <= budget for row in auto.frontier_)
        equals = [r for r in auto.frontier_ if r.n_members == auto.chosen_.n_members]
        least = min(row.held_out_error for row in equals)
        assert auto.chosen_.held_out_error == least


def test_a_bound_on_the_error_gives_the_cheapest(Y, fitted):
    bound = fitted.frontier_.best[len(fitted.frontier_.best) // 2].held_out_error * 1.02
    auto = fost.AutoDictionary(4, (8, 8), max_relative_error=bound, max_iter=5, random_state=0).fit(
        Y
    )
    good = [row.flops for row in auto.frontier_ if row.held_out_error <= bound]
    assert auto.chosen_.flops == min(good)


def test_the_choice_is_continued_on_all_signals(Y, fitted):
    assert fitted.dictionary_.flops == fitted.chosen_.flops
    assert fitted.error_ == pytest.approx(relative_error(Y, fitted.dictionary_, 4))
    assert fitted.error_ <= relative_error(Y, fitted.chosen_.transform, 4) + 1e-12
    assert fitted.score(Y) == pytest.approx(-fitted.error_)


def test_the_same_seed_gives_the_same_choice(Y, fitted):
    again = fost.AutoDictionary(4, (8, 8), max_iter=5, random_state=0).fit(Y)
    assert again.dictionary_ == fitted.dictionary_


def test_the_shape_is_guessed_from_the_signals(Y):
    rng = np.random.default_rng(0)
    walks = np.cumsum(rng.standard_normal((400, 60)), axis=1)
    spikes = rng.standard_normal((400, 64)) * (rng.random((400, 64)) < 0.05)
    spikes[:, 0] += 3  # a table with a large column
    settings = {"max_flops": 1200, "max_iter": 2, "max_members": 2, "random_state": 0}
    for signals, shape in ((walks, (60,)), (walks[:, :49], (49,)), (Y, (8, 8))):
        auto = fost.AutoDictionary(4, **settings).fit(signals)
        base = "DCT " + "x".join(map(str, shape))
        names = [row.structure for row in auto.frontier_ if "DCT" in row.structure]
        assert {base, f"{base} + 8 rotations"} <= set(names)
        assert all(name.startswith((base, "1-D DCT")) for name in names)
        told = fost.AutoDictionary(4, shape, **settings).fit(signals)
        assert auto.dictionary_ == told.dictionary_
    none = fost.AutoDictionary(4, **settings).fit(spikes)
    assert not any("DCT" in row.structure for row in none.frontier_)


def test_a_fixed_base_may_be_the_answer():
    # Signals that are exactly sparse in the DCT and in no cheaper transform.
    X = np.zeros((300, 64))
    places = np.random.default_rng(0).integers(64, size=(300, 3))
    np.put_along_axis(X, places, 1.0, axis=1)
    Y = fost.DCT((8, 8)).inverse(X)
    auto = fost.AutoDictionary(4, (8, 8), max_relative_error=1e-6, max_iter=3, random_state=0).fit(
        Y
    )
    assert auto.dictionary_ == fost.DCT((8, 8))
    assert auto.chosen_.structure == "DCT 8x8"


def test_the_budget_is_used_up(Y):
    auto = fost.AutoDictionary(4, (8, 8), max_flops=1000, max_iter=2, random_state=0).fit(Y)
    names = {row.structure for row in auto.frontier_}
    assert {"DCT 8x8 + 54 rotations", "3 reflectors", "1-D DCT 64"} <= names
    assert fost.AutoDictionary(4, max_flops=1e2, max_iter=1).fit(Y).dictionary_.flops <= 100


@pytest.mark.usefixtures("interruptible")
def test_interrupt_chooses_among_trained_candidates(Y, monkeypatch):
    update = fost.Reflectors.update

    def interrupted(self, *arguments):
        signal.raise_signal(signal.SIGINT)
        return update(self, *arguments)

    monkeypatch.setattr(fost.Reflectors, "update", interrupted)
    auto = fost.AutoDictionary(4, max_flops=600, max_iter=2, random_state=0)
    with pytest.warns(RuntimeWarning, match="interrupted after .* candidates"):
        auto.fit(Y)
    # Fixed transforms and rotations come before reflectors.
    fixed = {row.structure for row in auto.frontier_ if row.family == row.structure}
    assert not any("reflector" in row.structure for row in auto.frontier_)
    assert all(row.structure in fixed or "rotation" in row.structure for row in auto.frontier_)
    assert auto.dictionary_.flops <= 600


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"max_flops": 10}, "max_flops=10 is below the cheapest candidate, 8 rotations"),
        ({"max_flops": -5}, "max_flops must be at least 1"),
        ({"max_flops": 0}, "max_flops must be at least 1"),
        ({"max_flops": float("inf")}, "max_flops must be at least 1 and finite"),
        ({"max_relative_error": -0.1}, "max_relative_error must be at least 0 and at most 1"),
        ({"max_relative_error": 1e-9}, "no candidate reaches max_relative_error=1e-09; the best"),
        ({"signal_shape": (4, 4)}, "signal_shape=.* has 16 entries, but the signals have 64"),
        ({"signal_shape": (0, 64)}, "shape must be between 1"),
        ({"validation_fraction": 1.5}, "validation_fraction must be at least 0 and at most 1"),
        ({"validation_fraction": 1.0}, "validation_fraction must be between 0 and 1"),
        ({"n_nonzero_coefs": 65}, "n_nonzero_coefs must be between 1"),
    ],
)
def test_bad_parameters_are_named(Y, parameters, match):
    auto = fost.AutoDictionary(**({"max_iter": 1, "max_flops": 800} | parameters))
    with pytest.raises(ValueError, match=match):
        auto.fit(Y)


def test_an_unreachable_error_keeps_the_frontier(Y):
    auto = fost.AutoDictionary(4, max_flops=300, max_relative_error=1e-9, max_iter=1)
    with pytest.raises(ValueError, match="no candidate"):
        auto.fit(Y)
    assert len(auto.frontier_) > 0
    with pytest.raises(NotFittedError):
        auto.transform(Y)
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.close(fost.plot_frontier(auto).figure)


def test_the_default_budget_is_that_of_a_dense_transform():
    """Heterogeneous signals for which dense members would be chosen without a limit."""
    rng = np.random.default_rng(0)
    bases = [np.linalg.qr(rng.standard_normal((16, 16)))[0] for _ in range(4)]
    Y = np.concatenate([rng.standard_normal((200, 2)) @ base[:2] for base in bases])
    settings = {"max_iter": 2, "random_state": 0, "verbose": False}
    auto = fost.AutoDictionary(2, **settings).fit(Y)
    assert auto.frontier_
    assert max(row.flops for row in auto.frontier_) <= 16 * 31
    free = fost.AutoDictionary(2, max_flops=None, **settings).fit(Y)
    assert free.dictionary_.flops > 16 * 31
    # A maximal error has no default limit of operations.
    good = fost.AutoDictionary(2, max_relative_error=-free.score(Y) + 1e-3, **settings).fit(Y)
    assert max(row.flops for row in good.frontier_) > 16 * 31


def test_progress_goes_to_stderr_when_asked(Y, capsys):
    fost.AutoDictionary(4, max_flops=100, max_iter=1, verbose=True).fit(Y)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "2/2" in captured.err or "rotations" in captured.err
    fost.AutoDictionary(4, max_flops=100, max_iter=1, verbose=False).fit(Y)
    captured = capsys.readouterr()
    assert captured.err == ""


def test_plot_frontier(fitted):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    ax = fost.plot_frontier(fitted)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert any("rotations" in label for label in labels)
    assert any(label.startswith("chosen") for label in labels)
    names = [text.get_text() for text in ax.texts]
    assert {"DCT 8x8", "dense"} <= set(names)
    assert "operations" in ax.get_xlabel()
    same = fost.plot_frontier(fitted, ax=ax)
    assert same is ax
    pyplot.close(ax.figure)
