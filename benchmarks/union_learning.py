"""Error against the time of learning, unions and K-SVD: ``python -m benchmarks.union_learning``.

Prints the table of docs/unions.md: the first seconds of one processor after which what has been
learned has an error on other signals, without the time to judge it. ``--large`` is for patches of
16 x 16 pixels, ``--ecg FILE`` for windows of an electrocardiogram (see electrocardiogram.py).
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fost
from benchmarks.banks import LARGE, LARGE_S, S, mixed
from benchmarks.electrocardiogram import windows
from benchmarks.harness import threads

Array = NDArray[Any]
# Seconds of learning, and the error on other signals then.
Course = list[tuple[float, float]]


def course_of(learn: Callable[[Callable[..., None]], object], test: Array, s: int) -> Course:
    """Calls learn(callback) and judges what it has after some of its iterations."""
    energy = np.square(test, dtype=np.float64).sum()
    start, course = time.process_time(), []
    judging = 0.0

    def judge(iteration: int, _: float, coder: Any) -> None:
        nonlocal judging
        if iteration & (iteration - 1) and iteration % 20:  # 1, 2, 4, 8, 16, 20, 32, 40, ...
            return
        begin = time.process_time()
        left = test - coder.decode(coder.encode(test, s))
        course.append(
            (begin - start - judging, float(np.square(left, dtype=np.float64).sum() / energy))
        )
        judging += time.process_time() - begin

    learn(judge)
    return course


def compare(train: Array, test: Array, s: int, base: fost.Transform, pairs: Any, most: int) -> None:
    """Unions of so many members and K-SVD of so many atoms, whose errors are about as low."""
    g = base.n_features

    def union(count: int) -> Callable[[Any], object]:
        return lambda judge: fost.learn(
            train,
            fost.UnionOf(fost.Rotations(g), count),
            s,
            base=base,
            random_state=0,
            max_iter=most,
            callback=judge,
        )

    def ksvd(count: int) -> Callable[[Any], object]:
        return lambda judge: fost.baselines.KSVD(
            count, s, max_iter=most, random_state=0, callback=judge
        ).fit(train)

    for members, atoms in pairs:
        courses = {
            f"{members} x {g} rotations": course_of(union(members), test, s),
            f"K-SVD, {atoms:,} atoms": course_of(ksvd(atoms), test, s),
        }
        for name, course in courses.items():
            print(name + ": " + ", ".join(f"{e:.2%} {t:.1f} s" for t, e in course), flush=True)
        reached = max(min(e for _, e in course) for course in courses.values())
        print("| error, others | " + " | ".join(courses) + " |\n|---:|---:|---:|")
        for level in (1.1, 1.05, 1.02, 1.0):
            seconds = (
                min((t for t, e in course if e <= reached * level), default=np.inf)
                for course in courses.values()
            )
            cells = " | ".join(f"{value:.1f} s" for value in seconds)
            print(f"| {reached * level:.2%} | {cells} |", flush=True)


def main() -> None:
    warnings.simplefilter("ignore")  # of learning that could go on
    with threads(1):
        if "--ecg" in sys.argv:
            first, second = windows(sys.argv[sys.argv.index("--ecg") + 1])
            compare(first, second, 8, fost.DCT(first.shape[1]), [(8, 256)], 100)
        elif "--large" in sys.argv:
            compare(*mixed(LARGE), LARGE_S, fost.DCT((LARGE, LARGE)), [(8, 1024)], 40)
        else:
            compare(*mixed(), S, fost.DCT((8, 8)), [(8, 128), (16, 256)], 100)


if __name__ == "__main__":
    main()
