"""Denoising beside BM3D, in quality and in time: the table of docs/benchmarks/images.md.

    python -m benchmarks.denoising [FOLDER] [--sigma 15 25 50]

FOLDER has further images beside those of scikit-image, as .png files. The package `bm3d` takes
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
from benchmarks.results import Results
from fost.images import psnr
from fost.restoration import denoise

Array = NDArray[np.float64]
Denoiser = Callable[[Array, float], Array]


def images(folder: Path | None) -> Iterator[tuple[str, Array]]:
    """Grey images from 0 to 1."""
    for path in sorted(folder.glob("*.png")) if folder else ():
        image = io.imread(path)
        yield path.stem, rgb2gray(image[..., :3]) if image.ndim == 3 else image / 255
    for name in ("camera", "astronaut", "coins", "moon"):
        image = getattr(data, name)()
        yield name, rgb2gray(image) if image.ndim == 3 else image / 255


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
    results = Results("denoising")
    columns = {"image": "", "sigma": "g", **dict.fromkeys(methods, ".2f")}
    columns |= {f"{name}, s": ".2f" for name in methods}
    table = results.table("grey", columns)
    for sigma in asked.sigma:
        rows: list[list[float]] = []
        for name, clean in images(asked.folder):
            noise = np.random.default_rng(0).standard_normal(clean.shape)
            noisy = clean + sigma / 255 * noise
            judged = [_judged(method, clean, noisy, sigma / 255) for method in methods.values()]
            rows.append([value for values in zip(*judged, strict=True) for value in values])
            table.add(name, sigma, *rows[-1])
        table.add("mean", sigma, *np.mean(rows, axis=0))
    results.save()


def _judged(method: Denoiser, clean: Array, image: Array, sigma: float) -> tuple[float, float]:
    """PSNR and seconds."""
    start = time.process_time()
    result = method(image, sigma)
    return psnr(clean, result), time.process_time() - start


if __name__ == "__main__":
    main()
