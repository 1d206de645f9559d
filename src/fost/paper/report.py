"""The page: ``index.html`` by itself, with rows and figures as files beside it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

from fost._validation import check_path
from fost.io.files import write_atomically
from fost.paper import sections
from fost.paper.claims import Claim, claims
from fost.paper.drawing import to_svg
from fost.paper.export import write_rows
from fost.paper.markup import resource
from fost.paper.parts import PARTS
from fost.paper.pictures import PictureSet
from fost.paper.run import Progress, Reproduction, compute
from fost.paper.settings import Settings

PAGE = "index.html"


def reproduce(
    out: str | os.PathLike[str],
    names: Sequence[str] | None = None,
    *,
    pictures: PictureSet | None = None,
    settings: Settings | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
) -> tuple[Reproduction, list[Claim]]:
    """Compute what `compute` does, and write the page about it.

    Parameters
    ----------
    out : path
        The folder for ``index.html``, ``rows``, ``figures`` and ``parts``.
    names, pictures, settings, fresh, progress
        As in `compute`.

    Returns
    -------
    Reproduction
    list of Claim

    Examples
    --------
    >>> import os, tempfile
    >>> from fost import paper
    >>> folder = tempfile.mkdtemp()
    >>> found, claims = paper.reproduce(folder, ["example"], pictures=paper.PictureSet({}))
    >>> os.path.exists(os.path.join(folder, "index.html"))
    True
    """
    found = compute(
        out, names, pictures=pictures, settings=settings, fresh=fresh, progress=progress
    )
    return found, write_report(found, out)


def write_report(found: Reproduction, out: str | os.PathLike[str]) -> list[Claim]:
    """Write ``index.html``, rows and figures to a folder; returns the claims, judged.

    Examples
    --------
    >>> import os, tempfile
    >>> from fost import paper
    >>> folder = tempfile.mkdtemp()
    >>> found = paper.compute(folder, ["example"], pictures=paper.PictureSet({}))
    >>> claims = paper.write_report(found, folder)
    >>> os.path.exists(os.path.join(folder, "index.html"))
    True
    """
    check_path(out, "out")
    if not isinstance(found, Reproduction):
        raise TypeError(f"found must be a Reproduction, got {type(found).__name__}")
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    judged = claims(found)
    drawn = {}
    for name, rows in found.rows.items():
        write_rows(folder / "rows", name, rows)
        draw = PARTS[name].draw
        svg = to_svg(draw, rows, name) if draw else ""
        if svg:
            drawn[name] = svg
            (folder / "figures").mkdir(exist_ok=True)
            write_atomically(folder / "figures" / f"{name}.svg", svg.encode())
    if judged:
        write_rows(folder / "rows", "claims", judged)
    write_atomically(folder / PAGE, build_page(found, judged, drawn).encode())
    return judged


def build_page(found: Reproduction, judged: list[Claim], drawn: dict[str, str]) -> str:
    """The page, which needs no other file and no network."""
    content = sections.build(found, judged, drawn)
    filled = {
        "summary": sections.summary(found, judged),
        "contents": sections.contents(content),
        "content": "".join(content.values()),
        "style": resource("style.css"),
        "script": resource("script.js"),
        # Neither "</script>" nor "<!--" in the data may mean anything to the page.
        "data": json.dumps(sections.explorer_data(found)).replace("<", "\\u003c"),
    }
    # In one pass, so that what is filled in stays as it is, braces and all.
    return re.sub(r"\{\{(\w+)\}\}", lambda place: filled[place[1]], resource("index.html"))
