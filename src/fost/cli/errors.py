"""Errors and warnings as one line on stderr, and exit codes."""

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

_USER_ERROR = 2
_INTERRUPTED = 130


class UserError(ValueError):
    """An error that the user can correct; the message is complete."""


class Interrupted(Exception):
    """Ctrl-C; the message says what happened to the work."""


class CommandGroup(TyperGroup):
    """The group of all commands, which turns exceptions into lines and exit codes."""

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
        with _warnings_as_lines():
            try:
                result = super().main(
                    args, prog_name, complete_var, False, windows_expand_args, **extra
                )
                code = result if isinstance(result, int) else 0
            except (Exception, KeyboardInterrupt) as error:
                code = _report_error(error)
        if standalone_mode:
            sys.exit(code)
        return code

    def invoke(self, ctx: Any) -> object:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # Typer would print a message of its own
            raise Interrupted("interrupted, no file was left incomplete") from None


def _report_error(error: BaseException) -> int:
    """Print an error and return the exit code; errors that are bugs are raised again."""
    if os.environ.get("FOST_TRACEBACK"):
        raise error
    if isinstance(error, KeyboardInterrupt | Interrupted | typer.Abort):
        print_line(str(error) or "interrupted")
        return _INTERRUPTED
    if hasattr(error, "format_message"):  # an error of Typer's argument parser
        print_line(error.format_message())
    elif isinstance(error, OSError) and error.filename is not None:
        # Errors of writing are user errors already: see `writing`.
        print_line(f"cannot read {os.fspath(error.filename)!r}: {error.strerror}")
    elif isinstance(error, MemoryError):
        print_line(f"not enough memory: {error}" if str(error) else "not enough memory")
    elif isinstance(error, OSError | ValueError | ImportError):
        print_line(str(error))
    else:
        raise error
    return _USER_ERROR


def print_line(message: str) -> None:
    """Print a message on stderr as one line."""
    print(f"fost: {printable(' '.join(message.split()))}", file=sys.stderr)


def printable(text: str) -> str:
    """Escape control characters, which text from a file could send to the terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


@contextmanager
def error_prefix(prefix: str) -> Iterator[None]:
    """Turn a ValueError into a UserError whose message begins with `prefix`."""
    try:
        yield
    except UserError:
        raise
    except ValueError as error:
        raise UserError(f"{prefix}: {error}") from error


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn an OSError into a UserError that names the file which cannot be written."""
    try:
        yield
    except OSError as error:
        raise UserError(f"cannot write {str(path)!r}: {error.strerror or error}") from error


@contextmanager
def _warnings_as_lines() -> Iterator[None]:
    """Print warnings as lines on stderr, and silence libraries that log damaged files."""
    loggers = [logging.getLogger(name) for name in ("tifffile", "PIL")]
    silence = logging.NullHandler()  # without any handler, errors are logged to stderr
    for logger in loggers:
        logger.addHandler(silence)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        for category in (DeprecationWarning, PendingDeprecationWarning, ResourceWarning):
            warnings.simplefilter("ignore", category)
        warnings.showwarning = lambda message, *_, **__: print_line(f"warning: {message}")
        try:
            yield
        finally:
            for logger in loggers:
                logger.removeHandler(silence)
