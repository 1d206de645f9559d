"""Table I: the error of each method on each picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fost.paper.methods import OUR_METHODS, PAPER_METHODS, learn
from fost.paper.pictures import PictureSet, signals
from fost.paper.printed import TABLE_ONE
from fost.paper.settings import Settings


@dataclass(frozen=True)
class ErrorRow:
    """One cell of Table I.

    Attributes
    ----------
    picture, method : str
    operations : int
        Per patch.
    rmse : float
        Ours.
    paper : float or None
        What the paper prints, where it prints one.
    difference : float or None
        By how much ours is higher, as a share of the paper's.
    """

    picture: str
    method: str
    operations: int
    rmse: float
    paper: float | None = None
    difference: float | None = None


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
        Picture by picture.
    """
    pictures, settings = PictureSet.checked(pictures), Settings.of(settings)
    rows = []
    for name in pictures:
        Y = signals(pictures[name])
        for method in (*PAPER_METHODS, *OUR_METHODS):
            found = learn(method, Y, settings)
            rmse = found.rmse(Y)
            paper = None if pictures.bundled else TABLE_ONE.get(method, {}).get(name)
            difference = None if paper is None else rmse / paper - 1
            rows.append(ErrorRow(name, method, found.operations, rmse, paper, difference))
    return rows


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
}


def draw_errors(rows: list[ErrorRow]) -> Any:
    """The mean error over pictures against operations per patch, the paper's and ours."""
    from fost.paper.drawing import INK, PALETTE, new_figure

    figure, axes = new_figure()
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
