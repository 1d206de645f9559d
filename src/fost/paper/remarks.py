"""Remarks 1 to 5, checked on dictionaries that were learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fost.diagnostics import (
    gershgorin,
    one_more_reflector,
    procrustes,
    symmetric_bound,
    symmetry,
)
from fost.paper.methods import run
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
        Remark 1: a share of rows; 2: the asymmetry, from 0 to 1; 3 to 5: a share of the energy
        ||Y||_F^2.
    holds : bool
        Remarks 1 to 4: whether the condition of a local minimum is met, up to 1e-4 of the
        energy (of 1 by all rows, of 2 up to an asymmetry of 1e-3); Remark 5: whether what it
        claims is so.
    sentence : str
        The answer of `fost.diagnostics`.

    Examples
    --------
    >>> import numpy as np
    >>> from fost import paper
    >>> picture = np.fromfunction(lambda i, j: 128 + 60 * np.sin(i / 5) * np.cos(j / 7), (128, 128))
    >>> pictures = paper.PictureSet(dict.fromkeys(["couple", "peppers", "boat"], picture))
    >>> rows = paper.remarks(pictures, paper.Settings(iterations=2))
    >>> sorted({row.remark for row in rows})
    [1, 2, 3, 4, 5]
    """

    remark: int
    dictionary: str
    quantity: str
    value: float
    holds: bool
    sentence: str


# K = 100 iterations end close to a fixed point, not at it.
_TOLERANCE = 1e-4
# What is to be gained is of second order in the asymmetry.
ASYMMETRY = 1e-3


def remarks(pictures: PictureSet, settings: Settings | None = None) -> list[RemarkRow]:
    """What other matrices would gain, on couple, peppers and boat together.

    Examples
    --------
    >>> import numpy as np
    >>> from fost import paper
    >>> picture = np.fromfunction(lambda i, j: 128 + 60 * np.sin(i / 5) * np.cos(j / 7), (128, 128))
    >>> pictures = paper.PictureSet(dict.fromkeys(["couple", "peppers", "boat"], picture))
    >>> rows = paper.remarks(pictures, paper.Settings(iterations=2))
    >>> rows[0].remark, rows[0].dictionary
    (1, 'Q-DLA')
    """
    pictures, settings = PictureSet.checked(pictures), Settings.of(settings)
    Y = signals(*(pictures[name] for name in pictures.of_figures))
    return [
        row
        for name in DICTIONARIES
        for row in _of(name, run(name, Y, settings).dictionary, Y, settings.sparsity)
    ]


def _of(name: str, dictionary: Any, Y: NDArray[np.float64], s: int) -> list[RemarkRow]:
    first = gershgorin(dictionary, Y, s, tol=_TOLERANCE)
    second = symmetry(dictionary, Y, s, tol=ASYMMETRY)
    third = procrustes(dictionary, Y, s, tol=_TOLERANCE)
    fourth = one_more_reflector(dictionary, Y, s, tol=_TOLERANCE)
    fifth = symmetric_bound(dictionary, Y, s)
    dominant = float((first.rows & first.used).sum() / max(first.used.sum(), 1))
    return [
        RemarkRow(
            1,
            name,
            "rows of used atoms whose Gershgorin disk lies right of zero",
            dominant,
            first.holds,
            first.sentence,
        ),
        RemarkRow(
            2,
            name,
            "asymmetry of Y X^T D^T",
            float(second.asymmetry),
            second.holds,
            second.sentence,
        ),
        RemarkRow(
            3,
            name,
            "gain of the best orthonormal matrix in front",
            third.relative_gain,
            third.holds,
            third.sentence,
        ),
        RemarkRow(
            4,
            name,
            "gain of the best further reflector",
            fourth.relative_gain,
            not fourth.helps,
            fourth.sentence,
        ),
        RemarkRow(
            5,
            name,
            "what orthogonal reflectors lose to any orthonormal matrix, same codes",
            fifth.gap,
            fifth.gap >= -1e-12,
            fifth.sentence,
        ),
    ]
