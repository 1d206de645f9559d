"""What learning costs on data of any size: ``python -m benchmarks.bench_scale [NAME ...]``.

``model``        fits the cost of a pass to small measurements and checks it at other sizes
``workers``      one Dask worker against two, with one thread each
``out-of-core``  20 million signals on the disk against the same in memory (5 GB of either)

The figures of docs/benchmarks/scale.md come from here. Not part of ``make bench``: it
takes minutes, and gigabytes.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

from benchmarks.data import noise, reflectors
from benchmarks.harness import machine, threads
from fost.learning import as_training_data

# (n, m, s) that the model is fitted to, and those it is checked at.
FITTED = [
    (16, 4, 2),
    (32, 8, 4),
    (64, 6, 4),
    (64, 12, 4),
    (64, 12, 8),
    (64, 32, 4),
    (128, 16, 4),
    (128, 32, 8),
    (256, 12, 8),
    (256, 64, 4),
]
CHECKED = [(64, 24, 4), (128, 8, 8), (256, 32, 8)]


def best_of(repeats: int, call: Callable[[], Any]) -> float:
    """Seconds of the fastest call: what the machine can do when nobody disturbs it."""
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def terms(n: int, m: int, s: int) -> NDArray[np.float64]:
    """What a pass does per signal.

    4 n m operations, n entries transposed and searched, s n entries added to M, which is slower
    the more M outgrows the caches, and something per signal.
    """
    return np.array([4.0 * n * m, n, s * n, s * n * n / 256, 1.0])


def seconds_per_pass(n_signals: int, n: int, m: int, s: int, repeats: int = 7) -> float:
    source = as_training_data(noise(n_signals, n, np.float32))
    transform = reflectors(m, n)
    with threads(1):
        return best_of(repeats, lambda: source.statistic(None, transform, s))


def model() -> None:
    """Nanoseconds per signal and pass of one thread, as a sum of terms."""
    sizes = [*FITTED, *CHECKED]
    measured = np.array([seconds_per_pass(2**22 // n, *(n, m, s)) for n, m, s in sizes])
    each = measured / [2**22 // n for n, _, _ in sizes] * 1e9
    rows = np.array([terms(*size) for size in sizes])
    fitted = len(FITTED)
    # Relative errors count, and no cost is negative.
    weights = 1 / each[:fitted]
    costs, _ = scipy.optimize.nnls(rows[:fitted] * weights[:, None], np.ones(fitted))
    names = ("operation", "entry", "entry added", "entry added at n = 256", "signal")
    print("nanoseconds per " + ", ".join(f"{k} {c:.4f}" for k, c in zip(names, costs, strict=True)))
    for size, ns, row, k in zip(sizes, each, rows, range(len(sizes)), strict=True):
        use = "fitted" if k < fitted else "CHECK"
        print(
            f"  n, m, s = {size!s:<14} {ns:7.1f} ns measured, {row @ costs:7.1f} predicted "
            f"({row @ costs / ns - 1:+.0%})  {use}"
        )
    n_signals, (n, m, s) = 500_000, (64, 12, 4)
    seconds = seconds_per_pass(n_signals, n, m, s)
    predicted = terms(n, m, s) @ costs * n_signals / 1e9
    print(f"  at N = {n_signals:,}: {seconds:.3f} s measured, {predicted:.3f} s predicted  CHECK")


def workers() -> None:
    """Passes of one and of two workers, and what a pass and a task cost besides."""
    import dask.array as da
    from distributed import Client, LocalCluster

    n_signals, transform = 4_000_000, reflectors(12, 64)
    Y = da.zeros((n_signals, 64), np.float32, chunks=(500_000, 64))
    Y = Y.map_blocks(lambda block: noise(len(block), 64, np.float32), dtype=np.float32)
    seconds = {}
    for count in (1, 2):
        with (
            LocalCluster(
                n_workers=count, threads_per_worker=1, processes=True, dashboard_address=None
            ) as cluster,
            Client(cluster),
        ):
            source = as_training_data(Y)
            seconds[count] = best_of(7, lambda s=source: s.statistic(None, transform, 4))  # type: ignore[misc]
            print(
                f"{count} workers: {seconds[count]:.3f} s per pass, "
                f"{n_signals / seconds[count] / 1e6:.1f} million signals per second"
            )
            if count == 2:
                for chunks in (1, 8, 64):
                    small = as_training_data(da.from_array(np.eye(64), chunks=(64 // chunks, 64)))
                    empty = best_of(7, lambda s=small: s.statistic(None, transform, 4))  # type: ignore[misc]
                    print(f"  a pass over nothing in {chunks} chunks: {1e3 * empty:.0f} ms")
    print(f"two workers are {seconds[1] / seconds[2]:.2f} times as fast as one")


# Runs in a process of its own, whose peak of memory is its own.
_CHILD = """
import re, sys, time
import numpy as np, fost
# Not ru_maxrss, which a process inherits from the one that started it.
status = lambda: open("/proc/self/status", "rb").read()
usage = lambda: int(re.search(rb"VmHWM:\\s+(\\d+)", status())[1]) / 2**20
path, mode = sys.argv[1:]
Y = np.load(path, mmap_mode="r")
if mode == "memory":
    Y = np.array(Y)
fost.learn(np.eye(64, dtype=np.float32), fost.Reflectors(12), 4, max_iter=1)
for _ in range(2):
    start = time.perf_counter()
    fost.learn(Y, fost.Reflectors(12), 4, max_iter=5, tol=0)
    seconds = time.perf_counter() - start
    print(f"  {mode}: {seconds:.2f} s, {6 * len(Y) / seconds / 1e6:.1f} million signals per "
          f"second and pass, peak {usage():.2f} GiB", flush=True)
"""


def out_of_core(n_signals: int = 20_000_000) -> None:
    """H12, n = 64, float32, five iterations: a memory map with a warm cache, and an array."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "signals.npy"
        rows = np.lib.format.open_memmap(path, "w+", np.float32, (n_signals, 64))
        part = noise(500_000, 64, np.float32)
        for start in range(0, n_signals, len(part)):
            rows[start : start + len(part)] = part[: n_signals - start]
        del rows
        print(f"{n_signals:,} signals, {path.stat().st_size / 2**30:.1f} GiB, all threads")
        for mode in ("map", "memory"):
            subprocess.run([sys.executable, "-c", _CHILD, str(path), mode], check=True)


PARTS = {"model": model, "workers": workers, "out-of-core": out_of_core}


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.bench_scale", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[*PARTS, []])
    arguments = parser.parse_args()
    print(", ".join(f"{key} {value}" for key, value in machine().items()))
    for name in arguments.names or PARTS:
        PARTS[name]()


if __name__ == "__main__":
    main()
