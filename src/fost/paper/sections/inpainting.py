"""The two inpainting figures: what was done, pictures, and the errors of all readings."""

from __future__ import annotations

from typing import Any

from fost.paper.inpainting import CLEAN, EXPONENT, OBSERVED
from fost.paper.markup import escape, table
from fost.paper.run import Reproduction


def inpainting(found: Reproduction) -> str:
    names = [name for name in ("figure-6", "figure-7") if name in found.rows]
    return _text(found) + "".join(_figure(name, found.rows[name]) for name in names)


def _text(found: Reproduction) -> str:
    s, masks = found.settings.inpainting_sparsity, found.settings.masks
    return (
        "<p>40 % of the pixels are missing at random. From the paper: dictionaries were learned on "
        f"the clean picture, from 8 &times; 8 patches that do not overlap, and s = {s}. It names "
        "neither the pursuit, nor the mean of a patch, nor K, nor which pixels count. Here "
        "orthogonal matching pursuit on the observed pixels finds the codes, and errors are over "
        "the missing pixels; over all pixels MAE would be 0.4 and RMSE 0.63 times as large.</p>"
        "<p>Side by side are the mean of the <b>observed</b> pixels, which is what one has, and "
        "that of the <b>clean</b> patch, which the first author&rsquo;s published code removes "
        "when it reads a picture; and K as reached and as in Table I, where H14 is taken to be "
        f"like H12. Each error is the mean over {masks} masks, with the largest less the smallest "
        "after it.</p>"
        "<p><b>Weighted</b> is ours: code once, weigh each atom by the root mean squared "
        f"coefficient that it had, to the power {EXPONENT:g}, and code again. The power was chosen "
        "on ten photographs of scikit-image, where leaving out any one of them gives the same; "
        "the pictures here had no part in it.</p>"
        '<label class="switch"><input type="checkbox" id="weighted"> show the weighted '
        "pictures</label>"
    )


def _figure(name: str, rows: list[Any]) -> str:
    """One figure: its pictures, and a table of errors."""
    images = []
    for row in rows:
        if not row.image:
            continue
        kind = "" if row.rmse is None else "weighted" if row.weighted else "plain"
        words = "" if row.rmse is None else f"<br>MAE {row.mae:.4f}, RMSE {row.rmse:.4f}"
        title = escape(f"{row.method}, weighted" if row.weighted else row.method)
        images.append(
            f'<figure class="{kind}"><img src="{row.image}" alt="{escape(row.picture)}, {title}" '
            f'decoding="async"><figcaption>{title}{words}</figcaption></figure>'
        )
    return (
        f'<div id="{name}"><h3 class="name">{escape(rows[0].picture)}</h3>'
        f'<div class="panels">{"".join(images)}</div>' + _table(rows) + _note(rows) + "</div>"
    )


def _table(rows: list[Any]) -> str:
    """A line for each dictionary and K, a column for each mean."""
    lines: dict[tuple[str, int], dict[tuple[str, bool], Any]] = {}
    for row in rows:
        if row.rmse is not None:
            lines.setdefault((row.method, row.iterations), {})[row.mean, row.weighted] = row
    made = []
    for (method, k), readings in lines.items():
        first = next(iter(readings.values()))
        printed = "&ndash;"
        if first.paper_mae is not None:
            printed = f"{first.paper_mae:.4f} / {first.paper_rmse:.4f}"
        columns = [
            _errors(readings.get(key))
            for key in ((OBSERVED, False), (CLEAN, False), (OBSERVED, True))
        ]
        name = f'{method}<span class="sub">K = {k}, {first.operations:,} ops</span>'
        made.append([name, printed, *columns])
    head = ("dictionary", "paper", "observed mean", "clean mean", "observed mean, weighted")
    caption = (
        "MAE / RMSE over missing pixels, grey values from 0 to 1. Below: the spread over masks, "
        "and how far from the paper; within 5 % in green, a limit set after looking."
    )
    return table(head, made, caption, kind="numbers")


def _errors(row: Any) -> str:
    if row is None:
        return "&ndash;"
    text = f"{row.mae:.4f} / {row.rmse:.4f}"
    text += f'<span class="sub">spread {row.mae_spread:.4f} / {row.rmse_spread:.4f}</span>'
    if row.paper_mae is None:
        return text
    both = (row.mae / row.paper_mae - 1, row.rmse / row.paper_rmse - 1)
    good = "good" if max(map(abs, both)) <= 0.05 else "bad"
    if row.weighted:
        good = ""  # not what the paper did
    return f'{text}<span class="sub"><i class="{good}">{both[0]:+.0%} / {both[1]:+.0%}</i></span>'


def _note(rows: list[Any]) -> str:
    notes = []
    if rows[0].picture == "barb":
        notes.append(
            "In an earlier study 129 configurations were tried (s and K while learning, how atoms "
            "are normalised, a constant atom); none gave the printed H14."
        )
    if rows[0].picture == "man":
        notes.append(
            "The grey values of man are stretched to the range from 0 to 255, which the "
            "paper&rsquo;s copy seems to have; it is not at hand."
        )
    return "".join(f'<p class="note">{note}</p>' for note in notes)
