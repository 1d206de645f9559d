"""A claim, and what judging takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fost.paper.printed import FIGURE_SET, TABLE_ONE, TABLE_PICTURES

HOLDS, PARTLY, MISSES = "holds", "partly", "misses"
# Where a limit comes from: from what the paper prints or says, or from us, who had seen the
# numbers when we set it.
PAPER, AFTER = "the paper", "after looking"
# How far above the printed figure ours may be.
USUAL_TOLERANCE = 0.01
_TOLERANCES = {"SK-SVD": 0.02}
# What a printed error may differ from what was computed.
_ROUNDING = 0.5e-4
# Relative errors that no plot can tell apart.
MEETS = 0.02

Rows = dict[str, list[Any]]


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, judged.

    Attributes
    ----------
    part : str
        Where the numbers come from, a name of `PARTS`.
    statement : str
    paper, ours : str
        The paper's number and ours, in words; the first may be empty.
    verdict : str
        "holds", "partly" or "misses".
    limit : str
        What had to be so for it to hold.
    limit_from : str
        "the paper", if the limit is what it prints or says; "after looking", if it is ours, set
        when the numbers were known.
    note : str
        Why, or by how much.

    Examples
    --------
    >>> from fost import paper
    >>> rows = {"example": paper.example()}
    >>> found = paper.Reproduction(paper.PictureSet({}), paper.Settings(), rows)
    >>> {claim.verdict for claim in paper.claims(found)} <= {"holds", "partly", "misses"}
    True
    """

    part: str
    statement: str
    paper: str
    ours: str
    verdict: str
    limit: str
    limit_from: str = PAPER
    note: str = ""


def tolerance(method: str) -> float:
    """How far above the paper's error a method may be, as a share."""
    return _TOLERANCES.get(method, USUAL_TOLERANCE)


def verdict_of(good: int, total: int) -> str:
    """All of several, some, or none."""
    return HOLDS if good == total else PARTLY if good else MISSES


def as_printed(rows: Rows, method: str, ours: float) -> float | None:
    """The relative error on the set of the figures that the paper's Table I amounts to.

    The pictures are of one size, so errors are in the ratio of mean squares.
    """
    cells = [
        row
        for row in rows.get("table-1", [])
        if (row.method, row.reading) == (method, "reached")
        and row.picture in FIGURE_SET
        and row.paper
    ]
    if len(cells) < len(FIGURE_SET):
        return None
    return float(ours * sum(c.paper**2 for c in cells) / sum(c.rmse**2 for c in cells))


def printed_gap(method: str, other: str, compare: bool) -> float:
    """By how much the squared errors of a method are above another's in the paper's Table I.

    The most that the four printed digits leave open, on the pictures of the figures; on all of
    them where others stand in.
    """
    names = FIGURE_SET if compare else TABLE_PICTURES
    above = sum((TABLE_ONE[method][name] + _ROUNDING) ** 2 for name in names)
    below = sum((TABLE_ONE[other][name] - _ROUNDING) ** 2 for name in names)
    return above / below - 1


def first_below(errors: dict[int, float], target: float) -> int | None:
    return next((m for m in sorted(errors) if errors[m] <= target), None)


def curves_of(rows: list[Any]) -> dict[str, list[Any]]:
    curves: dict[str, list[Any]] = {}
    for row in rows:
        curves.setdefault(row.curve, []).append(row)
    return curves


def signed(share: float) -> str:
    """A share in per cent with its sign, which zero has not."""
    text = f"{share:+.1%}"
    return "0.0%" if text in ("+0.0%", "-0.0%") else text


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")
