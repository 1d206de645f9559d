"""Every script in examples/ runs, prints its results and writes its figures."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples"
# The demo writes several figures and has a test of its own.
EXAMPLES = sorted(path for path in FOLDER.glob("*.py") if path.stem != "demo")

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


def test_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With few methods on one image; `make demo` runs all of it."""
    pytest.importorskip("skimage")
    pytest.importorskip("matplotlib")
    spec = importlib.util.spec_from_file_location("demo", FOLDER / "demo.py")
    assert spec
    assert spec.loader
    demo = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(demo)
    few = ("2-D DCT", "H12", "bank: 8 x 16 rotations")
    monkeypatch.setattr(demo, "METHODS", {name: demo.METHODS[name] for name in few})
    monkeypatch.setattr(demo, "IMAGES", ("camera",))
    demo.main(str(tmp_path))
    report = (tmp_path / "report.md").read_text(encoding="utf-8")
    figures = re.findall(r"!\[\w+\]\((\w+\.png)\)", report)
    assert len(figures) == 4
    for name in figures:
        assert (tmp_path / name).stat().st_size > 10_000
    rows = [line.strip("| ").split(" | ") for line in report.splitlines()]
    errors = [float(next(row for row in rows if row[0] == name)[3]) for name in few]
    assert errors == sorted(errors, reverse=True)
    psnr = {row[1]: float(row[2]) for row in rows if row[0].startswith("camera with")}
    assert psnr["fost.restoration.inpaint"] > psnr["skimage inpaint_biharmonic"] > 25
    assert psnr["fost.restoration.denoise"] > psnr["skimage denoise_nl_means"] > 25
    printed = capsys.readouterr().out
    assert f"The report and its plots are in {tmp_path}/" in printed
    assert "nan" not in printed
