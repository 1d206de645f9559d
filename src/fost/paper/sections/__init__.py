"""The page's content, section by section."""

from __future__ import annotations

import re
from typing import Any

from fost.paper.claims import Claim
from fost.paper.explorer import FIXED
from fost.paper.markup import badge, escape, resource, section, table
from fost.paper.parts import PARTS
from fost.paper.printed import CITATION
from fost.paper.run import Reproduction
from fost.paper.sections import about, figures, tables
from fost.paper.settings import Settings

__all__ = ["build", "contents", "explorer_data", "summary"]


def build(found: Reproduction, judged: list[Claim], drawn: dict[str, str]) -> dict[str, str]:
    """Sections by name, those that there is something for."""
    made: dict[str, str] = {}
    rows = found.rows
    if "explorer" in rows:
        made["explorer"] = section("explorer", "See for yourself", resource("explorer.html"))
    if judged:
        made["claims"] = section("claims", "Claim by claim", _claims(judged))
    if "table-1" in rows:
        made["table-1"] = section(
            "table-1", "Table I: errors", tables.errors(found, drawn["table-1"])
        )
    if "table-2" in rows:
        made["table-2"] = section("table-2", "Table II: speed-ups", tables.speeds(found))
    if charts := figures.charts(found, drawn):
        made["figures"] = section("figures", "Figures 1 to 5", charts)
    panels = [figures.panels(name, rows[name]) for name in ("figure-6", "figure-7") if name in rows]
    if panels:
        made["inpainting"] = section(
            "inpainting", "Figures 6 and 7: inpainting", resource("inpainting.html"), *panels
        )
    if "times" in rows:
        made["times"] = section("times", "Running times", tables.times(found))
    if "remarks" in rows:
        made["remarks"] = section("remarks", "Remarks 3 to 5", tables.remarks(found))
    made["truth"] = section("truth", "Where text and numbers disagree", resource("truth.html"))
    made["about"] = section("about", "How this was made", about.about(found))
    return made


def contents(made: dict[str, str]) -> str:
    """Links to the sections, by their headings."""
    links = []
    for name, text in made.items():
        heading = re.search(r"<h2>(.*?)</h2>", text)
        links.append(f'<a href="#{name}">{heading[1] if heading else name}</a>')
    return "".join(links)


def summary(found: Reproduction, judged: list[Claim]) -> str:
    """What there is to know first."""
    counted = {verdict: sum(c.verdict == verdict for c in judged) for verdict in _VERDICTS}
    chips = "".join(
        f'<li class="{verdict}"><b>{counted[verdict]}</b> {words}</li>'
        for verdict, words in _VERDICTS.items()
    )
    parts = [f"<p>{escape(CITATION)}, computed again by fost.</p>"]
    if judged:
        parts.append(f'<ul class="chips">{chips}</ul>')
    if "table-1" in found.rows:
        parts.append(tables.in_short(found))
    if found.pictures.bundled:
        parts.append(
            '<p class="notice"><b>These are not the pictures of the paper.</b> No folder of '
            "pictures was given, so those that come with scikit-image stand in for them, and no "
            "number here can be compared with a number of the paper.</p>"
        )
    elif found.pictures.missing:
        names = escape(", ".join(found.pictures.missing))
        parts.append(f'<p class="notice">Pictures that were not there: {names}.</p>')
    if found.left_out:
        titles = "; ".join(PARTS[name].title for name in found.left_out)
        parts.append(f'<p class="notice">Left out for want of pictures: {titles}.</p>')
    if found.settings != Settings():
        parts.append(
            f'<p class="notice"><b>A quick look:</b> {found.settings.iterations} iterations '
            "instead of 100, and fewer points. Errors are higher than they need be.</p>"
        )
    return "".join(parts)


_VERDICTS = {"holds": "claims hold", "partly": "hold in part", "misses": "do not"}


def _claims(judged: list[Claim]) -> str:
    rows = [
        (
            escape(claim.statement),
            badge(claim.verdict),
            f'<span class="label">paper</span>{escape(claim.paper) or "&ndash;"}',
            f'<span class="label">here</span>{escape(claim.ours)}'
            + (f'<p class="note">{escape(claim.note)}</p>' if claim.note else ""),
        )
        for claim in judged
    ]
    caption = (
        "An error holds if it is at most 1 % above the printed one (SK-SVD: 2 %); lower is "
        "always fine. Where the paper gives words and no number, the limits are ours, and were "
        "set with the numbers in view: 2 % for “meets” and “very close”, 5 % for “no large "
        "drawback”, 0.1 for “alike”, and 0.002 for “clearly negative”."
    )
    return resource("filter.html") + table(
        ("claim", "verdict", "paper", "here"), rows, caption, kind="claims"
    )


def explorer_data(found: Reproduction) -> dict[str, Any]:
    """What the script of the page shows: by picture and by method."""
    pictures: dict[str, dict[str, Any]] = {}
    for row in found.rows.get("explorer", []):
        pictures.setdefault(row.picture, {})[row.method] = {
            "m": row.n_reflectors,
            "operations": row.operations,
            "rmse": row.rmse,
            "image": row.image,
        }
    return {"pictures": pictures, "fixed": list(FIXED[1:])} if pictures else {}
