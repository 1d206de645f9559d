"""Of the paper's tables and figures what is small."""

from __future__ import annotations

from typing import Any

import numpy as np

from fost import images, paper
from tests.fuzz.judge import Fuzz
from tests.fuzz.targets import target
from tests.fuzz.targets.transforms import a_path


@target(1)
def find_pictures(fuzz: Fuzz) -> None:
    folder = fuzz.folder / "pictures"
    folder.mkdir()
    sizes = fuzz.pick(((16, 16), (17, 9), (8, 8)))
    images.write(folder / "boat.png", np.zeros(sizes, np.uint8))
    path = a_path(fuzz, folder)
    fuzz.bad = [b for b in fuzz.bad if b != "path=None"]  # the pictures of scikit-image
    if path is not None:
        found = fuzz.call(paper.find_pictures, path)
        fuzz.expect(list(found.pictures) == ["boat"], "the picture")


@target(1)
def compute(fuzz: Fuzz) -> None:
    picture = fuzz.rng.random((64, 64)) * 255
    pictures: Any = paper.PictureSet({"peppers": picture}, missing=())
    names: Any = ["figure-3"]
    if fuzz.spoil():
        names = fuzz.wrong("names", ["figure-9"], "figure", [3], 3, [None], 1.5)
    settings: Any = paper.Settings(iterations=1, reflectors=(1,))
    if fuzz.spoil():
        settings = fuzz.wrong("settings", 3, "quick", {}, paper.Settings)
    found = fuzz.call(paper.compute, fuzz.folder, names, pictures=pictures, settings=settings)
    fuzz.expect(isinstance(found, paper.Reproduction), "what was found")


@target(2)
def paper_learn(fuzz: Fuzz) -> None:
    n = min(fuzz.size(), 33)
    name: Any = fuzz.pick(("H1", "QH1", "Q", "Q-DLA", "DCT", "1-D DCT"))
    if fuzz.spoil():
        name = fuzz.wrong("name", 3, None, "H", "H0", "QH99", "K-SVD", "h1", "")
    start: Any = "paper" if "DCT" in str(name) else fuzz.pick(("paper", "matlab"))
    if fuzz.spoil():
        start = fuzz.wrong("start", 1, "svd", None, "")
    Y, plain = fuzz.signals("Y", n, least=1, columns=False)
    s = fuzz.integer("s", 1, n)
    found = fuzz.call(paper.learn, name, Y, s, fuzz.pick((0, 1, 2)), start=start)
    fuzz.expect(0 <= found.error <= 1, "a relative error")
    fuzz.expect(found.dictionary.n_features == plain.shape[1], "a dictionary of these signals")
