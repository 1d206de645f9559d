"""What is called. A target draws arguments, makes one call and checks what comes back."""

from __future__ import annotations

from collections.abc import Callable
from math import gcd

from tests.fuzz.judge import Fuzz

Target = Callable[[Fuzz], None]
TARGETS: dict[str, Target] = {}
# The targets in turns, those of cheap calls more often than others.
SCHEDULE: list[str] = []


def target(turns: int = 4) -> Callable[[Target], Target]:
    """Registers a function under its name, with so many turns in a round."""

    def register(function: Target) -> Target:
        name = function.__name__.rstrip("_")
        assert name not in TARGETS, name
        TARGETS[name] = function
        SCHEDULE.extend([name] * turns)
        return function

    return register


def name_of(number: int) -> str:
    """The target of the call with this number. Neighbours are different."""
    from tests.fuzz.targets import (  # noqa: F401
        approximation,
        baselines,
        coding,
        diagnostics,
        estimators,
        export,
        images,
        imputation,
        learning,
        restoration,
        transforms,
    )

    step = next(k for k in range(len(SCHEDULE) * 5 // 8, 2**20) if gcd(k, len(SCHEDULE)) == 1)
    return SCHEDULE[number * step % len(SCHEDULE)]
