"""What a structure is to the learning loop: a start, and an update from the statistic."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fost._validation import check_integer
from fost.learning.sources import Source, Statistic
from fost.transforms import Coder, Transform


@dataclass(frozen=True)
class Problem:
    """Signals to make sparse, seen through a fixed base: all that a structure may ask."""

    source: Source
    base: Transform | None
    n_nonzero_coefs: int
    random: np.random.Generator
    max_iter: int
    tol: float

    @property
    def n_features(self) -> int:
        return self.source.n_features

    @cached_property
    def gram(self) -> NDArray[np.float64]:
        """Y^T Y, signals in rows."""
        return self.source.gram(self.base)

    @cached_property
    def total(self) -> float:
        """||Y||_F^2."""
        return float(np.trace(self.gram))

    def but(self, **changes: Any) -> Problem:
        """The same problem with some settings changed, keeping what is known of the signals."""
        other = replace(self, **changes)
        if "source" not in changes and "gram" in self.__dict__:
            other.__dict__["gram"] = self.gram
        return other

    def code(self, transform: Coder) -> Statistic:
        """One pass over the signals: the statistic of X = T_s(U^T Y)."""
        return self.source.statistic(self.base, transform, self.n_nonzero_coefs)

    def error(self, statistic: Statistic) -> float:
        """Relative error ||Y - U X||_F^2 / ||Y||_F^2 = 1 - ||X||_F^2 / ||Y||_F^2."""
        return max(0.0, 1.0 - statistic.energy / self.total) if self.total > 0 else 0.0


class Structure(ABC):
    """A family of orthonormal transforms in which the best one for given codes is known."""

    default_init: ClassVar[str]

    @abstractmethod
    def fit_to(self, problem: Problem) -> Structure:
        """This structure with everything decided that depends on the problem, checked."""

    @abstractmethod
    def initial(self, problem: Problem, init: str) -> Transform:
        """The transform, of any structure, whose codes a named initialisation begins with."""

    def start(self, problem: Problem, init: str | Transform) -> Transform:
        """The transform whose codes learning begins with, for a name or a given transform."""
        return self.initial(problem, init) if isinstance(init, str) else init

    def n_unused(self, statistic: Statistic) -> int:
        """How many parts of the transform no signal used, which the next update may replace."""
        return 0

    @abstractmethod
    def restart(self, problem: Problem, transform: Transform) -> Transform:
        """The transform to update first when the codes of any `transform` start the learning."""

    @abstractmethod
    def update(self, problem: Problem, statistic: Statistic, current: Transform) -> Transform:
        """The next transform: for fixed X no worse than `current` in ||Y - U X||_F."""


def store(structure: Structure, **checked: Any) -> None:
    """Give a frozen structure its checked arguments, so that NumPy's numbers are Python's."""
    for name, value in checked.items():
        object.__setattr__(structure, name, value)


def check_count(value: Any, name: str) -> int | Literal["auto"]:
    """A positive integer or "auto"; how many there may be depends on the signals."""
    if isinstance(value, str):
        if value != "auto":
            raise ValueError(f"{name} must be an integer or 'auto', got {value!r}")
        return "auto"
    return check_integer(value, name, 1, 2**31 - 1)


def unknown_init(init: str, names: tuple[str, ...], structure: str) -> ValueError:
    known = ", ".join(repr(name) for name in names)
    return ValueError(f"init must be a transform or, for {structure}, one of {known}, got {init!r}")
