"""Charts as SVG that follows the colours of the page around it."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

from reproduction.algorithms import PAPER_METHODS
from reproduction.plane import plane
from reproduction.remarks import CASES
from reproduction.table_one import REACHED

Rows = list[dict[str, Any]]

# Distinguishable with colour-blindness (after Okabe and Ito). On the page each colour is a
# variable with a lighter value in dark mode; a file of its own shows these.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#6a51a3")
INK = "#1b1f24"
PAPER = "#fffefd"
# Label positions in points from the marker, and alignments, where markers are close.
_LABELS = {
    "1-D DCT": (0, 7, "center"),
    "2-D DCT": (0, 7, "center"),
    "H6": (7, -7, "left"),
    "H32": (7, 3, "left"),
    "Q-DLA": (7, -8, "left"),
    "DCT + 64 rotations": (-2, -14, "center"),
    "DCT + 256 rotations": (6, -14, "center"),
    "AutoDictionary": (4, 7, "center"),
    "SK-SVD": (-7, 4, "right"),
    "SK-SVD, continued": (-7, -9, "right"),
}


def draw_errors(rows: Rows) -> Any:
    """Mean error over images against operations per patch (Table I, version "reached")."""
    from matplotlib.ticker import MultipleLocator

    figure, axes = _new_figure(height=4.8)
    rows = [row for row in rows if row["version"] == REACHED]
    for method in _unique(rows, "method"):
        cells = [row for row in rows if row["method"] == method]
        place = [sum(row[key] for row in cells) / len(cells) for key in ("operations", "rmse")]
        ours = method not in PAPER_METHODS
        axes.plot(*place, "D" if ours else "o", markersize=5.5, color=PALETTE[1 if ours else 0])
        dx, dy, side = _LABELS.get(method, (7, 2, "left"))
        axes.annotate(
            method.replace("rotations", "rot."),
            place,
            xytext=(dx, dy),
            textcoords="offset points",
            ha=side,
            fontsize=8.5,
            color=INK,
        )
    axes.plot([], [], "o", color=PALETTE[0], label="in the paper")
    axes.plot([], [], "D", color=PALETTE[1], label="not in the paper")
    axes.set(xscale="log", xlim=(430, 21_000), xticks=[500, 1000, 2000, 4000, 8000, 16_000])
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.minorticks_off()
    axes.yaxis.set_major_locator(MultipleLocator(0.005))
    axes.yaxis.set_major_formatter("{x:.3f}")
    axes.margins(y=0.12)
    axes.set(xlabel="operations per patch", ylabel="root mean squared error")
    axes.legend(loc="upper right")
    return figure


def draw_eigenvalues(rows: Rows) -> Any:
    """Eigenvalues against their index (figures 1, 4 and 5)."""
    figure, axes = _new_figure()
    for k, curve in enumerate(_unique(rows, "curve")):
        values = [row["eigenvalue"] for row in rows if row["curve"] == curve]
        axes.plot(
            range(1, len(values) + 1),
            values,
            "-" + "osD^v"[k % 5],
            color=PALETTE[k % len(PALETTE)],
            markersize=3.2,
            linewidth=1.2,
            label=curve.replace("$", r"\$"),  # not a formula
        )
    axes.axhline(0, linewidth=0.8)
    axes.set(xlabel="index of the eigenvalue", ylabel="normalised eigenvalue")
    axes.legend(loc="upper left")
    return figure


def draw_iterations(rows: Rows) -> Any:
    """Relative error against the iteration (figure 2)."""
    figure, axes = _new_figure()
    for k, method in enumerate(_unique(rows, "method")):
        chosen = [row for row in rows if row["method"] == method and row["iteration"]]
        axes.plot(
            [row["iteration"] for row in chosen],
            [100 * row["relative_error"] for row in chosen],
            "--" if method.startswith("QH") else "-",
            color=PALETTE[k % len(PALETTE)],
            label=method,
        )
    # SK-SVD grows its dictionary, so its first errors lie far above the others.
    ends = [r["relative_error"] for r in rows if r["iteration"] and r["method"] != "SK-SVD"]
    axes.set_ylim(top=105 * max(ends))
    axes.set(xlabel="iteration (SK-SVD: stage)", ylabel="relative error (%)")
    axes.legend(ncols=2)
    return figure


def draw_reflectors(rows: Rows) -> Any:
    """Relative error against m, with lines for methods without m (figure 3)."""
    figure, axes = _new_figure()
    # A magnified copy of the part where the curves come close to each other.
    inset = axes.inset_axes((0.44, 0.52, 0.55, 0.27), facecolor=PAPER)
    colours = _unique([row for row in rows if row["n_reflectors"] is None], "method")
    for place in (axes, inset):
        for k, kind in enumerate(("H", "QH")):
            chosen = [row for row in rows if row["method"] == kind]
            place.plot(
                [row["n_reflectors"] for row in chosen],
                [100 * row["relative_error"] for row in chosen],
                "-o" if kind == "H" else "--s",
                color=PALETTE[k],
                markersize=3.5,
                label=kind,
            )
        for k, row in enumerate(row for row in rows if row["n_reflectors"] is None):
            place.axhline(
                100 * row["relative_error"],
                linestyle=(":", "-.", "-", (0, (1, 3)), "--")[k % 5],
                linewidth=1.4,
                color=PALETTE[2 + colours.index(row["method"]) % (len(PALETTE) - 2)],
                label=row["method"] + (f", K = {row['iterations']}" if row["iterations"] else ""),
            )
    close = [
        row["relative_error"]
        for row in rows
        if row["method"] in ("2-D DCT", "Q-DLA") or (row["n_reflectors"] or 0) >= 12
    ]
    inset.set_xlim(10, max(row["n_reflectors"] or 0 for row in rows) + 1)
    inset.set_ylim(97 * min(close), 102 * max(close))
    inset.tick_params(labelsize=8)
    inset.grid(True, alpha=0.15, linewidth=0.6)
    axes.set_ylim(bottom=0)
    axes.set(xlabel="number of reflectors m", ylabel="relative error (%)")
    axes.legend(ncols=3, loc="upper right")
    return figure


def draw_barb(rows: Rows) -> Any:
    """The error on barb, or on its stand-in, against m; None without such rows."""
    values = {row["case"]: row["value"] for row in rows if row["check"] == "barb"}
    if not values:
        return None
    figure, axes = _new_figure()
    sizes = [int(case[1:]) for case in values if case.startswith("H")]
    axes.plot(sizes, [values[f"H{m}"] for m in sizes], "-o", color=PALETTE[0], label="H")
    for k, case in enumerate(case for case in values if case.startswith("Q-DLA")):
        axes.axhline(values[case], linestyle=("-", ":", "--")[k], color=PALETTE[4 - k], label=case)
    axes.set(xlabel="number of reflectors m", ylabel="root mean squared error")
    axes.legend()
    return figure


def draw_example(rows: Rows) -> Any:
    """The first case of the example in R^2, where a reflector helps, and the last case."""
    import matplotlib.figure

    figure = matplotlib.figure.Figure(figsize=(5.4, 3.4), layout="constrained")
    for axes, row in zip(figure.subplots(1, 2), (rows[0], rows[-1]), strict=True):
        plane(CASES[row["case"]]).draw(axes)
        axes.set_title(row["case"], fontsize=9)
        axes.get_legend().remove()
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def to_svg(draw: Callable[[Rows], Any], rows: Rows, name: str) -> str:
    """The SVG element of a chart, with identifiers that begin with `name`; empty if None.

    Text stays text, the page sets the size, and colours are variables of the page with a fallback:
    ``var(--ink, #1b1f24)``.
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
    svg = buffer.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    head, rest = svg.split(">", 1)
    svg = re.sub(r' (width|height)="[^"]*"', "", head) + ">" + rest
    # Identifiers must be unique on a page with several charts.
    for before in ('id="', 'href="#', "url(#"):
        svg = svg.replace(before, before + f"{name}-")
    svg = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font: \1px var(--sans, sans-serif)", svg)
    for k, colour in enumerate(PALETTE, 1):
        svg = svg.replace(colour, f"var(--line-{k}, {colour})")
    return svg.replace(INK, f"var(--ink, {INK})").replace(PAPER, f"var(--card, {PAPER})").strip()


def _new_figure(height: float = 3.7) -> tuple[Any, Any]:
    """A figure whose labels are readable on a phone."""
    import matplotlib.figure

    figure = matplotlib.figure.Figure(figsize=(5.4, height), layout="constrained")
    axes = figure.add_subplot()
    axes.grid(True, color=INK, alpha=0.15, linewidth=0.6)
    return figure, axes


def _unique(rows: Rows, key: str) -> list[str]:
    return list(dict.fromkeys(row[key] for row in rows))
