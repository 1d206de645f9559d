"""Errors of structures at their costs, as the tables of docs/explanation/rotations.md.

Run as ``python -m benchmarks.quality``; the paper's images join where ../shared/images has them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.datasets
from numpy.typing import NDArray

import fost
from benchmarks.results import Results, Table
from fost.model_selection.candidates import relative_error
from reproduction.data import bundled_image

Array = NDArray[np.float64]
S = 4
TRAINING = ("camera", "astronaut", "grass", "moon")
IMAGES = ("camera", "astronaut", "brick", "grass", "gravel", "moon")
PAPER = Path(__file__).parents[2] / "shared" / "images"


def main() -> None:
    data = {name: patches(bundled_image(name)) for name in IMAGES}
    for path in sorted(PAPER.glob("*.png")):
        from skimage.io import imread

        data[path.stem] = patches(imread(path) / 255)
    results = Results("quality")
    one_image(results, data)
    other_images(results, data)
    other_signals(results)
    results.save()


def patches(image: Array, side: int = 8) -> Array:
    """Non-overlapping patches in rows, with their means removed."""
    Y = fost.restoration.patches(image, side)
    return np.asarray(Y - Y.mean(axis=1, keepdims=True))


def methods(shape: tuple[int, ...]) -> dict[str, Callable[[Array, int], fost.Transform]]:
    """H12's cost for n = 64 and its equivalents for other n: m = 12 n / 64 and so on."""
    base = fost.DCT(shape)
    n = base.n_features
    m = max(1, round(12 * n / 64))

    def learned(structure: fost.Structure, **options: Any) -> Any:
        return lambda Y, s: fost.learn(Y, structure, s, random_state=0, **options).transform

    return {
        f"H{m}": learned(fost.Reflectors(m)),
        "DCT": lambda Y, s: base,
        f"DCT + {n} rotations": learned(fost.Rotations(n), base=base),
        f"DCT + {4 * n} rotations": learned(fost.Rotations(4 * n), base=base),
        # Early stopping would flatter the others: some atoms are used rarely, and improve late.
        "Q-DLA": learned(fost.Orthonormal(), tol=0, max_iter=300),
    }


def columns(
    results: Results, table: str, first: str, transforms: dict[str, fost.Transform], spec: str
) -> Table:
    """A table with one column per transform, whose heading has its operations."""
    headings = {f"{name} ({U.flops:,})": spec for name, U in transforms.items()}
    return results.table(table, {first: "", **headings})


def one_image(results: Results, data: dict[str, Array]) -> None:
    """Root mean squared errors of the image that was learned from; 8 x 8 patches."""
    table = None
    for name, Y in data.items():
        learned = {method: learn(Y, S) for method, learn in methods((8, 8)).items()}
        table = table or columns(results, "one_image", "image", learned, ".4f")
        errors = (relative_error(Y, U, S) for U in learned.values())
        table.add(name, *(np.sqrt(error * np.mean(Y**2)) for error in errors))


def other_images(results: Results, data: dict[str, Array]) -> None:
    """Relative errors of images that were not learned from; 8 x 8 patches."""
    Y = np.concatenate([data[name] for name in TRAINING])
    learned = {name: learn(Y, S) for name, learn in methods((8, 8)).items()}
    table = columns(results, "other_images", "image", learned, ".2%")
    for name, other in data.items():
        if name not in TRAINING:
            table.add(name, *(relative_error(other, U, S) for U in learned.values()))


def other_signals(results: Results) -> None:
    """Relative errors of other kinds of signals: learned on one half, held out the other."""
    digits = np.asarray(sklearn.datasets.load_digits().data)
    kinds = {
        "digits": (digits, (8, 8), 4),
        "large_patches": (patches(bundled_image("camera"), 16), (16, 16), 16),
        "spikes": (electrocardiograms(4000), (128,), 8),
        "chirps": (chirps(4000), (128,), 8),
    }
    for kind, (Y, shape, s) in kinds.items():
        Y = Y - Y.mean(axis=1, keepdims=True)
        order = np.random.default_rng(0).permutation(len(Y))
        train, held_out = Y[order[::2]], Y[order[1::2]]
        learned = {name: learn(train, s) for name, learn in methods(shape).items()}
        table = columns(results, kind, "signals", learned, ".2%")
        for part, signals in (("training", train), ("held out", held_out)):
            table.add(part, *(relative_error(signals, U, s) for U in learned.values()))


def electrocardiograms(count: int) -> Array:
    """Windows of a train of spikes with slower waves around them, at random phases and rates."""
    rng = np.random.default_rng(0)
    t = np.arange(128) / 128
    phase, rate = rng.uniform(0, 1, (count, 1)), rng.normal(1.5, 0.15, (count, 1))
    x = (t * rate + phase) % 1
    waves = ((0.2, 0.03, 0.15), (0.35, 0.008, -0.2), (0.37, 0.01, 1.2), (0.6, 0.05, 0.3))
    signal = sum(height * np.exp(-((x - at) ** 2) / (2 * width**2)) for at, width, height in waves)
    return np.asarray(signal + 0.02 * rng.standard_normal((count, 128)))


def chirps(count: int) -> Array:
    """Windows of audio-like tones with gliding pitch and two harmonics."""
    rng = np.random.default_rng(1)
    t = np.arange(128) / 128
    pitch, glide = rng.uniform(3, 9, (count, 1)), rng.normal(0, 2, (count, 1))
    phase = 2 * np.pi * (pitch * t + glide * t**2 / 2 + rng.uniform(0, 1, (count, 1)))
    tones = np.sin(phase) + 0.5 * np.sin(2 * phase) + 0.25 * np.sin(3 * phase)
    return np.asarray(tones + 0.1 * rng.standard_normal((count, 128)))


if __name__ == "__main__":
    main()
