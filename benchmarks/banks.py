"""What banks gain on mixed patches, and what they cost: ``python -m benchmarks.banks``.

Half of the patches of every picture for learning, the other half for judging. Prints the tables
of docs/banks.md; ``--auto`` prints the one of what AutoDictionary chooses.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fost
from benchmarks.harness import threads
from fost.demo import picture

S = 4
SIZES = (1, 2, 4, 8, 16, 32)
BUNDLED = ("camera", "astronaut", "brick", "grass", "gravel", "moon", "coins")
PAPER = ("peppers", "boat", "barb", "couple", "man")


def mixed() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Patches to learn from and to judge on; the paper's pictures where they are at hand."""
    folder = Path(__file__).parents[2] / "shared" / "images"
    images = [fost.images.read(f) / 255 for f in (folder / f"{n}.png" for n in PAPER) if f.exists()]
    images += [picture(name) for name in BUNDLED]
    random = np.random.default_rng(0)
    halves: tuple[list[Any], list[Any]] = ([], [])
    for image in images:
        height, width = (k // 8 * 8 for k in image.shape)
        Y = fost.images.patches(image[:height, :width], 8)
        Y = Y - Y.mean(axis=1, keepdims=True)
        order = random.permutation(len(Y))
        halves[0].append(Y[order[::2]])
        halves[1].append(Y[order[1::2]])
    train, test = (np.concatenate(half).astype(np.float32) for half in halves)
    return train, test


def main(quick: bool = False) -> None:
    train, test = mixed()
    print(f"{len(train):,} patches to learn from, {len(test):,} to judge on, s = {S}\n")
    print("| | operations | ns per patch | error, own patches | error, others |")
    print("|---|---:|---:|---:|---:|")
    base = fost.DCT((8, 8))
    _row("DCT", base.flops, lambda Y: base.encode(Y, S), lambda Y: _error(base, Y), train, test)
    kinds: dict[str, tuple[fost.Structure, fost.Transform | None]] = {
        "dense": (fost.Full(), None),
        "DCT + 64 rotations": (fost.Rotations(64), base),
        "DCT + 16 rotations": (fost.Rotations(16), base),
        "H6": (fost.Reflectors(6), None),
    }
    sizes = SIZES[:2] if quick else SIZES
    for name, (structure, under) in kinds.items():
        for count in sizes:
            bank = fost.learn(
                train, fost.BankOf(structure, count), S, base=under, max_iter=50, random_state=0
            ).transform
            _row(
                f"{count} x {name}",
                bank.flops,
                lambda Y, bank=bank: bank.encode(Y, S),  # type: ignore[misc]
                lambda Y, bank=bank: _error(bank, Y),  # type: ignore[misc]
                train,
                test,
            )
    for count in (64,) if quick else (64, 128, 256):
        ksvd = fost.baselines.KSVD(count, S, max_iter=50, random_state=0).fit(train)
        flops = fost.diagnostics.batch_omp_flops(64, S, count)
        coded = ksvd.dictionary_
        _row(
            f"K-SVD, {count} atoms, OMP",
            flops,
            lambda Y, coded=coded: coded.encode(Y, S),  # type: ignore[misc]
            lambda Y, ksvd=ksvd: -ksvd.score(Y),  # type: ignore[misc]
            train,
            test,
        )


def automatic() -> None:
    """What is chosen for a budget, with banks and without."""
    train, test = mixed()
    print("| operations at most | banks of at most | chosen | error, others | seconds |")
    print("|---:|---:|---|---:|---:|")
    for budget in (700, 1000, 1500, 3072, None):
        for most in (1, 8):
            auto = fost.AutoDictionary(
                S, (8, 8), budget, max_transforms=most, random_state=0, verbose=False
            )
            start = time.perf_counter()
            with threads(1):
                auto.fit(train)
            seconds = time.perf_counter() - start
            name, error = auto.chosen_.structure, -auto.score(test)
            allowed = f"{budget:,}" if budget else "any"
            print(f"| {allowed} | {most} | {name} | {error:.2%} | {seconds:.1f} |", flush=True)


def _row(
    name: str,
    flops: int,
    encode: Callable[[Any], Any],
    error: Callable[[Any], float],
    train: NDArray[Any],
    test: NDArray[Any],
) -> None:
    with threads(1):
        times = []
        for _ in range(5):
            start = time.perf_counter()
            encode(test)
            times.append(time.perf_counter() - start)
    nanoseconds = min(times) / len(test) * 1e9
    print(
        f"| {name} | {flops:,} | {nanoseconds:.0f} | {error(train):.2%} | {error(test):.2%} |",
        flush=True,
    )


def _error(coder: Any, Y: NDArray[Any]) -> float:
    kept = np.square(coder.encode(Y, S).data, dtype=np.float64).sum()
    return float(1 - kept / np.square(Y, dtype=np.float64).sum())


if __name__ == "__main__":
    if "--auto" in sys.argv:
        automatic()
    else:
        main(quick="--quick" in sys.argv)
