"""Calls with a few signals, which cost what it takes to call, against a limit."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np

import fost
from benchmarks.data import noise, reflectors, rotations
from benchmarks.harness import Report, threads

# Seconds.
ENCODE, DECODE = 12e-6, 15e-6
CALLS = 200


def run(report: Report, quick: bool = False) -> None:
    repeats = 5 if quick else 21
    transforms = {
        "DCT": fost.DCT((8, 8)),
        "DCT + 64 rotations": fost.Chain([fost.DCT((8, 8)), rotations(64, 64)]),
        "H12": reflectors(12, 64),
    }
    report.section("Small calls, n = 64, s = 4, float32, one thread", "ns per call")
    with threads(1):
        for name, transform in transforms.items():
            for count in (1, 10):
                Y = noise(count, 64, np.float32)
                codes = transform.encode(Y, 4)
                transform.decode(codes)
                for what, call, limit in (
                    ("encode", partial(transform.encode, Y, 4), ENCODE),
                    ("decode", partial(transform.decode, codes), DECODE),
                ):
                    report.compare(
                        f"{name} {what}, {count} signal{'s' * (count > 1)}",
                        partial(_calls, call),
                        f"{limit * 1e6:g} us",
                        partial(_wait, limit * CALLS),
                        CALLS,
                        repeats,
                        ">= 1",
                    )


def _calls(call: Callable[[], object]) -> None:
    for _ in range(CALLS):
        call()


def _wait(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass
