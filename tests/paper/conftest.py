"""A small set of pictures, settings that take no time, and what they come to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("skimage", reason="the extra images is not installed")
pytest.importorskip("matplotlib", reason="the extra images is not installed")

from fost import images, paper

NAMES = ("peppers", "boat", "couple", "barb", "man")
TINY = paper.Settings(
    iterations=3,
    table_iterations={"H6": 2, "H12": 2, "H32": 3, "Q-DLA": 1},
    auto_iterations=2,
    stagewise_inner=1,
    stagewise_final=1,
    masks=2,
    reflectors=(1, 2, 3, 6, 12, 20, 24),
    explored=(1, 3, 12),
    repeats=2,
    timed_signals=64,
)


def make_picture(seed: int, side: int = 128) -> np.ndarray:
    """Waves, edges and a little noise."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:side, :side]
    waves = np.sin(x / (3 + seed)) * np.cos(y / (5 + seed)) + np.sin((x + 2 * y) / (4 + seed))
    grey = 120 + 35 * waves + 40 * (x > y + 7 * seed) + 4 * rng.standard_normal((side, side))
    return np.clip(np.rint(grey), 0, 255).astype(np.uint8)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with five of the paper's pictures, by name."""
    made = tmp_path_factory.mktemp("pictures")
    for seed, name in enumerate(NAMES):
        images.write(made / f"{name}.png", make_picture(seed))
    return made


@pytest.fixture(scope="session")
def pictures(folder: Path) -> paper.PictureSet:
    return paper.find_pictures(folder)


@pytest.fixture(scope="session")
def done(
    pictures: paper.PictureSet, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, paper.Reproduction, list[paper.Claim]]:
    """Everything, computed and written: the folder, the rows and the claims."""
    out = tmp_path_factory.mktemp("out")
    return out, *paper.reproduce(out, pictures=pictures, settings=TINY)
