"""``fost demo``: what fost does, on pictures that come with scikit-image."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from fost.cli import options
from fost.cli.console import check_folder, show
from fost.cli.errors import UserError, writing


def demo(
    out: Annotated[
        Path, typer.Argument(metavar="[OUT]", help="The folder for the report and its pictures.")
    ] = Path("demo"),
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Compare transforms on bundled pictures, inpaint one and denoise it.

    Prints tables as it goes, and writes report.md with pictures to a folder.
    """
    _check_folder(out, force)
    with _stdout_to_stderr(as_json, quiet), _folder_beside(out) as work:
        from fost import demo as demonstration

        found = demonstration.main(work, shown_as=out)
        with writing(out):
            out.mkdir(exist_ok=True)
            for file in sorted(work.iterdir()):
                os.replace(file, out / file.name)
    data = {"output": out, "pictures": list(demonstration.PICTURES), **found}
    show({}, data, as_json=as_json, quiet=quiet)


def _check_folder(out: Path, force: bool) -> None:
    if out.exists() and not out.is_dir():
        raise UserError(f"cannot write to {str(out)!r}: it is not a folder")
    if (out / "report.md").exists() and not force:
        raise UserError(f"{str(out / 'report.md')!r} exists already; --force replaces it")
    if not out.parent.is_dir():
        raise UserError(f"cannot write {str(out)!r}: there is no folder {str(out.parent)!r}")
    check_folder(out if out.is_dir() else out.parent, out)


@contextlib.contextmanager
def _folder_beside(out: Path) -> Iterator[Path]:
    """A temporary folder on the same disk, so that what is done can be moved in one step."""
    place = out if out.is_dir() else out.parent
    work = Path(tempfile.mkdtemp(prefix=".fost-", dir=place))
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _stdout_to_stderr(as_json: bool, quiet: bool) -> contextlib.AbstractContextManager[object]:
    """The table is no result where JSON is asked for."""
    if quiet:
        return contextlib.redirect_stdout(io.StringIO())
    return contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext()
