"""Draw docs/_static/restored.jpg: an image without two thirds of its pixels, inpainted.

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
    image = data.astronaut()[:300, 60:360]
    mask = np.random.default_rng(0).random(image.shape[:2]) < 2 / 3
    damaged = np.where(mask[..., None], np.uint8(0), image)
    restored = restoration.inpaint(damaged, mask, channel_axis=-1)
    height, width, _ = image.shape
    # A grey between the images that is visible on white and on black.
    sheet = np.full((height, 3 * width + 2 * GAP, 3), 128, np.uint8)
    for k, part in enumerate((damaged, restored, image)):
        sheet[:, k * (width + GAP) : k * (width + GAP) + width] = part
    Image.fromarray(sheet).save(OUT, quality=85, optimize=True)
    print(f"{OUT.name}: {images.psnr(image, restored):.1f} dB, {OUT.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
