"""Inpainting and denoising against scikit-image and BM3D: quality and time, one thread."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fost
from benchmarks.harness import Report, threads
from fost.images import psnr
from fost.restoration import denoise, inpaint, patches, pretrained
from fost.restoration.patch_grid import PatchGrid
from fost.restoration.shrinkage import hard_threshold

Image = NDArray[np.float32]


def run(report: Report, quick: bool = False) -> None:
    with threads(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pictures = _pictures()
        if quick:
            pictures = {name: image[:128, :128] for name, image in pictures.items()}
        _protocol()
        for share in (0.2, 0.4, 0.8):
            _inpainting(report, pictures, share, quick)
        for sigma in (10, 20, 40):
            _denoising(report, pictures, sigma, quick)


def _pictures() -> dict[str, Image]:
    """Barb and boat where the paper's pictures are at hand, and camera."""
    from skimage import data
    from skimage.io import imread

    folder = Path(__file__).parents[2] / "shared" / "images"
    files = [folder / f"{name}.png" for name in ("barb", "boat")]
    found = {file.stem: imread(file) for file in files if file.exists()}
    camera: Callable[[], Any] = data.camera
    found["camera"] = camera()
    return {name: np.asarray(image / 255, dtype=np.float32) for name, image in found.items()}


def _inpainting(report: Report, pictures: dict[str, Image], share: float, quick: bool) -> None:
    from skimage.restoration import inpaint_biharmonic

    report.section(f"Inpainting, {share:.0%} of the pixels missing", "milliseconds")
    for name, image in pictures.items():
        missing = np.random.default_rng(0).random(image.shape) < share
        damaged = np.where(missing, 0, image)
        results: dict[str, Any] = {}
        report.compare(
            name,
            _kept(results, "fost", lambda d=damaged, m=missing: inpaint(d, m)),  # type: ignore[misc]
            "inpaint_biharmonic",
            _kept(results, "theirs", lambda d=damaged, m=missing: inpaint_biharmonic(d, m)),  # type: ignore[misc]
            10**6,
            1 if share > 0.5 else 5,
            ">= 1",
        )
        print("    PSNR: " + ", ".join(f"{k} {psnr(image, v):.2f}" for k, v in results.items()))


def _denoising(report: Report, pictures: dict[str, Image], sigma: int, quick: bool) -> None:
    import skimage.restoration

    theirs: Any = skimage.restoration
    report.section(f"Denoising, sigma = {sigma}", "milliseconds")
    level = sigma / 255
    for name, image in pictures.items():
        noise = np.random.default_rng(0).standard_normal(image.shape)
        noisy = (image + level * noise).astype(np.float32)
        results: dict[str, Any] = {}
        means = {"h": 0.8 * level, "sigma": level, "patch_size": 5, "patch_distance": 6}
        report.compare(
            name,
            _kept(results, "fost", lambda y=noisy: denoise(y, level, quality="fast")),  # type: ignore[misc]
            "denoise_nl_means(fast_mode)",
            _kept(
                results,
                "NL means",
                lambda y=noisy, m=means: theirs.denoise_nl_means(y, fast_mode=True, **m),  # type: ignore[misc]
            ),
            10**6,
            5,
            ">= 1",
        )
        grid = PatchGrid.over(image.shape, (8, 8), 1)
        dct = fost.DCT((8, 8))
        cosine = [hard_threshold(noisy, dct, grid, k * level) for k in (2.4, 2.6, 2.8, 3)]
        results["sliding DCT"] = _best(image, [a / b for a, b in cosine])
        results["wavelets"] = _best(image, list(_wavelets(theirs, noisy, level)))
        weights = (0.02, 0.05, 0.08, 0.1, 0.15, 0.2, 0.3)
        variations = [theirs.denoise_tv_chambolle(noisy, weight=w) for w in weights]
        results["total variation"] = _best(image, variations)
        results["fost, best"] = denoise(noisy, level)
        results["fost, estimated level"] = denoise(noisy, quality="fast")
        results["fost, 12 x 12"] = denoise(noisy, level, patch_shape=12)
        general = pretrained("patches-16x16")
        results["fost, general 16 x 16"] = denoise(noisy, level, transform=general, stride=2)
        if not quick:
            results |= _bm3d(noisy, level)
        print("    PSNR: " + ", ".join(f"{k} {_psnr(image, v):.2f}" for k, v in results.items()))


def _wavelets(theirs: Any, noisy: Image, level: float) -> Any:
    """BayesShrink with several wavelets, plain and averaged over shifts."""
    settings = {"method": "BayesShrink", "mode": "soft", "rescale_sigma": True, "sigma": level}
    try:
        for wavelet in ("db1", "db2", "sym8"):
            yield theirs.denoise_wavelet(noisy, wavelet=wavelet, **settings)
        func_kw = {"wavelet": "db2", **settings}
        yield theirs.cycle_spin(
            noisy, max_shifts=3, func=theirs.denoise_wavelet, func_kw=func_kw, num_workers=1
        )
    except ImportError:
        yield noisy


def _bm3d(noisy: Image, level: float) -> dict[str, Any]:
    try:
        import bm3d
    except ImportError:
        return {}
    start = time.perf_counter()
    result = bm3d.bm3d(noisy, level)
    return {f"BM3D ({time.perf_counter() - start:.0f} s)": result}


def _protocol() -> None:
    """The paper's experiment: dictionaries from the clean picture, patches side by side."""
    from skimage.io import imread

    folder = Path(__file__).parents[2] / "shared" / "images"
    paper = {
        "barb": "Q .0305 / .0492, H14 .0321 / .0512",
        "man": "Q .0333 / .0548, H14 .0334 / .0549",
    }
    for name, figures in paper.items():
        file = folder / f"{name}.png"
        if not file.exists():
            continue
        image = imread(file).astype(np.float64)
        low, high = (image.min(), image.max()) if name == "man" else (0, 255)
        image = (image - low) / (high - low)
        Y = patches(image, 8)
        Y -= Y.mean(axis=1, keepdims=True)
        base = fost.DCT((8, 8))
        missing = np.random.default_rng(0).random(image.shape) < 0.4
        print(f"\nThe paper's inpainting, {name}: MAE / RMSE on missing pixels; paper {figures}")
        for label, structure, under in (
            ("Q", fost.Orthonormal(), None),
            ("H14", fost.Reflectors(14), None),
            ("DCT + 64 rotations", fost.Rotations(64), base),
            ("DCT + 256 rotations", fost.Rotations(256), base),
        ):
            transform = fost.learn(Y, structure, 6, base=under).transform
            texts = []
            for prior in (0.0, 0.4):
                options: dict[str, Any] = {"stride": 8, "method": "pursuit", "prior": prior}
                out = inpaint(image, missing, transform=transform, **options)
                error = (out - image)[missing]
                texts.append(f"{np.abs(error).mean():.4f} / {np.sqrt(np.mean(error**2)):.4f}")
            print(f"  {label:<20} plain {texts[0]}, with the prior {texts[1]}")


def _kept(results: dict[str, Any], name: str, function: Callable[[], Any]) -> Callable[[], None]:
    def call() -> None:
        results[name] = function()

    return call


def _best(image: Image, candidates: list[Any]) -> Any:
    return max(candidates, key=lambda candidate: _psnr(image, candidate))


def _psnr(image: Image, result: Any) -> float:
    return psnr(image, np.clip(result, 0, 1).astype(np.float32))
