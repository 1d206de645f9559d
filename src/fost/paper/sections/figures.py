"""Charts."""

from __future__ import annotations

from fost.paper.markup import escape, figure
from fost.paper.run import Reproduction


def charts(found: Reproduction, drawn: dict[str, str]) -> str:
    """All charts with what there is to see in them."""
    names = escape(", ".join(found.pictures.of_figures))
    two = escape(" and ".join(dict.fromkeys(row.curve for row in found.rows.get("figure-1", []))))
    k = found.settings.iterations
    captions = {
        "figure-1": f"<b>Figure 1.</b> Eigenvalues of Z̃ after QH12, s = 4, for {two}, each over "
        "the largest magnitude.",
        "figure-2": f"<b>Figure 2.</b> Relative error while learning on {names}. SK-SVD, as "
        "published, grows its dictionary in stages, so its error falls from far above.",
        "figure-3": f"<b>Figure 3.</b> Relative error by number of reflectors, {names}, "
        f"K = {k}. The paper shows one DCT, the 1-D one.",
        "figure-4": f"<b>Figure 4.</b> Eigenvalues of Z̃ after QH12 for several s, {names}.",
        "figure-5": f"<b>Figure 5.</b> Eigenvalues of Z̃ after QH for several m, s = 4, {names}.",
        "section-5": f"<b>Not in the paper.</b> Error on {escape(found.pictures.shown_as('barb'))} "
        f"by number of reflectors, s = 4, K = {k}.",
    }
    made = [figure(name, drawn[name], text) for name, text in captions.items() if name in drawn]
    return f'<div class="charts">{"".join(made)}</div>' if made else ""
