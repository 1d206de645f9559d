"""What the paper says, what we find, and whether the two agree."""

from __future__ import annotations

from collections.abc import Callable

from fost.paper.claims import figures, tables, text
from fost.paper.claims.claim import HOLDS, MISSES, PARTLY, Claim, Rows, tolerance
from fost.paper.run import Reproduction

__all__ = ["HOLDS", "MISSES", "PARTLY", "Claim", "claims", "tolerance"]


_JUDGES: tuple[tuple[str, Callable[[Rows, bool], list[Claim]]], ...] = (
    ("table-1", tables.table_one),
    ("table-2", tables.table_two),
    ("figure-1", figures.figure_one),
    ("figure-2", figures.figure_two),
    ("figure-3", figures.figure_three),
    ("section-5", text.section_five),
    ("figure-4", figures.figure_four),
    ("figure-5", figures.figure_five),
    ("figure-6", text.inpainting("figure-6")),
    ("figure-7", text.inpainting("figure-7")),
    ("times", text.times),
    ("remarks", text.remarks),
    ("example", text.example),
)


def claims(found: Reproduction) -> list[Claim]:
    """All claims that can be judged by what was computed.

    Parameters
    ----------
    found : Reproduction
        With stand-ins for the paper's pictures, only claims that name no number of the paper.

    Returns
    -------
    list of Claim

    Examples
    --------
    >>> from fost import paper
    >>> rows = {"example": paper.example()}
    >>> found = paper.Reproduction(paper.PictureSet({}), paper.Settings(), rows)
    >>> {claim.part for claim in paper.claims(found)}
    {'example'}
    """
    compare = not found.pictures.bundled
    judged: list[Claim] = []
    for part, judge in _JUDGES:
        if found.rows.get(part):
            judged += judge(found.rows, compare)
    return judged
