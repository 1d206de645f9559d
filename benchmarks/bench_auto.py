"""AutoDictionary: how long it takes to choose, and what the choice is worth."""

from __future__ import annotations

import numpy as np

import fost
from benchmarks.data import patches
from benchmarks.harness import Report, threads

S = 4
BUDGET = 1500
SECONDS = 6


def run(report: Report, quick: bool = False) -> None:
    n_signals = 10_000 if quick else 100_000
    Y = patches(n_signals, 8, np.float32)
    auto = fost.AutoDictionary(S, (8, 8), BUDGET, random_state=0, verbose=False)
    report.section(
        f"AutoDictionary, n = 64, s = {S}, at most {BUDGET:,} operations, one thread",
        f"nanoseconds per signal; at most {SECONDS} seconds for all",
    )
    with threads(1):
        report.at_most(
            f"{n_signals:,} signals",
            lambda: auto.fit(Y),
            SECONDS,
            per=n_signals,
            repeats=1,
            warm_up=False,
        )
    others = np.random.default_rng(1).permutation(len(Y))[:5_000]
    print(f"  chosen: {auto.chosen_.structure}, held-out error {auto.chosen_.held_out_error:.2%}")
    print(f"  relative error of 5,000 of the signals: {-auto.score(Y[others]):.2%}")
