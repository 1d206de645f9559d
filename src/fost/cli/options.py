"""Options that several commands share, and what is written in them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from fost.cli.errors import UserError

Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A transform that fost learned.", show_default=False)
]
ModelOption = Annotated[
    Path | None,
    typer.Option("--model", "-m", metavar="MODEL", help="A transform that fost learned."),
]
Output = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The file to write.")]
Force = Annotated[
    bool, typer.Option("--force", "-f", help="Replace output files that exist already.")
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no result and show no progress.")]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        metavar="N",
        min=1,
        max=1024,
        help="Threads to use; all cores if not given. They never change a result.",
    ),
]
Missing = Annotated[
    list[Path] | None,
    typer.Option(
        "--missing",
        metavar="MASK",
        help="An .npy or .zarr array of bool in the shape of the signals, true where an entry is "
        "missing; once for each array. Entries that are NaN are missing without it.",
        show_default=False,
    ),
]
Checkpoint = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint",
        metavar="FILE",
        help="Keep the state of learning in this file, and go on from it if it exists.",
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="Run on the Dask cluster with this scheduler, such as tcp://host:8786. Its workers "
        "must see the files under the same names.",
    ),
]
PatchText = Annotated[
    str | None,
    typer.Option("--patch", metavar="HxW", help="Height and width of a patch, such as 8x8."),
]


def parse_patch(text: str, option: str = "--patch") -> tuple[int, int]:
    """ "8x8" or "8" as (8, 8)."""
    found = re.fullmatch(r"\s*([1-9]\d{0,3})(?:\s*[xX,]\s*([1-9]\d{0,3}))?\s*", text)
    if not found:
        raise UserError(f"{option} must be like 8x8, got {text!r}")
    height, width = found.groups()
    return int(height), int(width or height)


def format_patch(patch: tuple[int, int]) -> str:
    return f"{patch[0]}x{patch[1]}"


def shown(quiet: bool) -> bool | None:
    """Whether progress is: never, or as long as it lasts where somebody can see it."""
    return False if quiet else None


def set_threads(count: int | None) -> None:
    if count is not None:
        import fost

        fost.set_num_threads(count)
