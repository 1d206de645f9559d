"""How far tiles of a large array are from the whole, by how much is looked at around them.

    python tools/measure_seams.py [FOLDER OF PICTURES]

For each number of axes and quality, as tables: decibels of the whole and of tiles, and the root
mean squared difference of both, over all samples and beside the seams, in units of the error that
is left.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from benchmarks.restoration import cells, phantom, seismic
from fost import images, restoration
from fost.restoration import cleaning

OVERLAPS = {
    1: [(128,), (256,), (1024,), (4096,), (16384,)],
    2: [(16, 16), (24, 24), (32, 32), (48, 48), (64, 64)],
    3: [(8, 16, 16), (12, 16, 16), (16, 16, 16), (20, 20, 20)],
}
TILES = {1: 10_000, 2: 100, 3: 24}


def main() -> None:
    rng = np.random.default_rng(0)
    arrays = {"traces": (seismic(40_000, rng), 0.1)}
    for path in sorted(Path(sys.argv[1]).glob("*.png"))[:2] if len(sys.argv) > 1 else ():
        picture = images.read(path)
        grey = picture[..., 0] if picture.ndim == 3 else picture
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
            for overlap in OVERLAPS[clean.ndim]:
                cleaning._OVERLAP[quality][clean.ndim] = overlap
                tiled = restoration.denoise(noisy, sigma, quality=quality, tile=TILES[clean.ndim])
                apart = tiled - whole
                print(
                    f"| {name} | {quality} | {overlap} "
                    f"| {20 * np.log10(error / np.std(tiled - clean)):+.3f} dB "
                    f"| {np.std(apart) / error:.3f} | {np.std(apart[seams]) / error:.3f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
