"""Noise of unknown kind and level: `denoise` beside scikit-image and OpenCV.

    python -m benchmarks.noise JSON [FOLDER] [--seeds 2] [--side 320] [--cases JPEG impulse]

FOLDER has further images beside those of scikit-image, as .png files. fost has its default settings
and does not know the noise; only the kind is given for counts and impulses. The competitors have
the best of several settings, chosen by their true error. OpenCV takes part where it is installed.
The table has mean PSNR in dB over images and seeds, and the rows where a competitor is better. The
constants of fost were set on camera, astronaut and coins, and brick, gravel, grass, moon, text and
page were looked at; none of these images takes part.
"""

from __future__ import annotations

import argparse
import importlib
import io
import json
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter, median_filter
from skimage import data
from skimage import io as image_files
from skimage.color import rgb2gray
from skimage.restoration import denoise_nl_means, denoise_wavelet

from fost import restoration
from fost.images import psnr

Array = NDArray[Any]
NAMES = ("chelsea", "coffee", "rocket", "clock")
STRENGTHS = (0.5, 1.0, 1.5, 2.5)  # times 15 grey levels
OPTIONS: dict[str, dict[str, Any]] = {
    "counts": {"noise": "poisson"},
    "impulse": {"noise": "impulse"},
}


def images(folder: Path | None, side: int) -> Iterator[tuple[str, Array]]:
    """Grey crops from 0 to 255."""
    found = {
        path.stem: image_files.imread(path) for path in sorted((folder or Path()).glob("*.png"))
    }
    found |= {name: getattr(data, name)() for name in NAMES}
    for name, image in found.items():
        grey = np.rint(255 * rgb2gray(image[..., :3])) if image.ndim == 3 else image
        top, left = (max(0, (k - side) // 2) for k in grey.shape)
        yield name, grey[top : top + side, left : left + side].astype(np.float64)


def to_bytes(image: Array) -> NDArray[np.uint8]:
    return np.clip(np.rint(image), 0, 255).astype(np.uint8)


def white(image: Array, rng: np.random.Generator, sigma: float) -> Array:
    return to_bytes(image + sigma * rng.standard_normal(image.shape))


def blurred(image: Array, rng: np.random.Generator, width: float) -> Array:
    noise = gaussian_filter(rng.standard_normal(image.shape), width)
    return to_bytes(image + 20 * noise / noise.std())


def compressed(image: Array, rng: np.random.Generator, sigma: float, quality: int) -> Array:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(white(image, rng, sigma)).save(file, "JPEG", quality=quality)
    return np.asarray(Image.open(file))


def striped(image: Array, rng: np.random.Generator, axis: int, sigma: float) -> Array:
    offsets = 20 * rng.standard_normal(image.shape[axis])
    return white(image + np.expand_dims(offsets, 1 - axis), rng, sigma)


def counted(image: Array, rng: np.random.Generator, peak: float) -> Array:
    return rng.poisson(image / 255 * peak).astype(np.uint16)


def amplified(image: Array, rng: np.random.Generator) -> Array:
    return to_bytes(12.75 * rng.poisson(image / 12.75))


def salted(image: Array, rng: np.random.Generator, density: float) -> Array:
    draws = rng.random(image.shape)
    return to_bytes(np.where(draws < density / 2, 0, np.where(draws > 1 - density / 2, 255, image)))


# Functions that make the noisy array, and the value of white in it.
CASES: dict[str, tuple[Callable[[Array, np.random.Generator], Array], float]] = {
    **{f"white {s}": (partial(white, sigma=s), 255) for s in (5, 10, 25, 50)},
    **{f"blurred {w}": (partial(blurred, width=w), 255) for w in (0.6, 1.0, 2.0)},
    "JPEG 50": (partial(compressed, sigma=15, quality=50), 255),
    "JPEG 75": (partial(compressed, sigma=15, quality=75), 255),
    "JPEG 50, no noise": (partial(compressed, sigma=0, quality=50), 255),
    "rows": (partial(striped, axis=0, sigma=0), 255),
    "columns, white 10": (partial(striped, axis=1, sigma=10), 255),
    **{f"counts to {p}": (partial(counted, peak=p), p) for p in (2, 4, 10)},
    "counts, gain 12.75": (amplified, 255),
    **{f"impulse {d}": (partial(salted, density=d), 255) for d in (0.1, 0.3)},
}


def by_fost(noisy: Array, case: str) -> Array:
    options = OPTIONS.get(case.split()[0].strip(","), {})
    try:
        return np.asarray(restoration.denoise(noisy, **options))
    except ValueError:  # releases without this kind of noise
        return np.asarray(restoration.denoise(noisy))


def by_skimage(noisy: Array, case: str) -> Iterator[Array]:
    others: Any = importlib.import_module("skimage.restoration")
    tv, level_of = others.denoise_tv_chambolle, others.estimate_sigma
    image = noisy.astype(np.float64)
    top = float(image.max())
    if case.startswith("impulse"):
        yield from (median_filter(image, side) for side in (3, 5))
        return
    if case.startswith("counts"):  # the Anscombe transform with its asymptotic inverse
        gain = 12.75 if "gain" in case else 1.0
        stable = 2 * np.sqrt(image / gain + 0.375)
        found = denoise_nl_means(stable, 5, 6, 0.8, sigma=1.0, fast_mode=True)
        yield gain * (np.square(found) / 4 - 0.125)
        return
    for strength in STRENGTHS:
        level = 15 * strength * top / 255
        yield denoise_nl_means(image, 5, 6, 0.8 * level, sigma=level, fast_mode=True)
        yield top * tv(image / top, 0.15 * strength)
    yield denoise_wavelet(image, rescale_sigma=True)
    yield denoise_wavelet(image, sigma=3 * float(level_of(image)), rescale_sigma=True)


def by_opencv(cv2: Any, noisy: Array, case: str) -> Iterator[Array]:
    scale = 1.0 if noisy.dtype == np.uint8 else 255 / float(noisy.max())
    image = to_bytes(noisy * scale)
    if case.startswith("impulse"):
        mask = np.isin(image, (0, 255)).astype(np.uint8)
        yield cv2.inpaint(image, mask, 3, cv2.INPAINT_TELEA)
        yield cv2.medianBlur(image, 3)
        return
    for strength in STRENGTHS:
        yield cv2.fastNlMeansDenoising(image, None, 15 * strength, 7, 21) / scale


def compare(clean: Array, case: str, seed: int, cv2: Any) -> dict[str, float]:
    """PSNR of all methods for one image."""
    make, peak = CASES[case]
    noisy = make(clean, np.random.default_rng(seed))

    def judged(found: Array) -> float:
        return float(psnr(clean, np.asarray(found, np.float64) * (255 / peak), data_range=255))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # doubtful estimates; clipped conversions
        row = {"noisy": judged(noisy), "fost": judged(by_fost(noisy, case))}
        row["scikit-image"] = max(map(judged, by_skimage(noisy, case)))
        if cv2 is not None:
            row["OpenCV"] = max(map(judged, by_opencv(cv2, noisy, case)))
    return row


def estimates(clean: Array, rng: np.random.Generator) -> dict[str, float]:
    """The estimated level of white noise of 20 in the first rows of an image."""
    noisy = clean + 20 * rng.standard_normal(clean.shape)
    return {f"{k} rows": restoration.estimate_sigma(noisy[:k]) for k in (1, 2, 3, 4, 6, 8, 16)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("json", type=Path)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--side", type=int, default=320)
    parser.add_argument("--cases", nargs="+", default=[""], help="beginnings of names")
    asked = parser.parse_args()
    try:
        cv2 = importlib.import_module("cv2")
        cv2.setNumThreads(1)
    except ImportError:
        cv2 = None
        print("OpenCV is not installed")
    crops = dict(images(asked.folder, asked.side))
    print(f"{len(crops)} images ({', '.join(crops)}), {asked.seeds} seeds")
    rows: list[dict[str, Any]] = []
    for case in (name for name in CASES if name.startswith(tuple(asked.cases))):
        own: list[dict[str, Any]] = [
            {"case": case, "image": name, "seed": seed, **compare(clean, case, seed, cv2)}
            for name, clean in crops.items()
            for seed in range(asked.seeds)
        ]
        methods = [key for key in own[0] if key not in ("case", "image", "seed")]
        means = {key: float(np.mean([row[key] for row in own])) for key in methods}
        print(f"{case:>18}", *(f"{key} {value:6.2f}" for key, value in means.items()), sep="  ")
        for row in own:
            best = max(row[key] for key in methods if key != "fost")
            if best > row["fost"]:
                print(f"{'loss':>18}", row["image"], row["seed"], f"{row['fost'] - best:.2f}")
        rows += own
    found = [estimates(clean, np.random.default_rng(0)) for clean in crops.values()]
    thin = {
        key: [min(each), max(each)] for key in found[0] if (each := [row[key] for row in found])
    }
    print("estimates of 20, least and largest:", thin)
    asked.json.write_text(json.dumps({"rows": rows, "estimates": thin}, indent=1))


if __name__ == "__main__":
    main()
