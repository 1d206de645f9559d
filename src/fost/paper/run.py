"""Computes what is not there yet, part by part."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fost._validation import check_callable, check_flag, check_path
from fost.learning import InterruptedWarning
from fost.paper.parts import Part, choose
from fost.paper.pictures import PictureSet, find_pictures
from fost.paper.settings import Settings
from fost.paper.store import Store, key

# Told how many steps are done, of how many, and which is next.
Progress = Callable[[int, int, str], None]


@dataclass
class Reproduction:
    """What a run found.

    Attributes
    ----------
    pictures : PictureSet
    settings : Settings
    rows : dict of str to list
        By the name of the part.
    seconds : dict of str to float
        What each part took when it was computed.
    left_out : tuple of str
        Parts that need pictures that are missing.
    computed : list of str
        Steps that were computed now; all others were there already.

    Examples
    --------
    >>> import tempfile
    >>> from fost import paper
    >>> pictures = paper.PictureSet({})
    >>> found = paper.compute(tempfile.mkdtemp(), ["example"], pictures=pictures)
    >>> found.computed, len(found.rows["example"])
    (['example'], 3)
    """

    pictures: PictureSet
    settings: Settings
    rows: dict[str, list[Any]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    computed: list[str] = field(default_factory=list)


def compute(
    out: str | os.PathLike[str],
    names: Sequence[str] | None = None,
    *,
    pictures: PictureSet | None = None,
    settings: Settings | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
) -> Reproduction:
    """Compute parts of the paper, or take from `out` what an earlier run has finished.

    Parameters
    ----------
    out : path
        A folder, made where it is missing. A finished step is kept in its folder ``parts``, and
        holds as long as settings, pictures and the version of fost are the same.
    names : sequence of str, optional
        Parts, as in `PARTS`; all if None.
    pictures : PictureSet, optional
        Those of scikit-image if None.
    settings : Settings, optional
        The paper's if None.
    fresh : bool
        Compute everything anew.
    progress : callable, optional
        Called as ``progress(done, total, step)`` before each step and at the end.

    Returns
    -------
    Reproduction

    Examples
    --------
    >>> import tempfile
    >>> from fost import paper
    >>> folder, pictures = tempfile.mkdtemp(), paper.PictureSet({})
    >>> paper.compute(folder, ["example"], pictures=pictures).computed
    ['example']
    >>> paper.compute(folder, ["example"], pictures=pictures).computed  # it is there already
    []
    """
    check_path(out, "out")
    parts = choose(names)
    fresh = check_flag(fresh, "fresh")
    check_callable(progress, "progress")
    settings = Settings.of(settings)
    available = find_pictures() if pictures is None else PictureSet.checked(pictures)
    found = Reproduction(available, settings)
    store = Store(Path(out))
    todo = [(part, *step) for part in parts for step in part.steps(found.pictures)]
    there = {part.name for part, _, _ in todo}
    found.left_out = tuple(part.name for part in parts if part.name not in there)
    for done, (part, step, chosen) in enumerate(todo):
        if progress:
            progress(done, len(todo), step)
        wanted = key(chosen, found.settings)
        kept = None if fresh else store.load(step, wanted, part.row)
        if kept is None:
            kept = _computed(part, chosen, found.settings)
            store.save(step, wanted, *kept)
            found.computed.append(step)
        found.rows.setdefault(part.name, []).extend(kept[0])
        found.seconds[part.name] = found.seconds.get(part.name, 0.0) + kept[1]
    if progress:
        progress(len(todo), len(todo), "")
    return found


def _computed(part: Part, pictures: PictureSet, settings: Settings) -> tuple[list[Any], float]:
    start = time.perf_counter()
    with warnings.catch_warnings():
        # Learning that is interrupted is a KeyboardInterrupt here, which tells it (`whole`).
        warnings.simplefilter("ignore", InterruptedWarning)
        rows = part.rows(pictures, settings)
    return rows, time.perf_counter() - start
