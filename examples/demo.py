"""A tour of fost: transforms compared on images, then inpainting and denoising.

Everything uses images that come with scikit-image. Tables are printed; report.md and its plots go
to the folder. Run as ``make demo`` or ``python examples/demo.py [FOLDER]``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")  # no window

import matplotlib.pyplot as plt
import numpy as np
import skimage.color
import skimage.data
import skimage.metrics
import skimage.restoration

import fost

IMAGES = ("camera", "astronaut", "brick", "grass", "gravel", "moon")
SIDE = 8
S = 4  # coefficients per patch
BASE = fost.DCT((SIDE, SIDE))
SHARE_MISSING = 0.5
SIGMA = 25  # standard deviation of the noise, in grey values


def learned(structure: fost.Structure, **options: Any) -> Callable[[np.ndarray], fost.Coder]:
    return lambda Y: fost.learn(Y, structure, S, random_state=0, **options).transform


# Each method makes a transform, or a bank of transforms, for patches in rows.
METHODS: dict[str, Callable[[np.ndarray], fost.Coder]] = {
    "1-D DCT (the paper's)": lambda Y: fost.DCT(SIDE * SIDE),
    "2-D DCT": lambda Y: BASE,
    "QH6": learned(fost.Reflectors(6, orthogonal=True), init=BASE),
    "QH12": learned(fost.Reflectors(12, orthogonal=True), init=BASE),
    "H6": learned(fost.Reflectors(6)),
    "H12": learned(fost.Reflectors(12)),
    "2-D DCT + H3": learned(fost.Reflectors(3), base=BASE),
    "2-D DCT + 16 rotations": learned(fost.Rotations(16), base=BASE),
    "2-D DCT + 64 rotations": learned(fost.Rotations(64), base=BASE),
    "2-D DCT + 256 rotations": learned(fost.Rotations(256), base=BASE),
    "bank: 8 x 16 rotations": learned(fost.BankOf(fost.Rotations(16), 8), base=BASE),
    "Q-DLA": learned(fost.Orthonormal()),
}
SHOWN = ("1-D DCT (the paper's)", "2-D DCT", "H12", "bank: 8 x 16 rotations", "Q-DLA")


def main(folder: str = "demo") -> None:
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    report = ["# fost demo", "", *compare_transforms(out), *choose_automatically(out)]
    report += restore(out)
    (out / "report.md").write_text("\n".join(report), encoding="utf-8")
    print(f"\nThe report and its plots are in {out}/")


def grey_image(name: str) -> np.ndarray:
    """An image of scikit-image as grey values from 0 to 1."""
    image = getattr(skimage.data, name)()
    if image.ndim == 3:
        image = np.round(255 * skimage.color.rgb2gray(image))
    return np.asarray(image, dtype=np.float64) / 255


def patches(image: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Non-overlapping patches in rows with their means removed, and the means."""
    Y = fost.restoration.patches(image, SIDE)
    means = Y.mean(axis=1, keepdims=True)
    return Y - means, means


def compare_transforms(out: Path) -> list[str]:
    """The error, operations and time of each method on each image."""
    print(
        f"Sparse codes of {SIDE} x {SIDE} patches, {S} coefficients each: "
        "root mean squared error (grey values from 0 to 1)\n"
    )
    head = f"{'':<24} {'operations':>10} {'ns/patch':>9}"
    print(head + "".join(f"{name:>10}" for name in IMAGES))
    data = {name: patches(grey_image(name))[0] for name in IMAGES}
    lines = [
        f"Non-overlapping {SIDE} x {SIDE} patches of images of scikit-image, means removed, {S} "
        "coefficients per patch. Each transform is learned on the image that it codes. Root mean "
        "squared error, grey values from 0 to 1; time to encode a float32 patch on one thread of "
        "this machine. The bank has 8 members over the 2-D DCT, and each patch uses one of them.",
        "",
        "| | operations | ns/patch | " + " | ".join(IMAGES) + " |",
        "|---|---:|---:|" + "---:|" * len(IMAGES),
    ]
    of_camera = {}
    for method, learn in METHODS.items():
        transforms = {name: learn(Y) for name, Y in data.items()}
        errors = [rmse(data[name], transform) for name, transform in transforms.items()]
        of_camera[method] = coder = transforms["camera"]
        ns = nanoseconds(coder)
        row = "".join(f"{e:>10.4f}" for e in errors)
        print(f"{method:<24} {coder.flops:>10,} {ns:>9.0f}{row}", flush=True)
        cells = " | ".join(f"{e:.4f}" for e in errors)
        lines.append(f"| {method} | {coder.flops:,} | {ns:.0f} | {cells} |")
    draw_reconstructions(of_camera, out / "reconstructions.png")
    draw_atoms(of_camera["H12"], data["camera"], out / "atoms.png")
    return [*lines, "", "![reconstructions](reconstructions.png)", "", "![atoms](atoms.png)", ""]


