"""``fost reproduce``: the tables and figures of the paper, and a page about them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fost._progress import progress
from fost.cli import options
from fost.cli.console import check_folder, show
from fost.cli.errors import Interrupted, UserError, reading, writing

if TYPE_CHECKING:
    from fost.paper import Claim, PictureSet, Reproduction

_PAGE = "index.html"


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAMES]...",
            help="What to compute: table-1, table-2, figure-1 to figure-7, times, remarks, "
            "example, section-5, explorer; everything if not given.",
            show_default=False,
        ),
    ] = None,
    images: Annotated[
        Path | None,
        typer.Option(
            "--images",
            metavar="DIR",
            help="A folder with the paper's pictures, found by name: peppers, boat, pollen, mri, "
            "cameraman, pirate, barb, baboon, hill, couple, house, fingerprint, man. Without it, "
            "pictures of scikit-image stand in for them.",
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="OUT", help="The folder to write to.")
    ] = Path("reproduction"),
    quick: Annotated[
        bool, typer.Option("--quick", help="A look in less than a minute: fewer iterations.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Compute again what an earlier run has finished.")
    ] = False,
    threads: options.Threads = None,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Compute the tables and figures of the paper again, and judge its claims.

    Writes index.html, a page that needs no other file, with rows as CSV and JSON and figures as
    SVG beside it. What is finished is kept in OUT, so that a run that was interrupted goes on
    where it stopped.
    """
    from fost import paper

    _check_names(names)
    _check_folder(output, force)
    options.set_threads(threads)
    start = time.perf_counter()
    pictures = _pictures(images)
    settings = paper.Settings.quick() if quick else paper.Settings()
    with progress("reproducing", 1.0, options.shown(quiet)) as advance, writing(output):
        try:
            found, judged = paper.reproduce(
                output,
                names,
                pictures=pictures,
                settings=settings,
                fresh=fresh,
                progress=lambda done, total, step: advance(done / max(total, 1), step),
            )
        except KeyboardInterrupt:
            raise Interrupted(
                f"interrupted; what is finished is kept in {str(output)!r}, run it again to go on"
            ) from None
    _report(found, judged, output, time.perf_counter() - start, as_json, quiet)


def _check_names(names: list[str] | None) -> None:
    from fost.paper.parts import choose

    try:
        choose(names)
    except ValueError as error:
        raise UserError(str(error)) from error


def _check_folder(out: Path, force: bool) -> None:
    if out.exists() and not out.is_dir():
        raise UserError(f"cannot write to {str(out)!r}: it is not a folder")
    if (out / _PAGE).exists() and not force:
        raise UserError(f"{str(out / _PAGE)!r} exists already; --force replaces it")
    if not out.parent.is_dir():
        raise UserError(f"cannot write {str(out)!r}: there is no folder {str(out.parent)!r}")
    check_folder(out if out.is_dir() else out.parent, out)


def _pictures(images: Path | None) -> PictureSet:
    from fost import paper

    if images is not None and not images.is_dir():
        raise UserError(f"there is no folder {str(images)!r}")
    with reading(images or ""):
        return paper.find_pictures(images)


def _report(
    found: Reproduction,
    judged: list[Claim],
    out: Path,
    seconds: float,
    as_json: bool,
    quiet: bool,
) -> None:
    counts = {
        word: sum(c.verdict == word for c in judged) for word in ("holds", "partly", "misses")
    }
    pictures = found.pictures
    lines = {
        "page": str(out / _PAGE),
        "pictures": ", ".join(pictures)
        + (" (of scikit-image, not the paper's)" if pictures.bundled else ""),
        "claims": f"{counts['holds']} hold, {counts['partly']} in part, {counts['misses']} do not",
    }
    whole = type(found.settings)()
    if found.settings != whole:
        lines["settings"] = (
            f"{found.settings.iterations} iterations instead of {whole.iterations}: numbers, and "
            "with them claims, are not those of a whole run"
        )
    if pictures.missing and not pictures.bundled:
        lines["missing"] = ", ".join(pictures.missing)
    if found.left_out:
        lines["left out"] = ", ".join(found.left_out)
    missed = [claim for claim in judged if claim.verdict == "misses"]
    for k, claim in enumerate(missed, 1):
        lines[f"does not {k}"] = f"{claim.statement}: {claim.ours} (paper: {claim.paper or '-'})"
    lines["time"] = f"{seconds:.1f} s"
    data: dict[str, object] = {
        "output": out,
        "page": out / _PAGE,
        "bundled": pictures.bundled,
        "pictures": list(pictures),
        "missing": list(pictures.missing),
        "parts": list(found.rows),
        "left_out": list(found.left_out),
        "computed": found.computed,
        "claims": [vars(claim) for claim in judged],
        "seconds": seconds,
    }
    show(lines, data, as_json=as_json, quiet=quiet)
