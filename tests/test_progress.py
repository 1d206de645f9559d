"""Progress has one form: a bar in a terminal, lines elsewhere, nothing where it is not wanted."""

from __future__ import annotations

import io
import subprocess
import sys
from types import SimpleNamespace

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


@pytest.mark.parametrize("shown", [None, True])
def test_a_line_of_text_in_a_notebook(shown: bool | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where stderr may say that it is a terminal, and rich would leave an empty box."""
    shell = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress("candidate", 20, shown) as advance:
        advance(5, "8 rotations over the DCT")
        advance(20, "")
    text = sys.stderr.getvalue()  # type: ignore[attr-defined]
    first, second, *rest = text.split("\r")[1:]
    assert first.startswith("█████░░░░░░░░░░░░░░░ candidate 5/20  8 rotations over the DCT  ")
    assert second.startswith("█" * 20 + " candidate 20/20  ")
    # The first line is longer, and nothing of it is left.
    assert len(second.rstrip("\n")) == len(first)
    if shown:
        assert second.endswith("\n")
        assert rest == []
    else:
        assert [line.strip() for line in rest] == ["", ""]
    assert "ipywidgets" not in text


def test_a_notebook_shows_nothing_that_is_not_wanted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    with progress("candidate", 20, False) as advance:
        advance(5, "")
    assert capsys.readouterr().err == ""


def test_an_unknown_end_is_no_count(capsys: pytest.CaptureFixture[str]) -> None:
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
