"""Fixed and learned transforms on bundled pictures: error, operations, time."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fost
from fost.transforms import Coder

PICTURES = ("camera", "astronaut", "brick", "grass", "gravel", "moon")
SIDE = 8
S = 4

Learner = Callable[[NDArray[np.float64]], Coder]


def learned(structure: fost.Structure, **options: Any) -> Learner:
    return lambda Y: fost.learn(Y, structure, S, random_state=0, **options).transform


METHODS: dict[str, Learner] = {
    "1-D DCT (the paper's)": lambda Y: fost.DCT(SIDE * SIDE),
    "2-D DCT": lambda Y: fost.DCT((SIDE, SIDE)),
    "QH6": learned(fost.Reflectors(6, orthogonal=True), init=fost.DCT((SIDE, SIDE))),
    "QH12": learned(fost.Reflectors(12, orthogonal=True), init=fost.DCT((SIDE, SIDE))),
    "H6": learned(fost.Reflectors(6)),
    "H12": learned(fost.Reflectors(12)),
    "2-D DCT + H3": learned(fost.Reflectors(3), base=fost.DCT((SIDE, SIDE))),
    "2-D DCT + 16 rotations": learned(fost.Rotations(16), base=fost.DCT((SIDE, SIDE))),
    "2-D DCT + 64 rotations": learned(fost.Rotations(64), base=fost.DCT((SIDE, SIDE))),
    "2-D DCT + 256 rotations": learned(fost.Rotations(256), base=fost.DCT((SIDE, SIDE))),
    "bank: 8 x 16 rotations": learned(
        fost.BankOf(fost.Rotations(16), 8), base=fost.DCT((SIDE, SIDE))
    ),
    "Q-DLA": learned(fost.Orthonormal()),
}


def picture(name: str) -> NDArray[np.float64]:
    """A picture that comes with scikit-image, grey, from 0 to 1."""
    import skimage.color
    import skimage.data

    image = getattr(skimage.data, name)()
    if image.ndim == 3:
        image = np.round(255 * skimage.color.rgb2gray(image))
    return np.asarray(image, dtype=np.float64) / 255


def patches(image: NDArray[np.float64], side: int = SIDE) -> NDArray[np.float64]:
    """Non-overlapping patches in rows, means removed."""
    Y = fost.restoration.patches(image, side)
    return np.asarray(Y - Y.mean(axis=1, keepdims=True))


def rmse(Y: NDArray[np.float64], transform: Coder) -> float:
    return float(np.sqrt(np.mean((Y - transform.decode(transform.encode(Y, S))) ** 2)))


def nanoseconds(transform: Coder) -> float:
    """To encode one float32 patch, on one thread, the best of several runs."""
    Y = np.random.default_rng(0).standard_normal((20_000, SIDE * SIDE)).astype(np.float32)
    before = fost.get_num_threads()
    fost.set_num_threads(1)
    try:
        times = []
        for _ in range(7):
            start = time.perf_counter()
            transform.encode(Y, S)
            times.append(time.perf_counter() - start)
    finally:
        fost.set_num_threads(before)
    return min(times) / len(Y) * 1e9


def draw_atoms(transform: Coder, path: Path) -> None:
    """All atoms as small patches, most used first."""
    plt = pyplot()
    fig, axes = plt.subplots(8, 8, figsize=(6, 6.4), layout="constrained")
    usage = np.bincount(
        transform.encode(patches(picture("camera")), S).indices, minlength=SIDE * SIDE
    )
    order = np.argsort(-usage)
    for axis, k in zip(axes.flat, order, strict=True):
        atom = transform.matrix[:, k].reshape(SIDE, SIDE)
        limit = np.abs(atom).max()
        axis.imshow(atom, cmap="gray", vmin=-limit, vmax=limit)
        axis.set_axis_off()
    fig.suptitle("Atoms of H12, learned on camera, most used first")
    fig.savefig(path, dpi=130)
    plt.close(fig)


def draw_pictures(
    Y: NDArray[np.float64], transforms: dict[str, dict[str, Coder]], path: Path
) -> None:
    """A part of one picture, coded by several methods."""
    plt = pyplot()
    image = picture("camera")
    means = fost.restoration.patches(image, SIDE).mean(axis=1, keepdims=True)
    shown = {"original": image}
    for method in ("1-D DCT (the paper's)", "2-D DCT", "H12", "bank: 8 x 16 rotations", "Q-DLA"):
        transform = transforms[method]["camera"]
        decoded = transform.decode(transform.encode(Y, S)) + means
        title = f"{method}\n{transform.flops:,} operations, RMSE {rmse(Y, transform):.4f}"
        shown[title] = fost.restoration.assemble(decoded, image.shape, SIDE)
    fig, axes = plt.subplots(1, len(shown), figsize=(3 * len(shown), 3.5), layout="constrained")
    for axis, (title, pixels) in zip(axes, shown.items(), strict=True):
        axis.imshow(pixels[64:224, 160:320], cmap="gray", vmin=0, vmax=1)
        axis.set_title(title, fontsize=9)
        axis.set_axis_off()
    fig.savefig(path, dpi=130)
    plt.close(fig)


def explore(Y: NDArray[np.float64], path: Path) -> fost.AutoDictionary:
    """What error camera's patches can have for what cost, as a table and a picture."""
    print("\nWhat can be had for what cost: camera, learned on half of its patches, judged on")
    print("the other half (relative error)\n")
    auto = fost.AutoDictionary(S, (SIDE, SIDE), validation_fraction=0.5, random_state=0).fit(Y)
    print(auto.frontier_)
    print("DCT 8x8 is the 2-D DCT.")
    plt = pyplot()
    ax = fost.plot_frontier(auto)
    ax.set_title("camera, 8 x 8 patches, 4 coefficients each")
    figure: Any = ax.figure
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return auto


def pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt
