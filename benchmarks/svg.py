"""Figures of pages as SVG: transparent, with text in the colours of light and dark pages."""

from __future__ import annotations

from io import StringIO
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from reproduction.charts import PALETTE

# Letters and axes on light pages.
INK = "#3a3a3a"
# Colours on dark pages, as on the page of the reproduction.
_DARK = {INK: "#d0d0d0"} | dict(
    zip(PALETTE, ("#56b4e9", "#ff9150", "#3fd0a4", "#ec9ccb", "#e3c04a", "#b9a4ee"), strict=True)
)
_RULES = "\n".join(
    f'[style*="{part}: {light}"] {{ {part}: {dark} !important }}'
    for light, dark in _DARK.items()
    for part in ("fill", "stroke")
)
_STYLE = f"<style>@media (prefers-color-scheme: dark) {{\n{_RULES}\n}}</style>"
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
