"""Where the paper's text disagrees with its numbers or with the truth, as far as a run shows."""

from __future__ import annotations

from typing import Any

from fost.paper.claims.claim import signed
from fost.paper.markup import escape
from fost.paper.printed import TABLE_PICTURES
from fost.paper.run import Reproduction
from fost.paper.sections.errors import listed_iterations
from fost.paper.settings import Settings
from fost.paper.table_one import PRINTED, REACHED

# Table I's caption speaks of 4,096 patches each.
_PATCHES = 4096


def truth(found: Reproduction) -> str:
    """A list; what needs pictures that are not here is not on it."""
    items = [
        *_cosines(found),
        *_iterations(found),
        *_dense(found),
        *_unused(found),
        *_sizes(found),
        *_inpainting(found),
        *_FORMULAS,
        *_figures(found),
        *_order(found),
    ]
    intro = (
        "<p>In these places the text of the paper and its numbers, or its text and what is so, "
        "do not agree. What needs pictures that this run has not is left out.</p>"
    )
    return intro + f'<ul class="truth">{"".join(f"<li>{item}</li>" for item in items)}</ul>'


def _table(found: Reproduction, reading: str) -> dict[str, dict[str, Any]]:
    """Rows by picture and method, of the paper's own pictures."""
    cells: dict[str, dict[str, Any]] = {}
    if not found.pictures.bundled:
        for row in found.rows.get("table-1", []):
            if row.reading == reading and row.picture in TABLE_PICTURES:
                cells.setdefault(row.picture, {})[row.method] = row
    return cells


def _listed(names: list[str]) -> str:
    return escape(", ".join(names)) if names else "none of these pictures"


def _cosines(found: Reproduction) -> list[str]:
    table = _table(found, REACHED)
    if not table:
        return []
    spans = [c["1-D DCT"].difference for c in table.values() if c["1-D DCT"].paper]
    line, square = (next(iter(table.values()))[m].operations for m in ("1-D DCT", "2-D DCT"))
    over = {
        m: [n for n, c in table.items() if c["2-D DCT"].rmse <= c[m].rmse] for m in ("QH12", "H12")
    }
    return [
        "<b>The DCT of Table I is one-dimensional.</b> A 64-point DCT of the vectorised patch is "
        f"{signed(min(spans))} to {signed(max(spans))} from its row; no order of the pixels that "
        f"was tried gives it. The separable 8 &times; 8 DCT takes {square} operations against "
        f"{line}, and its error is not above that of QH12 on {_listed(over['QH12'])}, and of H12 "
        f"on {_listed(over['H12'])}. So &ldquo;the DCT is reached with 3 reflectors&rdquo; "
        "speaks of the weaker DCT."
    ]


def _iterations(found: Reproduction) -> list[str]:
    if not _table(found, PRINTED) or found.settings.table_iterations != Settings().table_iterations:
        return []
    return [
        "<b>The iterations of Table I are not stated, and differ.</b> Its digits come out with "
        f"{escape(listed_iterations(found.settings))}. So its rows compare algorithms that were "
        "stopped at different times."
    ]


def _dense(found: Reproduction) -> list[str]:
    printed, reached = _table(found, PRINTED), _table(found, REACHED)
    if not reached:
        return []
    k = next(iter(reached.values()))["Q-DLA"].iterations
    ahead = {
        reading: sum(c["H32"].rmse <= c["Q-DLA"].rmse for c in table.values())
        for reading, table in (("printed", printed), ("reached", reached))
    }
    lowest = min((c["Q-DLA"] for c in reached.values()), key=lambda row: row.difference or 0)
    return [
        "<b>&ldquo;H32 is slightly better than Q-DLA&rdquo; depends on when Q-DLA was "
        f"stopped.</b> With the iterations of Table I H32 is not above it on {ahead['printed']} of "
        f"{len(printed)} pictures, with K = {k} for both on {ahead['reached']}; Q-DLA is then "
        f"{signed(lowest.difference or 0)} from its printed error on {escape(lowest.picture)}. Of "
        "the same m = 32 the text also says that its error is &ldquo;only slightly higher&rdquo;."
    ]


def _unused(found: Reproduction) -> list[str]:
    counts = [row for row in found.rows.get("section-5", []) if row.check == "unused"]
    if not counts or found.pictures.bundled:
        return []
    return [
        "<b>Q-DLA is not determined where atoms are unused.</b> One always is, the constant, since "
        f"patches have no mean; on barb there are more after {counts[0].value:.0f} iterations "
        f"({counts[0].case}). Many matrices are best then, and the SVD picks one. Here the nearest "
        "to the current one is taken; the printed error may be that of another choice."
    ]


def _sizes(found: Reproduction) -> list[str]:
    table = _table(found, PRINTED)
    small = [n for n in table if found.pictures[n].size // 64 != _PATCHES]
    items = []
    for name in small:
        cells = [row for row in table[name].values() if row.iterations]
        count = found.pictures[name].size // 64
        items.append(
            f"<b>Not all pictures have {_PATCHES:,} patches.</b> The caption of Table I says so of "
            f"each; {escape(name)} here has {count:,}, and {sum(row.same for row in cells)} of "
            f"{len(cells)} errors of H, QH and Q-DLA are the printed ones."
        )
    return items


def _inpainting(found: Reproduction) -> list[str]:
    rows = [r for name in ("figure-6", "figure-7") for r in found.rows.get(name, []) if r.paper_mae]
    if not rows:
        return []
    return [
        "<b>&ldquo;MSE&rdquo; in the inpainting captions cannot be a mean square.</b> Where no "
        "error is above 1, the mean square is at most the mean absolute error, and 0.05 is not "
        "below 0.03. As roots over the missing pixels the numbers are of the right size."
    ]


def _figures(found: Reproduction) -> list[str]:
    if not {"figure-1", "figure-4", "figure-5"} & set(found.rows):
        return []
    return [
        "<b>The figures of eigenvalues</b> are of QH by their captions and of H by the text, and "
        "&ldquo;normalized&rdquo; is not explained. Here: QH, over the largest magnitude."
    ]


def _order(found: Reproduction) -> list[str]:
    table = _table(found, PRINTED)
    cells = [c[m] for c in table.values() for m in ("QH6", "QH12", "QH32") if c[m].paper]
    if not cells:
        return []
    return [
        "<b>Order of pixels.</b> QH depends on how patches are vectorised, by its start, and the "
        "paper does not say how. Column by column, as in MATLAB, "
        f"{sum(row.same for row in cells)} of {len(cells)} of its errors have the printed digits."
    ]


# What follows from the paper's formulas alone.
_FORMULAS = (
    "<b>OMP-Cholesky is not the batch variant of OMP.</b> Batch-OMP, of the same report, needs "
    "1.2 times the operations of an orthonormal dictionary for n = 64 and s = 4, not &ldquo;at "
    "least s times&rdquo;.",
    "<b>Remark 1</b> has its inequality turned round: diagonal dominance needs the diagonal to be "
    "the larger side. <b>Remark 2</b> needs Y X&#7488; D&#7488; (the printed sizes do not fit) to "
    "be positive semidefinite, not just symmetric: for Y = &minus;D X, Q = &minus;I is perfect. "
    "<b>Remark 3</b>: trace and nuclear norm agree if and only if the matrix is symmetric positive "
    "semidefinite; normal is not enough. <b>Remark 5</b> holds for the same codes; whole runs end "
    "with different ones. <b>The example in R&sup2;</b> has its inequalities turned round, too.",
)
