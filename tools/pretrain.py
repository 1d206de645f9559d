"""Learn the general dictionaries that come with fost: ``python tools/pretrain.py``.

They are learned from pictures that come with scikit-image and are free of restrictions: see
src/fost/restoration/dictionaries/README.md, which this script writes as well. "camera" is left out,
since it is what inpainting and denoising are judged on.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import skimage.data

import fost
from fost.images import ImageFormat, to_luma_chroma

PICTURES = {
    "astronaut": "NASA, public domain",
    "brick": "CC0",
    "chelsea": "CC0",
    "coffee": "CC0",
    "coins": "no known copyright restrictions",
    "grass": "CC0",
    "gravel": "CC0",
    "moon": "NASA, public domain",
    "rocket": "CC0",
}
# Side of a patch: rotations, entries per code, patches of each picture.
SETTINGS = {8: (256, 6, 20_000), 16: (1024, 16, 8_000)}
ITERATIONS = 50
FOLDER = Path(__file__).parents[1] / "src" / "fost" / "restoration" / "dictionaries"


def patches(side: int, count: int) -> np.ndarray:
    """So many random patches of each picture's luma, means removed."""
    random = np.random.default_rng(0)
    rows = []
    for name in PICTURES:
        image = getattr(skimage.data, name)()
        image = ImageFormat.of(image).to_unit(image)
        if image.ndim == 3:
            image = to_luma_chroma(image)[..., 0] / np.float32(np.sqrt(3))
        windows = np.lib.stride_tricks.sliding_window_view(image, (side, side))
        tops, lefts = (random.integers(k, size=count) for k in windows.shape[:2])
        rows.append(windows[tops, lefts].reshape(count, -1))
    Y = np.concatenate(rows).astype(np.float32)
    return Y - Y.mean(axis=1, keepdims=True)


def main() -> None:
    lines = [
        "# General dictionaries",
        "",
        "Learned by `tools/pretrain.py` with fost itself, from random patches (means removed, "
        "grey values from 0 to 1) of pictures that come with scikit-image:",
        "",
        "| picture | licence |",
        "|---|---|",
        *(f"| {name} | {licence} |" for name, licence in PICTURES.items()),
        "",
        "| file | transform | operations | patches | entries per code | relative error | DCT |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for side, (rotations, s, count) in SETTINGS.items():
        Y = patches(side, count)
        base = fost.DCT((side, side))
        result = fost.learn(
            Y, fost.Rotations(rotations), s, base=base, max_iter=ITERATIONS, random_state=0
        )
        kept = np.square(base.encode(Y, s).data, dtype=np.float64).sum()
        plain = 1 - kept / np.square(Y, dtype=np.float64).sum()
        path = FOLDER / f"patches-{side}x{side}.safetensors"
        result.transform.save(path, {"patch": f"{side}x{side}", "pictures": ", ".join(PICTURES)})
        lines.append(
            f"| {path.name} | {side} x {side} DCT + {rotations} rotations "
            f"| {result.transform.flops:,} | {len(Y):,} | {s} "
            f"| {result.error:.2%} | {plain:.2%} |"
        )
        print(lines[-1])
    (FOLDER / "README.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
