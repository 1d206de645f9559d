"""Images, arrays and models in a folder, and a way to run commands there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import fost
from fost import images
from fost.cli.app import app

Run = Callable[..., Result]


def make_image(shape: tuple[int, ...] = (40, 52), dtype: Any = np.uint8) -> np.ndarray:
    """A smooth image with edges and a little noise."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[: shape[0], : shape[1]]
    grey = 0.5 + 0.25 * np.sin(x / 7) * np.cos(y / 5) + 0.2 * (x > y) + 0.02 * rng.random(shape[:2])
    if len(shape) == 3:
        grey = grey[..., None] * np.linspace(0.6, 1, shape[2])
    if np.dtype(dtype).kind == "f":
        return grey.astype(dtype)
    return np.rint(np.iinfo(dtype).max * np.clip(grey, 0, 1)).astype(dtype)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with image.png, colour.png, signals.npy and model.safetensors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FOST_TRACEBACK", raising=False)
    images.write("image.png", make_image())
    images.write("colour.png", make_image((40, 52, 3)))
    walks = np.cumsum(np.random.default_rng(0).standard_normal((500, 16)), axis=1)
    np.save("signals.npy", walks.astype(np.float32))
    metadata = {"signals": "image", "patch_shape": "8x8", "n_nonzero_coefs": "4"}
    fost.DCT((8, 8)).save("model.safetensors", metadata)
    return tmp_path


@pytest.fixture
def run(folder: Path) -> Run:
    """Run a command in this process; it must succeed."""

    def call(*arguments: str) -> Result:
        result = CliRunner().invoke(app, list(arguments), prog_name="fost")
        assert result.exit_code == 0, result.output
        return result

    return call


@pytest.fixture
def fail(folder: Path) -> Callable[..., str]:
    """Run a command that must print one line and leave the folder unchanged; return the line."""

    def call(*arguments: str) -> str:
        before = contents(folder)
        result = CliRunner().invoke(app, list(arguments), prog_name="fost")
        assert result.exit_code == 2, result.output
        assert result.stdout == ""
        lines = result.stderr.splitlines()
        assert len(lines) == 1, result.stderr
        assert lines[0].startswith("fost: "), result.stderr
        assert contents(folder) == before
        return lines[0]

    return call


def contents(folder: Path) -> dict[str, bytes]:
    """The content of all files by name, including hidden files."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def start(*arguments: str, code: str | None = None, **environment: str) -> subprocess.Popen[str]:
    """Start a command in its own process, after Python `code`."""
    begin = ["-m", "fost"] if code is None else ["-c", code + "\nfrom fost.cli import main; main()"]
    return subprocess.Popen(
        [sys.executable, *begin, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )


def process(
    *arguments: str, code: str | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a command in its own process to its end."""
    with start(*arguments, code=code, **environment) as running:
        try:
            stdout, stderr = running.communicate(timeout=300)
        except BaseException:
            running.kill()
            raise
    return subprocess.CompletedProcess(arguments, running.returncode, stdout, stderr)
