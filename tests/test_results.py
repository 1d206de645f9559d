"""Tables of results: stored with their source, and shown by the pages."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks.results import BLOCK, FOLDER, MARK, Results, filled, load, markdown, shown

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
PAGES = [page for page in PAGES if "_build" not in page.parts and "auto_gallery" not in page.parts]
# Lines that begin with a bar, and the line before them.
TABLE = re.compile(r"([^\n]*)\n\n?((?:\|[^\n]*\n)+)")
# A number that was measured: with decimals, or with a unit.
MEASURED = re.compile(r"\d\.\d|(?<![\w.])\.\d\d|\d ?%|\d (?:ns|us|ms|s|dB|GB|MB)\b")


def tables_without_source(text: str) -> list[str]:
    """The first lines of tables of measurements that name no source.

    A source is a results file, a comment ``<!-- source: ... -->`` before the table (numbers that
    the paper prints, say), or a column "Measured on".
    """
    text = BLOCK.sub("", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    found = []
    for before, table in TABLE.findall(text):
        head, _, *body = table.splitlines()
        if "Measured on" in head or before.startswith("<!-- source: "):
            continue
        if any(MEASURED.search(row) for row in body):
            found.append(head)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_table_of_results_has_a_source(page: Path) -> None:
    assert tables_without_source(page.read_text(encoding="utf-8")) == []


def test_a_table_without_source_is_found() -> None:
    rows = "| method | error |\n|---|---:|\n| DCT | 9.08% |\n"
    assert tables_without_source(f"Text.\n\n{rows}") == ["| method | error |"]
    assert not tables_without_source(f"<!-- source: the paper, Table I -->\n{rows}")
    assert not tables_without_source(f"<!-- results: a.b -->\n{rows}<!-- end -->\n")
    assert not tables_without_source(rows.replace("9.08%", "none"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_show_tables_that_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for name, table in MARK.findall(text):
        assert load(name).tables[table].rows, f"{name}.{table}"
    assert filled(text) == text, f"run python -m benchmarks.results {page.name}"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_results_say_where_they_come_from(path: Path) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    assert {"command", "date", "commit", "machine"} <= content.keys()
    assert content["machine"]["isa"]
    assert "/" not in content["command"]


def test_a_table_is_stored_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = Results("example")
    table = results.table("errors", {"method": "", "error": ".1%", "ns": ",.0f"})
    table.add("DCT", np.float64(0.0908), 1234.5)
    table.add("identity", None, np.int64(7))
    results.save(tmp_path)
    stored = load("example", tmp_path)
    expected = [
        "| method | error | ns |",
        "|---|---:|---:|",
        "| DCT | 9.1% | 1,234 |",
        "| identity |  | 7 |",
    ]
    assert list(stored.tables["errors"].markdown()) == expected
    assert expected[2] in capsys.readouterr().out
    assert stored.commit in stored.source
    with pytest.raises(ValueError, match="a row has 3 cells, got 1"):
        table.add("DCT")


def test_tables_of_an_earlier_run_stay(tmp_path: Path) -> None:
    for name in ("first", "second"):
        results = Results("example")
        results.table(name, {"method": ""}).add(name)
        results.save(tmp_path)
    assert set(load("example", tmp_path).tables) == {"first", "second"}


def test_comments_become_tables() -> None:
    path = min(FOLDER.glob("*.json"))
    table = min(load(path.stem).tables)
    comment = f"<!-- results: {path.stem}.{table} -->"
    rendered = markdown(path.stem, table)
    assert shown(f"Before.\n\n{comment}\n") == f"Before.\n\n{rendered}\n"
    assert filled(f"{comment}\nold\n<!-- end -->") == f"{comment}\n{rendered}\n<!-- end -->"
    assert filled(f"{comment}\n") == f"{comment}\n"
