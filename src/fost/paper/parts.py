"""The parts of a reproduction: each table and figure by its name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from fost.paper.curves import (
    IterationRow,
    ReflectorRow,
    draw_iterations,
    draw_reflectors,
    error_by_iteration,
    error_by_reflectors,
)
from fost.paper.example import PlaneRow, draw_example, example
from fost.paper.explorer import ExplorerRow, explorer
from fost.paper.inpainting import InpaintingRow, inpainting
from fost.paper.pictures import PictureSet
from fost.paper.printed import FIGURE_SET, TABLE_PICTURES
from fost.paper.remarks import RemarkRow, remarks
from fost.paper.running_times import TimeRow, running_times
from fost.paper.section_five import CheckRow, draw_barb, section_five
from fost.paper.settings import Settings
from fost.paper.spectra import (
    EigenvalueRow,
    draw_eigenvalues,
    eigenvalues_by_reflectors,
    eigenvalues_by_sparsity,
    eigenvalues_of_pictures,
)
from fost.paper.table_one import ErrorRow, draw_errors, table_one
from fost.paper.table_two import SpeedRow, table_two


@dataclass(frozen=True)
class Part:
    """A table, a figure or a paragraph.

    Attributes
    ----------
    name, title : str
    rows : callable
        ``rows(pictures, settings)``, a list of `row`.
    row : type
        A dataclass.
    needs : tuple of str or None
        The paper's pictures that it is about; None for every picture that there is, empty for
        none at all. It is left out where none of them is there.
    each : bool
        Whether it is done picture by picture, so that it can go on after each.
    draw : callable, optional
        ``draw(rows)``, a figure of matplotlib, or None where there is nothing to draw.

    Examples
    --------
    >>> from fost import paper
    >>> paper.PARTS["figure-1"].needs
    ('peppers', 'barb')
    """

    name: str
    title: str
    rows: Callable[[PictureSet, Settings], list[Any]]
    row: type
    needs: tuple[str, ...] | None
    each: bool = False
    draw: Callable[[list[Any]], Any] | None = None

    def steps(self, pictures: PictureSet) -> list[tuple[str, PictureSet]]:
        """What is to be done: a name for each step, and its pictures."""
        every = self.needs is None or (self.each and pictures.bundled)
        wanted = pictures.only(pictures if every else self.needs or ())
        if self.needs == ():
            return [(self.name, wanted)]
        if self.each:
            return [(f"{self.name}-{name}", wanted.only([name])) for name in wanted]
        return [(self.name, wanted)] if len(wanted) else []


_PARTS = (
    Part(
        "table-1",
        "Table I: errors",
        table_one,
        ErrorRow,
        TABLE_PICTURES,
        each=True,
        draw=draw_errors,
    ),
    Part("table-2", "Table II: speed-ups", table_two, SpeedRow, ()),
    Part(
        "figure-1",
        "Eigenvalues of two pictures",
        eigenvalues_of_pictures,
        EigenvalueRow,
        ("peppers", "barb"),
        draw=draw_eigenvalues,
    ),
    Part(
        "figure-2",
        "Error by iteration",
        error_by_iteration,
        IterationRow,
        FIGURE_SET,
        draw=draw_iterations,
    ),
    Part(
        "figure-3",
        "Error by number of reflectors",
        error_by_reflectors,
        ReflectorRow,
        FIGURE_SET,
        draw=draw_reflectors,
    ),
    Part(
        "figure-4",
        "Eigenvalues by sparsity",
        eigenvalues_by_sparsity,
        EigenvalueRow,
        FIGURE_SET,
        draw=draw_eigenvalues,
    ),
    Part(
        "figure-5",
        "Eigenvalues by number of reflectors",
        eigenvalues_by_reflectors,
        EigenvalueRow,
        FIGURE_SET,
        draw=draw_eigenvalues,
    ),
    Part("figure-6", "Inpainting barb", inpainting, InpaintingRow, ("barb",)),
    Part("figure-7", "Inpainting man", inpainting, InpaintingRow, ("man",)),
    Part("times", "Running times", running_times, TimeRow, FIGURE_SET),
    Part("remarks", "Remarks 1 to 5", remarks, RemarkRow, FIGURE_SET),
    Part("example", "The example in R^2", example, PlaneRow, (), draw=draw_example),
    Part(
        "section-5",
        "What section V says in passing",
        section_five,
        CheckRow,
        (*FIGURE_SET, "barb"),
        draw=draw_barb,
    ),
    Part("explorer", "See for yourself", explorer, ExplorerRow, None, each=True),
)
PARTS: dict[str, Part] = {part.name: part for part in _PARTS}


def choose(names: Sequence[str] | None) -> list[Part]:
    """Parts by name, in the paper's order; all of them for None or no names.

    Raises
    ------
    ValueError
        If there is no such part.

    Examples
    --------
    >>> from fost.paper.parts import choose
    >>> [part.name for part in choose(["figure-3", "table-2"])]
    ['table-2', 'figure-3']
    """
    if isinstance(names, str) or not isinstance(names, Iterable | None):
        raise TypeError(f"names must be a list of names, got {names!r}")
    given = list(names or PARTS)
    for name in given:
        if not isinstance(name, str):
            raise TypeError(f"names must be strings, got {name!r}")
    wanted = {name.lower().replace("_", "-") for name in given}
    for name in sorted(wanted):
        if name not in PARTS:
            raise ValueError(f"names: there is no part {name!r}; there are {', '.join(PARTS)}")
    return [part for part in _PARTS if part.name in wanted]
