"""Claims about inpainting, running times, the remarks and what section V says in passing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fost.paper.claims.claim import (
    AFTER,
    HOLDS,
    MISSES,
    PARTLY,
    Claim,
    Rows,
    counted,
    first_below,
    verdict_of,
)
from fost.paper.printed import SECONDS, TABLE_ONE
from fost.paper.remarks import ASYMMETRY

# How far from a printed error of inpainting, up or down, a reading may be.
_NEAR = 0.05
# K = 100 iterations end close to a fixed point, not at it.
_FIXED_POINT = 1e-4


def inpainting(part: str) -> Callable[[Rows, bool], list[Claim]]:
    def judge(rows: Rows, compare: bool) -> list[Claim]:
        cells = [row for row in rows[part] if row.rmse is not None and not row.weighted]
        methods: dict[str, list[Any]] = {}
        for row in cells:
            methods.setdefault(row.method, []).append(row)
        judged = [
            _printed_pair(part, method, readings)
            for method, readings in methods.items()
            if readings[0].paper_rmse is not None
        ]
        return [*judged, _drawback(part, methods, compare)]

    return judge


def _printed_pair(part: str, method: str, readings: list[Any]) -> Claim:
    """One pair of the captions in all readings of the experiment."""
    apart = [max(abs(r.mae / r.paper_mae - 1), abs(r.rmse / r.paper_rmse - 1)) for r in readings]
    near = sum(share <= _NEAR for share in apart)
    best = readings[apart.index(min(apart))]
    first = readings[0]
    return Claim(
        part,
        f"Inpainting {first.picture} with {method}: MAE / RMSE of missing pixels",
        f"{first.paper_mae:.4f} / {first.paper_rmse:.4f}",
        f"{near} of {counted(len(readings), 'reading')} near; the nearest is {best.mae:.4f} / "
        f"{best.rmse:.4f} ({best.mean} mean, K = {best.iterations})",
        verdict_of(near, len(readings)),
        f"both within {_NEAR:.0%}, up or down, in every reading; in part if in one",
        AFTER,
        "" if near else f"The nearest is {min(apart):.0%} off.",
    )


def _drawback(part: str, methods: dict[str, list[Any]], compare: bool) -> Claim:
    dense = {(row.mean, k): row for k, row in _numbered(methods["Q-DLA"])}
    losses = [
        row.rmse / dense[row.mean, k].rmse - 1
        for k, row in _numbered(methods["H14"])
        if (row.mean, k) in dense
    ]
    good = sum(loss <= _NEAR for loss in losses)
    first, other = methods["H14"][0], methods["DCT + 64 rotations"][0]
    printed = methods["Q-DLA"][0].paper_rmse
    return Claim(
        part,
        f"H14 has no large drawback against Q-DLA on {first.picture}",
        "" if not compare or not printed else f"{first.paper_rmse / printed - 1:+.0%} in RMSE",
        f"{min(losses):+.0%} to {max(losses):+.0%} in RMSE over {counted(len(losses), 'reading')}",
        verdict_of(good, len(losses)),
        f"at most {_NEAR:.0%} more in every reading; in part if in one",
        AFTER,
        f"2-D DCT + 64 rotations: {other.rmse:.4f}, against {first.rmse:.4f}, at "
        f"{other.operations:,} operations against {first.operations:,}.",
    )


def _numbered(readings: list[Any]) -> list[tuple[int, Any]]:
    """Readings with 0 for the first K that they were computed with, 1 for the second."""
    ks = list(dict.fromkeys(row.iterations for row in readings))
    return [(ks.index(row.iterations), row) for row in readings]


def times(rows: Rows, compare: bool) -> list[Claim]:
    seconds = {row.method: row.seconds for row in rows["times"]}
    order = sorted(seconds, key=lambda name: seconds[name])
    printed = sorted(SECONDS, key=lambda name: SECONDS[name])
    ends = order[0] == printed[0] and order[-1] == printed[-1]
    return [
        Claim(
            "times",
            "Time to learn: " + " < ".join(printed),
            "7, 13, 15 and over 60 s",
            ", ".join(f"{name} {seconds[name]:.2f} s" for name in order),
            HOLDS if order == printed else PARTLY if ends else MISSES,
            "the same order; in part if the fastest and the slowest are the same",
            note=f"H8 takes {seconds['H8'] / seconds['QH8']:.1f} times as long as QH8, in the "
            f"paper {SECONDS['H8'] / SECONDS['QH8']:.1f} times.",
        )
    ]


def remarks(rows: Rows, compare: bool) -> list[Claim]:
    found = {(row.remark, row.dictionary): row.value for row in rows["remarks"]}
    third, fourth = found[3, "Q-DLA"], found[4, "H12"]
    gaps = [value for (remark, _), value in found.items() if remark == 5]
    limit = f"at most {_FIXED_POINT:g} of the energy"
    return [
        *_symmetric_and_definite(found),
        Claim(
            "remarks",
            "Remark 3: at a local minimum of Q-DLA no orthonormal matrix gains",
            "0",
            f"{third:.1e} of the energy; H12 leaves {found[3, 'H12']:.1e}",
            HOLDS if third <= _FIXED_POINT else MISSES,
            limit,
            AFTER,
        ),
        Claim(
            "remarks",
            "Remark 4: after H12 has converged no further reflector gains",
            "0",
            f"{fourth:.1e} of the energy; after QH12 {found[4, 'QH12']:.1e}",
            HOLDS if fourth <= _FIXED_POINT else MISSES,
            limit,
            AFTER,
            "Of the same codes: a 13th reflector that is learned with its own is another matter.",
        ),
        Claim(
            "remarks",
            "Remark 5: for the same codes Q-DLA is never worse than QH",
            "never",
            f"QH gives away {min(gaps):.1%} to {max(gaps):.1%} of the energy",
            HOLDS if min(gaps) >= -1e-12 else MISSES,
            "no gap below zero by more than 1e-12, which is rounding",
        ),
    ]


def _symmetric_and_definite(found: dict[tuple[int, str], float]) -> list[Claim]:
    """Remarks 1 and 2."""
    dominant, asymmetry = found[1, "Q-DLA"], found[2, "Q-DLA"]
    return [
        Claim(
            "remarks",
            "Remark 1: X (Q^T Y)^T can be assumed to be diagonally dominant",
            "assumed",
            f"{dominant:.0%} of the rows of Q-DLA's used atoms",
            HOLDS if dominant == 1 else PARTLY if dominant > 0.5 else MISSES,
            "all rows of used atoms; in part if more than half",
            note="Dominant or not, the matrix is positive semidefinite where Remark 3 says so.",
        ),
        Claim(
            "remarks",
            "Remark 2: Y X^T D^T is symmetric where no orthonormal matrix helps (Q-DLA)",
            "symmetric",
            f"asymmetric by {asymmetry:.1e}; after H12 by {found[2, 'H12']:.1e}",
            HOLDS if asymmetry <= ASYMMETRY else MISSES,
            f"by at most {ASYMMETRY:g} of its norm",
            AFTER,
        ),
    ]


def example(rows: Rows, compare: bool) -> list[Claim]:
    cases = rows["example"]
    helped = [row for row in cases if row.reflector_helps]
    others = [row for row in cases if not row.reflector_helps]
    met = sum(row.printed_condition for row in others)
    positive = sum(row.determinant > 0 for row in cases)
    return [
        Claim(
            "example",
            "Example in R^2: no reflector helps if 2||y11||^2 and 2||y22||^2 are below the cross "
            "term",
            "a condition",
            f"met in {met} of {counted(len(others), 'case')} where none helps",
            verdict_of(met, len(others)),
            "met where no reflector helps",
            note="It can never be met. Turned round it suffices: Gershgorin's disks. What decides "
            f"is 2||y11|| ||y22|| against the cross term, and in {len(helped)} case it is below.",
        ),
        Claim(
            "example",
            "Example in R^2: -det(Z~) is always positive",
            "always",
            f"in {len(cases) - positive} of {counted(len(cases), 'case')}",
            verdict_of(len(cases) - positive, len(cases)),
            "in every case",
            note="It is where a reflector helps, and nowhere else.",
        ),
    ]


def section_five(rows: Rows, compare: bool) -> list[Claim]:
    judged = []
    values: dict[str, dict[str, float]] = {}
    for row in rows["section-5"]:
        values.setdefault(row.check, {})[row.case] = row.value
    if compare and "barb" in values:
        judged.append(_on_barb(values["barb"]))
    if order := values.get("order"):
        apart = abs(order["random"] / order["cyclic"] - 1)
        judged.append(
            Claim(
                "section-5",
                "Updating reflectors in order or at random makes no difference",
                "negligible",
                f"{apart:.2%} of the error",
                HOLDS if apart < 0.01 else MISSES,
                "less than 1 % of the error",
                AFTER,
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
                f"{value:.3f}",
                HOLDS if value > 0.9 else MISSES,
                "over 0.9",
            )
        )
    return judged


def _first(errors: dict[int, float], target: float) -> str:
    found = first_below(errors, target)
    return f"m = {found}" if found else f"not up to m = {max(errors)}"


def _on_barb(values: dict[str, float]) -> Claim:
    errors = {int(case[1:]): value for case, value in values.items() if case.startswith("H")}
    printed = TABLE_ONE["Q-DLA"]["barb"]
    first = first_below(errors, printed)
    others = [
        f"Against {case} here, {value:.4f}: {_first(errors, value)}."
        for case, value in values.items()
        if case.startswith("Q-DLA, K")
    ]
    return Claim(
        "section-5",
        f"On barb, Q-DLA as printed ({printed:.4f}) is matched only by H24",
        "m = 24",
        _first(errors, printed),
        HOLDS if first == 24 else PARTLY if first else MISSES,
        "24 is the first m that is not above it; in part if another is",
        note=" ".join(others),
    )
