"""Random arguments: good ones in all their forms, bad ones, and such as may be refused.

Whoever draws a bad argument notes it in `bad`: the call must not succeed. What is in `doubtful`
(extreme scales, huge sizes) may be refused or not; what is accepted must be right all the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

import fost
from tests import cases
from tests.fuzz import forms

Array = NDArray[Any]
T = TypeVar("T")

# Numbers of features that are small, odd, powers of two, around the widths of registers.
SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 31, 33, 64, 65, 100)
COUNTS = (0, 1, 2, 3, 7, 8, 9, 17, 33, 64, 130)
NOT_INTEGERS = (1.5, 2.0, np.nan, np.inf, "3", "", b"3", None, [2], (), {}, 1j, True, np.True_)
NOT_INTEGERS += (np.float32(2), np.array([1, 2]), np.array(2.0), object, np.datetime64("2020"))
HUGE = (2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64, 10**40)
NOT_NUMBERS = ("1", "", b"1", None, [1.0], (), {}, 1j, True, np.array([0.5, 0.5]), object, "auto?")
INTEGER_TYPES = (
    int,
    int,
    int,
    np.int8,
    np.uint8,
    np.int16,
    np.int32,
    np.int64,
    np.uint64,
    np.array,
)
FLOAT_TYPES = (float, float, np.float16, np.float32, np.float64, np.longdouble, np.array)


class Draw:
    """Arguments of one call. Half of all calls get good arguments only."""

    def __init__(self, seed: int, number: int, folder: Path) -> None:
        self.rng = np.random.default_rng([seed, number])
        self.folder = folder
        self.bad: list[str] = []
        self.doubtful: list[str] = []
        self._share_of_bad = self.pick((0.0, 0.0, 0.2, 0.5))

    def pick(self, choices: Any) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def spoil(self) -> bool:
        """Whether the next argument shall be bad: never all of them."""
        return len(self.bad) < 2 and self.chance(self._share_of_bad)

    def note_bad(self, name: str, value: T) -> T:
        self.bad.append(f"{name}={short(value)}")
        return value

    def wrong(self, name: str, *values: Any) -> Any:
        """One of some bad values."""
        return self.note_bad(name, self.pick(values))

    def note_doubtful(self, name: str, value: T) -> T:
        self.doubtful.append(f"{name}={short(value)}")
        return value

    def size(self) -> int:
        return int(self.pick(SIZES))

    def count(self, least: int = 0) -> int:
        """Of signals; now and then enough for several threads."""
        return max(least, int(self.pick(COUNTS))) if self.chance(0.98) else 4000

    def integer(
        self, name: str, low: int, high: int, most: int | None = None, least: int = 1
    ) -> Any:
        """Good from `low` to `high`; those outside of `least` to `most` (or `high`) are bad."""
        least = min(least, low)
        if not self.spoil():
            value = int(self.rng.integers(low, high + 1))
            kind = self.pick(INTEGER_TYPES)
            fits = kind in (int, np.array) or np.iinfo(kind).min <= value <= np.iinfo(kind).max
            return kind(value) if fits else value
        limit = high if most is None else most
        outside = [k for k in (least - 1, -1, 0, -(2**31), -(2**63)) if k < least]
        outside += [k for k in (limit + 1, *HUGE) if k > limit]
        return self.wrong(name, *outside, *NOT_INTEGERS)

    def optional(self, name: str, low: int, high: int, most: int | None = None) -> Any:
        """An integer or None."""
        value = self.integer(name, low, high, most)
        if value is None and self.bad:
            self.bad.pop()  # the last was None
        return None if self.chance(0.3) and not self.bad else value

    def number(
        self, name: str, low: float, high: float, *, least: float = -np.inf, most: float = np.inf
    ) -> Any:
        """Good from `low` to `high`; those outside of `least` to `most` are bad."""
        if not self.spoil():
            value = float(self.rng.uniform(low, high))
            kind = self.pick(FLOAT_TYPES)
            typed = kind(value)
            # Rounding must not leave the range.
            return typed if least <= typed <= most else value
        beyond = [np.nan, np.inf, -np.inf, 10**400, np.float32(np.nan)]
        beyond += [least - 1, least - 1e-9] if np.isfinite(least) else []
        beyond += [most + 1, 1e300] if np.isfinite(most) else []
        return self.wrong(name, *beyond, *NOT_NUMBERS)

    def flag(self) -> Any:
        return self.pick((True, False, np.True_, np.False_))

    def choice(self, name: str, good: tuple[Any, ...], bad: tuple[Any, ...] = ()) -> Any:
        """One of some names, or another."""
        if not self.spoil():
            return self.pick(good)
        return self.wrong(name, *bad, "", "nothing", b"svd", 3, 1.5, np.nan, [], {})

    def random_state(self) -> Any:
        if self.spoil():
            return self.wrong("random_state", -1, 1.5, "seed", np.nan, object())
        rng = np.random
        return self.pick((None, 0, 2**31, np.int64(7), rng.default_rng(1), rng.RandomState(2)))

    def pair(self, name: str, high: int, most: int | None = None, single: bool = True) -> Any:
        """A positive integer or two; wrong lengths are bad."""
        if self.spoil():
            wrong = ((), (1,), (1, 1, 1), "ab", (1.5, 2), (None, 1), {1, 2}, (0, 1), np.nan, -1)
            return self.wrong(name, *wrong)
        if single and self.chance(0.5):
            value = self.integer(name, 1, high, most)
            if isinstance(value, np.ndarray) and value.ndim:  # a pair, and a good one
                self.bad.pop()
                return 1
            return value
        kind = self.pick((tuple, tuple, list))
        return kind(self.integer(name, 1, high, most) for _ in range(2))

    def transform(self, n: int) -> fost.Transform:
        return cases.make_transform(self.pick(cases.KINDS), n, self.rng)

    def bank(self, n: int) -> fost.Bank:
        base = self.transform(n)
        members = [self.transform(n) for _ in range(int(self.rng.integers(1, 5)))]
        if self.chance(0.5):
            members = [fost.Chain([base, member]) for member in members]
        return fost.Bank(members)

    def not_a_transform(self, name: str, n: int) -> Any:
        wrong = (
            3,
            "fourier",
            np.eye(max(n, 1)),
            [],
            object(),
            fost.DCT,
            fost.Orthonormal(),
            1.5,
            {},
        )
        return self.wrong(name, *wrong, fost.DCT(n + 1))

    def values(self, count: int, n: int) -> Array:
        """Signals of some kind, float64."""
        if self.chance(0.6):
            return self.rng.standard_normal((count, n))
        kind = self.pick(cases.SIGNALS)
        values = cases.make_signals(kind, count, n, np.float64, self.rng)
        if kind in ("huge", "denormal", "all scales"):
            self.doubtful.append(f"{kind} signals")
        if self.chance(0.1):
            values *= self.pick((1e300, 1e-300, 1e150, 1e-160, 1e20, 1e-30))
            self.doubtful.append("scaled signals")
        return values

    def array(
        self, name: str, values: Array, lazy: bool = False, precise: bool = False, **wrong: bool
    ) -> tuple[Any, Array]:
        """An array in some form, and what fost should take it for: float32 or float64.

        `lazy` and `precise` are for `forms.good`, `wrong` is for `forms.bad`.
        """
        if self.spoil():
            made, what = forms.bad(self.rng, values, **wrong)
            self.bad.append(f"{name} is {what}")
            return made, values
        return forms.good(self.rng, values, lazy, precise)

    def allow_gaps(self, name: str, array: Any, missing: Any = None) -> None:
        """NaN may be all right: it is a gap where the call takes gaps; so is what is missing."""
        what = f"{name} is not finite"
        if what not in self.bad:
            return
        values = np.asarray(array, np.float64)
        if getattr(missing, "dtype", None) == np.bool_ and missing.shape == values.shape:
            values = values[~missing]
        if not np.isinf(values).any():
            self.bad.remove(what)
            self.doubtful.append(what)

    def allow_none(self, name: str) -> None:
        """None is all right, where something else is given."""
        if f"{name}=None" in self.bad:
            self.bad.remove(f"{name}=None")
            self.doubtful.append(f"{name}=None")

    def signals(
        self, name: str, n: int, least: int = 0, lazy: bool = False, **wrong: bool
    ) -> tuple[Any, Array]:
        return self.array(name, self.values(self.count(least), n), lazy, **wrong)


def short(value: Any) -> str:
    """A value in a line of a report."""
    if isinstance(value, np.ndarray) and value.size > 4:
        layout = "" if value.flags.c_contiguous else ", strided"
        return f"<{type(value).__name__} {value.dtype} {value.shape}{layout}>"
    try:
        text = " ".join(repr(value).split())
    except Exception as error:
        text = f"<{type(value).__name__}: {error}>"
    return text if len(text) <= 90 else text[:87] + "..."
