"""What the page was made with."""

from __future__ import annotations

from dataclasses import asdict

from fost.paper.machine import machine
from fost.paper.markup import escape, table
from fost.paper.parts import PARTS
from fost.paper.run import Reproduction


def about(found: Reproduction) -> str:
    """Settings, pictures, machine, and where the raw rows are."""
    pictures = found.pictures
    listed = ", ".join(
        f"{escape(name)} ({p.shape[0]} &times; {p.shape[1]})"
        for name, p in pictures.pictures.items()
    )
    notes = "".join(f"<li>{escape(note)}</li>" for note in pictures.notes)
    sums = "".join(
        f"<li>{escape(name)}: <code>{value[:16]}</code></li>"
        for name, value in pictures.checksums.items()
    )
    settings = [
        (name.replace("_", " "), escape(_short(value)))
        for name, value in asdict(found.settings).items()
    ]
    seconds = [(PARTS[n].title, f"{value:.1f} s") for n, value in found.seconds.items()]
    total = sum(found.seconds.values())
    seconds.append(("<b>all</b>", f"<b>{total:.0f} s</b>"))
    return (
        f"<p>Pictures: {listed}. Patches are 8 &times; 8, do not overlap, are vectorised column by "
        "column, divided by 255 and freed of their means.</p>"
        + (f"<ul>{notes}</ul>" if notes else "")
        + '<div class="columns">'
        + _column(("setting", ""), settings, "Settings")
        + _column(("", ""), [(k, escape(v)) for k, v in machine().items()], "Machine and versions")
        + _column(("part", ""), seconds, "Time")
        + "</div>"
        "<p>Beside this page: <code>rows/</code> has every row as CSV and JSON, "
        "<code>figures/</code> the charts as SVG, <code>parts/</code> what a later run need not "
        "compute again.</p>"
        f"<details><summary>Checksums of the pixels (SHA-256)</summary><ul>{sums}</ul></details>"
    )


def _column(head: tuple[str, str], rows: list[tuple[str, str]], caption: str) -> str:
    return f"<div>{table(head, rows, caption)}</div>"


def _short(value: object) -> str:
    """A setting; of long lists, runs by their ends: 1 to 24, 28, 32."""
    if not isinstance(value, tuple | list):
        return str(value)
    if value and isinstance(value[0], tuple | list):
        return ", ".join(f"{name} {number}" for name, number in value)
    runs: list[list[int]] = []
    for number in value:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(
        f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs
    )
