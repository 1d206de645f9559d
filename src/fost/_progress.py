"""How far work has got, on stderr: the one way in which fost shows it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Told how much is done, and what there is to say about it.
Advance = Callable[[float, str], None]
# Characters of a bar in a notebook.
_BAR = 20


@contextmanager
def progress(what: str, total: float | None, shown: bool | None) -> Iterator[Advance]:
    """A bar in a terminal, a line that changes in a notebook, and lines elsewhere.

    `shown` is True or False, or None for what is gone at the end in terminals and notebooks, and
    nothing elsewhere.
    """
    if shown is not False and _in_notebook():
        with _line(what, total, transient=shown is None) as advance:
            yield advance
    elif shown is not False and sys.stderr.isatty():
        with _bar(what, total, transient=shown is None) as advance:
            yield advance
    elif shown:
        yield _lines(what, total)
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
            task, completed=done, description=_told(what, done, total, text)
        )


def _in_notebook() -> bool:
    """Whether a kernel of Jupyter runs this; nobody is in one who has not imported IPython."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"


@contextmanager
def _line(what: str, total: float | None, transient: bool) -> Iterator[Advance]:
    """One line, written anew: notebooks show what follows a carriage return instead of it."""
    start, width = time.perf_counter(), 0

    def show(text: str, end: str = "") -> None:
        nonlocal width
        print(f"\r{text:<{width}}", end=end, file=sys.stderr, flush=True)
        width = len(text)

    def advance(done: float, text: str) -> None:
        seconds = time.perf_counter() - start
        bar = _drawn(done / total) if total else ""
        show(f"{bar}{_told(what, done, total, text)}  {seconds:.1f} s")

    try:
        yield advance
    finally:
        if width and transient:
            show("", end="\r")
        elif width:
            print(file=sys.stderr, flush=True)


def _drawn(share: float) -> str:
    """A bar of text."""
    full = round(_BAR * min(share, 1.0))
    return "█" * full + "░" * (_BAR - full) + " "


def _lines(what: str, total: float | None) -> Advance:
    start = time.perf_counter()

    def advance(done: float, text: str) -> None:
        seconds = time.perf_counter() - start
        print(f"{_told(what, done, total, text)}  {seconds:.1f} s", file=sys.stderr, flush=True)

    return advance


def _told(what: str, done: float, total: float | None, text: str) -> str:
    """ "iteration 3/100  relative error 2.1 %"; counts only where they are whole numbers."""
    counted = isinstance(done, int) and isinstance(total, int)
    count = f" {done:,}/{total:,}" if counted else ""
    return f"{what}{count}" + (f"  {text}" if text else "")


@contextmanager
def steps(what: str, total: int | None, shown: bool | None) -> Iterator[Callable[[], None]]:
    """As `progress`, told only that one more step of as many as `total` is done."""
    with progress(what, total, shown) as advance:
        finished = 0

        def done() -> None:
            nonlocal finished
            finished += 1
            advance(finished, "")

        yield done
