"""Printing of results, and checks of output paths before the work starts."""

from __future__ import annotations

import errno
import json
import math
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from fost.cli.errors import UserError, printable
from fost.io.atomic import is_special, temporary_beside


def show_written(
    lines: Mapping[str, str],
    facts: Mapping[str, object],
    output: Path,
    start: float,
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    """Print a result with the file that was written and the time since `start`."""
    lines, facts = with_output(lines, facts, output, start)
    show(lines, facts, as_json=as_json, quiet=quiet)


def with_output(
    lines: Mapping[str, str], facts: Mapping[str, object], output: Path, start: float
) -> tuple[dict[str, str], dict[str, object]]:
    """A result with the file that was written and the time since `start`."""
    seconds = time.perf_counter() - start
    return (
        {**lines, "time": f"{seconds:.1f} s", "written": str(output)},
        {**facts, "seconds": seconds, "output": output},
    )


def show(
    lines: Mapping[str, str],
    facts: Mapping[str, object] | Sequence[Mapping[str, object]],
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    """Print a result on stdout: `lines` for people, or `facts` as JSON for programs."""
    if as_json:
        print(json.dumps(_plain(facts), indent=2))
    elif not quiet:
        from rich.console import Console
        from rich.text import Text

        console = Console(highlight=False, soft_wrap=True)
        width = max(map(len, lines), default=0) + 2
        for label, text in lines.items():
            console.print(Text.assemble((f"{label:<{width}}", "bold"), printable(text)))


def _plain(value: object) -> object:
    """A value that JSON can hold: infinity and NaN become None, paths become strings."""
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, Path) else value


def psnr_text(psnr: float | None) -> str:
    return "infinite, the image is exact" if psnr is None else f"{psnr:.2f} dB"


def output_files(paths: Sequence[Path], output: str, force: bool) -> list[tuple[Path, Path]]:
    """Inputs with their outputs: `output`, or files of the same names in that folder.

    Several inputs need a folder. It is created if `output` ends with a slash. Raises a UserError
    if an output cannot or must not be written.
    """
    place, is_folder = Path(output), output.endswith(("/", os.sep))
    pairs = [(path, place / path.name) for path in paths]
    if len(paths) == 1 and not is_folder:
        pairs = [(paths[0], place)]
    elif not (is_folder or place.is_dir()):
        raise UserError(f"{output!r} is no folder for {len(paths)} results; '{output}/' creates it")
    else:
        names = [path.name for path in paths]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise UserError(f"several inputs are called {twice!r}, which {output!r} holds once")
        try:
            place.mkdir(exist_ok=True)
        except OSError as error:
            raise UserError(f"cannot create {output!r}: {error.strerror}") from error
    for _, target in pairs:
        check_output(target, force)
    return pairs


def check_output(path: Path, force: bool) -> None:
    """Raise a UserError if `path` cannot or must not be written."""
    if path.is_dir():
        raise UserError(f"cannot write {str(path)!r}: it is a folder")
    if is_special(path):
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
    """Raise a UserError if no file can be created in `folder`; `path` is named in the message."""
    probe = temporary_beside(folder / path.name)
    try:
        with open(probe, "xb"):
            pass
        probe.unlink()
    except OSError as error:
        raise UserError(f"cannot write {str(path)!r}: {error.strerror}") from error
