"""What section V says in passing, measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fost
from fost.diagnostics import mutual_coherence
from fost.paper.algorithms import whole
from fost.paper.methods import run
from fost.paper.pictures import PictureSet, signals
from fost.paper.printed import TABLE_ONE
from fost.paper.settings import Settings


@dataclass(frozen=True)
class CheckRow:
    """A number that a sentence of section V is about.

    Attributes
    ----------
    check : str
        "barb": root mean squared errors of H_m and of Q-DLA after two K on barb; "order": relative
        errors of H12 by the order of its updates; "coherence": of SK-SVD on peppers; "unused":
        iterations of Q-DLA on barb in which two atoms or more are used by no patch.
    case : str
    value : float

    Examples
    --------
    >>> from fost import paper
    >>> paper.CheckRow(check="barb", case="H24", value=0.0365).value
    0.0365
    """

    check: str
    case: str
    value: float


def section_five(pictures: PictureSet, settings: Settings | None = None) -> list[CheckRow]:
    """H_m on barb, the order of updates, and how alike the atoms of SK-SVD are.

    Examples
    --------
    >>> import numpy as np
    >>> from fost import paper
    >>> picture = np.fromfunction(lambda i, j: 128 + 60 * np.sin(i / 5) * np.cos(j / 7), (128, 128))
    >>> pictures = paper.PictureSet(dict.fromkeys(["barb"], picture))
    >>> rows = paper.section_five(pictures, paper.Settings(iterations=2, reflectors=(1, 2)))
    >>> rows[0].check
    'barb'
    """
    pictures, settings = PictureSet.checked(pictures), Settings.of(settings)
    rows = []
    if "barb" in pictures:
        Y = signals(pictures["barb"])
        methods = [f"H{m}" for m in settings.reflectors if m >= 6]
        rows += [CheckRow("barb", name, run(name, Y, settings).rmse(Y)) for name in methods]
        ks = dict.fromkeys((settings.iterations, settings.table_k("Q-DLA")))
        dense = run("Q-DLA", Y, settings, iterations=max(ks))
        rows += [CheckRow("barb", f"Q-DLA, K = {k}", dense.rmse(Y, k)) for k in ks]
        rows.append(CheckRow("unused", f"K = {settings.iterations}", _undetermined(Y, settings)))
        if not pictures.bundled:
            rows.append(CheckRow("barb", "Q-DLA in the paper", TABLE_ONE["Q-DLA"]["barb"]))
    if pictures.of_figures:
        Y = signals(*(pictures[name] for name in pictures.of_figures))
        rows += [CheckRow("order", order, _ordered(order, Y, settings)) for order in _ORDERS]
    if "peppers" in pictures:
        found = run("SK-SVD", signals(pictures["peppers"]), settings)
        coherence = float(mutual_coherence(found.dictionary))
        rows.append(CheckRow("coherence", "SK-SVD", coherence))
    return rows


_ORDERS = ("cyclic", "random")


def _ordered(order: str, Y: NDArray[np.float64], settings: Settings) -> float:
    structure = fost.Reflectors(12, order=order)
    result = fost.learn(
        Y, structure, settings.sparsity, max_iter=settings.iterations, tol=0, random_state=0
    )
    whole(result.interrupted)
    return result.error


def _undetermined(Y: NDArray[np.float64], settings: Settings) -> int:
    """Iterations after which the next Q of Q-DLA is one of many.

    One unused atom is still determined, up to its sign.
    """
    s, found = settings.sparsity, 0

    def count(iteration: int, error: float, transform: fost.Coder) -> None:
        nonlocal found
        used = np.unique(transform.encode(Y, s).indices)
        found += len(used) < Y.shape[1] - 1

    fost.learn(Y, fost.Orthonormal(), s, max_iter=settings.iterations, tol=0, callback=count)
    return found


def draw_barb(rows: list[CheckRow]) -> Any:
    """The error on barb, or on its stand-in, by number of reflectors; None without it.

    Examples
    --------
    >>> from fost import paper
    >>> paper.draw_barb([]) is None
    True
    """
    from fost.paper.drawing import PALETTE, new_figure

    values = {row.case: row.value for row in rows if row.check == "barb"}
    if not values:
        return None
    figure, axes = new_figure()
    sizes = [int(case[1:]) for case in values if case.startswith("H")]
    axes.plot(sizes, [values[f"H{m}"] for m in sizes], "-o", color=PALETTE[0], label="H")
    for k, case in enumerate(case for case in values if case.startswith("Q-DLA")):
        axes.axhline(values[case], linestyle=("-", ":", "--")[k], color=PALETTE[4 - k], label=case)
    axes.set_xlabel("number of reflectors m")
    axes.set_ylabel("root mean squared error")
    axes.legend()
    return figure
