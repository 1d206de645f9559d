"""Inpainting of scattered pixels, squares, scratches and text beside biharmonic fills and Telea.

    python -m benchmarks.inpainting RESULT.json [--before OLD.json] [--folder FOLDER] [--seeds 6]

Prints the mean PSNR inside the holes by mask, over ten images of scikit-image and all seeds, then
every image and mask where fost is behind the biharmonic fill by more than 0.1 dB, and writes all
figures to RESULT.json. Images are cropped to 256 x 256 pixels at most. ``--before`` adds a column
with the figures of another version, from its RESULT.json. FOLDER replaces the images by its .png
files. OpenCV takes part where it is installed. One thread each.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from skimage import data, io
from skimage.color import rgb2gray
from skimage.restoration import inpaint_biharmonic

import fost
from benchmarks.results import Results
from fost.restoration import inpaint

Pixels = NDArray[np.uint8]
Mask = NDArray[np.bool_]
Method = Callable[[Pixels, Mask], Pixels]
IMAGES: tuple[str, ...] = ("camera", "astronaut", "coins", "moon", "brick")
IMAGES += ("grass", "text", "page", "chelsea", "cell")
SIDE = 256
# Squares cover this fraction of the image.
COVERED = 0.1
# A mean squared error of uint8 pixels below this one counts as this one.
LEAST_ERROR = 0.01


def images(folder: Path | None) -> Iterator[tuple[str, Pixels]]:
    """Central parts of grey images."""
    if folder is None:
        found = [(name, getattr(data, name)()) for name in IMAGES]
    else:
        found = [(path.stem, io.imread(path)) for path in sorted(folder.glob("*.png"))]
    for name, image in found:
        grey = np.rint(255 * rgb2gray(image[..., :3])).astype(np.uint8) if image.ndim > 2 else image
        corner = [max(0, n - SIDE) // 2 for n in grey.shape]
        yield name, grey[corner[0] : corner[0] + SIDE, corner[1] : corner[1] + SIDE]


def scattered(fraction: float) -> Callable[[tuple[int, int], np.random.Generator], Mask]:
    return lambda shape, rng: rng.random(shape) < fraction


def squares(side: int) -> Callable[[tuple[int, int], np.random.Generator], Mask]:
    def draw(shape: tuple[int, int], rng: np.random.Generator) -> Mask:
        mask = np.zeros(shape, bool)
        while mask.mean() < COVERED - side**2 / mask.size / 2:
            top, left = (int(rng.integers(n - side + 1)) for n in shape)
            mask[top : top + side, left : left + side] = True
        return mask

    return draw


def scratches(shape: tuple[int, int], rng: np.random.Generator) -> Mask:
    """Ten lines across the image, of one to three pixels."""
    canvas = Image.new("L", shape[::-1])
    draw = ImageDraw.Draw(canvas)
    for k in range(10):
        start, end = rng.integers(0, shape[::-1], (2, 2))
        start[k % 2], end[k % 2] = 0, shape[::-1][k % 2]
        draw.line([*map(int, start), *map(int, end)], fill=255, width=1 + k % 3)
    return np.array(canvas) > 0


def letters(shape: tuple[int, int], rng: np.random.Generator) -> Mask:
    """Lines of random capital letters, 18 pixels high, 30 pixels apart."""
    canvas = Image.new("L", shape[::-1])
    draw, font = ImageDraw.Draw(canvas), ImageFont.load_default(18)
    for top in range(int(rng.integers(10)), shape[0], 30):
        words = "".join(rng.choice(list("ABCDEFGHIJKLMNOPQRSTUVWXYZ  "), shape[1] // 10))
        draw.text((int(rng.integers(-10, 10)), top), words, fill=255, font=font)
    return np.array(canvas) > 0


MASKS = {
    **{f"random {k} %": scattered(k / 100) for k in (10, 20, 40, 80)},
    **{f"squares of {k}": squares(k) for k in (6, 12, 24, 48)},
    "scratches": scratches,
    "text": letters,
}


def biharmonic(image: Pixels, mask: Mask) -> Pixels:
    filled = np.asarray(inpaint_biharmonic(image / 255, mask))
    return np.asarray(np.rint(255 * np.clip(filled, 0, 1)), np.uint8)


def methods() -> dict[str, Method]:
    found: dict[str, Method] = {"fost": inpaint, "biharmonic": biharmonic}
    try:
        cv2 = importlib.import_module("cv2")
    except ImportError:
        print("OpenCV is not installed")
    else:
        cv2.setNumThreads(1)
        found["Telea"] = lambda x, mask: cv2.inpaint(x, mask.view(np.uint8), 3, cv2.INPAINT_TELEA)
    return found


def measure(folder: Path | None, n_seeds: int, found: dict[str, Method]) -> list[dict[str, object]]:
    """One row for each mask, image, seed and method."""
    rows: list[dict[str, object]] = []
    for kind, draw in MASKS.items():
        for name, image in images(folder):
            for seed in range(n_seeds):
                mask = draw(image.shape, np.random.default_rng(seed))
                damaged = np.where(mask, np.uint8(0), image)
                for label, method in found.items():
                    start = time.process_time()
                    result = method(damaged, mask)
                    seconds = time.process_time() - start
                    error = np.mean(np.square(image[mask].astype(float) - result[mask]))
                    quality = 10 * np.log10(255**2 / max(float(error), LEAST_ERROR))
                    about = {"mask": kind, "image": name, "seed": seed, "method": label}
                    rows.append({**about, "psnr": round(quality, 3), "seconds": round(seconds, 3)})
        print(kind, "measured", file=sys.stderr, flush=True)
    return rows


def mean(rows: list[dict[str, object]], **wanted: object) -> float:
    chosen = [row for row in rows if all(row[key] == value for key, value in wanted.items())]
    return float(np.mean([row["psnr"] for row in chosen])) if chosen else float("nan")


def report(rows: list[dict[str, object]]) -> Results:
    """The means by mask, and the cases where fost is behind the biharmonic fill."""
    results = Results("inpainting")
    labels = [str(label) for label in dict.fromkeys(row["method"] for row in rows)]
    names = list(dict.fromkeys(row["image"] for row in rows))
    kinds = list(dict.fromkeys(row["mask"] for row in rows))
    table = results.table("summary", {"mask": "", **dict.fromkeys(labels, ".2f")})
    for kind in kinds:
        table.add(kind, *(mean(rows, mask=kind, method=label) for label in labels))
    table.add("mean", *(mean(rows, method=label) for label in labels))
    compared = ("fost", "biharmonic")
    losses = results.table("losses", {"mask": "", "image": "", **dict.fromkeys(compared, ".2f")})
    for kind in kinds:
        for name in names:
            pair = [mean(rows, mask=kind, image=name, method=method) for method in compared]
            if pair[0] < pair[1] - 0.1:
                losses.add(kind, name, *pair)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result", type=Path)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--only-fost", action="store_true", help="without the other methods")
    asked = parser.parse_args()
    fost.set_num_threads(1)
    found: dict[str, Method] = {"fost": inpaint} if asked.only_fost else methods()
    rows = measure(asked.folder, asked.seeds, found)
    asked.result.write_text(json.dumps(rows))
    if asked.before is not None:
        old = json.loads(asked.before.read_text())
        rows = [{**row, "method": "before"} for row in old if row["method"] == "fost"] + rows
    results = report(rows)
    if asked.folder is None and not asked.only_fost:
        results.save()


if __name__ == "__main__":
    main()
