"""Table I: the error of each method on each picture."""

from __future__ import annotations

from dataclasses import dataclass

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
    settings = settings or Settings()
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
