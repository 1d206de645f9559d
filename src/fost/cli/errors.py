"""What goes wrong, in one line on stderr and an exit code."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

USER_ERROR = 2
INTERRUPTED = 130


class UserError(ValueError):
    """Something that the user can mend; the message says what."""


class Interrupted(Exception):
    """Ctrl-C; the message says what became of the work."""


class Commands(TyperGroup):
    """The group of all commands, which turns errors into lines and exit codes."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        if not (sys.argv[1:] if args is None else args):
            args = ["--help"]
        with _plain_warnings():
            try:
                result = super().main(
                    args, prog_name, complete_var, False, windows_expand_args, **extra
                )
                code = result if isinstance(result, int) else 0
            except (Exception, KeyboardInterrupt) as error:
                code = _explained(error)
        if standalone_mode:
            sys.exit(code)
        return code

    def invoke(self, ctx: Any) -> object:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # the parser of arguments would answer with its own words
            raise Interrupted("interrupted, nothing was written") from None


def _explained(error: BaseException) -> int:
    """Prints an error and returns the exit code; raises what is a bug."""
    if os.environ.get("FOST_TRACEBACK"):
        raise error
    if isinstance(error, KeyboardInterrupt | Interrupted | typer.Abort):
        complain(str(error) or "interrupted")
        return INTERRUPTED
    if hasattr(error, "format_message"):  # of the parser of arguments
        complain(error.format_message())
    elif isinstance(error, OSError) and error.filename is not None:
        complain(f"{error.filename!r}: {error.strerror}")
    elif isinstance(error, MemoryError):
        complain(f"not enough memory: {error}" if str(error) else "not enough memory")
    elif isinstance(error, OSError | ValueError | ImportError):
        complain(str(error))
    else:
        raise error
    return USER_ERROR


def complain(message: str) -> None:
    """One line on stderr, whatever the message has in it."""
    print(f"fost: {printable(' '.join(message.split()))}", file=sys.stderr)


def printable(text: str) -> str:
    """A text without what a terminal might obey, which a file could have in it."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


@contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[None]:
    """Errors inside say which file cannot be read, and why."""
    try:
        yield
    except OSError as error:
        raise UserError(f"cannot read {str(path)!r}: {error.strerror or error}") from error


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Errors inside say which file cannot be written, and why."""
    try:
        yield
    except OSError as error:
        raise UserError(f"cannot write {str(path)!r}: {error.strerror or error}") from error


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Warnings as lines on stderr; libraries that log the damage of files are kept quiet."""
    loggers = [logging.getLogger(name) for name in ("tifffile", "PIL")]
    silence = logging.NullHandler()  # without any handler, errors would go to stderr
    for logger in loggers:
        logger.addHandler(silence)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        for category in (DeprecationWarning, PendingDeprecationWarning, ResourceWarning):
            warnings.simplefilter("ignore", category)
        warnings.showwarning = lambda message, *_, **__: complain(f"warning: {message}")
        try:
            yield
        finally:
            for logger in loggers:
                logger.removeHandler(silence)
