"""Generator of docs/reference/cli.md: ``python tools/cli_page.py > docs/reference/cli.md``.

The page is made from the declarations of the commands, so that it does not depend on the version
of Typer.
"""

from __future__ import annotations

import inspect
import sys
from enum import Enum
from pathlib import Path

import typer.main
from typer.core import TyperArgument, TyperCommand, TyperOption

from fost.cli import models
from fost.cli.app import app
from fost.cli.errors import CommandGroup
from fost.cli.learn import LearnCommand, explain_structures
from fost.io import codes

_OPENING = """\
# Command line

<!-- Made by `python tools/cli_page.py > docs/reference/cli.md`; edit the commands instead. -->

`fost COMMAND`, or `python -m fost COMMAND`. `fost --help` and `fost COMMAND --help` show the \
texts below, `fost --version` shows the version, and `fost --install-completion` sets up \
completion of commands and options in the shell. Options have the names of the parameters in \
Python, with dashes. Transforms and structures of your own (`fost.Transform`, `fost.Structure`) \
need the module that defines them: `fost --import MODULE COMMAND ...`, also from the current \
folder. Installed packages announce theirs as entry points of the groups `fost.transforms` and \
`fost.structures`.

    fost learn photos/*.png -o model.safetensors
    fost info model.safetensors --atoms atoms.png
    fost encode model.safetensors photo.png -o codes.npz
    fost decode model.safetensors codes.npz -o back.png

Results go to stdout, progress, warnings and errors to stderr. A user error is one line and exit \
code 2; Ctrl-C is exit code 130. Files are written atomically, and existing files are replaced \
only with `--force`. Devices and pipes are written to directly. Inputs must be regular files. \
`NO_COLOR` turns colours off, and `FOST_TRACEBACK=1` shows the traceback of an error.
"""


def document() -> str:
    """The page in Markdown."""
    group = typer.main.get_command(app)
    assert isinstance(group, CommandGroup)
    commands = group.commands.items()
    sections = (_section(name, each) for name, each in commands if isinstance(each, TyperCommand))
    parts = [_OPENING, *sections]
    parts.append(_files())
    return "\n".join(parts)


def _section(name: str, command: TyperCommand) -> str:
    if isinstance(command, LearnCommand):
        explain_structures(command)
    arguments = [p for p in command.params if isinstance(p, TyperArgument)]
    choices = [p for p in command.params if isinstance(p, TyperOption) and p.name != "help"]
    required = [f"{_longest(p)} {p.metavar}" for p in choices if p.required]
    named = [str(p.metavar) for p in arguments]
    usage = " ".join(["fost", name, *named, *required, "[OPTIONS]"])
    lines = [f"## fost {name}", "", f"    {usage}", "", inspect.cleandoc(command.help or ""), ""]
    lines += ["| | |", "|---|---|"]
    lines += [f"| `{p.metavar}` | {_explained(p)} |" for p in arguments]
    lines += [f"| {_spelled(p)} | {_explained(p)} |" for p in choices]
    return "\n".join([*lines, ""])


def _spelled(option: TyperOption) -> str:
    metavar = f" {option.metavar}" if option.metavar and not option.is_flag else ""
    text = ", ".join(f"`{name}{metavar}`" for name in sorted(option.opts, key=len))
    return text.replace("|", "\\|")


def _explained(parameter: TyperOption | TyperArgument) -> str:
    default = parameter.default.value if isinstance(parameter.default, Enum) else parameter.default
    shown = isinstance(default, int | float | str | Path) and not isinstance(default, bool)
    text = (parameter.help or "").replace("|", "\\|")
    return f"{text} Default: {default}." if shown and not parameter.required else text


def _longest(option: TyperOption) -> str:
    return str(max(option.opts, key=len))


def _files() -> str:
    """The file formats, from the docstrings of the modules that read and write them."""
    parts = ["## Files", ""]
    for module in (models, codes):
        parts += ["```text", inspect.cleandoc(module.__doc__ or "").replace("``", ""), "```", ""]
    return "\n".join(parts)


if __name__ == "__main__":
    sys.stdout.write(document())
