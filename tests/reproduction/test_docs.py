"""The pages of docs/paper: examples run, and the names on them exist."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import fost
from reproduction.__main__ import PARTS
from tests.reproduction.conftest import TINY

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "paper"
PAGE, MAP = FOLDER / "reproduction.md", FOLDER / "equations.md"


def test_the_examples_run() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(blocks[0], names)
    assert [row["n_reflectors"] for row in names["rows"]][:3] == [1, 2, 3]
    # Fewer iterations than on the page.
    names["QUICK"] = TINY
    exec(blocks[1], names)
    assert {"16 rotations", "over the DCT"} < {row["method"] for row in names["rows"]}


def test_every_part_and_module_is_named() -> None:
    text = PAGE.read_text(encoding="utf-8")
    modules = [path.name for path in (ROOT / "reproduction").glob("[!_]*.py")]
    assert not [name for name in (*PARTS, *modules) if f"`{name}`" not in text]


def test_every_equation_is_on_the_map_once() -> None:
    """The paper numbers 29 of them."""
    found: list[int] = []
    text = MAP.read_text(encoding="utf-8")
    for line in text.splitlines():
        if not line.startswith("| ") or line.startswith("| paper"):
            continue
        cell = line.split("|")[1]
        for first, last in re.findall(r"\((\d+)\) to \((\d+)\)", cell):
            found += range(int(first), int(last) + 1)
        found += map(int, re.findall(r"\((\d+)\)", re.sub(r"\(\d+\) to \(\d+\)", "", cell)))
    assert sorted(found) == list(range(1, 30))
    for name in (*(f"Remark {k}" for k in range(1, 6)), "Algorithm 1", "Algorithm 2", "Table I ",
                 "Table II,", "the example in R^2"):  # fmt: skip
        assert name in text, name


def test_names_and_files_on_the_map_exist() -> None:
    quoted = re.findall(r"`([^`]+)`", MAP.read_text(encoding="utf-8"))
    for path in (word for word in quoted if re.match(r"(src|tests|tools)/", word)):
        assert (ROOT / path).exists(), path
    for word in quoted:
        if dotted := re.match(r"reproduction\.(\w+)\.(\w+)", word):
            module = importlib.import_module(f"reproduction.{dotted[1]}")
            assert hasattr(module, dotted[2]), word
        elif dotted := re.match(r"(fost|diagnostics)((?:\.\w+)+)", word):
            place: Any = fost if dotted[1] == "fost" else fost.diagnostics
            for name in dotted[2].split(".")[1:]:
                place = getattr(place, name)


def test_reproduction_uses_public_names_only() -> None:
    for path in (ROOT / "reproduction").glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"(from|import) fost[\w.]*\._|fost\._(?!_)|import _core", text), path
