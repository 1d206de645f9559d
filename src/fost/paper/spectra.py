"""The three figures of eigenvalues of Z~ = X Y^T + Y X^T after QH-DLA has converged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fost.diagnostics import spectrum
from fost.paper.methods import run
from fost.paper.pictures import PictureSet, signals
from fost.paper.settings import Settings

SPARSITIES = (2, 4, 8, 12)
REFLECTORS = (4, 8, 12, 20, 32)


@dataclass(frozen=True)
class EigenvalueRow:
    """One eigenvalue.

    Attributes
    ----------
    curve : str
        What it belongs to: a picture, a sparsity or a number of reflectors.
    index : int
        From 1, the lowest first.
    eigenvalue : float
        Over the largest magnitude of the curve.
    negative : bool
        By more than rounding.

    Examples
    --------
    >>> from fost import paper
    >>> paper.EigenvalueRow(curve="peppers", index=1, eigenvalue=-1.0, negative=True).negative
    True
    """

    curve: str
    index: int
    eigenvalue: float
    negative: bool


def eigenvalues_of_pictures(
    pictures: PictureSet, settings: Settings | None = None
) -> list[EigenvalueRow]:
    """QH12, s = 4, for peppers and barb: barb's negative eigenvalues are more and smaller.

    Examples
    --------
    >>> import numpy as np
    >>> from fost import paper
    >>> picture = np.fromfunction(lambda i, j: 128 + 60 * np.sin(i / 5) * np.cos(j / 7), (128, 128))
    >>> pictures = paper.PictureSet(dict.fromkeys(["peppers", "barb"], picture))
    >>> rows = paper.eigenvalues_of_pictures(pictures, paper.Settings(iterations=2))
    >>> {row.curve for row in rows} == {"peppers", "barb"}
    True
    """
    pictures, settings = PictureSet.checked(pictures), Settings.of(settings)
    rows = []
    for name in ("peppers", "barb"):
        if name in pictures:
            Y = signals(pictures[name])
            rows += _curve(pictures.shown_as(name), "QH12", Y, settings, settings.sparsity)
    return rows


def eigenvalues_by_sparsity(
    pictures: PictureSet, settings: Settings | None = None
) -> list[EigenvalueRow]:
    """QH12 for several s, on couple, peppers and boat together.

    Examples
    --------
    >>> import numpy as np
    >>> from fost import paper
    >>> picture = np.fromfunction(lambda i, j: 128 + 60 * np.sin(i / 5) * np.cos(j / 7), (128, 128))
    >>> pictures = paper.PictureSet(dict.fromkeys(["couple", "peppers", "boat"], picture))
    >>> rows = paper.eigenvalues_by_sparsity(pictures, paper.Settings(iterations=2))
    >>> rows[0].curve, len(rows) // 64
    ('s = 2', 4)
    """
    pictures, settings = PictureSet.checked(pictures), Settings.of(settings)
    Y = signals(*(pictures[name] for name in pictures.of_figures))
    return [row for s in SPARSITIES for row in _curve(f"s = {s}", "QH12", Y, settings, s)]


def eigenvalues_by_reflectors(
    pictures: PictureSet, settings: Settings | None = None
) -> list[EigenvalueRow]:
    """QH_m for several m, s = 4, on couple, peppers and boat together.

    Examples
    --------
    >>> import numpy as np
    >>> from fost import paper
    >>> picture = np.fromfunction(lambda i, j: 128 + 60 * np.sin(i / 5) * np.cos(j / 7), (128, 128))
    >>> pictures = paper.PictureSet(dict.fromkeys(["couple", "peppers", "boat"], picture))
    >>> rows = paper.eigenvalues_by_reflectors(pictures, paper.Settings(iterations=2))
    >>> rows[0].curve, len(rows) // 64  # curves of 64 eigenvalues each
    ('m = 4', 5)
    """
    pictures, settings = PictureSet.checked(pictures), Settings.of(settings)
    Y = signals(*(pictures[name] for name in pictures.of_figures))
    s = settings.sparsity
    return [row for m in REFLECTORS for row in _curve(f"m = {m}", f"QH{m}", Y, settings, s)]


def _curve(
    label: str, method: str, Y: NDArray[np.float64], settings: Settings, s: int
) -> list[EigenvalueRow]:
    found = spectrum(run(method, Y, settings, s).dictionary, Y, s)
    return [
        EigenvalueRow(label, i + 1, float(value), i < found.n_negative)
        for i, value in enumerate(found.normalised)
    ]


def draw_eigenvalues(rows: list[EigenvalueRow]) -> Any:
    """Eigenvalues against their index, one curve each.

    Examples
    --------
    >>> from fost import paper
    >>> values = enumerate([-1.0, 0.5, 0.75], 1)
    >>> rows = [paper.EigenvalueRow("peppers", k, value, value < 0) for k, value in values]
    >>> len(paper.draw_eigenvalues(rows).axes) > 0
    True
    """
    from fost.paper.drawing import PALETTE, new_figure

    figure, axes = new_figure()
    markers = "osD^v"
    for k, curve in enumerate(dict.fromkeys(row.curve for row in rows)):
        values = [row.eigenvalue for row in rows if row.curve == curve]
        axes.plot(
            range(1, len(values) + 1),
            values,
            "-" + markers[k % len(markers)],
            color=PALETTE[k % len(PALETTE)],
            markersize=3.2,
            linewidth=1.2,
            label=curve.replace("$", r"\$"),  # no formula
        )
    axes.axhline(0, linewidth=0.8)
    axes.set_xlabel("index of the eigenvalue")
    axes.set_ylabel("normalised eigenvalue")
    axes.legend(loc="upper left")
    return figure
