"""Deblurring with a denoiser in the place of a prior, beside total variation in the same solver.

    python examples/deblur.py [FOLDER]

The picture is blurred by a kernel and gets a little noise. Half-quadratic splitting finds a picture
that explains it: a step that undoes the blur, exact in the Fourier domain, and a step that removes
noise of a level that falls from step to step, by turns. What removes it is
`fost.restoration.Denoiser` or the total variation of scikit-image, with the best of several
weights, judged by the truth. The restored pictures go to FOLDER, which is the current one unless it
is given.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from skimage import data
from skimage.restoration import denoise_tv_chambolle

from fost.images import psnr
from fost.restoration import Denoiser

NOISE, STEPS = 0.02, 12
WEIGHTS = (0.5, 1.0, 2.0)


def kernel_of(shape):
    """A kernel of 9 x 9 pixels, all alike, as the camera moves or is out of focus."""
    kernel = np.zeros(shape)
    kernel[:9, :9] = 1 / 81
    return np.fft.rfft2(np.roll(kernel, (-4, -4), (0, 1)))


def deblurred(blurred, kernel, denoiser):
    """Half-quadratic splitting: a step towards the data, a step of the denoiser, by turns."""
    seen = np.conj(kernel) * np.fft.rfft2(blurred)
    picture = blurred
    for sigma in np.geomspace(0.15, 2 * NOISE, STEPS):
        pull = 0.25 * (NOISE / sigma) ** 2
        step = (seen + pull * np.fft.rfft2(picture)) / (np.abs(kernel) ** 2 + pull)
        picture = denoiser(np.fft.irfft2(step, blurred.shape), sigma)
    return np.clip(picture, 0, 1)


def timed(blurred, kernel, denoiser):
    start = time.perf_counter()
    picture = deblurred(blurred, kernel, denoiser)
    return picture, time.perf_counter() - start


def total_variation(weight):
    return lambda picture, sigma: denoise_tv_chambolle(picture, weight * sigma, max_num_iter=100)


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    folder.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(2, 4, figsize=(12, 6.4))
    print(f"blur of 9 x 9 pixels, noise of {NOISE}, {STEPS} steps; PSNR in dB, and seconds\n")
    print(f"{'picture':<12}{'blurred':>10}{'variation':>18}{'fost':>18}")
    crops = {
        "camera": data.camera()[60:316, 120:376],
        "coins": data.coins()[20:276, 60:316],
    }
    for row, (name, picture) in zip(axes, crops.items(), strict=True):
        clean, kernel = picture / 255, kernel_of(picture.shape)
        blurred = np.fft.irfft2(kernel * np.fft.rfft2(clean), clean.shape)
        blurred += NOISE * np.random.default_rng(0).standard_normal(clean.shape)
        tried = [timed(blurred, kernel, total_variation(weight)) for weight in WEIGHTS]
        smooth, seconds = max(tried, key=lambda each: psnr(clean, each[0]))
        ours, ours_seconds = timed(blurred, kernel, Denoiser(clean.shape))
        shown = {"clean": clean, "blurred": np.clip(blurred, 0, 1), "variation": smooth}
        shown["fost"] = ours
        quality = {title: psnr(clean, each) for title, each in shown.items()}
        print(f"{name:<12}{quality['blurred']:>10.2f}", end="")
        print(f"{quality['variation']:>10.2f} {seconds:>5.1f} s", end="")
        print(f"{quality['fost']:>10.2f} {ours_seconds:>5.1f} s")
        for axis, (title, each) in zip(row, shown.items(), strict=True):
            axis.imshow(each, cmap="gray", vmin=0, vmax=1)
            axis.set_title(title if title == "clean" else f"{title}, {quality[title]:.2f} dB")
            axis.axis("off")
    print("\nThe solver is the same for both, and so is the schedule of its levels:")
    print("only the step that removes noise differs. Total variation makes patches flat")
    print("and loses texture; learned transforms keep what repeats itself. They are")
    print("learned in the first step, and the other steps find them ready.")
    figure.tight_layout()
    path = folder / "deblur.png"
    figure.savefig(path, dpi=100)
    print(f"\nfigure: {path}")


if __name__ == "__main__":
    main()
