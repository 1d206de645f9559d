"""Remarks 3 to 5, checked on dictionaries that were learned."""

from __future__ import annotations

from dataclasses import dataclass

from fost.diagnostics import one_more_reflector, procrustes, symmetric_bound
from fost.paper.methods import learn
from fost.paper.pictures import PictureSet, signals
from fost.paper.settings import Settings

DICTIONARIES = ("Q-DLA", "H12", "H32", "QH12", "QH32")


@dataclass(frozen=True)
class RemarkRow:
    """What a remark says about a dictionary.

    Attributes
    ----------
    remark : int
    dictionary : str
    quantity : str
        What `value` is, in words.
    value : float
        A share of the energy ||Y||_F^2.
    holds : bool
        Remarks 3 and 4: whether the condition of a local minimum is met, up to 1e-4 of the
        energy; Remark 5: whether what it claims is so.
    sentence : str
        The answer of `fost.diagnostics`.
    """

    remark: int
    dictionary: str
    quantity: str
    value: float
    holds: bool
    sentence: str


# K = 100 iterations end close to a fixed point, not at it.
_TOLERANCE = 1e-4


def remarks(pictures: PictureSet, settings: Settings | None = None) -> list[RemarkRow]:
    """What other matrices would gain, on couple, peppers and boat together."""
    pictures, settings = PictureSet.checked(pictures), Settings.of(settings)
    Y = signals(*(pictures[name] for name in pictures.of_figures))
    rows = []
    for name in DICTIONARIES:
        dictionary = learn(name, Y, settings).dictionary
        third = procrustes(dictionary, Y, settings.sparsity, tol=_TOLERANCE)
        rows.append(
            RemarkRow(
                3,
                name,
                "gain of the best orthonormal matrix in front",
                third.relative_gain,
                third.holds,
                third.sentence,
            )
        )
        fourth = one_more_reflector(dictionary, Y, settings.sparsity, tol=_TOLERANCE)
        rows.append(
            RemarkRow(
                4,
                name,
                "gain of the best further reflector",
                fourth.relative_gain,
                not fourth.helps,
                fourth.sentence,
            )
        )
        fifth = symmetric_bound(dictionary, Y, settings.sparsity)
        rows.append(
            RemarkRow(
                5,
                name,
                "what orthogonal reflectors lose to any orthonormal matrix, same codes",
                fifth.gap,
                fifth.gap >= -1e-12,
                fifth.sentence,
            )
        )
    return rows
