"""Denoising beside BM3D, in quality and in time: the table of docs/images.md.

    python -m benchmarks.denoising [FOLDER] [--sigma 15 25 50]

FOLDER has further pictures beside those of scikit-image, as .png files. The package `bm3d` takes
part where it is installed; it may be used for other than commercial ends only. One thread each: the
process is held to one core, and its own time is measured.
"""

from __future__ import annotations

import argparse
import importlib
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from skimage import data, io
from skimage.color import rgb2gray

import fost
from fost.images import psnr
from fost.restoration import denoise

Array = NDArray[np.float64]
Denoiser = Callable[[Array, float], Array]


def pictures(folder: Path | None) -> Iterator[tuple[str, Array]]:
    """Grey pictures from 0 to 1."""
    for path in sorted(folder.glob("*.png")) if folder else ():
        picture = io.imread(path)
        yield path.stem, rgb2gray(picture[..., :3]) if picture.ndim == 3 else picture / 255
    for name in ("camera", "astronaut", "coins", "moon"):
        picture = getattr(data, name)()
        yield name, rgb2gray(picture) if picture.ndim == 3 else picture / 255


def denoisers() -> dict[str, Denoiser]:
    found: dict[str, Denoiser] = {
        quality: partial(denoise, quality=quality) for quality in ("fast", "best")
    }
    try:
        found["bm3d"] = importlib.import_module("bm3d").bm3d
    except ImportError:
        print("bm3d is not installed")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--sigma", nargs="+", type=float, default=[15, 25, 50])
    asked = parser.parse_args()
    fost.set_num_threads(1)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    methods = denoisers()
    print(f"{'':>16}", *(f"{name:>16}" for name in methods), sep="  ")
    for sigma in asked.sigma:
        rows: list[list[tuple[float, float]]] = []
        for name, clean in pictures(asked.folder):
            noise = np.random.default_rng(0).standard_normal(clean.shape)
            image = clean + sigma / 255 * noise
            rows.append([_judged(method, clean, image, sigma / 255) for method in methods.values()])
            _print(f"{name} {sigma:g}", rows[-1])
        _print(f"mean {sigma:g}", [(float(a), float(b)) for a, b in np.mean(rows, axis=0)])


def _judged(method: Denoiser, clean: Array, image: Array, sigma: float) -> tuple[float, float]:
    """PSNR and seconds."""
    start = time.process_time()
    result = method(image, sigma)
    return psnr(clean, result), time.process_time() - start


def _print(label: str, row: list[tuple[float, float]]) -> None:
    cells = (f"{quality:6.2f} dB {seconds:5.2f} s" for quality, seconds in row)
    print(f"{label:>16}", *cells, sep="  ", flush=True)


if __name__ == "__main__":
    main()
