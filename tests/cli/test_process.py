"""Commands in their own process: signals, pipes, terminals and shells."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import typer.main

import fost
from fost.cli.app import app
from tests.cli.conftest import Run, contents, process, start

ROOT = Path(__file__).parents[2]


# Older versions of Typer do not store the help of all parameters.
documented = pytest.mark.skipif(
    tuple(map(int, version("typer").split(".")[:2])) < (0, 26), reason="typer is too old"
)


@documented
@pytest.mark.parametrize("terminal", [{}, {"COLUMNS": "40", "FORCE_COLOR": "1"}])
def test_the_documentation_is_up_to_date_on_any_terminal(terminal: dict[str, str]) -> None:
    made = subprocess.run(
        [sys.executable, ROOT / "tools" / "cli_page.py"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
        env={**os.environ, "PYTHONUTF8": "1", **terminal},
    )
    page = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    assert page == made.stdout, "run python tools/cli_page.py > docs/reference/cli.md"


def test_version_and_help(run: Run) -> None:
    assert run("--version").stdout == f"fost {fost.__version__}\n"
    text = run().stdout
    assert text == run("--help").stdout == run("-h").stdout
    for command in ("learn", "info", "encode", "decode", "inpaint", "denoise"):
        assert re.search(rf"\b{command}\b", text), command
        assert "--quiet" in run(command, "--help").stdout


def test_help_fills_the_width_of_the_terminal() -> None:
    """A paragraph of help is one line."""
    commands: Any = typer.main.get_command(app)
    for name, command in commands.commands.items():
        assert not re.search(r"[^\n]\n[^\n]", command.help), name


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys, fost.cli.app; "
        "assert not {'numpy', 'scipy', 'sklearn', 'PIL', 'matplotlib'} & {*sys.modules}"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_installed_command(folder: Path) -> None:
    command = Path(sys.executable).with_name("fost")
    if not command.exists():
        pytest.skip("fost is not installed beside this Python")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"fost {fost.__version__}\n"


def test_all_commands_in_processes(folder: Path) -> None:
    for words in (
        "learn image.png -o own.safetensors --max-iter 3",
        "info own.safetensors --atoms atoms.png",
        "encode own.safetensors image.png -o codes.npz",
        "decode own.safetensors codes.npz -o back.png",
    ):
        done = process(*words.split())
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        assert "\x1b" not in done.stdout, "a pipe gets no colours"
        assert words.split()[-1].lstrip("-") in done.stdout or "--max-iter" in words
    assert json.loads(process("info", "own.safetensors", "--json").stdout)["n_features"] == 64
    assert process("info", "own.safetensors", "--quiet").stdout == ""


def test_errors_are_one_line_without_a_traceback(folder: Path) -> None:
    (folder / "text.png").write_text("no image", encoding="utf-8")
    for words in ("info nowhere", "learn text.png -o new", "learn --no-such-option"):
        done = process(*words.split())
        assert done.returncode == 2
        assert done.stdout == ""
        assert done.stderr.startswith("fost: ")
        assert done.stderr.count("\n") == 1


def test_long_lines_stay_lines(folder: Path) -> None:
    """Long lines are not broken, so that programs can read them."""
    name = "long" * 40 + ".safetensors"
    fost.DCT((8, 8)).save(name)
    done = process("info", name, COLUMNS="40")
    assert f"model            {name}" in done.stdout.splitlines()


# Reading an image takes forever; the file "waiting" says that it has started.
WAITING = """
import signal, time
from fost.io import images
signal.signal(signal.SIGINT, signal.default_int_handler)
def waiting(path, *_):
    open("waiting", "w").close()
    time.sleep(600)
