"""Signals and transforms that the benchmarks share."""

from __future__ import annotations

from typing import Any

import numpy as np
import skimage.data
from numpy.typing import NDArray

import fost


def patches(n_signals: int, side: int, dtype: Any) -> NDArray[Any]:
    """Overlapping patches of bundled pictures at random places, means removed."""
    rng = np.random.default_rng(0)
    pictures = [getattr(skimage.data, name)() for name in ("camera", "moon", "brick", "grass")]
    out = np.empty((n_signals, side * side), dtype)
    for picture, rows in zip(pictures, np.array_split(np.arange(n_signals), 4), strict=True):
        windows = np.lib.stride_tricks.sliding_window_view(picture, (side, side))
        i = rng.integers(windows.shape[0], size=len(rows))
        j = rng.integers(windows.shape[1], size=len(rows))
        out[rows] = windows[i, j].reshape(len(rows), -1)
    out /= 255
    out -= out.mean(axis=1, keepdims=True)
    return out


def noise(n_signals: int, n_features: int, dtype: Any) -> NDArray[Any]:
    """White noise: the hardest case for the selection, nothing can be skipped."""
    return np.random.default_rng(0).standard_normal((n_signals, n_features), dtype=dtype)


def walks(n: int, count: int) -> NDArray[np.float32]:
    """Random walks without their means."""
    steps = np.random.default_rng(0).standard_normal((count, n), dtype=np.float32)
    Y = np.cumsum(steps, axis=1, dtype=np.float32)
    return np.asarray(Y - Y.mean(axis=1, keepdims=True))


def reflectors(m: int, n: int) -> fost.Householder:
    vectors = np.random.default_rng(1).standard_normal((m, n))
    return fost.Householder(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def rotations(g: int, n: int) -> fost.Givens:
    rng = np.random.default_rng(2)
    pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(g)])
    c, s = np.cos(angles := rng.uniform(0, 2 * np.pi, g)), np.sin(angles)
    return fost.Givens(pairs, np.moveaxis(np.array([[c, s], [-s, c]]), 2, 0), n)
