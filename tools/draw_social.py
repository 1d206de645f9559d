"""Draw docs/_static/favicon.png and docs/_static/social.png: atoms of a learned transform.

python tools/draw_social.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

import fost

OUT = Path(__file__).parents[1] / "docs" / "_static"
DARK, LIGHT = "#12344d", "#f5f7fa"


def main() -> None:
    atoms = fost.DCT((8, 8)).matrix.T.reshape(8, 8, 8, 8)
    icon = np.where(atoms[1, 2] > 0, 1.0, 0.0)[..., None]
    colours = icon * [0.93, 0.55, 0.14] + (1 - icon) * [0.07, 0.2, 0.3]
    Image.fromarray(np.uint8(255 * np.kron(colours, np.ones((8, 8, 1))))).save(OUT / "favicon.png")
    figure = Figure(figsize=(12, 6.3), dpi=100, facecolor=DARK)
    figure.text(0.06, 0.62, "fost", color=LIGHT, size=90, weight="bold")
    figure.text(0.06, 0.46, "Fast dictionary learning", color=LIGHT, size=32)
    lines = "sparse coding, denoising,\nmissing values, export to C"
    figure.text(0.06, 0.28, lines, color=LIGHT, size=22, linespacing=1.5)
    for k in range(16):
        ax = figure.add_axes((0.58 + 0.095 * (k % 4), 0.72 - 0.18 * (k // 4), 0.085, 0.16))
        ax.imshow(atoms[k // 4, k % 4], cmap="cividis")
        ax.axis("off")
    figure.savefig(OUT / "social.png", facecolor=DARK)


if __name__ == "__main__":
    main()
