"""Error against the time of learning, unions and K-SVD: ``python -m benchmarks.union_learning``.

Held-out errors after runs of several lengths, with the CPU seconds of learning. ``--large`` is for
patches of 16 x 16 pixels, ``--ecg FILE`` for windows of an electrocardiogram.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fost
from benchmarks.banks import LARGE, LARGE_S, S, mixed
from benchmarks.electrocardiogram import windows
from benchmarks.harness import threads
from benchmarks.results import Results

Array = NDArray[Any]
ITERATIONS = (1, 2, 5, 10, 20, 50, 100)


def course(learn: Callable[[int], Any], test: Array, s: int) -> list[str]:
    """Held-out error and CPU time of learn(iterations)."""
    energy = np.square(test, dtype=np.float64).sum()
    cells = []
    for iterations in ITERATIONS:
        start = time.process_time()
        coder = learn(iterations)
        seconds = time.process_time() - start
        left = test - coder.decode(coder.encode(test, s))
        error = np.square(left, dtype=np.float64).sum() / energy
        cells.append(f"{error:.2%}, {seconds:.1f} s")
    return cells


def compare(
    results: Results,
    name: str,
    train: Array,
    test: Array,
    s: int,
    base: fost.Transform,
    pairs: Any,
) -> None:
    """Unions of so many members beside K-SVD of so many atoms."""
    g = base.n_features
    options: dict[str, Any] = {"base": base, "random_state": 0}

    def union(count: int, iterations: int) -> fost.Coder:
        structure = fost.UnionOf(fost.Rotations(g), count)
        return fost.learn(train, structure, s, max_iter=iterations, **options).transform

    def ksvd(count: int, iterations: int) -> Any:
        learner = fost.baselines.KSVD(count, s, max_iter=iterations, random_state=0)
        return learner.fit(train).dictionary_

    headings = {f"{count} iterations": "" for count in ITERATIONS}
    table = results.table(name, {"dictionary": "", **headings})
    for members, atoms in pairs:
        for label, learn in (
            (f"{members} x {g} rotations", partial(union, members)),
            (f"K-SVD, {atoms:,} atoms", partial(ksvd, atoms)),
        ):
            table.add(label, *course(learn, test, s))


def main() -> None:
    warnings.simplefilter("ignore")  # few iterations do not converge
    results = Results("union_learning")
    with threads(1):
        if "--ecg" in sys.argv:
            first, second = windows(sys.argv[sys.argv.index("--ecg") + 1])
            compare(results, "ecg", first, second, 8, fost.DCT(first.shape[1]), [(8, 256)])
        elif "--large" in sys.argv:
            compare(results, "large", *mixed(LARGE), LARGE_S, fost.DCT((LARGE, LARGE)), [(8, 1024)])
        else:
            compare(results, "patches", *mixed(), S, fost.DCT((8, 8)), [(8, 128), (16, 256)])
    results.save()


if __name__ == "__main__":
    main()
