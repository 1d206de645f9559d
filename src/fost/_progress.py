"""Progress on stderr: a bar in terminals, a line in notebooks, lines elsewhere."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# Called with the amount of work done and a text.
Advance = Callable[[float, str], None]
# Characters of a bar in a notebook, and the minimal number of seconds between updates: the server
# drops messages of programs that send too many.
_BAR, _PAUSE = 20, 0.1
# Seconds between lines in log files of commands.
_LINE_PAUSE = 5.0


@contextmanager
def progress(what: str, total: float | None, shown: bool | None) -> Iterator[Advance]:
    """A bar in a terminal, an updated line in a notebook, and lines elsewhere.

    With ``shown=None`` bars and the line disappear at the end, and elsewhere there is one line
    every few seconds.
    """
    if shown is not False and _in_notebook():
        with _line(what, total, transient=shown is None) as advance:
            yield advance
    elif shown is not False and sys.stderr.isatty():
        with _bar(what, total, transient=shown is None) as advance:
            yield advance
    elif shown is not False:
        yield _lines(what, total, 0.0 if shown else _LINE_PAUSE)
    else:
        yield lambda done, text: None


@contextmanager
def _bar(what: str, total: float | None, transient: bool) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=transient) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done, text: bar.update(
            task, completed=done, description=_message(what, done, total, text)
        )


def _in_notebook() -> bool:
    """Whether this runs in a Jupyter kernel, which has always imported IPython."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"


@contextmanager
def _line(what: str, total: float | None, transient: bool) -> Iterator[Advance]:
    """One line in an output of its own, which a notebook updates."""
    from IPython.display import display

    start = time.perf_counter()
    handle: Any = None
    shown, latest = -math.inf, ""

    def show(text: str, kind: str = "text/plain") -> None:
        nonlocal handle, shown
        shown = time.perf_counter()
        content = {kind: text}
        if handle is None:
            handle = display(content, raw=True, display_id=True)
        else:
            handle.update(content, raw=True)

    def advance(done: float, text: str) -> None:
        nonlocal latest
        seconds = time.perf_counter() - start
        bar = _drawn(done / total) if total else ""
        latest = f"{bar}{_message(what, done, total, text)}  {seconds:.1f} s"
        if start + seconds - shown >= _PAUSE:
            show(latest)

    try:
        yield advance
    finally:
        if latest and transient:
            show("", "text/html")  # an empty text/plain would still take a line
        elif latest:
            show(latest)


def _drawn(share: float) -> str:
    """A bar of text."""
    full = round(_BAR * min(share, 1.0))
    return "█" * full + "░" * (_BAR - full) + " "


def _lines(what: str, total: float | None, pause: float) -> Advance:
    start = shown = time.perf_counter()

    def advance(done: float, text: str) -> None:
        nonlocal shown
        now = time.perf_counter()
        if now - shown < pause:
            return
        seconds, shown = now - start, now
        print(f"{_message(what, done, total, text)}  {seconds:.1f} s", file=sys.stderr, flush=True)

    return advance


def _message(what: str, done: float, total: float | None, text: str) -> str:
    """ "iteration 3/100  relative error 2.1 %"; counts are shown if they are integers."""
    counted = isinstance(done, int) and isinstance(total, int)
    count = f" {done:,}/{total:,}" if counted else ""
    return f"{what}{count}" + (f"  {text}" if text else "")


@contextmanager
def steps(what: str, total: int | None, shown: bool | None) -> Iterator[Callable[[], None]]:
    """Like `progress`, but the yielded function counts the steps."""
    with progress(what, total, shown) as advance:
        finished = 0

        def done() -> None:
            nonlocal finished
            finished += 1
            advance(finished, "")

        yield done
