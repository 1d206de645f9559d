"""All commands together."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Annotated

import typer

import fost
from fost.cli.decode import decode
from fost.cli.encode import encode
from fost.cli.errors import Commands, UserError
from fost.cli.fill import fill
from fost.cli.info import info
from fost.cli.learn import LearnCommand, learn
from fost.cli.restore import denoise, inpaint

app = typer.Typer(
    name="fost",
    cls=Commands,
    help="Fast orthonormal sparsifying transforms, learned from your data.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _help(command: Callable[..., None]) -> str:
    """A docstring with each paragraph on one line, which terminals of any width can break."""
    text = inspect.getdoc(command) or ""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


app.command(cls=LearnCommand, help=_help(learn))(learn)
for command in (info, encode, decode, fill, inpaint, denoise):
    app.command(help=_help(command))(command)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fost {fost.__version__}")
        raise typer.Exit


def _import(modules: list[str]) -> None:
    """Import modules by name, also from the current folder, as python -m does."""
    sys.path.insert(0, "")
    try:
        for name in modules:
            import_module(name)
    except Exception as error:
        raise UserError(f"cannot import {name!r}: {error}") from error
    finally:
        sys.path.remove("")


@app.callback()
def _options(
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
    _import(modules)
