"""`fost learn` that is killed and resumed gives the model of an undisturbed run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import fost
from fost.transforms import read_metadata

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="signals of POSIX")

WORDS = "learn signals.npy -o {} --structure householder --n-reflectors 12 --max-iter 500 --quiet"

# Imports once, then runs the command in forked processes, each of which is killed at a random
# moment of its first `longest` seconds, until twenty were. A run that ends before that must
# have written the right model; the model is removed, and the next run starts again.
KILLER = """
import os, random, signal, sys, time
import fost.cli.app, fost.learning, fost.transforms.storage, fost.cli.signals
longest, *words = sys.argv[1:]
random.seed(0)
right, killed, ended = fost.load("quiet").vectors.tobytes(), 0, 0
while killed < 20:
    child = os.fork()
    if child == 0:
        fost.cli.app.app(words)
    time.sleep(random.uniform(0, float(longest)))
    os.kill(child, signal.SIGKILL)
    killed += os.WIFSIGNALED(os.waitpid(child, 0)[1])
    if os.path.exists("model"):
        assert fost.load("model").vectors.tobytes() == right
        os.remove("model")
        os.remove("state")
        ended += 1
print(ended, "ended between the kills")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with signals and the model of an undisturbed run."""
    monkeypatch.chdir(tmp_path)
    # White noise takes about 300 iterations.
    noise = np.random.default_rng(0).standard_normal((5_000, 32), dtype=np.float32)
    np.save("signals.npy", noise)
    fost_command(*WORDS.format("quiet").split())
    return tmp_path


def fost_command(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "fost", *words], check=True)


def test_resuming_after_twenty_kills(folder: Path) -> None:
    start = time.perf_counter()
    fost.learn(np.load("signals.npy"), fost.Reflectors(12), 4, max_iter=500)
    seconds = time.perf_counter() - start
    words = [*WORDS.format("model").split(), "--checkpoint", "state"]
    subprocess.run([sys.executable, "-c", KILLER, str(0.2 + seconds / 3), *words], check=True)
    fost_command(*words)
    assert_same_models(folder)


def test_a_kill_from_outside(folder: Path) -> None:
    """The command as users start it, killed as soon as it has written something."""
    words = [*WORDS.format("model").split(), "--checkpoint", "state"]
    for _ in range(20):  # a busy machine may let us look again only when the command has ended
        running = subprocess.Popen([sys.executable, "-m", "fost", *words])
        while not (folder / "state").exists() and running.poll() is None:
            time.sleep(0.001)
        running.send_signal(signal.SIGKILL)
        if running.wait() == -signal.SIGKILL and not (folder / "model").exists():
            break
        assert_same_models(folder)
        (folder / "model").unlink()
        (folder / "state").unlink()
    else:
        pytest.fail("the command was always faster than the kill")
    fost_command(*words)
    assert_same_models(folder)


def assert_same_models(folder: Path) -> None:
    quiet, killed = fost.load(folder / "quiet"), fost.load(folder / "model")
    assert isinstance(quiet, fost.Householder)
    assert isinstance(killed, fost.Householder)
    assert killed.vectors.tobytes() == quiet.vectors.tobytes()
    assert read_metadata(folder / "model") == read_metadata(folder / "quiet")
