"""Progress: a bar in a terminal, lines elsewhere, nothing if it is not requested."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fost._progress import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_lines_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("iteration", 20, True) as advance:
        advance(3, "relative error 2 %")
        advance(4, "")
    lines = capsys.readouterr().err.splitlines()
    assert [line.rpartition("  ")[0] for line in lines] == [
        "iteration 3/20  relative error 2 %",
        "iteration 4/20",
    ]
    assert all(line.endswith(" s") for line in lines)


@pytest.mark.parametrize("shown", [None, False])
def test_nothing(shown: bool | None, capsys: pytest.CaptureFixture[str]) -> None:
    with progress("iteration", 20, shown) as advance:
        advance(3, "relative error 2 %")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("shown", [None, True])
def test_a_bar_in_a_terminal(shown: bool | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress("encoding", 20, shown) as advance:
        advance(20, "the last")
    assert "encoding 20/20  the last" in sys.stderr.getvalue()  # type: ignore[attr-defined]


NOTEBOOK = """
import json, sys
import nbformat
from nbclient import NotebookClient

cell = nbformat.v4.new_code_cell(sys.argv[1])
notebook = nbformat.v4.new_notebook(cells=[cell])
NotebookClient(notebook, kernel_name="python3", timeout=300).execute()
print(json.dumps(cell.outputs))
"""


def outputs(code: str, folder: Path) -> list[dict[str, Any]]:
    """What a cell of a notebook shows in the end, run by a kernel of Jupyter."""
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    # The kernel of this Python, and nothing of the user's.
    kernel = folder / "kernels" / "python3"
    kernel.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    description = {"argv": command, "display_name": "Python", "language": "python"}
    (kernel / "kernel.json").write_text(json.dumps(description), "utf-8")
    homes = {f"JUPYTER_{name}_DIR": str(folder) for name in ("DATA", "CONFIG", "RUNTIME")}
    done = subprocess.run(
        [sys.executable, "-c", NOTEBOOK, code],
        env={**os.environ, **homes, "IPYTHONDIR": str(folder), "JUPYTER_PATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def test_one_line_in_a_notebook(tmp_path: Path) -> None:
    """That of the end, with its bar, whatever was there before; what is transient is gone."""
    shown = outputs(
        "from fost._progress import progress\n"
        "for shown in (True, None, False):\n"
        "    with progress('candidate', 20, shown) as advance:\n"
        "        advance(5, '8 rotations over the DCT')\n"
        "        advance(20, '')\n",
        tmp_path,
    )
    stays, gone = (output["data"] for output in shown)
    assert re.fullmatch("█{20} candidate 20/20  [0-9.]+ s", stays["text/plain"])
    assert gone == {"text/html": ""}


def test_learning_in_a_notebook(tmp_path: Path) -> None:
    """No box that stays empty, no advice to install something, no complaints."""
    shown = outputs(
        "import numpy as np, fost\n"
        "Y = np.random.default_rng(0).standard_normal((200, 8))\n"
        "fost.AutoDictionary(2, verbose=True, tol=0, max_iter=3).fit(Y)",
        tmp_path,
    )
    bar, estimator = shown
    assert bar["data"]["text/plain"].startswith("█" * 20 + " candidate")
    assert "operations per signal" in estimator["data"]["text/html"]
    assert "ipywidgets" not in str(shown)


def test_a_notebook_shows_nothing_that_is_not_wanted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    with progress("candidate", 20, False) as advance:
        advance(5, "")
    assert capsys.readouterr().err == ""


def test_an_unknown_total_shows_no_count(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("reading", None, True) as advance:
        advance(0.5, "half")
    assert capsys.readouterr().err.startswith("reading  half")


def test_only_the_command_line_imports_its_libraries() -> None:
    code = (
        "import sys, sklearn.impute; others = {*sys.modules}; "  # newer ones import rich
        "import fost, fost.estimators, fost.baselines, fost.images, fost.diagnostics; "
        "assert not {'rich', 'typer', 'click'} & ({*sys.modules} - others)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
