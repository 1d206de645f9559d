"""Small images under the paper's names, short settings, and one complete run with both."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("skimage", reason="the extra images is not installed")
pytest.importorskip("matplotlib", reason="the extra images is not installed")

from fost import images as image_files
from reproduction.__main__ import reproduce
from reproduction.algorithms import Settings
from reproduction.data import ImageSet, find_images
from reproduction.page import Found

NAMES = ("peppers", "boat", "couple", "barb", "man")
TINY = Settings(
    iterations=3,
    table_iterations=(("H6", 2), ("H12", 2), ("H32", 3), ("Q-DLA", 1)),
    auto_iterations=2,
    stagewise_inner=1,
    stagewise_final=1,
    masks=2,
    reflectors=(1, 2, 3, 6, 12, 20, 24),
    repeats=2,
    timed_signals=64,
)


def make_image(seed: int, side: int = 128) -> np.ndarray:
    """Waves, edges and a little noise."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:side, :side]
    waves = np.sin(x / (3 + seed)) * np.cos(y / (5 + seed)) + np.sin((x + 2 * y) / (4 + seed))
    grey = 120 + 35 * waves + 40 * (x > y + 7 * seed) + 4 * rng.standard_normal((side, side))
    return np.clip(np.rint(grey), 0, 255).astype(np.uint8)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with five images that have names of the paper."""
    made = tmp_path_factory.mktemp("images")
    for seed, name in enumerate(NAMES):
        image_files.write(made / f"{name}.png", make_image(seed))
    return made


@pytest.fixture(scope="session")
def images(folder: Path) -> ImageSet:
    return find_images(folder)


@pytest.fixture(scope="session")
def done(images: ImageSet, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Found]:
    """The output folder and the rows and claims of a complete run."""
    out = tmp_path_factory.mktemp("out")
    return out, reproduce(out, images, TINY, [])
