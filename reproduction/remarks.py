"""Remarks 1 to 5 on learned dictionaries, and the example in R^2 at the end of section IV."""

from __future__ import annotations

from typing import Any

from fost.diagnostics import (
    gershgorin,
    one_more_reflector,
    procrustes,
    symmetric_bound,
    symmetry,
)
from reproduction.algorithms import Settings, run
from reproduction.data import ImageSet
from reproduction.plane import plane

DICTIONARIES = ("Q-DLA", "H12", "H32", "QH12", "QH32")
# The share of the energy that may be left to gain: K = 100 iterations end near a fixed point.
TOLERANCE = 1e-4
# The gain is of second order in the asymmetry.
ASYMMETRY = 1e-3
CASES: dict[str, tuple[tuple[float, float], ...]] = {
    "few signals use the second axis": ((4, 4), (2, 1), (0, 1)),
    "the diagonal dominates": ((3, 1), (3, -0.5), (0.5, 2)),
    "skew-symmetric off the diagonal": ((3, 2), (-2, 3)),
}


def remarks(images: ImageSet, settings: Settings) -> list[dict[str, Any]]:
    """The gain of other matrices over learned ones, on couple, peppers and boat together.

    `value` is a share of rows for Remark 1, an asymmetry from 0 to 1 for Remark 2, and a share of
    ||Y||_F^2 for Remarks 3 to 5. `holds` says whether the condition of a local minimum is met
    (Remarks 1 to 4), or whether the claim is true (Remark 5).
    """
    Y, s = images.figure_signals(), settings.sparsity
    if Y is None:
        return []
    rows = []
    for name in DICTIONARIES:
        dictionary: Any = run(name, Y, settings).dictionary
        first = gershgorin(dictionary, Y, s, tol=TOLERANCE)
        second = symmetry(dictionary, Y, s, tol=ASYMMETRY)
        third = procrustes(dictionary, Y, s, tol=TOLERANCE)
        fourth = one_more_reflector(dictionary, Y, s, tol=TOLERANCE)
        fifth = symmetric_bound(dictionary, Y, s)
        dominant = float((first.rows & first.used).sum() / max(first.used.sum(), 1))
        for remark, value, holds, found in (
            (1, dominant, first.holds, first),
            (2, float(second.asymmetry), second.holds, second),
            (3, third.relative_gain, third.holds, third),
            (4, fourth.relative_gain, not fourth.helps, fourth),
            (5, fifth.gap, fifth.gap >= -1e-12, fifth),
        ):
            rows.append(
                {
                    "remark": remark,
                    "dictionary": name,
                    "value": value,
                    "holds": bool(holds),
                    "sentence": found.sentence,
                }
            )
    return rows


def example(images: ImageSet, settings: Settings) -> list[dict[str, Any]]:
    """Three sets of signals in R^2: the gain of a reflector and of any orthonormal matrix.

    `first`, `second` and `cross` are ||y_11||^2, ||y_22||^2 and y_11^T y_21 + y_22^T y_12. Gains
    are shares of ||Y||_F^2.
    """
    rows = []
    for case, signals in CASES.items():
        found = plane(signals)
        low, high = found.eigenvalues
        rows.append(
            {
                "case": case,
                "first": found.first,
                "second": found.second,
                "cross": found.cross,
                "lowest_eigenvalue": low,
                "determinant": low * high,
                "reflector_helps": bool(found.reflector_helps),
                "printed_condition": bool(found.printed_condition),
                "reflector_gain": found.reflector_gain,
                "orthonormal_gain": found.orthonormal_gain,
                "sentence": found.sentence,
            }
        )
    return rows
