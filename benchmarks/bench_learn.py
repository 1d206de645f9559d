"""Learning against a direct NumPy translation of the paper's algorithms."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fost
from benchmarks.data import noise, patches
from benchmarks.harness import Report, own_threads, threads
from tests import reference_learning as twin

S = 4


def run(report: Report, quick: bool = False) -> None:
    iterations = 10 if quick else 100
    for dtype in (np.float32, np.float64):
        Y = training_set(dtype)
        _against_twin(report, Y, iterations)
    _rotations(report, training_set(np.float32), iterations // 2)
    _two_threads(report, training_set(np.float32), iterations)
    _share(training_set(np.float32), iterations)
    _growth(quick)
    _large_patches(quick)


def training_set(dtype: Any) -> NDArray[Any]:
    """The paper's 12,288 patches where its pictures are at hand, as many others elsewhere."""
    folder = Path(__file__).parents[2] / "shared" / "images"
    files = [folder / f"{name}.png" for name in ("couple", "peppers", "boat")]
    if not all(file.exists() for file in files):
        return patches(12_288, 8, dtype)
    from skimage.io import imread

    blocks = [imread(file).reshape(64, 8, 64, 8).transpose(0, 2, 3, 1) for file in files]
    Y = np.concatenate([block.reshape(-1, 64) for block in blocks]) / 255
    return np.asarray(Y - Y.mean(axis=1, keepdims=True), dtype=dtype)


def learner(Y: NDArray[Any], structure: fost.Structure, iterations: int) -> Callable[[], Any]:
    return lambda: fost.learn(Y, structure, S, base=None, max_iter=iterations, tol=0)


def _against_twin(report: Report, Y: NDArray[Any], iterations: int) -> None:
    report.section(
        f"Learn, N = {len(Y):,}, n = 64, s = {S}, K = {iterations}, {Y.dtype}, one thread",
        "nanoseconds per signal and iteration, initialisation included",
    )
    cases = [
        ("H8", fost.Reflectors(8), lambda: twin.learn_reflectors(Y, 8, S, iterations), 20),
        (
            "QH8",
            fost.Reflectors(8, orthogonal=True),
            lambda: twin.learn_orthogonal(Y, 8, S, iterations),
            20,
        ),
        ("Q", fost.Orthonormal(), lambda: twin.learn_full(Y, S, iterations), 6),
    ]
    for name, structure, theirs, target in cases:
        with threads(1):
            report.compare(
                f"{name}-DLA",
                learner(Y, structure, iterations),
                "NumPy translation",
                theirs,
                len(Y) * iterations,
                repeats=7,
                target=f">= {target}",
            )


def _rotations(report: Report, Y: NDArray[Any], iterations: int) -> None:
    report.section(
        f"Learn rotations over the DCT, K = {iterations}, {Y.dtype}, one thread",
        "nanoseconds per signal and iteration, initialisation included",
    )
    reflectors = learner(Y, fost.Reflectors(12), iterations)
    for init in ("aligned", "base"):
        with threads(1):
            report.compare(
                f"DCT + 64 rotations, init={init!r}",
                lambda init=init: fost.learn(  # type: ignore[misc]
                    Y,
                    fost.Rotations(64),
                    S,
                    base=fost.DCT((8, 8)),
                    init=init,
                    max_iter=iterations,
                    tol=0,
                ),
                "H12",
                reflectors,
                len(Y) * iterations,
                repeats=5,
                target=">= 1",
            )


def _two_threads(report: Report, Y: NDArray[Any], iterations: int) -> None:
    report.section("Learn with two threads against one", "nanoseconds per signal and iteration")
    structures = {
        "H8": fost.Reflectors(8),
        "H12": fost.Reflectors(12),
        "QH8": fost.Reflectors(8, orthogonal=True),
        "Q": fost.Orthonormal(),
    }
    for name, structure in structures.items():

        def timed(count: int, structure: fost.Structure = structure) -> Callable[[], Any]:
            def call() -> None:
                with own_threads(count):
                    learner(Y, structure, iterations)()

            return call

        report.compare(
            f"{name}-DLA, two threads",
            timed(2),
            "one thread",
            timed(1),
            len(Y) * iterations,
            repeats=5,
            target=">= 1.5",
        )


def _growth(quick: bool) -> None:
    print("\nHow learning grows with the number of signals: H12, n = 64, K = 10, all threads")
    print(f"  {'signals':>10} {'seconds':>9} {'ns/signal/iteration':>20} {'peak above data':>17}")
    for n_signals in (10_000, 100_000) if quick else (10_000, 100_000, 1_000_000):
        Y = noise(n_signals, 64, np.float32)
        before = _peak_memory()
        start = time.perf_counter()
        fost.learn(Y, fost.Reflectors(12), S, max_iter=10, tol=0)
        seconds = time.perf_counter() - start
        extra = (_peak_memory() - before) / 2**20
        each = seconds / n_signals / 10 * 1e9
        print(f"  {n_signals:>10,} {seconds:>9.3f} {each:>20.1f} {extra:>13.1f} MiB")
        del Y  # or the next peak would hide in its memory


@dataclass(frozen=True)
class _Stopwatch(fost.Reflectors):
    """Reflectors that note how long their updates take."""

    seconds: list[float] = field(default_factory=list)

    def update(self, *arguments: Any) -> Any:
        start = time.perf_counter()
        result = super().update(*arguments)
        self.seconds.append(time.perf_counter() - start)
        return result


def _share(Y: NDArray[Any], iterations: int) -> None:
    structure = _Stopwatch(12)
    with threads(1):
        start = time.perf_counter()
        learner(Y, structure, iterations)()
        seconds = time.perf_counter() - start
    print(
        f"\nH12, N = {len(Y):,}, K = {iterations}, one thread: {seconds:.2f} s, of which the "
        f"n x n algebra {sum(structure.seconds) / seconds:.0%}"
    )


def _large_patches(quick: bool) -> None:
    n_signals, iterations = (2_000, 2) if quick else (20_000, 10)
    Y = patches(n_signals, 32, np.float32)
    structure = _Stopwatch(32)
    start = time.perf_counter()
    result = fost.learn(Y, structure, 16, base=None, max_iter=iterations, tol=0)
    seconds = time.perf_counter() - start
    print(
        f"\n32 x 32 patches, n = 1024, m = 32, s = 16, N = {n_signals:,}, K = {iterations}: "
        f"{seconds:.1f} s, of which the eigenvectors (Lanczos from the last ones) "
        f"{sum(structure.seconds) / seconds:.0%}; "
        f"relative error {result.start_error:.2%} to {result.error:.2%}"
    )


def _peak_memory() -> float:
    """Bytes; the highest so far, so sizes must grow from call to call."""
    unit = 1 if sys.platform == "darwin" else 1024
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)
