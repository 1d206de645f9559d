"""The example of docs/reproduce.md runs, and the page names every part and function."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from fost import paper

PAGE = Path(__file__).parents[2] / "docs" / "reproduce.md"


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
