"""``fost reproduce``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fost import paper
from fost.cli.app import app
from tests.paper.conftest import TINY


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(paper.Settings, "quick", classmethod(lambda cls: TINY))
    monkeypatch.delenv("FOST_TRACEBACK", raising=False)
    monkeypatch.chdir(tmp_path)


def call(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["reproduce", *arguments], prog_name="fost")


def fails(*arguments: str, code: int = 2) -> str:
    result = call(*arguments)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("fost: ")
    return str(line)


def test_some_parts(folder: Path) -> None:
    result = call("figure-1", "figure-6", "--images", str(folder), "-o", "out", "--quick")
    assert result.exit_code == 0, result.output
    assert "out/index.html" in result.stdout
    assert "missing" in result.stdout
    assert "claims, are not those of a whole run" in result.stdout
    assert Path("out/index.html").is_file()
    assert Path("out/rows/figure-6.csv").is_file()
    assert "exists already; --force replaces it" in fails("-o", "out", "--images", str(folder))
    again = call("figure-1", "figure-6", "--images", str(folder), "-o", "out", "--quick",
                 "--force", "--json")  # fmt: skip
    report = json.loads(again.stdout)
    assert report["computed"] == []
    assert report["parts"] == ["figure-1", "figure-6"]
    assert report["pictures"] == ["peppers", "boat", "barb", "couple", "man"]
    assert "pollen" in report["missing"]
    assert {claim["verdict"] for claim in report["claims"]} <= {"holds", "partly", "misses"}
    fresh = call("figure-1", "--images", str(folder), "-o", "out", "--quick", "--force",
                 "--json", "--fresh")  # fmt: skip
    assert json.loads(fresh.stdout)["computed"] == ["figure-1"]


def test_quiet_says_nothing(folder: Path) -> None:
    result = call("table-2", "--images", str(folder), "-o", "out", "--quick", "--quiet")
    assert (result.exit_code, result.output) == (0, "")


def test_an_interrupted_run_goes_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fost.paper import run

    real = run._computed

    def interrupted(part: Any, *arguments: Any) -> Any:
        if part.name == "figure-6":
            raise KeyboardInterrupt
        return real(part, *arguments)

    monkeypatch.setattr(run, "_computed", interrupted)
    wanted = ("figure-1", "figure-6", "--images", str(folder), "-o", "out", "--quick")
    assert "run it again to go on" in fails(*wanted, code=130)
    assert not Path("out/index.html").exists()
    monkeypatch.setattr(run, "_computed", real)
    report = json.loads(call(*wanted, "--json").stdout)
    assert report["computed"] == ["figure-6-barb"] or report["computed"] == ["figure-6"]


def test_what_the_user_can_mend(folder: Path, tmp_path: Path) -> None:
    assert "there is no part 'figure-9'; there are table-1" in fails("figure-9")
    assert "there is no folder 'nowhere'" in fails("--images", "nowhere")
    Path("empty").mkdir()
    assert "none of the paper's pictures in 'empty'" in fails("--images", "empty")
    Path("file").write_text("", encoding="utf-8")
    assert "it is not a folder" in fails("-o", "file", "--images", str(folder))
    assert "there is no folder 'no'" in fails("-o", "no/where", "--images", str(folder))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "file"]


def test_without_pictures_others_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    report = json.loads(call("table-2", "-o", "out", "--quick", "--json").stdout)
    assert report["bundled"]
    assert report["pictures"] == ["camera", "astronaut", "brick", "grass", "gravel"]
