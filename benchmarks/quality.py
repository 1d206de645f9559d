"""Errors of structures at their costs, as the tables of docs/rotations.md.

Run as ``python -m benchmarks.quality``; the paper's pictures join where they are at hand.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.datasets
from numpy.typing import NDArray

import fost
from fost.model_selection.candidates import relative_error
from reproduction.data import bundled_image

Array = NDArray[np.float64]
S = 4
IMAGES = ("camera", "astronaut", "brick", "grass", "gravel", "moon")
PAPER = Path(__file__).parents[2] / "shared" / "images"


def main() -> None:
    data = {name: patches(bundled_image(name)) for name in IMAGES}
    for path in sorted(PAPER.glob("*.png")):
        from skimage.io import imread

        data[path.stem] = patches(imread(path) / 255)
    one_picture(data)
    generalisation(data)
    other_signals()


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
        "Q-DLA": learned(fost.Orthonormal()),
    }


def one_picture(data: dict[str, Array]) -> None:
    print("\n## Learned on the picture that is coded\n")
    print("Root mean squared error of 8 x 8 patches, 4 coefficients.\n")
    columns = methods((8, 8))
    header([f"{name} ({learn(data['camera'], S).flops:,})" for name, learn in columns.items()])
    for name, Y in data.items():
        errors = [relative_error(Y, learn(Y, S), S) for learn in columns.values()]
        row(name, [f"{np.sqrt(e * np.mean(Y**2)):.4f}" for e in errors], errors)


def generalisation(data: dict[str, Array]) -> None:
    names = ("camera", "astronaut", "grass", "moon")
    print(f"\n## Learned on {', '.join(names)}, judged on other pictures\n")
    print("Relative error.\n")
    Y = np.concatenate([data[name] for name in names])
    columns = {name: learn(Y, S) for name, learn in methods((8, 8)).items()}
    header([f"{name} ({transform.flops:,})" for name, transform in columns.items()])
    for name, other in data.items():
        if name not in names:
            errors = [relative_error(other, transform, S) for transform in columns.values()]
            row(name, [f"{e:.2%}" for e in errors], errors)


def other_signals() -> None:
    print("\n## Other kinds of signals, learned on one half, judged on the other\n")
    print("Relative error; operations in brackets.\n")
    digits = np.asarray(sklearn.datasets.load_digits().data)
    kinds = {
        "digits, 8 x 8, s = 4": (digits, (8, 8), 4),
        "camera, 16 x 16 patches, s = 16": (patches(bundled_image("camera"), 16), (16, 16), 16),
        "ECG-like windows, n = 128, s = 8": (electrocardiograms(4000), (128,), 8),
        "chirps in noise, n = 128, s = 8": (chirps(4000), (128,), 8),
    }
    for kind, (Y, shape, s) in kinds.items():
        Y = Y - Y.mean(axis=1, keepdims=True)
        order = np.random.default_rng(0).permutation(len(Y))
        train, held_out = Y[order[::2]], Y[order[1::2]]
        print(f"\n{kind}\n")
        columns = {name: learn(train, s) for name, learn in methods(shape).items()}
        header([f"{name} ({transform.flops:,})" for name, transform in columns.items()])
        for part, signals in (("train", train), ("held out", held_out)):
            errors = [relative_error(signals, transform, s) for transform in columns.values()]
            row(part, [f"{e:.2%}" for e in errors], errors)


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


def header(columns: list[str]) -> None:
    print("| | " + " | ".join(columns) + " |")
    print("|---|" + "---:|" * len(columns))


def row(name: str, cells: list[str], errors: list[float]) -> None:
    """One line, the least error of a structure cheaper than Q-DLA in bold."""
    best = int(np.argmin(errors[:-1]))
    marked = [f"**{cell}**" if k == best else cell for k, cell in enumerate(cells)]
    print(f"| {name} | " + " | ".join(marked) + " |", flush=True)


if __name__ == "__main__":
    main()
