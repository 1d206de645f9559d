"""The two figures of errors on couple, peppers and boat: by iteration, and by m."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fost.paper.methods import run
from fost.paper.pictures import PictureSet, signals
from fost.paper.settings import Settings

ITERATED = ("QH12", "QH32", "H12", "H32", "Q-DLA", "SK-SVD")
REFERENCES = ("1-D DCT", "2-D DCT", "Q-DLA", "SK-SVD")
DENSE = "Q-DLA"


@dataclass(frozen=True)
class IterationRow:
    """The relative error of a method after an iteration; for SK-SVD, after a stage.

    Examples
    --------
    >>> from fost import paper
    >>> paper.IterationRow(method="H12", iteration=3, relative_error=0.25).relative_error
    0.25
    """

    method: str
    iteration: int
    relative_error: float


@dataclass(frozen=True)
class ReflectorRow:
    """The relative error of m reflectors; m is None for what has none.

    Q-DLA is there twice where Table I has it after other iterations: `iterations` tells.

    Examples
    --------
    >>> from fost import paper
    >>> paper.ReflectorRow("H", n_reflectors=12, iterations=100, relative_error=0.25).n_reflectors
    12
    """

    method: str
    n_reflectors: int | None
    iterations: int | None
    relative_error: float


def error_by_iteration(
    pictures: PictureSet, settings: Settings | None = None
) -> list[IterationRow]:
    """How the error falls while H, QH (m = 12, 32), Q-DLA and SK-SVD learn.

    Examples
    --------
    >>> import numpy as np
    >>> from fost import paper
    >>> picture = np.fromfunction(lambda i, j: 128 + 60 * np.sin(i / 5) * np.cos(j / 7), (128, 128))
    >>> pictures = paper.PictureSet(dict.fromkeys(["couple", "peppers", "boat"], picture))
    >>> rows = paper.error_by_iteration(pictures, paper.Settings(iterations=2, stagewise_inner=1))
    >>> [row.iteration for row in rows if row.method == "H12"]
    [0, 1, 2]
    """
    pictures, settings = PictureSet.checked(pictures), Settings.of(settings)
    Y = signals(*(pictures[name] for name in pictures.of_figures))
    return [
        IterationRow(method, k, float(error))
        for method in ITERATED
        for k, error in enumerate(run(method, Y, settings).errors)
    ]


def error_by_reflectors(
    pictures: PictureSet, settings: Settings | None = None
) -> list[ReflectorRow]:
    """The error of H and QH for m = 1, 2, ..., with fixed and general dictionaries beside.

    Examples
    --------
    >>> import numpy as np
    >>> from fost import paper
    >>> picture = np.fromfunction(lambda i, j: 128 + 60 * np.sin(i / 5) * np.cos(j / 7), (128, 128))
    >>> pictures = paper.PictureSet(dict.fromkeys(["couple", "peppers", "boat"], picture))
    >>> rows = paper.error_by_reflectors(pictures, paper.Settings(iterations=2, reflectors=(1, 2)))
    >>> [row.n_reflectors for row in rows if row.method == "H"]
    [1, 2]
    """
    pictures, settings = PictureSet.checked(pictures), Settings.of(settings)
    Y = signals(*(pictures[name] for name in pictures.of_figures))
    rows = []
    for method in REFERENCES:
        ks = dict.fromkeys((settings.iterations, settings.table_k(method)))
        found = run(method, Y, settings, iterations=max(ks))
        for k in ks if method == DENSE else (None,):
            error = found.error if k is None else float(found.errors[k])
            rows.append(ReflectorRow(method, None, k, error))
    for kind in ("H", "QH"):
        for m in settings.reflectors:
            error = run(f"{kind}{m}", Y, settings).error
            rows.append(ReflectorRow(kind, m, settings.iterations, error))
    return rows


def draw_iterations(rows: list[IterationRow]) -> Any:
    """Relative error in per cent against the iteration.

    Examples
    --------
    >>> from fost import paper
    >>> rows = [paper.IterationRow("H12", k, 0.25 / k) for k in (1, 2, 3)]
    >>> len(paper.draw_iterations(rows).axes) > 0
    True
    """
    from fost.paper.drawing import PALETTE, new_figure

    figure, axes = new_figure()
    for k, method in enumerate(dict.fromkeys(row.method for row in rows)):
        chosen = [row for row in rows if row.method == method and row.iteration]
        axes.plot(
            [row.iteration for row in chosen],
            [100 * row.relative_error for row in chosen],
            "--" if method.startswith("QH") else "-",
            color=PALETTE[k],
            label=method,
        )
    # A growing dictionary begins far above the others.
    ends = [100 * row.relative_error for row in rows if row.iteration and row.method != "SK-SVD"]
    axes.set_ylim(top=1.05 * max(ends))
    axes.set_xlabel("iteration (SK-SVD: stage)")
    axes.set_ylabel("relative error (%)")
    axes.legend(ncols=2)
    return figure


def draw_reflectors(rows: list[ReflectorRow]) -> Any:
    """Relative error in per cent against m, with lines for what has no m.

    Examples
    --------
    >>> import numpy as np
    >>> from fost import paper
    >>> picture = np.fromfunction(lambda i, j: 128 + 60 * np.sin(i / 5) * np.cos(j / 7), (128, 128))
    >>> pictures = paper.PictureSet(dict.fromkeys(["couple", "peppers", "boat"], picture))
    >>> rows = paper.error_by_reflectors(pictures, paper.Settings(iterations=2, reflectors=(1, 2)))
    >>> len(paper.draw_reflectors(rows).axes) > 0
    True
    """
    from fost.paper.drawing import PAPER, new_figure

    figure, axes = new_figure()
    # The same once more, where the curves come close to each other.
    inset = axes.inset_axes((0.44, 0.52, 0.55, 0.27), facecolor=PAPER)
    for place in (axes, inset):
        _draw_lines(place, rows)
    fixed = [row.relative_error for row in rows if row.method in ("2-D DCT", "Q-DLA")]
    tail = [row.relative_error for row in rows if row.n_reflectors and row.n_reflectors >= 12]
    most = max(row.n_reflectors or 0 for row in rows)
    inset.set_xlim(10, most + 1)
    inset.set_ylim(97 * min(fixed + tail), 102 * max(fixed + tail))
    inset.tick_params(labelsize=8)
    inset.grid(True, alpha=0.15, linewidth=0.6)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("number of reflectors m")
    axes.set_ylabel("relative error (%)")
    axes.legend(ncols=3, loc="upper right")
    return figure


def _draw_lines(axes: Any, rows: list[ReflectorRow]) -> None:
    from fost.paper.drawing import PALETTE

    for k, kind in enumerate(("H", "QH")):
        chosen = [row for row in rows if row.method == kind]
        axes.plot(
            [row.n_reflectors for row in chosen],
            [100 * row.relative_error for row in chosen],
            "-o" if kind == "H" else "--s",
            color=PALETTE[k],
            markersize=3.5,
            label=kind,
        )
    fixed = [row for row in rows if row.n_reflectors is None]
    for k, row in enumerate(fixed):
        axes.axhline(
            100 * row.relative_error,
            linestyle=(":", "-.", "-", (0, (1, 3)), "--")[k % 5],
            linewidth=1.4,
            color=PALETTE[min(2 + REFERENCES.index(row.method), 5)],
            label=row.method + (f", K = {row.iterations}" if row.iterations else ""),
        )