def rmse(Y: np.ndarray, coder: fost.Coder) -> float:
    return float(np.sqrt(np.mean((Y - coder.decode(coder.encode(Y, S))) ** 2)))


def nanoseconds(coder: fost.Coder) -> float:
    """The time to encode one float32 patch on one thread, the best of several runs."""
    Y = np.random.default_rng(0).standard_normal((20_000, SIDE * SIDE)).astype(np.float32)
    threads = fost.get_num_threads()
    fost.set_num_threads(1)
    times = []
    for _ in range(7):
        start = time.perf_counter()
        coder.encode(Y, S)
        times.append(time.perf_counter() - start)
    fost.set_num_threads(threads)
    return min(times) / len(Y) * 1e9


def draw_reconstructions(coders: dict[str, fost.Coder], path: Path) -> None:
    """A part of camera, coded by several methods."""
    image = grey_image("camera")
    Y, means = patches(image)
    panels = {"original": image}
    for method in (method for method in SHOWN if method in coders):
        coder = coders[method]
        title = f"{method}\n{coder.flops:,} operations, RMSE {rmse(Y, coder):.4f}"
        decoded = coder.decode(coder.encode(Y, S)) + means
        panels[title] = fost.restoration.assemble(decoded, image.shape, SIDE)
    parts = {title: panel[64:224, 160:320] for title, panel in panels.items()}
    draw_row(parts, path, size=(3, 3.8), fontsize=9)


def draw_atoms(transform: fost.Coder, Y: np.ndarray, path: Path) -> None:
    """All atoms as small patches, the most used first."""
    usage = np.bincount(transform.encode(Y, S).indices, minlength=SIDE * SIDE)
    figure, axes = plt.subplots(SIDE, SIDE, figsize=(6, 6.4), layout="constrained")
    for axis, k in zip(axes.flat, np.argsort(-usage), strict=True):
        atom = transform.matrix[:, k].reshape(SIDE, SIDE)
        limit = np.abs(atom).max()
        axis.imshow(atom, cmap="gray", vmin=-limit, vmax=limit)
        axis.set_axis_off()
    figure.suptitle("Atoms of H12, learned on camera, most used first")
    figure.savefig(path, dpi=130)
    plt.close(figure)


def choose_automatically(out: Path) -> list[str]:
    """The trade-off between error and cost that AutoDictionary finds on camera."""
    print("\nError against cost: camera, learned on half of its patches, relative error on the")
    print("other half\n")
    auto = fost.AutoDictionary(S, (SIDE, SIDE), validation_fraction=0.5, random_state=0)
    auto.fit(patches(grey_image("camera"))[0])
    print(auto.frontier_)
    print("DCT 8x8 is the 2-D DCT.")
    axes = fost.plot_frontier(auto)
    axes.set_title("camera, 8 x 8 patches, 4 coefficients each")
    axes.figure.savefig(out / "frontier.png", dpi=130)
    plt.close(axes.figure)
    lines = [
        "## Error against cost",
        "",
        "Camera, learned on half of its patches; errors are those of the other half. No structure "
        "of equal or lower cost beats the bold rows.",
        "",
        "| structure | operations | parameters | relative error, held out | seconds |",
        "|---|---:|---:|---:|---:|",
    ]
    for found in auto.frontier_:
        name = f"**{found.structure}**" if found in auto.frontier_.best else found.structure
        lines.append(
            f"| {name} | {found.flops:,} | {found.n_parameters:,} | {found.held_out_error:.2%} "
            f"| {found.seconds:.2f} |"
        )
    return [*lines, "", "![frontier](frontier.png)", ""]


