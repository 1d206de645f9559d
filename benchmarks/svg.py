"""Figures of pages as SVG: transparent, with text in the colours of light and dark pages."""

from __future__ import annotations

from io import StringIO
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

# Letters and axes, on light pages and on dark ones.
INK, _LIGHT_INK = "#3a3a3a", "#d0d0d0"
_STYLE = f"""<style>@media (prefers-color-scheme: dark) {{
[style*="fill: {INK}"] {{ fill: {_LIGHT_INK} !important }}
[style*="stroke: {INK}"] {{ stroke: {_LIGHT_INK} !important }}
}}</style>"""
SVG_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "svg.hashsalt": "fost",
    **dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK
    ),
}


def drawn_svg(figure: Figure) -> str:
    """A figure as SVG text."""
    buffer = StringIO()
    with mpl.rc_context(SVG_STYLE):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    head, rest = buffer.getvalue().split("<defs>", 1)
    lines = (line.rstrip() for line in f"{head}{_STYLE}<defs>{rest}".splitlines())
    return "\n".join(lines) + "\n"
