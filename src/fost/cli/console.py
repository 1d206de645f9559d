"""Results on stdout, and checks of where they are written."""

from __future__ import annotations

import errno
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path

from fost._files import is_special, temporary_beside
from fost.cli.errors import UserError, printable


def show(
    lines: Mapping[str, str], data: Mapping[str, object], *, as_json: bool, quiet: bool
) -> None:
    """A result: `lines` for people, or `data` for programs."""
    if as_json:
        print(json.dumps(_plain(data), indent=2))
    elif not quiet:
        from rich.console import Console
        from rich.text import Text

        console = Console(highlight=False, soft_wrap=True)
        width = max(map(len, lines), default=0) + 2
        for label, text in lines.items():
            console.print(Text.assemble((f"{label:<{width}}", "bold"), printable(text)))


def _plain(value: object) -> object:
    """What JSON can hold: no infinity, no NaN, no paths."""
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, Path) else value


def check_output(path: Path, force: bool) -> None:
    """Raises a UserError if `path` cannot or must not be written, before any work is done."""
    if path.is_dir():
        raise UserError(f"cannot write {str(path)!r}: it is a folder")
    if is_special(path):  # which is written to, not replaced
        if not os.access(path, os.W_OK):
            raise UserError(f"cannot write {str(path)!r}: {os.strerror(errno.EACCES)}")
        return
    folder = path.parent
    if not folder.is_dir():
        raise UserError(f"cannot write {str(path)!r}: there is no folder {str(folder)!r}")
    if os.path.lexists(path) and not force:
        raise UserError(f"{str(path)!r} exists already; --force replaces it")
    check_folder(Path(os.path.realpath(path)).parent, path)


def check_folder(folder: Path, path: Path) -> None:
    """Raises a UserError if no file can be made in `folder`, by making one."""
    probe = temporary_beside(folder / path.name)
    try:
        with open(probe, "xb"):
            pass
        probe.unlink()
    except OSError as error:
        raise UserError(f"cannot write {str(path)!r}: {error.strerror}") from error
