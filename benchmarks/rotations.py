"""Rotations learned by two checkouts of fost: spread, errors at equal numbers, and long signals.

    python -m benchmarks.rotations ecg.dat results.json --before ../other/.venv/bin/python

ecg.dat is the file that ``scipy.datasets.electrocardiogram`` downloads. ``--before`` names the
interpreter of another checkout, which runs the same measurements. Errors are held-out errors. Times
are CPU times on one thread. ``--lengths`` restricts the lengths of long signals.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.datasets
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

import fost
from benchmarks.electrocardiogram import windows
from benchmarks.harness import machine
from benchmarks.quality import IMAGES, patches
from fost.model_selection.candidates import relative_error
from reproduction.data import bundled_image

Array = NDArray[Any]
Split = tuple[Array, Array, fost.Transform, int]  # training, held-out, base, s
NOISE = 1e-7
PERTURBED, SPLITS = 10, 5
SHARES = (0.5, 1, 2)  # rotations per feature
# Long signals: samples between windows, so that there are about 2^17 / n windows or 18,000.
HOPS = {64: 3, 256: 3, 512: 5, 1024: 10, 2048: 20}
ITERATIONS = 10


def kinds(path: str) -> Iterator[tuple[str, list[Split]]]:
    """Perturbed windows of the ECG, and random halves of digits and of patches of images."""
    train, held_out = windows(path)
    rngs = [np.random.default_rng(seed) for seed in range(PERTURBED)]
    noisy = [train + NOISE * rng.standard_normal(train.shape) for rng in rngs]
    yield "ECG, n = 128, s = 8", [(Y, held_out, fost.DCT(128), 8) for Y in noisy]
    digits = np.asarray(sklearn.datasets.load_digits().data)
    yield "digits, s = 4", halves(digits - digits.mean(axis=1, keepdims=True))
    for name in IMAGES:
        yield f"{name}, 8 x 8, s = 4", halves(patches(bundled_image(name)))


def halves(Y: Array) -> list[Split]:
    orders = [np.random.default_rng(seed).permutation(len(Y)) for seed in range(SPLITS)]
    return [(Y[order[::2]], Y[order[1::2]], fost.DCT((8, 8)), 4) for order in orders]


def long_windows(path: str, n: int) -> Split:
    """Windows of the first and of the second half of the ECG in float32, without their means."""
    with np.load(path) as file:
        signal = (file["ecg"].astype(np.float64) - 1024) / 200
    parts = [sliding_window_view(half, n)[:: HOPS[n]] for half in np.array_split(signal, 2)]
    first, second = ((Y - Y.mean(axis=1, keepdims=True)).astype(np.float32) for Y in parts)
    return first, second, fost.DCT(n), max(4, n // 32)


def learn(split: Split, g: int, repeats: int = 1, **options: Any) -> tuple[float, float]:
    """The held-out error of g rotations and the least CPU time of learning."""
    train, held_out, base, s = split
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        result = fost.learn(train, fost.Rotations(g), s, base=base, random_state=0, **options)
        times.append(time.process_time() - begin)
    return relative_error(held_out, result.transform, s), min(times)


def measure(path: str, lengths: list[int]) -> dict[str, Any]:
    """All errors and times of the fost that is imported."""
    fost.set_num_threads(1)
    found: dict[str, Any] = {}
    for kind, splits in kinds(path):
        for share in SHARES:
            pairs = [learn(split, int(share * split[0].shape[1])) for split in splits]
            errors, times = zip(*pairs, strict=True)
            found[f"{kind}, {share:g} n"] = {"errors": errors, "seconds": float(np.mean(times))}
    for n in lengths:
        repeats = 3 if n <= 512 else 1
        options = {"max_iter": ITERATIONS, "tol": 0}
        error, seconds = learn(long_windows(path, n), 2 * n, repeats, **options)
        found[f"long, n = {n}"] = {"errors": [error], "seconds": seconds}
    return found


def run(python: str, arguments: list[str]) -> dict[str, Any]:
    """The measurements by an interpreter, in a process of its own."""
    command = [python, "-m", "benchmarks.rotations", *arguments, "--measure"]
    single = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    folder = Path(__file__).parents[1]
    done = subprocess.run(command, cwd=folder, env=single, stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def show(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Both as one table; the spread is (largest - smallest) / mean of all runs."""
    print("| | before: error | spread | seconds | after: error | spread | seconds | ratio |")
    print("|---|" + "---:|" * 7)
    for name, new in after.items():
        cells = []
        for row in (before.get(name), new):
            if row is None:
                cells += ["-"] * 3
                continue
            mean, width = np.mean(row["errors"]), np.ptp(row["errors"])
            cells += [f"{mean:.3%}", f"{width / mean:.1%}", f"{row['seconds']:.3f}"]
        ratio = "-"
        if name in before:
            logs = np.log(new["errors"]) - np.log(before[name]["errors"])
            ratio = f"{np.exp(np.mean(logs)):.3f}"
        print(f"| {name} | " + " | ".join([*cells, ratio]) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ecg")
    parser.add_argument("results", nargs="?")
    parser.add_argument("--before")
    parser.add_argument("--lengths", type=int, nargs="*", default=list(HOPS))
    parser.add_argument("--measure", action="store_true", help="print the measurements as JSON")
    options = parser.parse_args()
    if options.measure:
        json.dump(measure(options.ecg, options.lengths), sys.stdout)
        return
    arguments = [str(Path(options.ecg).resolve()), "--lengths", *map(str, options.lengths)]
    after = run(sys.executable, arguments)
    before = run(options.before, arguments) if options.before else {}
    show(before, after)
    if options.results:
        content = {"machine": machine(), "before": before, "after": after}
        Path(options.results).write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
