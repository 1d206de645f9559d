"""Every script in examples/ runs, prints what it found and leaves its figure."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))

# Errors, but for what libraries announce among themselves.
ANNOUNCED = ("DeprecationWarning", "PendingDeprecationWarning", "FutureWarning")
WARNINGS = ["-Werror", *(f"-Wignore::{name}" for name in ANNOUNCED)]


def test_there_are_examples() -> None:
    assert {"butterfly", "choose_m", "deblur", "general_dictionary", "local_minimum"} <= {
        path.stem for path in EXAMPLES
    }


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_runs(script: Path, tmp_path: Path) -> None:
    pytest.importorskip("skimage")
    pytest.importorskip("matplotlib")
    # The folder is relative: a script says where its figure is, in a line of at most 100 letters.
    done = subprocess.run(
        [sys.executable, *WARNINGS, str(script), "figures"],
        env={**os.environ, "MPLBACKEND": "Agg"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    figures = list((tmp_path / "figures").glob("*.png"))
    assert [path.stem for path in figures] == [script.stem]
    assert figures[0].stat().st_size > 10_000
    lines = done.stdout.splitlines()
    assert len(lines) > 8
    assert max(map(len, lines)) <= 100
    assert "nan" not in done.stdout
