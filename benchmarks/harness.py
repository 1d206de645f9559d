"""Timing two functions against each other on a noisy machine.

Set-up and one warm-up call are not timed. Repetitions are interleaved (A, B, A, B, ...), so
that other load slows both down alike. The result is the median of the ratios of neighbours, with
quartiles. A row may have a target, the least ratio that it is
meant to have, and then has a verdict; the rows that fell short are listed again at the end.
"""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import fost
from benchmarks.results import Results
from fost import _core

SPEEDS = {
    "case": "",
    "against": "",
    "fost, ns": ".4g",
    "other, ns": ".4g",
    "ratio": ".2f",
    "lower quartile": ".2f",
    "upper quartile": ".2f",
    "target": "",
}


@dataclass
class Row:
    """One comparison: how many times faster than the competitor fost is."""

    table: str
    case: str
    competitor: str
    fost_ns: float
    competitor_ns: float
    ratio: float
    low: float
    high: float
    target: str = ""
    verdict: str = ""


@dataclass
class Report:
    """Rows as they come, printed at once and saved at the end."""

    rows: list[Row] = field(default_factory=list)
    table: str = ""

    def section(self, table: str, remark: str = "") -> None:
        self.table = table
        print(f"\n{table}" + (f"\n  {remark}" if remark else ""))
        print(f"  {'case':<42} {'against':<34} {'fost':>9} {'other':>9} {'ratio':>7}  quartiles")

    def compare(
        self,
        case: str,
        ours: Callable[[], Any],
        competitor: str,
        theirs: Callable[[], Any],
        per: int,
        repeats: int = 7,
        target: str = "",
    ) -> Row:
        """Time both and add a row; times are nanoseconds per `per` items."""
        ours(), theirs()
        times = np.array([(_timed(ours), _timed(theirs)) for _ in range(repeats)]) / per * 1e9
        return self._add(case, competitor, times, target)

    def at_most(
        self,
        case: str,
        ours: Callable[[], Any],
        seconds: float,
        per: int = 1,
        repeats: int = 7,
        warm_up: bool = True,
    ) -> Row:
        """Time a call that is to take at most so many seconds; of the limit it is a row too."""
        if warm_up:
            ours()
        times = np.array([(_timed(ours), seconds) for _ in range(repeats)]) / per * 1e9
        return self._add(case, "its limit", times, ">= 1")

    def _add(self, case: str, competitor: str, times: NDArray[np.float64], target: str) -> Row:
        """A row of times in nanoseconds, ours in the first column, theirs in the second."""
        low, ratio, high = np.percentile(times[:, 1] / times[:, 0], [25, 50, 75])
        ours, theirs = np.median(times, axis=0)
        judged = verdict(ratio, target)
        row = Row(self.table, case, competitor, ours, theirs, ratio, low, high, target, judged)
        self.rows.append(row)
        goal = f"  target {target}: {judged}" if target else ""
        print(
            f"  {case:<42} {competitor:<34} {ours:>9.1f} {theirs:>9.1f} {ratio:>6.2f}x"
            f"  {low:.2f} to {high:.2f}{goal}",
            flush=True,
        )
        return row

    def verdicts(self) -> None:
        """How many targets were met, and the rows that fell short."""
        judged = [row for row in self.rows if row.target]
        short = [row for row in judged if row.verdict != "met"]
        print(f"\nTargets: {len(judged) - len(short)} of {len(judged)} met")
        for row in short:
            print(
                f"  {row.table}: {row.case} against {row.competitor}, "
                f"{row.ratio:.2f}x, target {row.target}: {row.verdict}"
            )

    def save(self) -> None:
        """Write a table per section to ``benchmarks/results/speed-ISA.json``."""
        results = Results(f"speed-{machine()['isa']}")
        for row in self.rows:
            name = re.sub(r"\W+", "_", row.table).strip("_").lower()
            table = results.tables.get(name) or results.table(name, SPEEDS)
            values = [row.fost_ns, row.competitor_ns, row.ratio, row.low, row.high]
            table.rows.append([row.case, row.competitor, *map(float, values), row.verdict])
        results.save()


def verdict(ratio: float, target: str) -> str:
    """Whether a ratio is what was aimed at, ">= 1.5" or "<= 10", and how far it is from that."""
    if not target:
        return ""
    relation, number = target.split()
    limit = float(number)
    if relation.startswith("<"):
        return "met" if ratio <= limit else f"{ratio / limit - 1:.0%} above"
    return "met" if ratio >= limit else f"{1 - ratio / limit:.0%} short"


def machine() -> dict[str, Any]:
    """The machine and the versions of the measurements."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "isa": _core.get_isa(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "fost": fost.__version__,
    }


@contextmanager
def threads(count: int) -> Iterator[None]:
    """The same number of threads for fost and for BLAS."""
    with own_threads(count), threadpool_limits(limits=count):
        yield


@contextmanager
def own_threads(count: int) -> Iterator[None]:
    """The number of threads of fost alone, where that is changed within what is timed.

    To change that of BLAS takes almost two milliseconds, and fost's own calls of it use one.
    """
    before = fost.get_num_threads()
    fost.set_num_threads(count)
    try:
        yield
    finally:
        fost.set_num_threads(before)


def least_time(function: Callable[[], Any], repeats: int) -> float:
    """Seconds of the fastest of so many calls, after one that is not timed."""
    function()
    return min(_timed(function) for _ in range(repeats))


def _timed(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if "model name" in line), "unknown")
