"""Makes docs/_static/restored.jpg: a picture of which two thirds are missing, and what is found.

python tools/draw_restored.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image
from skimage import data

from fost import images, restoration

OUT = Path(__file__).parents[1] / "docs" / "_static" / "restored.jpg"
GAP = 8


def main() -> None:
    picture = data.astronaut()[:300, 60:360]
    missing = np.random.default_rng(0).random(picture.shape[:2]) < 2 / 3
    damaged = np.where(missing[..., None], np.uint8(0), picture)
    restored = restoration.inpaint(damaged, missing, channel_axis=-1)
    height, width, _ = picture.shape
    # Between the pictures a grey that is seen on white and on black.
    sheet = np.full((height, 3 * width + 2 * GAP, 3), 128, np.uint8)
    for k, part in enumerate((damaged, restored, picture)):
        sheet[:, k * (width + GAP) : k * (width + GAP) + width] = part
    Image.fromarray(sheet).save(OUT, quality=85, optimize=True)
    print(f"{OUT.name}: {images.psnr(picture, restored):.1f} dB, {OUT.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
