"""Compute the tables and figures of the paper, judge its claims and write a page about them.

Each part is written to ``rows/NAME.json`` and ``rows/NAME.csv`` in the output folder. Without
names, a run computes the parts that the folder does not have yet, so an interrupted run continues.
Named parts are always computed again. The page shows all parts in the folder that were computed
with the same images, settings and version of fost.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import fost
from fost.learning import InterruptedWarning
from reproduction import figures, remarks
from reproduction.algorithms import QUICK, Settings
from reproduction.data import ImageSet, find_images
from reproduction.inpainting import inpainting
from reproduction.page import Found, write_page
from reproduction.table_one import table_one
from reproduction.table_two import running_times, table_two

OUTPUT = Path(__file__).parent / "output"


# The parts by name: a title, and a function that computes rows from images and settings. It
# returns an empty list if the images that it needs are missing.
PARTS: dict[str, tuple[str, Callable[[ImageSet, Settings], list[dict[str, Any]]]]] = {
    "table-1": ("Table I: errors", table_one),
    "table-2": ("Table II: speed-ups", table_two),
    "figure-1": ("Eigenvalues of two images", figures.figure_one),
    "figure-2": ("Error by iteration", figures.figure_two),
    "figure-3": ("Error by number of reflectors", figures.figure_three),
    "figure-4": ("Eigenvalues by sparsity", figures.figure_four),
    "figure-5": ("Eigenvalues by number of reflectors", figures.figure_five),
    "figure-6": ("Inpainting barb", partial(inpainting, "barb")),
    "figure-7": ("Inpainting man", partial(inpainting, "man")),
    "times": ("Running times", running_times),
    "remarks": ("Remarks 1 to 5", remarks.remarks),
    "example": ("The example in R^2", remarks.example),
    "section-5": ("Numbers in the text of section V", figures.section_five),
}


def reproduce(
    out: Path, images: ImageSet, settings: Settings, names: list[str], fresh: bool = False
) -> Found:
    """Compute parts, and write their rows and the page; returns all rows and the claims."""
    folder = out / "rows"
    folder.mkdir(parents=True, exist_ok=True)
    key = {"fost": fost.__version__, "bundled": images.bundled, "images": images.checksums}
    key = json.loads(json.dumps({**key, "settings": vars(settings)}, default=repr))
    found = Found(images, settings)
    for name, (title, compute) in PARTS.items():
        again = name in names if names else fresh
        stored = {} if again else _load(folder / f"{name}.json")
        if stored.get("key") != key:
            if names and name not in names:
                continue
            start = time.perf_counter()
            stored = {"key": key, "rows": compute(images, settings)}
            stored["seconds"] = time.perf_counter() - start
            _save(folder / name, stored)
            print(f"{name:10} {stored['seconds']:7.1f} s  {title}", file=sys.stderr)
        if stored["rows"]:
            found.rows[name] = stored["rows"]
            found.seconds[title] = stored["seconds"]
        else:
            found.left_out.append(title)
    write_page(found, out)
    (folder / "claims.csv").unlink(missing_ok=True)
    if found.claims:
        _write_csv(folder / "claims.csv", [asdict(claim) for claim in found.claims])
    return found


def _load(path: Path) -> dict[str, Any]:
    try:
        stored = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return stored if isinstance(stored, dict) else {}


def _save(path: Path, stored: dict[str, Any]) -> None:
    """Write NAME.csv, then NAME.json in one step, so that an interrupt leaves no half file."""
    if stored["rows"]:
        _write_csv(path.with_suffix(".csv"), stored["rows"])
    unfinished = path.with_suffix(".part")
    unfinished.write_text(json.dumps(stored, indent=1), "utf-8")
    unfinished.replace(path.with_suffix(".json"))


def _write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    names = [name for name in rows[0] if name != "shown"]  # images are for the page
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m reproduction", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"{', '.join(PARTS)}; missing parts if not given"
    )
    parser.add_argument(
        "--images",
        type=Path,
        metavar="DIR",
        help="a folder with the paper's images, found by name (peppers.png, boat.tiff, ...); "
        "without it, images of scikit-image stand in for them",
    )
    parser.add_argument(
        "--own",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE",
        help="images of yours, as further columns of Table I; without --images, the curves are "
        "about them",
    )
    parser.add_argument("--output", "-o", type=Path, metavar="OUT", default=OUTPUT)
    parser.add_argument(
        "--quick", action="store_true", help="fewer iterations, under a minute; without verdicts"
    )
    parser.add_argument(
        "--fresh", action="store_true", help="compute all parts again, if none are named"
    )
    given = parser.parse_args(arguments)
    if unknown := [name for name in given.names if name not in PARTS]:
        parser.error(f"there is no part {unknown[0]!r}; the parts are {', '.join(PARTS)}")
    if given.images and not given.images.is_dir():
        parser.error(f"there is no folder {str(given.images)!r}")
    try:
        images = find_images(given.images, given.own)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    settings = QUICK if given.quick else Settings()
    # fost answers Ctrl-C with the result so far and this warning; such rows must not be stored.
    warnings.simplefilter("error", InterruptedWarning)
    try:
        found = reproduce(given.output, images, settings, given.names, given.fresh)
    except (KeyboardInterrupt, InterruptedWarning):
        sys.exit(f"interrupted; finished parts are in {given.output}, run again to continue")
    counts = {v: sum(c.verdict == v for c in found.claims) for v in ("holds", "partly", "misses")}
    print(f"page: {given.output / 'index.html'}")
    if found.claims:
        print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))


if __name__ == "__main__":
    main()
