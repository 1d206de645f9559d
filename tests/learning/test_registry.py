"""Registered structures, and a structure outside of fost: the butterfly example."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import fost
from fost.cli.app import app
from fost.learning import CandidateSizes, Problem, register, registered_structures, registry
from fost.learning.statistics import Statistic
from fost.learning.training_data import TrainingData
from fost.model_selection.candidates import candidate_specs
from tests.learning.test_learn import correlated

EXAMPLES = Path(__file__).parents[2] / "examples"

STRUCTURES = [
    fost.Orthonormal(),
    fost.Reflectors(1),
    fost.Reflectors(3),
    fost.Reflectors(2, orthogonal=True),
    fost.Rotations(1),
    fost.Rotations(20),
    fost.BankOf(fost.Rotations(5), 3),
    fost.BankOf(fost.Orthonormal(), 2),
]


@pytest.fixture
def butterfly(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The example, imported and registered for one test."""
    monkeypatch.setattr(registry, "_REGISTERED", dict(registry._REGISTERED))
    spec = importlib.util.spec_from_file_location("butterfly", EXAMPLES / "butterfly.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "butterfly", module)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("structure", STRUCTURES, ids=repr)
def test_structures_describe_themselves_correctly(structure: fost.Structure) -> None:
    Y = correlated(200, 8)
    for init in structure.starts:
        found = fost.learn(Y, structure, 2, base=None, init=init, max_iter=2, random_state=0)
        assert found.transform.flops == structure.flops(8)
    default = fost.learn(Y, structure, 2, max_iter=2, random_state=0)
    named = fost.learn(Y, structure, 2, init=structure.starts[0], max_iter=2, random_state=0)
    assert default.transform == named.transform
    known = ", ".join(map(repr, structure.starts))
    with pytest.raises(ValueError, match=re.escape(f"one of {known}, got 'odd'")):
        fost.learn(Y, structure, 2, init="odd")


def test_labels() -> None:
    assert [structure.label for structure in STRUCTURES] == [
        "dense", "1 reflector", "3 reflectors", "2 reflectors", "1 rotation", "20 rotations",
        "3 x 5 rotations", "2 x dense",
    ]  # fmt: skip
    assert fost.BankOf(fost.Rotations(5), 3).family == "banks of rotations"
    assert fost.Reflectors("auto").label == "auto reflectors"


def test_all_registered_names_make_structures() -> None:
    Y = correlated(100, 8)
    for name, kind in registered_structures().items():
        found = fost.learn(Y, kind.of_size(None, 8), 2, max_iter=1)
        assert found.transform.n_features == 8, name
    assert registered_structures()["orthogonal-householder"].of_size(3, 8) == fost.Reflectors(
        3, orthogonal=True
    )


@given(st.integers(2, 200), st.none() | st.integers(1, 50_000), st.booleans())
def test_candidate_sizes_increase_within_the_limit(
    n: int, limit: int | None, over_base: bool
) -> None:
    for family in registry.structure_classes():
        candidates = family.candidate_sizes(n, over_base)
        if candidates is None or not candidates.sizes:
            continue
        costs = [structure.flops(n) for structure in candidates.structures(limit)]
        assert costs == sorted(set(costs))
        assert all(cost <= (limit or cost) and cost < (2 * n - 1) * n for cost in costs)
        members = [member.flops(n) for member in candidates.members([2, 4], limit)]
        assert members == sorted(set(members))
        assert all(2 * cost <= (limit or 2 * cost) for cost in members)


def test_a_name_can_be_registered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_REGISTERED", dict(registry._REGISTERED))
    with pytest.raises(ValueError, match="there is a structure 'givens' already, Rotations"):
        register("givens", "others")(fost.Orthonormal)
    register("givens", "defined once more")(fost.Rotations)
    assert registered_structures()["givens"].summary == "defined once more"


def test_a_butterfly_is_learned_like_any_other(butterfly: Any) -> None:
    Y = correlated(400, 8)
    structure = butterfly.Butterfly(3)
    found = fost.learn(Y, structure, 2, tol=0, max_iter=30)  # an increase would raise a warning
    assert found.error < found.start_error
    U = found.transform.matrix
    assert np.abs(U.T @ U - np.eye(8)).max() < 1e-12
    again = fost.learn(Y, structure, 2, init=found.transform, tol=0, max_iter=5)
    assert again.start_error == pytest.approx(found.error)
    more = fost.learn(Y, butterfly.Butterfly(5), 2, init=found.transform, tol=0, max_iter=5)
    assert more.error <= found.error + 1e-12
    with pytest.raises(ValueError, match="need a power of two features, Y has n_features=6"):
        fost.learn(correlated(50, 6), structure, 2)


def test_one_layer_of_a_butterfly_is_the_best(butterfly: Any) -> None:
    """Against all angles of rotations and reflections, for fixed codes."""
    M = np.random.default_rng(0).standard_normal((2, 2))
    problem = Problem(
        TrainingData.from_rows(correlated(20, 2)), None, 1, np.random.default_rng(0), 1, 0
    )
    structure = butterfly.Butterfly(1)
    start = structure.initialise(problem, "base")
    found = structure.update(problem, Statistic(M, 0.0), start).matrix
    angles = np.linspace(0, 2 * np.pi, 2001)
    c, s = np.cos(angles), np.sin(angles)
    turns = c * (M[0, 0] + M[1, 1]) + s * (M[0, 1] - M[1, 0])
    mirrors = c * (M[0, 0] - M[1, 1]) + s * (M[0, 1] + M[1, 0])
    best = max(turns.max(), mirrors.max())
    # Angles lie 0.003 apart, so the best of them is within 1e-5 of the optimum.
    assert best - 1e-9 <= np.trace(found @ M) <= best * (1 + 1e-5)


def test_a_butterfly_is_tried_drawn_and_offered(butterfly: Any) -> None:
    Y = correlated(300, 16)
    auto = fost.AutoDictionary(2, 16, max_iter=3, random_state=0).fit(Y)
    families = {row.family for row in auto.frontier_}
    assert {"layers", "DCT 16 + layers", "DCT 16 + banks of layers"} <= families
    for row in auto.frontier_:
        assert row.flops == row.transform.encode_flops(auto.n_nonzero_coefs_)
    names = [spec.name for spec in candidate_specs(8, {"": None}, max_flops=60)]
    assert [name for name in names if "layer" in name] == ["1 layer", "2 layers"]
    with pytest.raises(
        TypeError, match=r"must be Butterfly\(layers\), Orthonormal\(\), Reflectors\(n_reflectors\)"
    ):
        fost.learn(Y, 3, 2)  # type: ignore[arg-type]
    pyplot = pytest.importorskip("matplotlib.pyplot")
    ax = fost.plot_frontier(auto)
    assert "layers" in {text.get_text() for text in ax.get_legend().get_texts()}
    pyplot.close(ax.figure)


def test_banks_checkpoints_and_batches_of_butterflies(butterfly: Any, tmp_path: Path) -> None:
    Y = correlated(300, 8)
    structure = fost.BankOf(butterfly.Butterfly(2), 2)
    options: dict[str, Any] = {"random_state": 0, "tol": 0, "max_iter": 6}
    whole = fost.learn(Y, structure, 2, **options)
    path = tmp_path / "state"
    stop = fost.learn(Y, structure, 2, **options, checkpoint=path, callback=lambda k, *_: k == 3)
    assert stop.n_iter == 3
    resumed = fost.learn(Y, structure, 2, **options, checkpoint=path)
    np.testing.assert_array_equal(resumed.errors, whole.errors)
    assert resumed.transform == whole.transform
    estimator = fost.BankDictionary(2, 2, butterfly.Butterfly(2), random_state=0)
    assert estimator.partial_fit(Y).partial_fit(Y).dictionary_.n_members == 2


def fost_with_butterfly(folder: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "fost", "--import", "butterfly", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(EXAMPLES), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_butterfly_from_the_command_line(tmp_path: Path) -> None:
    np.save(tmp_path / "signals.npy", correlated(200, 8))
    words = ["learn", "signals.npy", "-o", "model.safetensors", "-s", "2", "--max-iter", "3"]
    told = fost_with_butterfly(tmp_path, *words, "--structure", "butterfly", "--size", "2")
    assert "Chain(n_features=8, stages=[DCT, Givens]" in told
    model = fost.load(tmp_path / "model.safetensors")
    assert model.flops == fost.DCT(8).flops + 2 * 3 * 8
    assert "butterfly (layers of rotations" in fost_with_butterfly(tmp_path, "learn", "--help")


def test_a_structure_without_of_size_is_one_line_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "_REGISTERED", dict(registry._REGISTERED))
    monkeypatch.delenv("FOST_TRACEBACK", raising=False)

    @register("blocks", "blocks of a matrix")
    class Blocks(fost.Orthonormal):
        of_size = classmethod(fost.Structure.of_size.__func__)  # type: ignore[assignment,attr-defined]

    np.save(tmp_path / "signals.npy", correlated(50, 8))
    words = ["learn", str(tmp_path / "signals.npy"), "-o", str(tmp_path / "model.safetensors")]
    result = CliRunner().invoke(app, [*words, "--structure", "blocks"], prog_name="fost")
    assert result.exit_code == 2
    message = "fost: cannot use --structure blocks: Blocks does not define of_size\n"
    assert result.stderr == message


def test_candidate_sizes_of_each_structure() -> None:
    assert fost.Orthonormal.candidate_sizes(8, over_base=True) is None
    assert fost.Rotations.candidate_sizes(1, over_base=False) is None
    candidates = fost.Reflectors.candidate_sizes(64, over_base=True)
    assert isinstance(candidates, CandidateSizes)
    assert candidates.members([2], None) == []


def test_the_error_about_a_structure_names_all_of_them():
    everything = (
        r"structure must be .*Orthonormal\(\), .*Reflectors\(n_reflectors\), "
        r".*Rotations\(n_rotations\), BankOf\(structure, n_members\) "
        r"or UnionOf\(structure, n_members\), got str"
    )
    with pytest.raises(TypeError, match=everything):
        fost.learn(np.eye(4), "orthonormal", 2)
    with pytest.raises(TypeError, match=r"Rotations\(n_rotations\), got str"):  # no banks of banks
        fost.BankOf("orthonormal", 2)
