"""Table I: the error of each method on each picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fost.paper.algorithms import Learned
from fost.paper.methods import LEARNED, OUR_METHODS, PAPER_METHODS, run
from fost.paper.pictures import PictureSet, signals
from fost.paper.printed import TABLE_ONE
from fost.paper.settings import Settings

# Two questions to one table: does what the paper printed come out, after the iterations that it
# seems to have made; and what do its algorithms reach?
PRINTED, REACHED = "printed", "reached"


@dataclass(frozen=True)
class ErrorRow:
    """One cell of Table I in one of its readings.

    Attributes
    ----------
    picture, method : str
    reading : str
        "printed", after the iterations that make the printed errors come out, for what the paper
        has; "reached", after as many as the settings say, for all methods. Where a method has no
        such number of iterations both are the same.
    iterations : int or None
        K, of H, QH and Q-DLA.
    operations : int
        Per patch.
    rmse : float
        Ours.
    paper : float or None
        What the paper prints, where it prints one.
    difference : float or None
        By how much ours is higher, as a share of the paper's.

    Examples
    --------
    >>> from fost import paper
    >>> row = paper.ErrorRow("peppers", "H12", "printed", 30, 3072, rmse=0.0261, paper=0.0261)
    >>> row.rmse == row.paper
    True
    """

    picture: str
    method: str
    reading: str
    iterations: int | None
    operations: int
    rmse: float
    paper: float | None = None
    difference: float | None = None

    @property
    def same(self) -> bool:
        """Whether ours has the printed digits, all four of them."""
        return self.paper is not None and f"{self.rmse:.4f}" == f"{self.paper:.4f}"


def table_one(pictures: PictureSet, settings: Settings | None = None) -> list[ErrorRow]:
    """Each method learned on each picture of Table I, and used on the same picture.

    Parameters
    ----------
    pictures : PictureSet
    settings : Settings, optional
        The paper's if None.

    Returns
    -------
    list of ErrorRow
        Picture by picture, first as printed, then as reached.

    Examples
    --------
    >>> import numpy as np
    >>> from fost import paper
    >>> picture = np.fromfunction(lambda i, j: 128 + 60 * np.sin(i / 5) * np.cos(j / 7), (128, 128))
    >>> pictures = paper.PictureSet(dict.fromkeys(["peppers"], picture))
    >>> few = {"stagewise_inner": 1, "stagewise_final": 1, "auto_iterations": 0}
    >>> rows = paper.table_one(pictures, paper.Settings(iterations=1, **few))
    >>> {"1-D DCT", "H12", "QH12", "Q-DLA"} <= {row.method for row in rows}
    True
    """
    pictures, settings = PictureSet.checked(pictures), Settings.of(settings)
    rows = []
    for name in pictures:
        Y = signals(pictures[name])
        found = {m: _learned(m, Y, settings) for m in (*PAPER_METHODS, *OUR_METHODS)}
        for reading, methods in ((PRINTED, PAPER_METHODS), (REACHED, tuple(found))):
            for method in methods:
                k = _iterations(method, reading, settings)
                rmse = found[method].rmse(Y, k)
                paper = None if pictures.bundled else TABLE_ONE.get(method, {}).get(name)
                difference = None if paper is None else rmse / paper - 1
                cost = found[method].operations
                rows.append(ErrorRow(name, method, reading, k, cost, rmse, paper, difference))
    return rows


def _learned(method: str, Y: NDArray[np.float64], settings: Settings) -> Learned:
    """Enough iterations for both readings: the errors after each are kept."""
    most = max(settings.iterations, settings.table_k(method))
    return run(method, Y, settings, iterations=most if method in LEARNED else None)


def _iterations(method: str, reading: str, settings: Settings) -> int | None:
    if method not in LEARNED:
        return None
    return settings.table_k(method) if reading == PRINTED else settings.iterations


# Where a label stands, in points from its dot, and how it is aligned: dots are close.
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


def draw_errors(rows: list[ErrorRow]) -> Any:
    """The mean error reached over pictures against operations per patch, the paper's and ours.

    Examples
    --------
    >>> import numpy as np
    >>> from fost import paper
    >>> picture = np.fromfunction(lambda i, j: 128 + 60 * np.sin(i / 5) * np.cos(j / 7), (128, 128))
    >>> pictures = paper.PictureSet(dict.fromkeys(["peppers"], picture))
    >>> few = {"stagewise_inner": 1, "stagewise_final": 1, "auto_iterations": 0}
    >>> rows = paper.table_one(pictures, paper.Settings(iterations=1, **few))
    >>> len(paper.draw_errors(rows).axes) > 0
    True
    """
    from fost.paper.drawing import INK, PALETTE, new_figure

    figure, axes = new_figure()
    rows = [row for row in rows if row.reading == REACHED]
    for method in dict.fromkeys(row.method for row in rows):
        cells = [row for row in rows if row.method == method]
        place = [sum(row.operations for row in cells) / len(cells)]
        place.append(sum(row.rmse for row in cells) / len(cells))
        ours = method in OUR_METHODS
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
    axes.set_xscale("log")
    axes.set_xlim(430, 21_000)
    axes.set_xticks([500, 1000, 2000, 4000, 8000, 16_000])
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.minorticks_off()
    axes.margins(y=0.12)
    axes.set_xlabel("operations per patch")
    axes.set_ylabel("root mean squared error")
    axes.legend(loc="upper right")
    return figure
