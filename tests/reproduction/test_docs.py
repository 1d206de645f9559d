"""The examples of docs/reproduce.md and docs/paper.md run, and what they name is there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fost
from fost import paper
from tests.paper.conftest import make_picture

ROOT = Path(__file__).parents[2]
PAGE, MAP = ROOT / "docs" / "reproduce.md", ROOT / "docs" / "paper.md"


def test_the_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(block, names)
    assert [row.n_reflectors for row in names["rows"]][:3] == [1, 2, 3]
    assert (tmp_path / "reproduction" / "index.html").is_file()
    assert names["claims"]


def test_every_part_and_function_is_named() -> None:
    text = PAGE.read_text(encoding="utf-8")
    functions = [name for name in paper.__all__ if name.islower()]
    known = [*functions, *paper.PARTS]
    known = [name for name in known if name not in ("claims", "compute", "write_report")]
    assert not [name for name in known if not re.search(rf"\b{name}\b", text)]


def test_the_example_of_the_map() -> None:
    (block,) = re.findall(r"```python\n(.*?)```", MAP.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {"picture": make_picture(0).astype(np.float64)}
    exec(block, names)
    assert len(names["found"].errors) == 101


def test_every_equation_is_on_the_map_once() -> None:
    """The paper numbers 29 of them."""
    found = []
    for line in MAP.read_text(encoding="utf-8").splitlines():
        if not line.startswith("| ") or line.startswith("| paper"):
            continue
        cell = line.split("|")[1]
        for first, last in re.findall(r"\((\d+)\) to \((\d+)\)", cell):
            found += range(int(first), int(last) + 1)
        found += map(int, re.findall(r"\((\d+)\)", re.sub(r"\(\d+\) to \(\d+\)", "", cell)))
    assert sorted(found) == list(range(1, 30))
    text = MAP.read_text(encoding="utf-8")
    for name in (*(f"Remark {k}" for k in range(1, 6)), "Algorithm 1", "Algorithm 2", "Table I ",
                 "Table II,", "the example in R^2"):  # fmt: skip
        assert name in text, name


def test_the_map_leads_somewhere() -> None:
    text = MAP.read_text(encoding="utf-8")
    quoted = re.findall(r"`([^`]+)`", text)
    for path in (word for word in quoted if re.match(r"(src|tests|tools)/", word)):
        assert (ROOT / path).exists(), path
    for word in quoted:
        dotted = re.match(r"(fost|paper|diagnostics)((?:\.\w+)+)", word)
        if dotted:
            place: Any = {"fost": fost, "paper": paper, "diagnostics": fost.diagnostics}[dotted[1]]
            for name in dotted[2].split(".")[1:]:
                place = getattr(place, name)
    for address in re.findall(r"\]\((\w+\.md)", text):
        assert (ROOT / "docs" / address).is_file(), address
