"""Signals and volumes restored, beside SciPy and scikit-image: docs/benchmarks/restoration.md.

    python -m benchmarks.restoration signals [ecg.dat]
    python -m benchmarks.restoration gaps [ecg.dat]
    python -m benchmarks.restoration volumes

where ecg.dat is the file that ``scipy.datasets.electrocardiogram`` downloads. Competitors get the
best of several settings, judged by the truth; fost gets its default. One thread each.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.ndimage import gaussian_filter
from scipy.signal import savgol_filter
from scipy.signal import wiener as scipy_wiener
from skimage.restoration import denoise_nl_means, denoise_tv_chambolle, denoise_wavelet

import fost
from benchmarks.results import Results
from fost.restoration import denoise, inpaint
from fost.restoration.conditional_mean import fit_autoregression

Array = NDArray[np.float64]
total_variation: Callable[..., Array] = denoise_tv_chambolle
Restored = Callable[[Array, float], list[Array]]


def rmse(a: Array, b: Array) -> float:
    return float(np.sqrt(np.mean(np.square(a - b))))


def psnr(a: Array, b: Array) -> float:
    return float(20 * np.log10(255 / rmse(a, b)))


def seismic(n: int, rng: np.random.Generator) -> Array:
    """Ricker wavelets of many frequencies at random times, as reflections make them."""
    trace = np.zeros(n)
    t = np.arange(-80, 81)
    for place in rng.integers(80, n - 81, n // 60):
        a = (np.pi * rng.uniform(0.02, 0.06) * t) ** 2
        trace[place - 80 : place + 81] += rng.laplace() * (1 - 2 * a) * np.exp(-a)
    return trace / (2 * np.std(trace))


def signals(rng: np.random.Generator, n: int = 20_000) -> Iterator[tuple[str, Array]]:
    """Parts of the electrocardiogram, if it is there, in millivolts, and synthetic traces."""
    if len(sys.argv) > 2 and Path(sys.argv[2]).exists():
        with np.load(sys.argv[2]) as file:
            millivolts = (file["ecg"].astype(np.float64) - 1024) / 200
        for start in (0, 50_000):
            yield f"ECG from {start:,}", millivolts[start : start + n]
    yield "traces", seismic(n, rng)
    yield "traces, 1 % noise", seismic(n, rng) + 0.005 * rng.standard_normal(n)


def nl_means(y: Array, sigma: float, width: int, h: float, reach: int = 300) -> Array:
    """Non-local means of a signal, by windows of some width within reach."""
    sums, weights = np.zeros_like(y), np.zeros_like(y)
    for shift in range(-reach, reach + 1):
        other = np.roll(y, shift)
        apart = np.convolve(np.square(y - other), np.full(width, 1 / width), "same")
        likeness = np.exp(-np.maximum(apart - 2 * sigma**2, 0) / (h * sigma) ** 2)
        sums += likeness * other
        weights += likeness
    return sums / weights


def wavelets(y: Array, sigma: float) -> list[Array]:
    names, methods = ("db4", "sym4", "sym8"), ("BayesShrink", "VisuShrink")
    settings = [(name, method) for name in names for method in methods]
    return [
        denoise_wavelet(y, sigma=sigma, wavelet=name, method=method, rescale_sigma=True)
        for name, method in settings
    ]


OF_SIGNALS: dict[str, Restored] = {
    "wavelets": wavelets,
    "wiener": lambda y, s: [scipy_wiener(y, k, n) for k in range(3, 42, 4) for n in (None, s**2)],
    "savgol": lambda y, s: [savgol_filter(y, k, d) for k in range(5, 80, 4) for d in (2, 3, 4)],
    "NL means": lambda y, s: [nl_means(y, s, k, h) for k in (9, 21, 41) for h in (0.4, 0.7, 1.0)],
    "fost": lambda y, s: [denoise(y, s)],
}


def denoised_signals(results: Results) -> None:
    rng = np.random.default_rng(0)
    columns = {"signal": "", "noise": "g", **dict.fromkeys(OF_SIGNALS, ".4f")}
    table = results.table("signals", columns)
    for name, clean in signals(rng):
        for sigma in (0.05, 0.1, 0.2):
            noisy = clean + sigma * rng.standard_normal(len(clean))
            errors = [
                min(rmse(clean, each) for each in restored(noisy, sigma))
                for restored in OF_SIGNALS.values()
            ]
            table.add(name, sigma, *errors)


def with_gaps(n: int, length: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """A tenth of all samples missing, in gaps of a length, at random places."""
    missing = np.zeros(n, bool)
    free = rng.choice(n // (2 * length) - 4, n // (10 * length), replace=False) + 2
    for place in free * 2 * length:
        missing[place : place + length] = True
    return missing


def filled_signals(results: Results) -> None:
    rng = np.random.default_rng(0)
    names = ("linear", "cubic", "autoregressive", "fost")
    table = results.table("gaps", {"signal": "", "run": "d", **dict.fromkeys(names, ".5f")})
    for name, clean in signals(rng):
        for length in (1, 5, 20):
            missing = with_gaps(len(clean), length, rng)
            t, seen = np.arange(len(clean)), np.flatnonzero(~missing)
            models = (fit_autoregression(clean, missing, order) for order in (8, 16, 32, 64))
            rules = (model and model(clean, missing) for model in models)
            ways = [
                [np.interp(t, seen, clean[seen])],
                [CubicSpline(seen, clean[seen])(t)],
                [each for each in rules if each is not None],
                [inpaint(np.where(missing, np.nan, clean), missing)],
            ]
            errors = [min(rmse(each[missing], clean[missing]) for each in way) for way in ways]
            table.add(name, length, *errors)


def phantom(shape: tuple[int, int, int], rng: np.random.Generator) -> Array:
    """Ellipsoids of many sizes over a wave."""
    z, y, x = np.meshgrid(*[np.linspace(-1, 1, k) for k in shape], indexing="ij")
    volume = 60 + 20 * np.sin(6 * x + 3 * z)
    for _ in range(25):
        c, r = rng.uniform(-0.8, 0.8, 3), rng.uniform(0.08, 0.5, 3)
        inside = ((z - c[0]) / r[0]) ** 2 + ((y - c[1]) / r[1]) ** 2 + ((x - c[2]) / r[2]) ** 2 < 1
        volume += np.where(inside, rng.uniform(-60, 90), 0)
    return np.asarray(np.clip(volume, 0, 255))


def cells(shape: tuple[int, int, int], rng: np.random.Generator) -> Array:
    """Blurred cells with a membrane and texture inside, as a microscope sees them."""
    z, y, x = np.meshgrid(*[np.arange(k) for k in shape], indexing="ij")
    texture = gaussian_filter(rng.standard_normal(shape), (1, 1.5, 1.5))
    texture /= texture.std()
    volume = np.zeros(shape)
    for _ in range(14):
        c = rng.uniform((4, 10, 10), np.array(shape) - (4, 10, 10))
        r = rng.uniform((5, 8, 8), (8, 16, 16))
        d = ((z - c[0]) / r[0]) ** 2 + ((y - c[1]) / r[1]) ** 2 + ((x - c[2]) / r[2]) ** 2
        body = 150 / (1 + np.exp(np.minimum(12 * (d - 1), 50))) * (1 + 0.25 * texture)
        volume = np.maximum(volume, body + 80 * np.exp(-40 * np.square(d - 1)))
    return np.asarray(np.clip(gaussian_filter(volume, 0.7) + 10, 0, 255))


def bundled(name: str) -> Array | None:
    """A volume of scikit-image, where it can be had."""
    from skimage import data

    try:
        volume = np.asarray(getattr(data, name)())
        volume = volume[:, 1] if volume.ndim == 4 else volume
    except Exception:
        return None
    part = volume[:32, 64:160, 64:160].astype(np.float64)
    return np.asarray(255 * (part - part.min()) / np.ptp(part))


OF_VOLUMES: dict[str, Restored] = {
    "NL means": lambda v, s: [
        denoise_nl_means(v, patch_size=3, patch_distance=4, h=0.6 * s, sigma=s, fast_mode=True)
    ],
    "total variation": lambda v, s: [
        total_variation(v, weight=w * s, max_num_iter=60) for w in (0.6, 1, 1.5)
    ],
    "wavelets": wavelets,
    "slices": lambda v, s: [np.stack([denoise(each, s) for each in v])],
    "fost": lambda v, s: [denoise(v, s)],
}


def denoised_volumes(results: Results) -> None:
    rng, shape = np.random.default_rng(0), (32, 96, 96)
    volumes = {"phantom": phantom(shape, rng), "synthetic cells": cells(shape, rng)}
    for name in ("cells3d", "brain"):
        volume = bundled(name)
        if volume is not None:
            volumes[name] = volume
    columns = {"volume": "", "sigma": "d", **dict.fromkeys(OF_VOLUMES, "")}
    table = results.table("volumes", columns)
    for name, clean in volumes.items():
        for sigma in (10, 25, 50):
            noisy = clean + sigma * rng.standard_normal(clean.shape)
            cells_of_row = []
            for restored in OF_VOLUMES.values():
                start = time.process_time()
                found = restored(noisy, sigma)
                seconds = (time.process_time() - start) / len(found)
                best = max(psnr(clean, each) for each in found)
                cells_of_row.append(f"{best:.2f} ({seconds:.1f} s)")
            table.add(name, sigma, *cells_of_row)


def main() -> None:
    parts = {"signals": denoised_signals, "gaps": filled_signals, "volumes": denoised_volumes}
    if len(sys.argv) < 2 or sys.argv[1] not in parts:
        sys.exit(__doc__)
    fost.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = Results("restoration")
        parts[sys.argv[1]](results)
        results.save()


if __name__ == "__main__":
    main()
