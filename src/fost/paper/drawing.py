"""Charts as SVG that follows the colours of the page it stands in."""

from __future__ import annotations

import io
import re
from typing import Any

# Told apart by people who do not see all colours, after Okabe and Ito. On the page each is a
# variable, lighter in the dark; a figure by itself shows these.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#6a51a3")
INK = "#1b1f24"
PAPER = "#fffefd"
_SIZE = (5.4, 3.7)


def new_figure() -> tuple[Any, Any]:
    """A figure with one pair of axes, in the size that a phone shows with readable labels."""
    import matplotlib.figure

    figure = matplotlib.figure.Figure(figsize=_SIZE, layout="constrained")
    axes = figure.add_subplot()
    axes.grid(True, color=INK, alpha=0.15, linewidth=0.6)
    return figure, axes


def to_svg(draw: Any, rows: Any, name: str) -> str:
    """What `draw` makes of rows, as an SVG element whose names begin with `name`; may be empty.

    Letters stay letters, sizes are left to the page, and colours are variables of the page
    with a fallback: ``var(--ink, #1b1f24)``.
    """
    import matplotlib

    style: dict[Any, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": name,
        "font.family": "sans-serif",
        "font.size": 10,
        "legend.fontsize": 8.5,
        "legend.framealpha": 0.85,
        "legend.facecolor": PAPER,
        "legend.edgecolor": "none",
        "axes.facecolor": "none",
        "axes.spines.top": False,
        "axes.spines.right": False,
        **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor"), INK),
        **dict.fromkeys(("xtick.color", "ytick.color", "lines.color"), INK),
    }
    with matplotlib.rc_context(style):
        figure = draw(rows)
        if figure is None:
            return ""
        figure.patch.set_alpha(0)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return _inline(buffer.getvalue(), name)


def _inline(svg: str, name: str) -> str:
    """Without the prologue, a fixed size or names that another figure could have too."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    head, rest = svg.split(">", 1)
    head = re.sub(r' (width|height)="[^"]*"', "", head)
    svg = f"{head}>{rest}"
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'href="#', f'href="#{name}-', svg)
    svg = svg.replace("url(#", f"url(#{name}-")
    svg = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font: \1px var(--sans, sans-serif)", svg)
    for k, colour in enumerate(PALETTE, 1):
        svg = svg.replace(colour, f"var(--line-{k}, {colour})")
    return svg.replace(INK, f"var(--ink, {INK})").replace(PAPER, f"var(--card, {PAPER})").strip()
