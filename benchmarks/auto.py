"""The choices of AutoDictionary within budgets of operations and bits.

    python -m benchmarks.auto            # patches of images that had no part in the training
    python -m benchmarks.auto ecg.dat    # the second half of an electrocardiogram

See `benchmarks.electrocardiogram` for the file. Errors are those of signals that had no part in the
search: three images, or the second half of the recording.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fost
from benchmarks.banks import BUNDLED, patches
from benchmarks.electrocardiogram import N, windows
from benchmarks.harness import threads
from benchmarks.results import Results, Table
from reproduction.data import bundled_image

BUDGETS = {"flops": (2_000, 5_000, 10_000, 20_000), "bits": (5_000, 15_000, 40_000)}
HELD_OUT = ("camera", "brick", "coins")


def choose(
    results: Results,
    table: Table,
    train: NDArray[Any],
    tests: list[NDArray[Any]],
    s: int,
    shape: int | tuple[int, ...],
) -> None:
    """One row for each budget, saved at once."""
    for criterion, budgets in BUDGETS.items():
        for budget in budgets:
            auto = fost.AutoDictionary(
                s,
                shape,
                criterion=criterion,  # type: ignore[arg-type]
                budget=budget,
                random_state=0,
                verbose=False,
            )
            start = time.process_time()
            with threads(1):
                auto.fit(train)
            seconds = time.process_time() - start
            errors = [-auto.score(test) for test in tests]
            coder = auto.dictionary_
            costs = coder.encode_flops(s), coder.storage_bits()
            name = {"flops": "operations", "bits": "bits"}[criterion]
            table.add(f"{budget:,} {name}", auto.chosen_.structure, *costs, *errors, seconds)
            results.save()


def main() -> None:
    results = Results("auto")
    columns = {"budget": "", "chosen": "", "operations": ",", "bits": ","}
    if len(sys.argv) > 1:
        train, test = windows(sys.argv[1])
        table = results.table(
            "electrocardiogram", {**columns, "held-out error": ".2%", "CPU s": ".0f"}
        )
        choose(results, table, train, [test], 8, N)
    else:
        others = [patches(bundled_image(name)) for name in BUNDLED if name not in HELD_OUT]
        train = np.concatenate(others).astype(np.float32)
        tests = [patches(bundled_image(name)).astype(np.float32) for name in HELD_OUT]
        errors = dict.fromkeys(HELD_OUT, ".2%")
        table = results.table("patches", {**columns, **errors, "CPU s": ".0f"})
        choose(results, table, train, tests, 4, (8, 8))


if __name__ == "__main__":
    main()
