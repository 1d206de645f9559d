"""The Typer application with all commands."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Annotated

import typer

import fost
from fost.cli.decode import decode_command
from fost.cli.denoise import denoise_command
from fost.cli.encode import encode_command
from fost.cli.errors import CommandGroup, UserError
from fost.cli.export import export_command
from fost.cli.fill import fill_command
from fost.cli.info import info_command
from fost.cli.inpaint import inpaint_command
from fost.cli.learn import LearnCommand, learn_command
from fost.cli.options import DocumentedCommand

app = typer.Typer(
    name="fost",
    cls=CommandGroup,
    help="Fast orthonormal sparsifying transforms, learned from your data.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_COMMANDS: dict[str, Callable[..., None]] = {
    "learn": learn_command,
    "info": info_command,
    "encode": encode_command,
    "decode": decode_command,
    "export": export_command,
    "fill": fill_command,
    "inpaint": inpaint_command,
    "denoise": denoise_command,
}
for name, command in _COMMANDS.items():
    app.command(name, cls=LearnCommand if name == "learn" else DocumentedCommand)(command)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fost {fost.__version__}")
        raise typer.Exit


@app.callback()
def _global_options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
    modules: Annotated[
        list[str],
        typer.Option(
            "--import",
            metavar="MODULE",
            help="Import a Python module first: one with transforms or structures of your own.",
        ),
    ] = [],  # noqa: B006
) -> None:
    sys.path.insert(0, "")  # modules in the current folder, as python -m does
    try:
        for module in modules:
            import_module(module)
    except Exception as error:
        raise UserError(f"cannot import {module!r}: {error}") from error
    finally:
        sys.path.remove("")
