"""Exported transforms on microcontrollers and in PyTorch: docs/benchmarks/deployment.md.

    python -m benchmarks.deployment [--ecg ecg.dat] [--json FILE]

Instructions are counted by ``qemu-system-arm``, which emulates a Cortex-M4F and a Cortex-M0 one
instruction at a time; flash and stack are those of ``arm-none-eabi-gcc -Os``. Transforms are
learned on two bundled images and judged on two others; for the electrocardiogram (the file that
``scipy.datasets.electrocardiogram`` downloads), on the first and the second half.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import skimage.data
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

import fost
from benchmarks import cortex_m
from fost.export import Quantised, to_c

Integers = NDArray[np.int64]
N_RUNS = 20  # signals that are encoded while instructions are counted
SEEDS = (0, 1, 2)

_PROGRAM = """
#include "transform.h"
{signals}
int run(const transform_value *y, transform_index *index, transform_value *value)
{{
    return transform_encode(y, {s}, index, value);
}}
void back(const transform_index *index, const transform_value *value, transform_value *y)
{{
    transform_decode(index, value, {s}, y);
}}
#ifdef RUNS
int main(void)
{{
    transform_index index[{s}];
    transform_value value[{s}];
    int k, sum = 0;
    for (k = 0; k < RUNS; k++)
        sum += run(signals[k], index, value);
    return sum == {s} * RUNS ? 0 : 1;
}}
#endif
"""


def patches(names: tuple[str, ...], count: int, seed: int) -> Integers:
    """8 x 8 patches of bundled images at random places, without their rounded means."""
    rng, rows = np.random.default_rng(seed), []
    for name in names:
        windows = sliding_window_view(getattr(skimage.data, name)().astype(np.int64), (8, 8))
        i, j = (rng.integers(windows.shape[axis], size=count) for axis in (0, 1))
        rows.append(windows[i, j].reshape(count, -1))
    return centred(np.concatenate(rows))


def centred(Y: Integers) -> Integers:
    result: Integers = Y - np.rint(Y.mean(axis=1, keepdims=True)).astype(np.int64)
    return result


def electrocardiogram(path: str) -> tuple[Integers, Integers]:
    """Windows of the first and of the second half."""
    with np.load(path) as file:
        samples = file["ecg"].astype(np.int64) - 1024
    first, second = np.split(samples[: len(samples) // 2 * 2], 2)
    return tuple(centred(sliding_window_view(half, 128)[::8]) for half in (first, second))  # type: ignore[return-value]


def relative_error(coder: fost.Coder, Y: Integers, s: int) -> float:
    residual = Y - coder.decode(coder.encode(Y.astype(np.float64), s))
    return float(np.sum(residual**2) / np.sum(Y.astype(np.float64) ** 2))


def measure(coder: fost.Coder, Y: Integers, s: int, core: str, **options: Any) -> dict[str, float]:
    """Flash and stack in bytes and instructions per encoded signal of the exported code."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        to_c(coder, folder / "transform.h", **options)
        rows = ",".join("{" + ",".join(str(v) for v in row) + "}" for row in Y[:N_RUNS].tolist())
        table = f"const transform_value signals[{N_RUNS}][{Y.shape[1]}] = {{{rows}}};"
        for file, signals in (("size.c", ""), ("runs.c", table)):
            (folder / file).write_text(_PROGRAM.format(signals=signals, s=s))
        compile = [cortex_m.COMPILER, *cortex_m.CORES[core][1], "-std=c99", "-Os", "-c"]
        subprocess.run([*compile, "-fstack-usage", "size.c"], cwd=folder, check=True)
        sizes = subprocess.check_output(["arm-none-eabi-size", "size.o"], cwd=folder, text=True)
        text, data, *_ = sizes.splitlines()[1].split()
        # The deepest path is at most all functions but that of decoding.
        frames = re.findall(r":([\w.]+)\t(\d+)\t", (folder / "size.su").read_text())
        stack = sum(int(size) for function, size in frames if function != "back")
        counts = []
        for runs in (1, N_RUNS):
            program = cortex_m.build(core, folder / "runs.c", "-Os", f"-DRUNS={runs}")
            code, count = cortex_m.run(core, program, count=True)
            assert code == 0, "the exported code found too few entries"
            counts.append(count)
    per_signal = (counts[1] - counts[0]) / (N_RUNS - 1)
    return {"flash": int(text) + int(data), "stack": stack, "instructions": round(per_signal)}


