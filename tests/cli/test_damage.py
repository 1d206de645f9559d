"""``fost learn`` of files that are damaged or have an unsuitable layout."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.cli.conftest import Run

LEARN = ("learn", "--structure", "householder", "--size", "2", "-s", "2", "-o", "out.safetensors")


def signals() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((300, 16))


def test_a_chunk_of_random_bytes(run: Run) -> None:
    zarr = pytest.importorskip("zarr")
    rows = signals()
    rows[120:140] = np.random.default_rng(1).integers(2**63 - 2**53, size=(20, 16)).view(float)
    zarr.create_array("rows.zarr", data=np.clip(rows, -1e100, 1e100), chunks=(100, 16))
    np.save("good.npy", signals())
    stderr = run(*LEARN, "good.npy", "rows.zarr").stderr
    assert "warning: 'rows.zarr' may be damaged: an entry in row 1" in stderr
    assert "good.npy" not in stderr


def test_infinity_names_file_and_row(fail: Callable[..., str]) -> None:
    rows = signals()
    np.save("good.npy", rows)
    rows[42, 3] = np.inf
    np.save("bad.npy", rows)
    line = fail(*LEARN, "good.npy", "bad.npy")
    assert "cannot use 'bad.npy'" in line
    assert "row 42 (block 0)" in line


def test_nan_are_counted(run: Run) -> None:
    rows = signals()
    rows[42, 3:5] = np.nan
    np.save("rows.npy", rows)
    stderr = run(*LEARN, "rows.npy").stderr
    assert "2 of 4,800 entries of 'rows.npy' are NaN and taken as missing" in stderr
    assert "the first in row 42 (block 0)" in stderr


def test_layouts(run: Run) -> None:
    zarr = pytest.importorskip("zarr")
    np.save("turned.npy", np.random.default_rng(0).standard_normal((5, 1000)))
    zarr.create_array("rows.zarr", data=np.tile(signals(), (4, 1)), chunks=(1, 16))
    assert "is the array transposed?" in run(*LEARN, "turned.npy", "--max-iter", "1").stderr
    assert "chunks of 'rows.zarr' have 1 rows" in run(*LEARN, "--force", "rows.zarr").stderr


def test_lines_of_progress(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save("rows.npy", signals())
    arguments = (*LEARN, "rows.npy", "--checkpoint", "run.state", "--force", "--max-iter")
    assert run(*arguments, "3").stderr == ""  # it takes less than a few seconds
    monkeypatch.setattr("fost._progress._LINE_PAUSE", 0.0)
    lines = run(*arguments, "5").stderr.splitlines()
    assert "fost: resumed at iteration 3" in lines
    assert any(line.startswith("iteration 4/5  relative error") for line in lines)
