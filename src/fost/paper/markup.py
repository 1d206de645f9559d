"""Small pieces of HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape, unescape
from importlib.resources import files

__all__ = ["badge", "escape", "figure", "resource", "section", "table"]


def badge(verdict: str) -> str:
    """A verdict in a colour of its own."""
    return f'<span class="badge {verdict}">{verdict}</span>'


def table(
    head: Sequence[str], rows: Iterable[Sequence[str]], caption: str, *, kind: str = ""
) -> str:
    """A table of cells that are HTML already; it scrolls by itself where it is too wide."""
    label = escape(unescape(re.sub(r"<[^>]*>", "", caption.split(". ")[0])))
    top = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{first}</th>' + "".join(f"<td>{cell}</td>" for cell in rest) + "</tr>"
        for first, *rest in rows
    )
    return (
        f'<div class="wide"><div class="scroll" tabindex="0" role="region" aria-label="{label}">'
        f'<table class="{kind}"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'
        '<p class="more" aria-hidden="true">more to the right &rarr;</p></div>'
        f'<p class="caption">{caption}</p>'
    )


def section(name: str, title: str, *content: str) -> str:
    return f'<section id="{name}"><h2>{title}</h2>{"".join(content)}</section>'


def figure(name: str, svg: str, caption: str) -> str:
    """A chart with its caption."""
    return f'<figure class="chart" id="{name}">{svg}<figcaption>{caption}</figcaption></figure>'


def resource(name: str) -> str:
    """A file of the folder ``page``."""
    return (files("fost.paper") / "page" / name).read_text("utf-8")
