"""The paragraph on running times of section V."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

import fost
from fost.paper.methods import run
from fost.paper.pictures import PictureSet, signals
from fost.paper.printed import SECONDS
from fost.paper.settings import Settings
from fost.paper.table_two import one_thread


@dataclass(frozen=True)
class TimeRow:
    """How long a method learns.

    Attributes
    ----------
    method : str
    n_signals, n_iter, threads : int
    seconds : float
        With all threads, the start included; the median of three runs (of one for SK-SVD).
    seconds_one_thread : float
    paper : float
        In MATLAB on a laptop of 2014; for SK-SVD the paper says "over one minute".

    Examples
    --------
    >>> from fost import paper
    >>> row = paper.TimeRow("Q-DLA", 12288, 100, 2, 0.5, seconds_one_thread=0.75, paper=15.0)
    >>> row.paper / row.seconds_one_thread
    20.0
    """

    method: str
    n_signals: int
    n_iter: int
    threads: int
    seconds: float
    seconds_one_thread: float
    paper: float


def running_times(pictures: PictureSet, settings: Settings | None = None) -> list[TimeRow]:
    """Seconds to learn on couple, peppers and boat together.

    Examples
    --------
    >>> import numpy as np
    >>> from fost import paper
    >>> picture = np.fromfunction(lambda i, j: 128 + 60 * np.sin(i / 5) * np.cos(j / 7), (128, 128))
    >>> pictures = paper.PictureSet(dict.fromkeys(["couple", "peppers", "boat"], picture))
    >>> rows = paper.running_times(pictures, paper.Settings(iterations=2))
    >>> rows[0].method, rows[0].n_signals, rows[0].seconds > 0
    ('Q-DLA', 768, True)
    """
    pictures, settings = PictureSet.checked(pictures), Settings.of(settings)
    Y = signals(*(pictures[name] for name in pictures.of_figures))
    rows = []
    for method, paper in SECONDS.items():
        repeats = 1 if method == "SK-SVD" else min(3, settings.repeats)
        every, steps = _seconds(method, Y, settings, repeats)
        with one_thread():
            alone, _ = _seconds(method, Y, settings, repeats)
        threads = fost.get_num_threads()
        rows.append(TimeRow(method, len(Y), steps, threads, every, alone, paper))
    return rows


def _seconds(method: str, Y: np.ndarray, settings: Settings, repeats: int) -> tuple[float, int]:
    times, steps = [], 0
    for _ in range(repeats):
        start = time.perf_counter()
        steps = len(run(method, Y, settings).errors) - 1
        times.append(time.perf_counter() - start)
    return float(np.median(times)), steps
