"""The example in R^2 at the end of section IV, on three sets of signals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fost.diagnostics import plane
from fost.paper.pictures import PictureSet
from fost.paper.settings import Settings

CASES: dict[str, tuple[tuple[float, float], ...]] = {
    "few signals use the second axis": ((4, 4), (2, 1), (0, 1)),
    "the diagonal dominates": ((3, 1), (3, -0.5), (0.5, 2)),
    "skew-symmetric off the diagonal": ((3, 2), (-2, 3)),
}


@dataclass(frozen=True)
class PlaneRow:
    """What reflectors and orthonormal matrices gain over the identity on signals in R^2.

    Attributes
    ----------
    case : str
        A name of `CASES`.
    first, second, cross : float
        ||y_11||^2, ||y_22||^2 and y_11^T y_21 + y_22^T y_12.
    lowest_eigenvalue, determinant : float
        Of Z~.
    reflector_helps : bool
    printed_condition : bool
        Whether the paper's condition for "no reflector helps" is met, as it is printed.
    reflector_gain, orthonormal_gain : float
        Shares of ||Y||_F^2.
    sentence : str

    Examples
    --------
    >>> from fost import paper
    >>> [row.reflector_helps for row in paper.example()]
    [True, False, False]
    """

    case: str
    first: float
    second: float
    cross: float
    lowest_eigenvalue: float
    determinant: float
    reflector_helps: bool
    printed_condition: bool
    reflector_gain: float
    orthonormal_gain: float
    sentence: str


def example(pictures: PictureSet | None = None, settings: Settings | None = None) -> list[PlaneRow]:
    """When a reflector helps signals of two features, and when only a rotation does.

    Parameters
    ----------
    pictures : PictureSet, optional
    settings : Settings, optional
        Neither is used: the signals are numbers on paper.

    Examples
    --------
    >>> from fost import paper
    >>> [row.case for row in paper.example()][0]
    'few signals use the second axis'
    """
    rows = []
    for case, signals in CASES.items():
        found = plane(signals)
        low, high = found.eigenvalues
        rows.append(
            PlaneRow(
                case,
                found.first,
                found.second,
                found.cross,
                low,
                low * high,
                found.reflector_helps,
                found.printed_condition,
                found.reflector_gain,
                found.orthonormal_gain,
                found.sentence,
            )
        )
    return rows


def draw_example(rows: list[PlaneRow]) -> Any:
    """The first case, in which a reflector helps, and the last, in which only a rotation does.

    Examples
    --------
    >>> from fost import paper
    >>> len(paper.draw_example(paper.example()).axes) > 0
    True
    """
    import matplotlib.figure

    figure = matplotlib.figure.Figure(figsize=(5.4, 3.4), layout="constrained")
    for axes, row in zip(figure.subplots(1, 2), (rows[0], rows[-1]), strict=True):
        plane(CASES[row.case]).draw(axes)
        axes.set_title(row.case, fontsize=9)
        axes.get_legend().remove()
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure
