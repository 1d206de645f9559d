"""The page's content, section by section."""

from __future__ import annotations

import re
from typing import Any

from fost.paper.claims import Claim
from fost.paper.claims.claim import AFTER, PAPER
from fost.paper.explorer import FIXED
from fost.paper.markup import badge, escape, resource, section, table
from fost.paper.parts import PARTS
from fost.paper.printed import CITATION
from fost.paper.run import Reproduction
from fost.paper.sections import about, errors, figures, inpainting, tables, truth
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
            "table-1", "Table I: errors", errors.errors(found, drawn["table-1"])
        )
    if "table-2" in rows:
        made["table-2"] = section("table-2", "Table II: speed-ups", tables.speeds(found))
    if charts := figures.charts(found, drawn):
        made["figures"] = section("figures", "Figures 1 to 5", charts)
    if "figure-6" in rows or "figure-7" in rows:
        made["inpainting"] = section(
            "inpainting", "Figures 6 and 7: inpainting", inpainting.inpainting(found)
        )
    if "times" in rows:
        made["times"] = section("times", "Running times", tables.times(found))
    if "remarks" in rows:
        made["remarks"] = section("remarks", "Remarks 1 to 5", tables.remarks(found))
    if "example" in rows:
        made["example"] = section(
            "example", "The example in R&sup2;", tables.example(found, drawn["example"])
        )
    made["truth"] = section("truth", "Where text and numbers disagree", truth.truth(found))
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
        parts.append(errors.in_short(found))
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
            f'<p class="notice"><b>Not the default settings:</b> {found.settings.iterations} '
            f"iterations, and {Settings().iterations} by default; the others are listed at the "
            "end. Numbers differ from those of a whole run.</p>"
        )
    return "".join(parts)


_FROM = {PAPER: "by the paper", AFTER: "set after looking"}
_VERDICTS = {"holds": "claims hold", "partly": "hold in part", "misses": "do not"}


def _claims(judged: list[Claim]) -> str:
    rows = [
        (
            escape(claim.statement),
            badge(claim.verdict),
            f'<span class="label">paper</span>{escape(claim.paper) or "&ndash;"}',
            f'<span class="label">here</span>{escape(claim.ours)}'
            + f'<p class="note"><b>Limit</b> ({_FROM[claim.limit_from]}): {escape(claim.limit)}.'
            + (f" {escape(claim.note)}" if claim.note else "")
            + "</p>",
        )
        for claim in judged
    ]
    after = sum(claim.limit_from == AFTER for claim in judged)
    caption = (
        "Each claim holds within a limit that stands beside it, and misses beyond. "
        f"{len(judged) - after} limits are the paper&rsquo;s own words or numbers; {after} are "
        "ours, and were set after looking at the numbers."
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
