"""Settings and fixtures of all tests."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from numpy.typing import NDArray

import fost
from fost import _core

# The fixtures below hold for all examples of a test, so it does not matter that they are set
# up only once. Examples are the same in every run; the profile "thorough" has more of them.
settings.register_profile(
    "ci",
    max_examples=100,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.register_profile("thorough", settings.get_profile("ci"), max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

IMAGES = Path(__file__).resolve().parents[1] / ".." / "shared" / "images"


@pytest.fixture(params=_core.available_isas())
def isa(request: pytest.FixtureRequest) -> Iterator[str]:
    """Runs a test under every instruction set that the machine has."""
    before = _core.get_isa()
    _core.set_isa(request.param)
    yield request.param
    _core.set_isa(before)


@pytest.fixture
def set_threads() -> Iterator[Callable[[int], None]]:
    """`fost.set_num_threads`, undone after the test."""
    before = fost.get_num_threads()
    yield fost.set_num_threads
    fost.set_num_threads(before)


@pytest.fixture(scope="session")
def paper_images() -> dict[str, NDArray[Any]]:
    """The paper's test pictures by name, as grey values from 0 to 255."""
    if not IMAGES.is_dir():
        pytest.skip(f"the paper's pictures are not in {IMAGES}")
    io = pytest.importorskip("skimage.io", reason="scikit-image reads the pictures")
    return {path.stem: np.asarray(io.imread(path)) for path in sorted(IMAGES.glob("*.png"))}
