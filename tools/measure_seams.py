"""Measure how tiled denoising differs from denoising the whole array, by the margin of tiles.

    python tools/measure_seams.py [FOLDER OF IMAGES]

For each number of axes and quality, the tables show the difference in PSNR, and the RMS difference
over all samples and at the seams, relative to the remaining error.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from benchmarks.restoration import cells, phantom, seismic
from fost import images, restoration
from fost.restoration import denoising

MARGINS = {
    1: [(128,), (256,), (1024,), (4096,), (16384,)],
    2: [(16, 16), (24, 24), (32, 32), (48, 48), (64, 64)],
    3: [(8, 16, 16), (12, 16, 16), (16, 16, 16), (20, 20, 20)],
}
TILES = {1: 10_000, 2: 100, 3: 24}


def main() -> None:
    rng = np.random.default_rng(0)
    arrays = {"traces": (seismic(40_000, rng), 0.1)}
    for path in sorted(Path(sys.argv[1]).glob("*.png"))[:2] if len(sys.argv) > 1 else ():
        image = images.read(path)
        grey = image[..., 0] if image.ndim == 3 else image
        arrays[path.stem] = grey[:300, :300] * 1.0, 25
    arrays["phantom"] = phantom((48, 96, 96), rng), 25
    arrays["cells"] = cells((48, 96, 96), rng), 25
    for name, (clean, sigma) in arrays.items():
        noisy = clean + sigma * rng.standard_normal(clean.shape)
        seams = np.zeros(clean.shape, bool)
        for axis, n in enumerate(clean.shape):
            side = np.moveaxis(seams, axis, 0)
            for place in range(TILES[clean.ndim], n, TILES[clean.ndim]):
                side[place - 2 : place + 2] = True
        for quality in ("fast", "best"):
            whole = restoration.denoise(noisy, sigma, quality=quality)
            error = np.std(whole - clean)
            for margin in MARGINS[clean.ndim]:
                denoising.MARGINS[quality][clean.ndim] = margin
                tiled = restoration.denoise(noisy, sigma, quality=quality, tile=TILES[clean.ndim])
                apart = tiled - whole
                print(
                    f"| {name} | {quality} | {margin} "
                    f"| {20 * np.log10(error / np.std(tiled - clean)):+.3f} dB "
                    f"| {np.std(apart) / error:.3f} | {np.std(apart[seams]) / error:.3f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
