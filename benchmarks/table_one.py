"""Table I of the paper: ``python -m benchmarks.table_one FOLDER docs/paper/table_one.svg``.

FOLDER has the paper's images. The table has our errors with the iterations of the paper, and the
printed ones behind a slash. The chart is that of the reproduction page.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl

from benchmarks.results import Results
from benchmarks.svg import INK, SVG_STYLE, drawn_svg
from reproduction import charts
from reproduction.algorithms import Settings
from reproduction.data import find_images
from reproduction.table_one import PRINTED, REACHED, table_one


def main(folder: str, target: str) -> None:
    rows = table_one(find_images(folder), Settings())
    names = list(dict.fromkeys(row["image"] for row in rows))
    results = Results("table_one")
    table = results.table("errors", {"method": "", "operations": ",", **dict.fromkeys(names, "")})
    for method in dict.fromkeys(row["method"] for row in rows):
        own = {(row["image"], row["version"]): row for row in rows if row["method"] == method}
        cells = [own.get((name, PRINTED), own[name, REACHED]) for name in names]
        texts = [f"{c['rmse']:.4f}" + (f" / {c['paper']:.4f}" if c["paper"] else "") for c in cells]
        table.add(method, cells[0]["operations"], *texts)
    results.save()
    charts.INK = INK
    with mpl.rc_context({**SVG_STYLE, "legend.frameon": False}):
        Path(target).write_text(drawn_svg(charts.draw_errors(rows)), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
