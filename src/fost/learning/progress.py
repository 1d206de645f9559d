"""A line on stderr that tells how long work is getting on."""

from __future__ import annotations

import sys
import time


class ProgressLine:
    """One line that is written over in a terminal, and one line per report elsewhere."""

    def __init__(self, enabled: bool, max_iter: int) -> None:
        self._enabled = enabled
        self._max_iter = max_iter
        self._start = time.perf_counter()
        self._open = False

    def report(self, iteration: int, error: float | None = None) -> None:
        if not self._enabled:
            return
        seconds = time.perf_counter() - self._start
        what = "" if error is None else f"  relative error {100 * error:.4f} %"
        line = f"iteration {iteration}/{self._max_iter}{what}  {seconds:.1f} s"
        if sys.stderr.isatty():
            print(f"\r{line}", end="", file=sys.stderr, flush=True)
            self._open = True
        else:
            print(line, file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._open:
            print(file=sys.stderr)
            self._open = False
