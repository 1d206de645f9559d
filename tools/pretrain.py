"""Learn the pretrained transforms of fost: ``python tools/pretrain.py``.

The training images are those of scikit-image without restrictions: see
src/fost/restoration/dictionaries/README.md, which this script writes as well. "camera" is excluded,
since it is a test image of inpainting and denoising.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import skimage.data

import fost
from fost.images import ImageFormat, to_luma_chroma

IMAGES = {
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
# Side of a patch: rotations, nonzero coefficients, patches of each image.
SETTINGS = {8: (256, 6, 20_000), 16: (1024, 16, 8_000)}
ITERATIONS = 50
FOLDER = Path(__file__).parents[1] / "src" / "fost" / "restoration" / "dictionaries"


def patches(side: int, count: int) -> np.ndarray:
    """Random patches of the luma of each image, without their means."""
    random = np.random.default_rng(0)
    rows = []
    for name in IMAGES:
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
        "# Pretrained transforms",
        "",
        "`tools/pretrain.py` learned these transforms from random patches (without their means, "
        "grey values from 0 to 1) of images of scikit-image:",
        "",
        "| image | licence |",
        "|---|---|",
        *(f"| {name} | {licence} |" for name, licence in IMAGES.items()),
        "",
        "| file | transform | operations | patches | nonzero coefficients | relative error | DCT |",
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
        result.transform.save(path, {"patch_shape": f"{side}x{side}", "images": ", ".join(IMAGES)})
        lines.append(
            f"| {path.name} | {side} x {side} DCT + {rotations} rotations "
            f"| {result.transform.flops:,} | {len(Y):,} | {s} "
            f"| {result.error:.2%} | {plain:.2%} |"
        )
        print(lines[-1])
    (FOLDER / "README.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
