"""Imputers on signals, patches and matrices with missing values.

    python -m benchmarks.imputers [--images FOLDER] [--ecg ecg.dat] [NAME ...]

FOLDER contains boat.png, and ecg.dat is the file that ``scipy.datasets.electrocardiogram``
downloads; data sets of absent files are skipped. Times are CPU times of all threads, in one process
with BLAS on one thread, so that other load and the number of cores do not matter.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import skimage.data
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from threadpoolctl import threadpool_limits

import fost
from benchmarks.results import Results, Table
from fost import images

Array = NDArray[np.float64]
RUN = 16
PATTERNS: tuple[float | str, ...] = (0.1, 0.3, 0.5, "runs")
IMPUTERS: dict[str, Callable[[], Any]] = {
    "mean": lambda: SimpleImputer(keep_empty_features=True),
    "KNN": lambda: KNNImputer(keep_empty_features=True),
    "Iterative": lambda: IterativeImputer(random_state=0, keep_empty_features=True),
    "fost": lambda: fost.Imputer(keep_empty_features=True),
}


def patches(image: NDArray[Any], count: int = 4000) -> Array:
    """Patches of 8 x 8 pixels at random places, from 0 to 1."""
    rng = np.random.default_rng(0)
    windows = sliding_window_view(image / 255, (8, 8))
    places = (rng.integers(size, size=count) for size in windows.shape[:2])
    rows: Array = windows[tuple(places)].reshape(count, 64)
    return rows


def heartbeats(path: Path, count: int = 3000, n: int = 64) -> Array:
    """Windows of an electrocardiogram at random places, in millivolts."""
    with np.load(path) as file:
        millivolts = (file["ecg"].astype(np.float64) - 1024) / 200
    windows = sliding_window_view(millivolts, n)
    rows: Array = windows[np.random.default_rng(0).integers(len(windows), size=count)]
    return rows


def low_rank(count: int = 1000, n: int = 50, rank: int = 5) -> Array:
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((count, rank)) @ rng.standard_normal((rank, n))
    return Y + 0.1 * rng.standard_normal(Y.shape)


def sparse(count: int = 2000, n: int = 64, s: int = 4) -> Array:
    """Sums of a few atoms of a random orthonormal basis."""
    rng = np.random.default_rng(1)
    atoms = np.linalg.qr(rng.standard_normal((n, n)))[0]
    codes = rng.standard_normal((count, n))
    places = rng.random((count, n)).argsort(axis=1)
    rows: Array = np.where(places < s, codes, 0) @ atoms.T
    return rows


def noise(count: int = 1000, n: int = 20) -> Array:
    """Independent entries."""
    return np.random.default_rng(2).standard_normal((count, n))


def missing_pattern(shape: tuple[int, ...], kind: float | str) -> NDArray[np.bool_]:
    """A mask of missing entries: a random share of all entries, or one run in every signal."""
    rng = np.random.default_rng(5)
    if not isinstance(kind, str):
        return rng.random(shape) < kind
    starts = rng.integers(0, shape[1] - RUN + 1, shape[0])[:, None]
    columns = np.arange(shape[1])
    return (columns >= starts) & (columns < starts + RUN)


def compare(table: Table, name: str, Y: Array) -> None:
    """Add a row for each pattern of missing entries."""
    for kind in PATTERNS:
        missing = missing_pattern(Y.shape, kind)
        X = np.where(missing, np.nan, Y)
        cells, seconds = [], []
        for make in IMPUTERS.values():
            start = time.process_time()
            filled = make().fit_transform(X)
            seconds.append(time.process_time() - start)
            cells.append(float(np.sqrt(np.mean((filled - Y)[missing] ** 2))))
        label = f"runs of {RUN}" if isinstance(kind, str) else f"{kind:.0%}"
        table.add(name, label, *cells, *seconds[1:], seconds[2] / seconds[3])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--images", type=Path, default=Path("../shared/images"))
    parser.add_argument("--ecg", type=Path, default=Path("../shared/signals/ecg.dat"))
    given = parser.parse_args()
    makers: dict[str, Callable[[], Array]] = {
        "digits": lambda: load_digits().data / 16,
        "camera": lambda: patches(skimage.data.camera()),  # type: ignore[no-untyped-call]
        "boat": lambda: patches(images.read(given.images / "boat.png")),
        "brick": lambda: patches(skimage.data.brick()),  # type: ignore[no-untyped-call]
        "ECG": lambda: heartbeats(given.ecg),
        "low rank": low_rank,
        "sparse": sparse,
        "noise": noise,
    }
    columns = {"data": "", "missing": "", **dict.fromkeys(IMPUTERS, ".4f")}
    columns |= {f"{name}, s": ".2f" for name in list(IMPUTERS)[1:]}
    results = Results("imputers")
    table = results.table("signals", {**columns, "ratio": ".1f"})
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for name, make in makers.items():
            if given.names and name not in given.names:
                continue
            try:
                Y = make()
            except OSError:
                continue
            compare(table, name, Y)
    if not given.names:
        results.save()


if __name__ == "__main__":
    main()
