"""Options that several commands share, and the help of all others from docstrings."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperOption

from fost.cli.errors import UserError


class DocumentedCommand(TyperCommand):
    """A command whose help is the docstring of its function.

    The section "Parameters" has a metavar in the place of the type. Each paragraph becomes one
    line, which the terminal breaks where it needs to.
    """

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        text = inspect.cleandoc(self.callback.__doc__ or "")
        text, _, parameters = text.partition("\n\nParameters\n----------\n")
        self.help = "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))
        entries = re.findall(r"^(\w+) : (.+)\n((?:    .+\n?)+)", parameters, re.MULTILINE)
        described = {name: (metavar, " ".join(help.split())) for name, metavar, help in entries}
        for parameter in self.params:
            if isinstance(parameter, TyperOption | TyperArgument) and parameter.name in described:
                parameter.metavar, parameter.help = described[parameter.name]


Count = Annotated[int | None, typer.Option(min=1)]
Nonnegative = Annotated[float | None, typer.Option(min=0.0)]
NonzeroCoefs = Annotated[int | None, typer.Option("--n-nonzero-coefs", "-s", min=1)]

ModelFile = Annotated[
    Path,
    typer.Argument(metavar="MODEL", help="A model file from fost learn.", show_default=False),
]
SamplesFiles = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE...",
        help="Images; or signals or volumes: .npy, .zarr, .wav, TIFF with --volume.",
        show_default=False,
    ),
]
Output = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The file to write.")]
OutputOrFolder = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE|DIR/",
        help="The file to write, or a folder for results under the names of their inputs. A name "
        "with a slash at its end is a folder, which is created.",
    ),
]
TransformFile = Annotated[
    Path | None,
    typer.Option(
        "--transform",
        "-t",
        metavar="MODEL",
        help="Use the transform in this model file; if not given, one is learned from FILE.",
    ),
]
Volume = Annotated[
    bool, typer.Option("--volume", help="Read all pages of a TIFF as the slices of a volume.")
]
ChannelAxis = Annotated[
    int | None,
    typer.Option(
        "--channel-axis", metavar="N", help="The axis of channels in an .npy or .zarr array."
    ),
]
Missing = Annotated[
    list[Path] | None,
    typer.Option(
        "--missing",
        metavar="MASK",
        help="An .npy or .zarr array of bool in the shape of the signals, true where an entry is "
        "missing; once for each array. Without it, NaN entries are missing.",
        show_default=False,
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude",
        metavar="COLUMN",
        help="A column of a table that is left out; may be given several times. An index without a "
        "name is called 'Unnamed: 0'. Columns without a header are called 0, 1, 2, ...",
        show_default=False,
    ),
]
Checkpoint = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint",
        metavar="FILE",
        help="Save the state of learning to this file, and resume from it if it exists.",
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
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        metavar="N",
        min=1,
        max=1024,
        help="Number of threads; all cores if not given. Results do not depend on it.",
    ),
]
Force = Annotated[bool, typer.Option("--force", "-f", help="Replace existing output files.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no result and no progress.")]


def parse_shape(text: str, option: str) -> tuple[int, int]:
    """Parse "8x8" or "8" as (8, 8)."""
    found = re.fullmatch(r"\s*([1-9]\d{0,3})(?:\s*[xX,]\s*([1-9]\d{0,3}))?\s*", text)
    if not found:
        raise UserError(f"{option} must be like 8x8, got {text!r}")
    height, width = found.groups()
    return int(height), int(width or height)


def format_shape(shape: tuple[int, int]) -> str:
    return f"{shape[0]}x{shape[1]}"


def shown(quiet: bool) -> bool | None:
    """Whether progress is shown: never, or while it lasts; see `fost._progress.progress`."""
    return False if quiet else None


def set_threads(count: int | None) -> None:
    if count is not None:
        import fost

        fost.set_num_threads(count)
