"""One call and what is to be said about it.

A call is right if its result is, or if it raises a ValueError or TypeError (or MemoryError, if it
was asked for something huge) that names one of the arguments. Arguments that must be refused must
not be accepted, and good ones must not be refused.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.fuzz.draw import Draw, short

Array = NDArray[Any]


class Refused(Exception):
    """The call ended in an error as it should."""


class Wrong(Exception):
    """What must not be: another error, a wrong result, a bad argument that was taken."""


class Fuzz(Draw):
    """The arguments of one call, the call itself, and the checks of its result."""

    called = ""

    def call(
        self,
        function: Callable[..., Any],
        *args: Any,
        then: Callable[[Any], Any] = lambda result: result,
        of: Callable[..., Any] | None = None,
        names: tuple[str, ...] = (),
        **kwargs: Any,
    ) -> Any:
        """`then(function(*args, **kwargs))`; what it raises may name arguments of `function`.

        `of` has the arguments where `function` is a stand-in, `names` are further ones, such as
        parameters of an estimator that its `fit` checks.
        """
        given = [short(a) for a in args] + [f"{k}={short(v)}" for k, v in kwargs.items()]
        self.called = f"{_name(of or function)}({', '.join(given)})"
        try:
            result = then(function(*args, **kwargs))
        except MemoryError:
            if not (self.bad or self.doubtful):
                raise
            raise Refused("MemoryError") from None
        except (TypeError, ValueError) as error:
            named = {*names, *_parameters(of or function)}
            words = set(re.findall(r"\w+", str(error)))
            if not named & words:
                raise Wrong(f"{_said(error)} names no argument") from error
            if not (self.bad or self.doubtful):
                raise Wrong(f"good arguments are refused: {_said(error)}") from error
            raise Refused(type(error).__name__) from error
        except Exception as error:
            raise Wrong(_said(error)) from error
        if self.bad:
            raise Wrong(f"accepted: {self.bad[0]}")
        return result

    def expect(self, condition: Any, what: str) -> None:
        if not condition:
            raise Wrong(f"wrong result: {what}")

    def close(self, have: Array, want: Array, what: str, slack: float = 1.0) -> None:
        """Rows agree within rounding, relative to the largest entry of each row of both.

        Rounding of float32 is 6e-8, of float64 1e-16; passes over some hundred features and
        stages add it up at most some hundred times.
        """
        self.expect(have.shape == want.shape, f"{what}: shape {have.shape}, not {want.shape}")
        if not have.size:
            return
        single = np.float32 in (have.dtype, want.dtype)
        relative, least = (2e-5, 1e-42) if single else (1e-13 * 200, 1e-320)
        with np.errstate(all="ignore"):
            rows = np.reshape(have, (len(have), -1)), np.reshape(want, (len(want), -1))
            scales = np.maximum(*(np.abs(r).max(axis=1, keepdims=True) for r in rows))
            halves = [r.astype(np.float64) / 2 for r in rows]  # differences do not overflow
            gaps = np.abs(halves[0] - halves[1])
            room = slack * (relative * scales.astype(np.float64) / 2 + least * rows[0].shape[1])
            good = gaps <= room
        if not good.all():
            row = int(np.flatnonzero(~good.all(axis=1))[0])
            ratio = float((gaps[row] / room[row]).max())
            self.expect(False, f"{what} (row {row}, {ratio:.3g} times the rounding allowed)")


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", type(function).__name__)


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error)[:300]}"


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    return _signature(getattr(function, "__func__", function))


@cache
def _signature(function: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(name for name in inspect.signature(function).parameters if name != "self")