images.read = images.read_with_alpha = waiting
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(
    "words",
    [
        ["learn", "image.png", "-o", "new.safetensors"],
        ["encode", "model.safetensors", "image.png", "-o", "codes.npz"],
        ["denoise", "image.png", "-o", "out.png"],
        ["inpaint", "image.png", "--missing-value", "0", "-o", "out.png"],
    ],
    ids=lambda words: words[0],
)
def test_an_interrupt_from_outside(folder: Path, words: list[str]) -> None:
    before = contents(folder)
    with start(*words, code=WAITING) as running:
        while running.poll() is None and not os.path.exists("waiting"):
            time.sleep(0.01)
        running.send_signal(signal.SIGINT)
        stdout, stderr = running.communicate(timeout=300)
    assert (running.returncode, stdout) == (130, ""), stderr
    assert stderr == "fost: interrupted, no file was left incomplete\n"
    os.remove("waiting")
    assert contents(folder) == before


# Learning that interrupts itself in its third iteration.
INTERRUPTED_LEARNING = """
import os, signal
from fost.learning.rotations import Rotations
signal.signal(signal.SIGINT, signal.default_int_handler)
update, count = Rotations.update, 0
def interrupted(self, problem, statistic, current):
    global count
    count += problem.max_iter == 50  # not the trials of bases
    if count == 3:
        os.kill(os.getpid(), signal.SIGINT)
    return update(self, problem, statistic, current)
Rotations.update = interrupted
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_an_interrupt_keeps_what_was_learned(folder: Path) -> None:
    words = ["learn", "signals.npy", "-o", "new.safetensors", "--max-iter", "50"]
    done = process(*words, code=INTERRUPTED_LEARNING)
    assert done.returncode == 130, done.stderr
    assert done.stdout == ""
    assert done.stderr == ("fost: interrupted; the best transform so far is in 'new.safetensors'\n")
    assert fost.load("new.safetensors").n_features == 16
    assert not [name for name in os.listdir() if name.startswith(".fost")]


# Ctrl-C while a file is written.
INTERRUPTED_WRITING = """
import os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
os.fsync = lambda _: os.kill(os.getpid(), signal.SIGINT)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_an_interrupt_while_writing_leaves_the_old_file(folder: Path) -> None:
    (folder / "codes.npz").write_text("old", encoding="utf-8")
    before = contents(folder)
    words = ["encode", "model.safetensors", "image.png", "-o", "codes.npz", "--force"]
    done = process(*words, code=INTERRUPTED_WRITING)
    assert done.returncode == 130, done.stderr
    assert done.stderr == "fost: interrupted, no file was left incomplete\n"
    assert contents(folder) == before


def test_shells_complete_commands_and_options(folder: Path) -> None:
    complete = {"_FOST_COMPLETE": "complete_bash", "COMP_WORDS": "fost de", "COMP_CWORD": "1"}
    assert sorted(process(**complete).stdout.split()) == ["decode", "denoise"]
    complete |= {"COMP_WORDS": "fost learn --structure o", "COMP_CWORD": "3"}
    assert process(**complete).stdout.split() == ["orthogonal-householder", "orthonormal"]


TERMINAL = """
import os, pty, sys
code = pty.spawn([sys.executable, "-m", "fost", *sys.argv[1:]])
sys.exit(os.waitstatus_to_exitcode(code))
"""


@pytest.mark.skipif(os.name != "posix", reason="terminals of POSIX")
def test_colours_and_progress_are_for_terminals(folder: Path) -> None:
    words = ["learn", "signals.npy", "-o", "new.safetensors", "--max-iter", "3", "--force"]
    run = [sys.executable, "-c", TERMINAL, *words]
    clean = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    shared = {"capture_output": True, "stdin": subprocess.DEVNULL, "check": True}
    shown = subprocess.run(run, env={**clean, "TERM": "xterm"}, **shared).stdout  # type: ignore[call-overload]
    assert b"\x1b[1m" in shown
    assert b"relative error" in shown
    plain = subprocess.run(run, env={**clean, "TERM": "xterm", "NO_COLOR": "1"}, **shared).stdout  # type: ignore[call-overload]
    assert not re.search(rb"\x1b\[[0-9;]*3[0-9]m", plain), "no colours"
    quiet = subprocess.run([*run, "--quiet"], env={**clean, "TERM": "xterm"}, **shared).stdout  # type: ignore[call-overload]
    assert quiet == b""
