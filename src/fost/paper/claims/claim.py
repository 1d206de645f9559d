"""A claim, and what judging takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fost.paper.printed import FIGURE_SET

HOLDS, PARTLY, MISSES = "holds", "partly", "misses"
# How far above the printed figure ours may be: rounding to four digits is up to 0.3 %, and
# SK-SVD depends on details that its paper leaves open.
USUAL_TOLERANCE = 0.01
_TOLERANCES = {"SK-SVD": 0.02}
# Relative errors that no plot can tell apart; set with the numbers in view, as the page says.
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
    note : str
        Why, or by how much.
    """

    part: str
    statement: str
    paper: str
    ours: str
    verdict: str
    note: str = ""


def tolerance(method: str) -> float:
    """How far above the paper's error a method may be, as a share."""
    return _TOLERANCES.get(method, USUAL_TOLERANCE)


def as_printed(rows: Rows, method: str, ours: float) -> float | None:
    """The relative error on the set of the figures that the paper's Table I amounts to.

    The pictures are of one size, so errors are in the ratio of mean squares.
    """
    cells = [
        row
        for row in rows.get("table-1", [])
        if row.method == method and row.picture in FIGURE_SET and row.paper
    ]
    if len(cells) < len(FIGURE_SET):
        return None
    return float(ours * sum(c.paper**2 for c in cells) / sum(c.rmse**2 for c in cells))


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