def microcontrollers(U: fost.Coder, Y: Integers, s: int) -> dict[str, Any]:
    dense = fost.Dense(U.matrix)
    rows = {
        "DCT + rotations, float32, Cortex-M4F": measure(U, Y, s, "cortex-m4"),
        "dense, float32, Cortex-M4F": measure(dense, Y, s, "cortex-m4"),
        "DCT + rotations, float32, Cortex-M0": measure(U, Y, s, "cortex-m0"),
        "DCT + rotations, integers, Cortex-M0": measure(U, Y, s, "cortex-m0", integers=True),
        "DCT + rotations, two digits, Cortex-M0": measure(
            U, Y, s, "cortex-m0", integers=True, max_digits=2
        ),
        "DCT + rotations, integers, Cortex-M4F": measure(U, Y, s, "cortex-m4", integers=True),
    }
    print(f"\n{'':<42}{'flash':>8}{'stack':>8}{'instructions':>14}")
    for name, row in rows.items():
        print(f"{name:<42}{row['flash']:>8,}{row['stack']:>8,}{row['instructions']:>14,}")
    return rows


def losses(name: str, U: fost.Coder, Y: Integers, s: int) -> dict[str, Any]:
    """Increase of the error of s-term codes by integer arithmetic, and exactness."""
    exact, rows = relative_error(U, Y, s), {}
    for label, options in (("8 bits", {}), ("two digits", {"max_digits": 2})):
        quantised = Quantised(U, **options)
        rows[f"{name}, {label}"] = {
            "error": quantised.relative_error(Y, s),
            "increase": quantised.relative_error(Y, s) / exact - 1,
            "exact inverses": int((quantised.inverse(quantised.forward(Y)) == Y).all(1).sum()),
            "signals": len(Y),
            "additions": quantised.operation_counts.additions,
            "multiplications": quantised.operation_counts.multiplications,
        }
    for label, row in rows.items():
        print(
            f"{label:<28} error {row['error']:.4%} ({row['increase']:+.3%}), inverse exact for "
            f"{row['exact inverses']} of {row['signals']}, {row['additions']} additions, "
            f"{row['multiplications']} multiplications"
        )
    return rows


def pytorch(U: fost.Coder) -> dict[str, Any]:
    """CPU time of one call in microseconds, one thread; medians of interleaved repetitions."""
    try:
        import torch

        import fost.torch
    except ImportError:
        print("PyTorch is not installed")
        return {}
    torch.set_num_threads(1)
    fost.set_num_threads(1)
    assert isinstance(U, fost.Transform)
    y = np.random.default_rng(0).standard_normal((1, 64)).astype(np.float32)
    Y = patches(("camera",), 4096, 5).astype(np.float32)
    one, with_gradient, many = torch.from_numpy(y), torch.from_numpy(y), torch.from_numpy(Y)
    with_gradient = one.clone().requires_grad_()
    matrix = torch.from_numpy(U.matrix.astype(np.float32))

    def dense() -> object:
        coefficients = many @ matrix
        index = coefficients.abs().topk(4, dim=1).indices
        return torch.zeros_like(many).scatter(1, index, coefficients.gather(1, index))

    calls: dict[str, tuple[int, Callable[[], object]]] = {
        "U.forward(array), one signal": (2000, lambda: U.forward(y)),
        "fost.torch.forward, one signal": (2000, lambda: fost.torch.forward(one, U)),
        "  with gradient": (2000, lambda: fost.torch.forward(with_gradient, U)),
        "U.encode, 4,096 patches": (20, lambda: U.encode(many.numpy(), 4)),
        "matmul, topk and scatter": (20, dense),
    }
    times: dict[str, list[float]] = {name: [] for name in calls}
    for repetition in range(16):
        for name, (count, call) in calls.items():
            start = time.thread_time()
            for _ in range(count):
                call()
            if repetition:  # the first one warms up
                times[name].append((time.thread_time() - start) / count * 1e6)
    rows = {name: float(np.median(found)) for name, found in times.items()}
    for name, row in rows.items():
        print(f"{name:<34}{row:>10,.1f} us")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ecg")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    found: dict[str, Any] = {}
    for seed in SEEDS:
        train, test = patches(("camera", "moon"), 4000, seed), patches(("brick", "grass"), 1000, 99)
        learned = fost.learn(
            train.astype(float), fost.Rotations(64), 4, base=fost.DCT((8, 8)), random_state=seed
        )
        found |= losses(f"patches, seed {seed}", learned.transform, test, 4)
        if seed == SEEDS[0]:
            first = learned.transform, test
    if arguments.ecg:
        train, test = electrocardiogram(arguments.ecg)
        learned = fost.learn(
            train.astype(float), fost.Rotations(128), 8, base=fost.DCT(128), random_state=0
        )
        found |= losses("electrocardiogram", learned.transform, test, 8)
    found |= microcontrollers(*first, 4)
    found |= pytorch(first[0])
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
