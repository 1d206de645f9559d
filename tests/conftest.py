"""Settings and fixtures of all tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from numpy.typing import NDArray

import fost
from fost import _core

# What a terminal or a CI service says of itself changes what commands print, some of it already
# when they are imported; and drawing needs no screen.
for _name in ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "PY_COLORS", "CLICOLOR_FORCE",
              "TTY_COMPATIBLE", "TTY_INTERACTIVE", "TERMINAL_WIDTH", "GITHUB_ACTIONS",
              "FOST_TRACEBACK"):  # fmt: skip
    os.environ.pop(_name, None)
os.environ["MPLBACKEND"] = "Agg"

# The fixtures below hold for all examples of a test, so it does not matter that they are set
# up only once. Examples are the same in every run; the profile "thorough" has more of them,
# those of "random" follow from --hypothesis-seed.
settings.register_profile(
    "ci",
    max_examples=100,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.register_profile("thorough", settings.get_profile("ci"), max_examples=1000)
settings.register_profile("few", settings.get_profile("ci"), max_examples=10)
settings.register_profile(
    "random", settings.get_profile("ci"), max_examples=15, derandomize=False, database=None
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

if "FOST_TEST_ROUNDING" in os.environ:
    from tests import rounding

    rounding.disturb(int(os.environ["FOST_TEST_ROUNDING"]))

IMAGES = Path(__file__).resolve().parents[1] / ".." / "shared" / "images"


@pytest.fixture(params=[_core.get_isa()] if os.environ.get("FOST_ISA") else _core.available_isas())
def isa(request: pytest.FixtureRequest) -> Iterator[str]:
    """Runs a test under every instruction set that the machine has, or under FOST_ISA alone."""
    before = _core.get_isa()
    _core.set_isa(request.param)
    yield request.param
    _core.set_isa(before)


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers of a test's own: one generator for a whole module would give each test others
    with every order of the tests and every number of processes."""
    return np.random.default_rng(5)


@pytest.fixture
def set_threads() -> Iterator[Callable[[int], None]]:
    """`fost.set_num_threads`, undone after the test."""
    before = fost.get_num_threads()
    yield fost.set_num_threads
    fost.set_num_threads(before)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """SIGINT is KeyboardInterrupt, which it is not where the parent of the tests ignores it
    (`nohup`, a shell's `&`)."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def paper_images() -> dict[str, NDArray[Any]]:
    """The paper's test pictures by name, as grey values from 0 to 255."""
    if not IMAGES.is_dir():
        pytest.skip(f"the paper's pictures are not in {IMAGES}")
    io = pytest.importorskip("skimage.io", reason="scikit-image reads the pictures")
    return {path.stem: np.asarray(io.imread(path)) for path in sorted(IMAGES.glob("*.png"))}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """``FOST_TEST_ORDER=1`` (2, 3, ...) runs modules, and the tests in them, in another order."""
    if "FOST_TEST_ORDER" not in os.environ:
        return
    random = Random(int(os.environ["FOST_TEST_ORDER"]))
    places = {path: random.random() for path in dict.fromkeys(item.path for item in items)}
    random.shuffle(items)
    items.sort(key=lambda item: places[item.path])
