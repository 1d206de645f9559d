"""The picture of docs/frontier.svg: ``python -m benchmarks.frontier docs/frontier.svg``.

Held-out error of 8 x 8 patches coded with 4 coefficients, against the time that coding takes and
against the numbers that a dictionary is made of.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

import fost
from benchmarks.banks import Row, S, errors_of, measure, mixed
from benchmarks.results import Results
from reproduction.charts import PALETTE

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
SINGLE, BANK = "DCT + rotations, or dense", "bank of DCT + 64 rotations each"
UNION, GENERAL = "union of the same, by pursuit", "K-SVD, by pursuit"
# How dots look, and on which side their labels stand.
_MARKS = {SINGLE: ("o", 1), BANK: ("s", 1), UNION: ("D", -1), GENERAL: ("^", 1)}
_PANELS = {
    "nanoseconds": "nanoseconds per patch, one thread",
    "n_parameters": "learned numbers",
}
# Where the DCT is drawn, which has none, beside those that have.
_NONE = 16


@dataclass(frozen=True)
class Dot:
    """One dictionary: of what kind, what is written beside it, and its costs."""

    kind: str
    label: str
    n_parameters: int
    row: Row

    @property
    def nanoseconds(self) -> float:
        return self.row.nanoseconds

    @property
    def error(self) -> float:
        """On other patches, in percent."""
        return 100 * self.row.errors[1]


def learned(quick: bool) -> Iterator[Dot]:
    """Single transforms, banks and unions of rotations over the DCT, and K-SVD."""
    train, test = mixed()
    base = fost.DCT((8, 8))
    over: dict[str, Any] = {"base": base, "max_iter": 5 if quick else 30, "random_state": 0}

    def dot(kind: str, label: str, structure: fost.Structure, **options: Any) -> Dot:
        coder = fost.learn(train, structure, S, **options).transform
        row = Row(label, coder.flops, coder, errors_of(coder, train, test))
        return Dot(kind, label, coder.n_parameters, row)

    row = Row("DCT", base.flops, base, errors_of(base, train, test))
    yield Dot(SINGLE, "DCT", _NONE, row)
    for g in (16, 64, 256):
        yield dot(SINGLE, f"+{g}", fost.Rotations(g), **over)
    yield dot(SINGLE, "dense", fost.Orthonormal(), **{**over, "base": None})
    for count in (2, 8) if quick else (2, 4, 8, 16, 32):
        yield dot(BANK, f"{count}", fost.BankOf(fost.Rotations(64), count), **over)
    for count in (2, 8) if quick else (2, 4, 8, 16):
        yield dot(UNION, f"{count}", fost.UnionOf(fost.Rotations(64), count), **over)
    for count in (64,) if quick else (64, 128, 256):
        ksvd = fost.baselines.KSVD(count, S, max_iter=over["max_iter"], random_state=0).fit(train)
        row = Row("K-SVD", 0, ksvd.dictionary_, (-ksvd.score(train), -ksvd.score(test)))
        yield Dot(GENERAL, f"{count}", 64 * count, row)


def drawn(dots: list[Dot]) -> str:
    """Two panels as SVG."""
    with mpl.rc_context(SVG_STYLE):
        figure = Figure(figsize=(9, 4.2), layout="constrained")
        panels = figure.subplots(1, 2, sharey=True)
        for panel, (cost, label) in zip(panels, _PANELS.items(), strict=True):
            _draw(panel, dots, cost)
            panel.set_xlabel(label)
        panels[0].set_ylabel("error on other patches, %")
        panels[0].legend(fontsize=8, frameon=False)
        return drawn_svg(figure)


def _draw(panel: Axes, dots: list[Dot], cost: str) -> None:
    panel.set_xscale("log")
    # However many decades there are, numbers that are read at a glance.
    costs = [getattr(dot, cost) for dot in dots]
    steps = (1.0, 2.0, 5.0) if max(costs) < 100 * min(costs) else (1.0,)
    panel.xaxis.set_major_locator(LogLocator(subs=steps))
    panel.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    panel.xaxis.set_minor_formatter(NullFormatter())
    panel.tick_params(axis="x", labelsize=8)
    panel.grid(alpha=0.25)
    panel.spines[["top", "right"]].set_visible(False)
    panel.margins(x=0.12)
    for k, (kind, (mark, side)) in enumerate(_MARKS.items()):
        own = sorted((d for d in dots if d.kind == kind), key=lambda dot: getattr(dot, cost))
        costs, errors = [getattr(dot, cost) for dot in own], [dot.error for dot in own]
        panel.plot(costs, errors, f"{mark}-", color=PALETTE[k], linewidth=1, label=kind)
        for dot, x in zip(own, costs, strict=True):
            place: dict[str, Any] = {"xytext": (5 * side, 4 * side), "textcoords": "offset points"}
            place |= {"ha": "left", "va": "bottom"} if side > 0 else {"ha": "right", "va": "top"}
            panel.annotate(dot.label, (x, dot.error), fontsize=8, **place)


def drawn_svg(figure: Figure) -> str:
    """A figure as SVG: transparent, with text in the colours of light and dark pages."""
    buffer = StringIO()
    with mpl.rc_context(SVG_STYLE):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    head, rest = buffer.getvalue().split("<defs>", 1)
    lines = (line.rstrip() for line in f"{head}{_STYLE}<defs>{rest}".splitlines())
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> None:
    quick = "--quick" in arguments
    dots = list(learned(quick))
    measure([dot.row for dot in dots], mixed()[1], S, 3 if quick else 15)
    results = Results("frontier")
    columns = {"family": "", "size": "", "parameters": ",", "ns": ".0f", "held-out error, %": ".2f"}
    table = results.table("patches", columns)
    for dot in dots:
        table.add(dot.kind, dot.label, dot.n_parameters, dot.nanoseconds, dot.error)
    if not quick:
        results.save()
    target = next((a for a in arguments if not a.startswith("-")), "frontier.svg")
    Path(target).write_text(drawn(dots), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
