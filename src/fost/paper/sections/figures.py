"""Charts, and the panels of the inpainting figures."""

from __future__ import annotations

from typing import Any

from fost.paper.markup import escape, figure, table
from fost.paper.run import Reproduction


def charts(found: Reproduction, drawn: dict[str, str]) -> str:
    """All charts with what there is to see in them."""
    names = escape(", ".join(found.pictures.of_figures))
    two = escape(" and ".join(dict.fromkeys(row.curve for row in found.rows.get("figure-1", []))))
    captions = {
        "figure-1": f"<b>Figure 1.</b> Eigenvalues of Z̃ after QH12, s = 4, for {two}, each over "
        "the largest magnitude.",
        "figure-2": f"<b>Figure 2.</b> Relative error while learning on {names}. SK-SVD grows "
        "its dictionary in stages, so its error falls from far above.",
        "figure-3": f"<b>Figure 3.</b> Relative error by number of reflectors, {names}. The "
        "paper shows one DCT, the 1-D one; the 2-D DCT is far lower.",
        "figure-4": "<b>Figure 4.</b> Eigenvalues of Z̃ after QH12 for several s, same patches.",
        "figure-5": "<b>Figure 5.</b> Eigenvalues of Z̃ after QH for several m, s = 4, same "
        "patches.",
        "section-5": f"<b>Not in the paper.</b> Error on {found.pictures.shown_as('barb')} by "
        "number of reflectors, s = 4.",
    }
    made = [figure(name, drawn[name], text) for name, text in captions.items() if name in drawn]
    return f'<div class="charts">{"".join(made)}</div>' if made else ""


def panels(name: str, rows: list[Any]) -> str:
    """One inpainting figure: its pictures, and a table of errors."""
    images = []
    for row in rows:
        kind = "" if row.rmse is None else "weighted" if row.weighted else "plain"
        words = "" if row.rmse is None else f"<br>MAE {row.mae:.4f}, RMSE {row.rmse:.4f}"
        title = escape(f"{row.method}, weighted" if row.weighted else row.method)
        images.append(
            f'<figure class="{kind}"><img src="{row.image}" alt="{escape(row.picture)}, {title}" '
            f'decoding="async"><figcaption>{title}{words}</figcaption></figure>'
        )
    plain = [row for row in rows if row.rmse is not None and not row.weighted]
    weighted = {row.method: row for row in rows if row.weighted}
    lines = [
        [
            row.method,
            _pair(row.paper_mae, row.paper_rmse),
            _pair(row.mae, row.rmse) + _difference(row),
            _pair(weighted[row.method].mae, weighted[row.method].rmse)
            + _difference(weighted[row.method]),
            f"{row.operations:,}",
        ]
        for row in plain
    ]
    head = ("dictionary", "paper", "here", "here, weighted", "operations")
    caption = "MAE / RMSE over missing pixels, grey values from 0 to 1."
    note = ""
    if rows[0].picture == "barb":
        note = (
            '<p class="note">H14 on barb is not as good here as printed. What we tried: s = 3, '
            "4, 6 and 10 while learning, 1,000 iterations, atoms normalised over the observed "
            "pixels (worse), a constant atom, and exponents from 0.1 to 1.</p>"
        )
    if rows[0].picture == "man":
        note = (
            '<p class="note">The grey values of man are stretched to the range from 0 to 255, '
            "which the paper&rsquo;s copy seems to have; it is not at hand.</p>"
        )
    return (
        f'<div id="{name}"><h3>{escape(rows[0].picture)}</h3>'
        f'<div class="panels">{"".join(images)}</div>'
        + table(head, lines, caption, kind="numbers")
        + note
        + "</div>"
    )


def _pair(mae: float | None, rmse: float | None) -> str:
    return "&ndash;" if mae is None or rmse is None else f"{mae:.4f} / {rmse:.4f}"


def _difference(row: Any) -> str:
    if row.paper_mae is None:
        return ""
    both = (row.mae / row.paper_mae - 1, row.rmse / row.paper_rmse - 1)
    good = "good" if max(both) <= 0.01 else "bad"
    return f'<span class="sub"><i class="{good}">{both[0]:+.0%} / {both[1]:+.0%}</i></span>'