def restore(out: Path) -> list[str]:
    """Inpainting and denoising of camera beside scikit-image, and of a colour image."""
    camera, colour = skimage.data.camera(), skimage.data.astronaut()
    biharmonic = skimage.restoration.inpaint_biharmonic
    nl_means, chambolle = (
        skimage.restoration.denoise_nl_means,
        skimage.restoration.denoise_tv_chambolle,
    )
    damaged, mask = drop_pixels(camera)
    noisy = add_noise(camera)
    sigma = SIGMA / 255
    options = {"h": 0.8 * sigma, "sigma": sigma, "patch_size": 5, "patch_distance": 6}
    lines = [
        "## Inpainting and denoising",
        "",
        "The grey image camera, 512 x 512 pixels; PSNR in dB, and seconds.",
        "",
        "| task | method | PSNR | seconds |",
        "|---|---|---:|---:|",
        *measure(
            f"camera without {SHARE_MISSING:.0%} of its pixels",
            camera,
            {
                "fost.restoration.inpaint": lambda: fost.restoration.inpaint(damaged, mask),
                "skimage inpaint_biharmonic": lambda: 255 * biharmonic(damaged, mask),
            },
        ),
        *measure(
            f"camera with noise of {SIGMA} grey values",
            camera,
            {
                "fost.restoration.denoise": lambda: fost.restoration.denoise(noisy, SIGMA),
                "skimage denoise_nl_means": lambda: 255 * nl_means(noisy / 255, **options),
                "skimage denoise_tv_chambolle": lambda: 255 * chambolle(noisy, weight=0.1),
            },
        ),
    ]
    damaged, mask = drop_pixels(colour)
    noisy = add_noise(colour)
    filled = fost.restoration.inpaint(damaged, mask, channel_axis=-1)
    clean = fost.restoration.denoise(noisy, SIGMA, channel_axis=-1)
    titles = (f"{SHARE_MISSING:.0%} of the pixels", f"noise of {SIGMA} grey values")
    panels = {titles[0]: damaged, "inpainted": filled, "original": colour}
    panels |= {titles[1]: noisy, "denoised": clean}
    parts = {title: panel[20:276, 90:346] for title, panel in panels.items()}
    draw_row(parts, out / "restored.png", size=(3.6, 4), fontsize=11)
    return [*lines, "", "![restored](restored.png)", ""]


def drop_pixels(image: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An image with missing pixels set to 0, and their mask."""
    mask = np.random.default_rng(0).random(image.shape[:2]) < SHARE_MISSING
    every_channel = mask if image.ndim == 2 else mask[..., None]
    return np.where(every_channel, 0, image).astype(image.dtype), mask


def add_noise(image: np.ndarray) -> np.ndarray:
    noise = SIGMA * np.random.default_rng(0).standard_normal(image.shape)
    return np.clip(np.rint(image + noise), 0, 255).astype(np.uint8)


def measure(
    task: str, clean: np.ndarray, methods: dict[str, Callable[[], np.ndarray]]
) -> list[str]:
    """Print the PSNR and the wall time of each method; returns lines of the report."""
    print(f"\n{task}\n\n{'':<30} {'PSNR, dB':>9} {'seconds':>9}")
    lines = []
    for name, method in methods.items():
        start = time.perf_counter()
        result = method()
        seconds = time.perf_counter() - start
        result = np.clip(np.rint(result), 0, 255).astype(np.uint8)
        psnr = skimage.metrics.peak_signal_noise_ratio(clean, result)
        print(f"{name:<30} {psnr:>9.2f} {seconds:>9.2f}", flush=True)
        lines.append(f"| {task} | {name} | {psnr:.2f} | {seconds:.2f} |")
    return lines


def draw_row(
    panels: dict[str, np.ndarray], path: Path, size: tuple[float, float], fontsize: int
) -> None:
    """Images side by side with their titles."""
    figure, axes = plt.subplots(
        1, len(panels), figsize=(size[0] * len(panels), size[1]), layout="constrained"
    )
    for axis, (title, image) in zip(axes, panels.items(), strict=True):
        grey = {"cmap": "gray", "vmin": 0, "vmax": 1} if image.ndim == 2 else {}
        axis.imshow(image, **grey)
        axis.set_title(title, fontsize=fontsize)
        axis.set_axis_off()
    figure.savefig(path, dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    main(*sys.argv[1:])
