"""A short run of the fuzzer, and whether it would notice what it looks for."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fost
from fost import (
    baselines,
    diagnostics,
    export,
    images,
    imputation,
    learning,
    restoration,
    transforms,
)
from tests.fuzz.__main__ import calls
from tests.fuzz.judge import Fuzz, Refused, Wrong
from tests.fuzz.targets import SCHEDULE, name_of

ROOT = Path(__file__).resolve().parents[1]


def test_a_short_run() -> None:
    command = [sys.executable, "-m", "tests.fuzz", "400", "0"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
    assert "400 calls, 0 wrong" in run.stdout


def test_every_target_has_its_turns() -> None:
    name_of(0)
    assert sorted(name_of(k) for k in range(len(SCHEDULE))) == sorted(SCHEDULE)
    assert len(SCHEDULE) <= 400  # the short run has all of them


# What functions return, errors and warnings: nobody calls them.
RESULTS = {
    *("LearningResult", "Transform", "CheckpointError", "ObjectiveRoseWarning", "with_base"),
    *("Coder", "PursuitCoder", "storage", "InterruptedWarning", "Problem", "Source", "Statistic"),
    *("register", "without_base"),
}


@pytest.mark.parametrize(
    "module",
    [fost, baselines, diagnostics, export, images, imputation, learning, restoration, transforms],
)
def test_everything_public_has_a_target(module: Any) -> None:
    sources = "\n".join(p.read_text("utf-8") for p in (ROOT / "tests/fuzz").rglob("*.py"))
    missing = [
        name
        for name in module.__all__
        if name not in RESULTS and not re.search(rf"\b{name}\b", sources)
    ]
    assert not missing


def fuzz(tmp_path: Path, bad: bool = False, doubtful: bool = False) -> Fuzz:
    drawn = Fuzz(0, 0, tmp_path)
    if bad:
        drawn.note_bad("size", 3)
    if doubtful:
        drawn.note_doubtful("size", 3)
    return drawn


def raising(error: BaseException) -> Callable[[int], None]:
    def function(size: int) -> None:
        raise error

    return function


@pytest.mark.parametrize("error", [KeyError("size"), RuntimeError("size"), OverflowError("size")])
def test_other_errors_are_wrong(tmp_path: Path, error: Exception) -> None:
    with pytest.raises(Wrong, match=f"{type(error).__name__}: .*size"):
        fuzz(tmp_path, bad=True).call(raising(error), 3)


@pytest.mark.parametrize("kind", [ValueError, TypeError])
def test_errors_must_name_an_argument(tmp_path: Path, kind: type[Exception]) -> None:
    with pytest.raises(Refused):
        fuzz(tmp_path, bad=True).call(raising(kind("size must be 1")), 3)
    with pytest.raises(Refused):
        fuzz(tmp_path, doubtful=True).call(raising(kind("size must be 1")), 3)
    with pytest.raises(Wrong, match="names no argument"):
        fuzz(tmp_path, bad=True).call(raising(kind("sizes must be 1")), 3)


def test_good_arguments_must_not_be_refused(tmp_path: Path) -> None:
    with pytest.raises(Wrong, match="good arguments are refused: ValueError: size must be 1"):
        fuzz(tmp_path).call(raising(ValueError("size must be 1")), 3)
    with pytest.raises(MemoryError):
        fuzz(tmp_path).call(raising(MemoryError()), 3)


def test_bad_arguments_must_not_be_accepted(tmp_path: Path) -> None:
    with pytest.raises(Wrong, match="accepted: size=3"):
        fuzz(tmp_path, bad=True).call(lambda size: size, 3)
    assert fuzz(tmp_path, doubtful=True).call(lambda size: size, 3) == 3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_wrong_numbers_are_noticed(tmp_path: Path, dtype: Any) -> None:
    want = np.random.default_rng(0).standard_normal((3, 50)).astype(dtype)
    for scale in (1, 1e-30, 1e30):
        have = want * dtype(scale)
        fuzz(tmp_path).close(have, have * (1 + np.finfo(dtype).eps), "a result")
        have[2, 7] *= 1.001
        with pytest.raises(Wrong, match=r"a result \(row 2"):
            fuzz(tmp_path).close(have, want * dtype(scale), "a result")
    with pytest.raises(Wrong, match="a result"):
        fuzz(tmp_path).close(np.full((3, 50), np.nan, dtype), want, "a result")


def test_crashes_and_hangs_are_noticed(tmp_path: Path) -> None:
    script = tmp_path / "work.py"
    script.write_text(
        f"import os, sys, time, warnings\nsys.path.insert(0, {str(ROOT)!r})\n"
        "from tests.fuzz import targets, work\n"
        "targets.name_of(0)\n"
        "targets.TARGETS.update(\n"
        "    fine=lambda fuzz: None, dies=lambda fuzz: os.abort(),\n"
        "    sleeps=lambda fuzz: time.sleep(60), eats=lambda fuzz: bytearray(2**33),\n"
        "    warns=lambda fuzz: warnings.warn('this is a bug', RuntimeWarning),\n"
        ")\n"
        "names = ['fine', 'dies', 'sleeps', 'eats', 'warns', 'fine']\n"
        "work.name_of = lambda number: names[number]\n"
        "work.SECONDS = 2\n"
        "work.main(*map(int, sys.argv[1:4]))\n",
        "utf-8",
    )
    found = list(calls(0, 0, 6, (str(script),)))
    assert [v["number"] for v in found] == list(range(6))
    assert [v["verdict"] for v in found] == ["right", *["wrong"] * 4, "right"]
    for verdict, what in zip(
        found[1:], ("exit code -6", "hangs", "MemoryError", "bug"), strict=False
    ):
        assert what in verdict["what"]
