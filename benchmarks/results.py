"""Tables of results: printed as Markdown, stored as JSON, shown by the pages.

A benchmark names its tables, adds rows, and saves them to ``benchmarks/results/NAME.json`` with the
command, the machine, the date and the commit::

    results = Results("quality")
    table = results.table("one_image", {"image": "", "DCT": ".4f"})
    table.add("camera", 0.0359)
    results.save()

A page shows a table where it has the comment ``<!-- results: quality.one_image -->``. The build of
the site replaces the comment (`docs/conf.py`). README needs the table itself, between the comment
and ``<!-- end -->``: ``python -m benchmarks.results README.md`` writes it, and a test compares.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "results"
Cell = str | float | None
_MARK = r"<!-- results: ([\w-]+)\.(\w+) -->"
MARK = re.compile(_MARK)
# A table in the text itself, which the command below writes.
BLOCK = re.compile(_MARK + r"\n.*?<!-- end -->", re.DOTALL)


@dataclass
class Table:
    """Rows of cells; each column has a heading and a format of Python for its numbers."""

    columns: dict[str, str]
    rows: list[list[Cell]] = field(default_factory=list)
    # How, where and when it was measured; if empty, as the other tables of its file.
    source: str = ""

    def add(self, *cells: Any) -> None:
        """Add a row, and print it; the first row prints the headings too."""
        if len(cells) != len(self.columns):
            raise ValueError(f"a row has {len(self.columns)} cells, got {len(cells)}")
        first = not self.rows
        self.rows.append([_plain(cell) for cell in cells])
        lines = list(self.markdown())
        print("\n".join(["", *lines] if first else lines[-1:]), flush=True)

    def markdown(self) -> Iterator[str]:
        """The lines of a Markdown table."""
        yield "| " + " | ".join(self.columns) + " |"
        yield "|" + "|".join("---:" if spec else "---" for spec in self.columns.values()) + "|"
        for row in self.rows:
            cells = zip(row, self.columns.values(), strict=True)
            yield "| " + " | ".join(_text(cell, spec) for cell, spec in cells) + " |"


@dataclass
class Results:
    """All tables of one benchmark, and where they come from."""

    name: str
    command: str = ""
    date: str = ""
    commit: str = ""
    machine: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)

    def table(self, name: str, columns: dict[str, str]) -> Table:
        """A new table."""
        self.tables[name] = Table(columns)
        return self.tables[name]

    def save(self, folder: Path = FOLDER) -> None:
        """Write the tables; tables of an earlier run that this one does not have stay."""
        from benchmarks.harness import machine

        path = folder / f"{self.name}.json"
        earlier = load(self.name, folder) if path.exists() else Results(self.name)
        for table in earlier.tables.values():
            table.source = table.source or earlier.source
        module = sys.modules["__main__"].__spec__
        program = module.name.removesuffix(".__main__") if module else Path(sys.argv[0]).name
        options = [word for word in sys.argv[1:] if "/" not in word]  # no paths of this machine
        self.command = " ".join(["python -m", program, *options])
        self.date = datetime.now(UTC).date().isoformat()
        self.commit = _commit()
        self.machine = machine()
        for table in self.tables.values():
            table.source = self.source
        self.tables = earlier.tables | self.tables
        folder.mkdir(exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")
        print(f"\nwritten to {path.name}")

    @property
    def source(self) -> str:
        """One line that says how, where and when the tables were measured."""
        day = date.fromisoformat(self.date)
        isa = {"avx512": "AVX-512", "avx2": "AVX2"}.get(self.machine["isa"], self.machine["isa"])
        where = f"{self.machine['processor']} ({isa}, {self.machine['cores']} cores)"
        return f"`{self.command}`, {day.day} {day:%B %Y}, {where}, commit {self.commit}"


def load(name: str, folder: Path = FOLDER) -> Results:
    """The results of one benchmark."""
    content = json.loads((folder / f"{name}.json").read_text("utf-8"))
    tables = {key: Table(**table) for key, table in content.pop("tables").items()}
    return Results(**content, tables=tables)


def markdown(name: str, table: str) -> str:
    """A table as Markdown, followed by its source."""
    results = load(name)
    found = results.tables[table]
    return "\n".join([*found.markdown(), "", f"*{found.source or results.source}*"])


def shown(text: str) -> str:
    """The text of a page, with tables instead of the comments that name them."""
    return MARK.sub(lambda mark: markdown(*mark.groups()), text)


def filled(text: str) -> str:
    """The text of a page whose tables stand between comments, with the newest tables."""

    def block(mark: re.Match[str]) -> str:
        name, table = mark.groups()
        return f"<!-- results: {name}.{table} -->\n{markdown(name, table)}\n<!-- end -->"

    return BLOCK.sub(block, text)


def _plain(cell: Any) -> Cell:
    """A number of NumPy as a number of Python."""
    return (
        cell
        if cell is None or isinstance(cell, str)
        else cell.item()
        if hasattr(cell, "item")
        else cell
    )


def _text(cell: Cell, spec: str) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        return cell
    if spec.endswith("g") and abs(cell) >= 1000:  # no exponents
        return format(float(format(cell, spec)), ",.0f")
    return format(cell, spec)


def _commit() -> str:
    """The commit that was measured, with a mark if files differ from it."""
    described = ["git", "describe", "--always", "--dirty=-modified", "--exclude=*"]
    try:
        return subprocess.run(described, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        page = Path(argument)
        page.write_text(filled(page.read_text("utf-8")), encoding="utf-8")
