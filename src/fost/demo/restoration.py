"""Missing pixels and noise: fost beside what scikit-image has."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fost
from fost._typing import Numbers
from fost.demo.comparison import pyplot

SHARE = 0.5
SIGMA = 25

Image = Numbers


@dataclass(frozen=True)
class Row:
    """What one method made of camera."""

    task: str
    method: str
    psnr: float
    seconds: float


def run(out: Path) -> list[Row]:
    """Print the tables, and leave inpainting.png and denoising.png in a folder."""
    grey, colour = bundled("camera"), bundled("astronaut")
    rows = [*inpainting(grey), *denoising(grey)]
    draw(
        out / "inpainting.png",
        {
            f"{SHARE:.0%} of the pixels": damaged(colour)[0],
            "filled in": fost.restoration.inpaint(*damaged(colour), channel_axis=-1),
            "original": colour,
        },
    )
    draw(
        out / "denoising.png",
        {
            f"noise of {SIGMA} grey values": noisy(colour),
            "denoised": fost.restoration.denoise(noisy(colour), SIGMA, channel_axis=-1),
            "original": colour,
        },
    )
    return rows


def bundled(name: str) -> Image:
    """A picture that comes with scikit-image."""
    import skimage.data

    return np.asarray(getattr(skimage.data, name)())


def damaged(image: Image) -> tuple[Image, NDArray[np.bool_]]:
    """A picture without some of its pixels, and which these are."""
    missing = np.random.default_rng(0).random(image.shape[:2]) < SHARE
    gaps = missing if image.ndim == 2 else missing[..., None]
    return np.where(gaps, 0, image).astype(image.dtype), missing


def noisy(image: Image) -> Image:
    noise = SIGMA * np.random.default_rng(0).standard_normal(image.shape)
    return np.clip(np.rint(image + noise), 0, 255).astype(np.uint8)


def inpainting(image: Image) -> list[Row]:
    import skimage.restoration as theirs

    holes, missing = damaged(image)
    return table(
        f"Camera without {SHARE:.0%} of its pixels",
        image,
        {
            "fost.restoration.inpaint": lambda: fost.restoration.inpaint(holes, missing),
            "skimage inpaint_biharmonic": lambda: 255 * theirs.inpaint_biharmonic(holes, missing),
        },
    )


def denoising(image: Image) -> list[Row]:
    import skimage.restoration

    theirs: Any = skimage.restoration
    given = noisy(image)
    sigma = SIGMA / 255
    means = {"h": 0.8 * sigma, "sigma": sigma, "patch_size": 5, "patch_distance": 6}
    return table(
        f"Camera with noise of {SIGMA} grey values",
        image,
        {
            "fost.restoration.denoise": lambda: fost.restoration.denoise(given, SIGMA),
            "the same, 8 x 8 DCT": lambda: fost.restoration.denoise(
                given, SIGMA, transform=fost.DCT((8, 8))
            ),
            "skimage denoise_nl_means": lambda: 255 * theirs.denoise_nl_means(given / 255, **means),
            "skimage denoise_tv_chambolle": lambda: (
                255 * theirs.denoise_tv_chambolle(given, weight=0.1)
            ),
        },
    )


def table(task: str, clean: Image, methods: dict[str, Callable[[], Image]]) -> list[Row]:
    print(f"\n{task}\n\n{'':<30} {'PSNR, dB':>9} {'seconds':>9}\n" + "-" * 50)
    rows = []
    for name, method in methods.items():
        start = time.perf_counter()
        result = method()
        seconds = time.perf_counter() - start
        quality = fost.images.psnr(clean, np.clip(np.rint(result), 0, 255).astype(np.uint8))
        rows.append(Row(task, name, quality, seconds))
        print(f"{name:<30} {quality:>9.2f} {seconds:>9.2f}", flush=True)
    return rows


def draw(path: Path, pictures: dict[str, Image]) -> None:
    plt = pyplot()
    size = (4.6 * len(pictures), 5)
    fig, axes = plt.subplots(1, len(pictures), figsize=size, layout="constrained")
    for axis, (title, image) in zip(axes, pictures.items(), strict=True):
        axis.imshow(image[20:276, 90:346])
        axis.set_title(title)
        axis.set_axis_off()
    fig.savefig(path, dpi=130)
    plt.close(fig)
