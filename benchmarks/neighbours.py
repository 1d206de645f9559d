"""The table of the README: packages that do similar work, and their times beside those of fost.

    python -m benchmarks.neighbours

Times are medians of ratios of interleaved calls on one thread. 4,096 signals of 64 features (8 x 8
patches, float32), 4 coefficients: fost uses the DCT and 64 rotations, the others matching pursuit
with the same atoms. An image of 256 x 256 pixels for BM3D. Packages that are not installed are left
out.
"""

from __future__ import annotations

import importlib
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import fost
from benchmarks.data import patches, rotations
from benchmarks.harness import threads
from benchmarks.results import Results

N_SIGNALS, N_FEATURES, N_NONZERO = 4096, 64, 4
Call = Callable[[], object]
# The package, its purpose, its licence.
PACKAGES = {
    "scikit-learn": ("general dictionaries in pipelines", "BSD-3"),
    "spams": ("general dictionaries, many penalties", "GPL-3"),
    "dictlearn": ("K-SVD and its variants", "ISC"),
    "pywt": ("fixed wavelets", "MIT"),
    "pyfaust": ("given matrices as sparse factors", "BSD-3"),
    "bm3d": ("denoising of images", "non-commercial"),
}


def ratio(ours: Call, theirs: Call, repeats: int) -> float:
    """The median of their time over ours."""
    ours(), theirs()
    found = []
    for _ in range(repeats):
        times = [time.perf_counter()]
        for call in (ours, theirs):
            call()
            times.append(time.perf_counter())
        found.append((times[2] - times[1]) / (times[1] - times[0]))
    return float(np.median(found))


def comparisons() -> Iterator[tuple[str, str, Callable[[], tuple[Call, Call]]]]:
    """A package, the task, and a function that makes our call and theirs."""
    Y = patches(N_SIGNALS, 8, np.float32)
    U = fost.Chain([rotations(N_FEATURES, N_FEATURES), fost.DCT((8, 8))])
    atoms = np.ascontiguousarray(U.matrix.T.astype(np.float32))
    encode = partial(U.encode, Y, N_NONZERO)

    def sklearn() -> tuple[Call, Call]:
        from sklearn.decomposition import SparseCoder

        coder = SparseCoder(atoms, transform_n_nonzero_coefs=N_NONZERO, n_jobs=1)
        return encode, partial(coder.transform, Y)

    def spams() -> tuple[Call, Call]:
        module = importlib.import_module("spams")
        columns, D = np.asfortranarray(Y.T), np.asfortranarray(atoms.T)
        return encode, partial(module.omp, columns, D, L=N_NONZERO, eps=0.0, numThreads=1)

    def dictlearn() -> tuple[Call, Call]:
        module = importlib.import_module("dictlearn")
        options = {"algorithm": "batch_omp", "n_nonzero_coefs": N_NONZERO}
        return encode, partial(module.sparse_encode, Y, atoms, **options)

    def pywt() -> tuple[Call, Call]:
        module = importlib.import_module("pywt")
        W = fost.Wavelet(N_FEATURES, "db4")
        theirs = partial(module.wavedec, Y, "db4", "periodization", axis=1)
        return partial(W.forward, Y), theirs

    def pyfaust() -> tuple[Call, Call]:
        module = importlib.import_module("pyfaust")
        D, columns = module.dct(N_FEATURES, dtype="float32"), np.asfortranarray(Y.T)
        return partial(fost.DCT(N_FEATURES).forward, Y), lambda: D @ columns

    def bm3d() -> tuple[Call, Call]:
        from skimage import data

        module = importlib.import_module("bm3d")
        noise = np.random.default_rng(0).standard_normal((256, 256))
        camera: Callable[[], Any] = data.camera
        noisy = camera()[128:384, 128:384] / 255 + 25 / 255 * noise
        return partial(fost.restoration.denoise, noisy, 25 / 255), partial(
            module.bm3d, noisy, 25 / 255
        )

    yield "scikit-learn", "encode a signal", sklearn
    yield "spams", "encode a signal", spams
    yield "dictlearn", "encode a signal", dictlearn
    yield "pywt", "wavelet transform", pywt
    yield "pyfaust", "DCT of 64 features", pyfaust
    yield "bm3d", "denoise an image", bm3d


def main() -> None:
    results = Results("neighbours")
    columns = {"package": "", "made for": "", "licence": "", "task": "", "time / fost's": ",.0f"}
    table = results.table("speed", columns)
    warnings.simplefilter("ignore")
    with threads(1):
        for package, task, make in comparisons():
            try:
                ours, theirs = make()
            except ImportError:
                continue
            found = ratio(ours, theirs, 3 if package == "bm3d" else 15)
            table.add(package, *PACKAGES[package], task, found)
    results.save()


if __name__ == "__main__":
    main()
