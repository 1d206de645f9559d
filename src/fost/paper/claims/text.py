"""Claims about inpainting, running times, the remarks and what section V says in passing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fost.paper.claims.claim import (
    HOLDS,
    MISSES,
    PARTLY,
    USUAL_TOLERANCE,
    Claim,
    Rows,
    first_below,
)
from fost.paper.printed import TABLE_ONE


def inpainting(part: str) -> Callable[[Rows, bool], list[Claim]]:
    def judge(rows: Rows, compare: bool) -> list[Claim]:
        judged = []
        cells = [row for row in rows[part] if row.rmse is not None]
        plain = {row.method: row for row in cells if not row.weighted}
        better = {row.method: row for row in cells if row.weighted}
        for method, row in plain.items():
            if row.paper_rmse is None:
                continue
            worse = max(row.mae / row.paper_mae, row.rmse / row.paper_rmse) - 1
            other = better[method]
            judged.append(
                Claim(
                    part,
                    f"Inpainting {row.picture} with {method}: MAE / RMSE of missing pixels",
                    f"{row.paper_mae:.4f} / {row.paper_rmse:.4f}",
                    f"{row.mae:.4f} / {row.rmse:.4f}",
                    HOLDS if worse <= USUAL_TOLERANCE else MISSES,
                    ("" if worse <= USUAL_TOLERANCE else f"Above by up to {worse:.0%}. ")
                    + f"With weighted atoms: {other.mae:.4f} / {other.rmse:.4f}.",
                )
            )
        loss = plain["H14"].rmse / plain["Q-DLA"].rmse - 1
        judged.append(
            Claim(
                part,
                f"H14 has no large drawback against Q-DLA on {plain['H14'].picture}",
                "" if not compare else f"{_printed_loss(plain):+.0%} in RMSE",
                f"{loss:+.0%} in RMSE",
                HOLDS if loss <= 0.05 else MISSES,
                f"2-D DCT + 64 rotations: {plain['DCT + 64 rotations'].rmse:.4f}, at 1,056 "
                "operations against 3,584.",
            )
        )
        return judged

    return judge


def times(rows: Rows, compare: bool) -> list[Claim]:
    seconds = {row.method: row.seconds for row in rows["times"]}
    every = ", ".join(f"{name} {value:.2f} s" for name, value in seconds.items())
    ordered = seconds["QH8"] <= seconds["Q-DLA"] and seconds["SK-SVD"] == max(seconds.values())
    return [
        Claim(
            "times",
            "QH8 learns faster than Q-DLA, SK-SVD is by far the slowest",
            "15, 13, 7 and over 60 s",
            every,
            HOLDS if ordered else PARTLY,
            f"H8 takes {seconds['H8'] / seconds['QH8']:.1f} times as long as QH8, in the paper 1.9 "
            "times.",
        )
    ]


def remarks(rows: Rows, compare: bool) -> list[Claim]:
    gains = {(row.remark, row.dictionary): row.value for row in rows["remarks"]}
    third, fourth = gains[3, "Q-DLA"], gains[4, "H12"]
    gaps = [value for (remark, _), value in gains.items() if remark == 5]
    return [
        Claim(
            "remarks",
            "Remark 3: at a local minimum of Q-DLA no orthonormal matrix gains",
            "0",
            f"{third:.1e} of the energy; H12 leaves {gains[3, 'H12']:.1e}",
            HOLDS if third <= 1e-4 else PARTLY,
        ),
        Claim(
            "remarks",
            "Remark 4: after H12 has converged no further reflector gains",
            "0",
            f"{fourth:.1e} of the energy; after QH12 {gains[4, 'QH12']:.1e}",
            HOLDS if fourth <= 1e-4 else PARTLY,
            "Learning 13 reflectors gains far more than adding a 13th to fixed codes.",
        ),
        Claim(
            "remarks",
            "Remark 5: for the same codes Q-DLA is never worse than QH",
            "never",
            f"QH gives away {min(gaps):.1%} to {max(gaps):.1%} of the energy",
            HOLDS if min(gaps) >= -1e-12 else MISSES,
        ),
    ]


def section_five(rows: Rows, compare: bool) -> list[Claim]:
    judged = []
    values: dict[str, dict[str, float]] = {}
    for row in rows["section-5"]:
        values.setdefault(row.check, {})[row.case] = row.value
    barb = values.get("barb")
    if barb and compare:
        errors = {int(k[1:]): v for k, v in barb.items() if k.startswith("H")}
        target = TABLE_ONE["Q-DLA"]["barb"]
        first = first_below(errors, target)
        most = max(errors)
        judged.append(
            Claim(
                "section-5",
                "On barb, Q-DLA is matched only by H24",
                "m = 24",
                f"m = {first}" if first else f"not up to m = {most}",
                HOLDS if first is not None and 20 <= first <= 28 else MISSES,
                f"Against the paper's Q-DLA, {target:.4f}. Ours reaches "
                f"{barb['Q-DLA']:.4f}; H{most} {errors[most]:.4f}.",
            )
        )
    if order := values.get("order"):
        apart = abs(order["random"] / order["cyclic"] - 1)
        judged.append(
            Claim(
                "section-5",
                "Updating reflectors in order or at random makes no difference",
                "negligible",
                f"{apart:.2%} of the error",
                HOLDS if apart < 0.01 else PARTLY,
            )
        )
    coherence = values.get("coherence")
    if coherence and compare:
        value = coherence["SK-SVD"]
        judged.append(
            Claim(
                "section-5",
                "The mutual coherence of SK-SVD on peppers is over 0.9",
                "over 0.9",
                f"{value:.2f}",
                HOLDS if value > 0.9 else MISSES,
            )
        )
    return judged


def _printed_loss(plain: dict[str, Any]) -> float:
    return float(plain["H14"].paper_rmse / plain["Q-DLA"].paper_rmse - 1)
