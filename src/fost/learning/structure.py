"""What a structure is to the learning loop: a start, and an update from the statistic.

A structure also describes itself: what it costs, what it is called, in which sizes it is worth
trying. Whoever chooses between structures (`frontier`, the command line, plots) asks them.
`fost.learning.register` makes one known to all of these.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, is_dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from fost._validation import check_integer
from fost.coding.selection import SelectionRule
from fost.learning.ladder import Ladder
from fost.learning.passes import REFILLS
from fost.learning.sources import Source, Statistic, share_lost
from fost.transforms import Coder, Transform


@dataclass(frozen=True)
class Problem:
    """Signals to make sparse, seen through a fixed base: all that a structure may ask.

    Examples
    --------
    >>> import fost, numpy as np
    >>> source = fost.learning.as_source(np.eye(4))
    >>> random = np.random.default_rng(0)
    >>> problem = fost.learning.Problem(source, None, 2, random, max_iter=10, tol=1e-6)
    >>> problem.n_features, problem.total
    (4, 4.0)
    """

    source: Source
    base: Transform | None
    n_nonzero_coefs: int
    random: np.random.Generator
    max_iter: int
    tol: float
    threshold: float | None = None
    rough: bool = False  # what is found is only a start, which need not be good
    # How far steps go on in the direction of the last one, in terms of M.
    momentum: float = 0.0

    @property
    def rule(self) -> SelectionRule:
        """Which coefficients codes keep."""
        return SelectionRule(self.n_nonzero_coefs, threshold=self.threshold)

    @property
    def n_features(self) -> int:
        return self.source.n_features

    @cached_property
    def gram(self) -> NDArray[np.float64]:
        """Y^T Y, signals in rows."""
        return self.source.gram(self.base)

    @cached_property
    def total(self) -> float:
        """||Y||_F^2 of what is observed."""
        return self.source.energy if self.source.gaps else float(np.trace(self.gram))

    def but(self, **changes: Any) -> Problem:
        """The same problem with some settings changed, keeping what is known of the signals."""
        other = replace(self, **changes)
        if "source" not in changes and "gram" in self.__dict__:
            other.__dict__["gram"] = self.gram
        return other

    def code(self, coder: Coder, refills: int = REFILLS) -> Statistic:
        """One pass over the signals: the statistic of X = T_s(U^T Y).

        Signals with gaps are filled from their codes so many times.
        """
        return self.source.statistic(self.base, coder, self.rule, refills=refills)

    def error(self, statistic: Statistic) -> float:
        """Relative error ||Y - U X||_F^2 / ||Y||_F^2 of the codes of a statistic.

        On observed entries, and with threshold^2 ||X||_0 added to it, if there are such.
        """
        return share_lost(statistic.energy, self.total)


class Structure(ABC):
    """A family of orthonormal transforms in which the best one for given codes is known.

    Examples
    --------
    >>> import fost
    >>> isinstance(fost.Reflectors(4), fost.Structure), fost.Reflectors(4).flops(64)
    (True, 1024)
    """

    # What its size counts, in the plural ("rotations"); empty where it has no size.
    parts: ClassVar[str] = ""
    # Whether it is poor without a fixed base under it.
    wants_base: ClassVar[bool] = False
    # Whether it makes several transforms, of which no others can be made.
    several: ClassVar[bool] = False
    # Whether codes are the best there are, so that errors cannot rise.
    never_rises: ClassVar[bool] = True

    @property
    @abstractmethod
    def starts(self) -> tuple[str, ...]:
        """The starts that it knows by name, its default first."""

    @abstractmethod
    def flops(self, n_features: int) -> int:
        """Operations of such a transform for one signal, when its size is decided."""

    @property
    def label(self) -> str:
        """What it is called in tables, with its size: "16 rotations"."""
        return self.family

    @property
    def family(self) -> str:
        """What all sizes of it are called: "rotations"."""
        return self.parts or type(self).__name__

    @classmethod
    def of_size(cls, size: int | None, n_features: int) -> Self:
        """The structure of a size, or of the one that suits so many features if None."""
        raise TypeError(f"{cls.__name__} does not say how it is made from a size")

    @classmethod
    def ladder(cls, n_features: int, over_base: bool) -> Ladder | None:
        """The sizes that are worth trying, over a base or without; None for none."""
        return None

    def fit_to(self, problem: Problem) -> Structure:
        """This structure with everything decided that depends on the problem, checked."""
        return self

    @abstractmethod
    def initial(self, problem: Problem, init: str) -> Coder:
        """The transform, of any structure, whose codes one of `starts` begins with."""

    def start(self, problem: Problem, init: str | Coder) -> Coder:
        """The transform whose codes learning begins with, for a name or a given transform."""
        if not isinstance(init, str):
            return init
        if init not in self.starts:
            known = ", ".join(repr(name) for name in self.starts)
            raise ValueError(
                f"init must be a transform or, for {type(self).__name__}, one of {known}, "
                f"got {init!r}"
            )
        return self.initial(problem, init)

    def takes(self, coder: Coder) -> bool:
        """Whether learning can begin with the codes of this: of a transform, not of a bank."""
        return isinstance(coder, Transform)

    def n_unused(self, statistic: Statistic) -> int:
        """How many parts of the transform no signal used, which the next update may replace."""
        return 0

    @abstractmethod
    def restart(self, problem: Problem, coder: Coder) -> Coder:
        """The transform to update first when the codes of any `coder` start the learning."""

    def code(self, problem: Problem, coder: Coder, refills: int = REFILLS) -> Statistic:
        """One pass over the signals: what `update` needs to know of their codes."""
        return problem.code(coder, refills)

    @abstractmethod
    def update(self, problem: Problem, statistic: Statistic, current: Coder) -> Coder:
        """The next transform: for fixed X no worse than `current` in ||Y - U X||_F."""


def store(structure: Structure, **checked: object) -> None:
    """Give a frozen structure its checked arguments, so that NumPy's numbers are Python's."""
    for name, value in checked.items():
        object.__setattr__(structure, name, value)


def changed(structure: Structure, **values: object) -> Structure:
    """A structure with other values of some of its fields."""
    if not values:
        return structure
    if not is_dataclass(structure) or isinstance(structure, type):
        raise TypeError(f"{type(structure).__name__} must be a dataclass to have fields changed")
    return replace(structure, **values)


def check_count(value: object, name: str) -> int | Literal["auto"]:
    """A positive integer or "auto"; how many there may be depends on the signals."""
    if isinstance(value, str):
        if value != "auto":
            raise ValueError(f"{name} must be an integer or 'auto', got {value!r}")
        return "auto"
    return check_integer(value, name, 1, 2**31 - 1)


def counted(count: int | str, parts: str) -> str:
    """ "16 rotations", "1 reflector", "auto reflectors"; `parts` is a plural that ends in s."""
    return f"{count} {parts[:-1] if count == 1 else parts}"
