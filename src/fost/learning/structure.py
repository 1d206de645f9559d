"""Structures, the problems that they solve, and their candidate sizes.

A structure is a family of transforms. Its module has three steps. `initialise` gives the coder
whose codes learning begins with. `build` gives the first transform of the structure. `update` gives
the best transform for the statistic M = X Y^T. A structure also describes itself: its costs, its
name and its candidate sizes. `fost.learning.register` gives a structure a name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, is_dataclass, replace
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from fost._cache import lazy_property
from fost._validation import check_integer
from fost.coding.selection import SelectionRule
from fost.learning.missing import REFILLS
from fost.learning.statistics import Statistic
from fost.learning.training_data import TrainingData
from fost.transforms import Coder, Transform
from fost.transforms.coder import dense_flops

# The sizes of the members of banks grow by this factor: members are cheap, so a bank can have many.
_MEMBER_SIZE_FACTOR = 4


@dataclass(frozen=True)
class Problem:
    """Training data, a fixed base and options: the input of a structure.

    Attributes
    ----------
    data : TrainingData
        The signals.
    base : Transform or None
        The fixed transform B under the learned transform; learning sees B^T y.
    n_nonzero_coefs : int
        Entries per code, at most.
    random : Generator
        The random numbers of starts and orders.
    max_iter, tol : int, float
        When learning stops.
    threshold : float or None
        The magnitude that entries of codes must exceed.
    rough : bool
        Whether the result is only a start for further learning, which need not be accurate.
    momentum : float
        The least momentum of updates, see `LearningState.step`.
    saved_gram : ndarray or None
        The Gram matrix of a resumed run. The Gram matrix of the same signals in other blocks
        differs in its last bits.

    Examples
    --------
    >>> import fost, numpy as np
    >>> data = fost.learning.as_training_data(np.eye(4))
    >>> random = np.random.default_rng(0)
    >>> problem = fost.learning.Problem(data, None, 2, random, max_iter=10, tol=1e-6)
    >>> problem.n_features, problem.signal_energy
    (4, 4.0)
    """

    data: TrainingData
    base: Transform | None
    n_nonzero_coefs: int
    random: np.random.Generator
    max_iter: int
    tol: float
    threshold: float | None = None
    rough: bool = False
    momentum: float = 0.0
    saved_gram: NDArray[np.float64] | None = None

    @property
    def rule(self) -> SelectionRule:
        """The selection rule of the codes."""
        return SelectionRule(self.n_nonzero_coefs, threshold=self.threshold)

    @property
    def n_features(self) -> int:
        return self.data.n_features

    @property
    def gram(self) -> NDArray[np.float64]:
        """Y^T Y, signals in rows."""
        return self.data.gram(self.base) if self.saved_gram is None else self.saved_gram

    @lazy_property
    def signal_energy(self) -> float:
        """||Y||_F^2 of the observed entries."""
        return self.data.energy if self.data.has_missing else float(np.trace(self.gram))


class Structure(ABC):
    """A family of orthonormal transforms whose best member for given codes can be computed.

    Examples
    --------
    >>> import fost
    >>> isinstance(fost.Reflectors(4), fost.Structure), fost.Reflectors(4).flops(64)
    (True, 1024)
    """

    # The parts that its size counts, in the plural ("rotations"); empty if it has no size.
    parts: ClassVar[str] = ""
    # Whether its errors are large without a fixed base.
    wants_base: ClassVar[bool] = False
    # Whether it is a bank or a union, which cannot be a member of another one.
    is_collection: ClassVar[bool] = False
    # Whether codes are optimal, so that the error never increases.
    is_monotone: ClassVar[bool] = True
    # The least momentum of its updates, see `LearningState.step`.
    momentum: ClassVar[float] = 0.0

    @property
    @abstractmethod
    def starts(self) -> tuple[str, ...]:
        """The names of its starts, the default first."""

    @abstractmethod
    def flops(self, n_features: int) -> int:
        """Operations to transform one signal, once the size is decided."""

    def storage_bits(self, n_features: int) -> int:
        """Bits of the parameters as `Coder.storage_bits` counts them; a dense matrix by default."""
        return 16 * n_features**2

    @property
    def label(self) -> str:
        """The name with the size, for tables: "16 rotations"."""
        return self.family

    @property
    def family(self) -> str:
        """The name of all sizes, such as "rotations"."""
        return self.parts or type(self).__name__

    @classmethod
    def of_size(cls, size: int | None, n_features: int) -> Self:
        """The structure of a given size, or of a default size for `n_features` if None."""
        raise TypeError(f"{cls.__name__} does not define of_size")

    @classmethod
    def candidate_sizes(cls, n_features: int, over_base: bool) -> CandidateSizes | None:
        """The sizes that model selection tries, over a base or without; None for no size."""
        return None

    def fit_to(self, problem: Problem) -> Structure:
        """This structure, checked, with all "auto" parameters chosen for the problem."""
        return self

    @abstractmethod
    def initialise(self, problem: Problem, init: str) -> Coder:
        """The coder, of any structure, whose codes the named start begins with."""

    def accepts(self, coder: Coder) -> bool:
        """Whether learning can begin with the codes of this coder: a transform, not a bank."""
        return isinstance(coder, Transform)

    def adapt(self, problem: Problem, coder: Coder) -> Coder:
        """The coder whose codes learning begins with, for a given coder that is accepted."""
        return coder

    @abstractmethod
    def build(self, problem: Problem, coder: Coder) -> Coder:
        """The transform of this structure that is updated first after the codes of `coder`."""

    def statistic(self, problem: Problem, coder: Coder, refills: int = REFILLS) -> Statistic:
        """One pass over the signals: the statistic that `update` needs."""
        return problem.data.statistic(problem.base, coder, problem.rule, refills=refills)

    @abstractmethod
    def update(self, problem: Problem, statistic: Statistic, current: Coder) -> Coder:
        """The next transform: for fixed X no worse than `current` in ||Y - U X||_F."""

    def prune(self, problem: Problem, coder: Coder) -> Coder | None:
        """A transform of the structure without its least useful half; None for a single part."""
        return None

    def n_unused(self, statistic: Statistic) -> int:
        """The number of members that no signal uses, which the next update may replace."""
        return 0


@dataclass(frozen=True)
class CandidateSizes:
    """The sizes of a structure that model selection tries, the cheapest first.

    Attributes
    ----------
    structure : type
        A structure with `of_size` and `flops`.
    n_features : int
    sizes : sequence of int
        The sizes to try, increasing; empty for a structure without sizes.
    max_size : int
        The largest size for as many features.
    min_member_size : int or None
        The smallest size for members of a bank; None if banks are not tried.
    fixed_starts : bool
        Whether learning without a base also tries the codes of fixed transforms as starts.

    Examples
    --------
    >>> import fost
    >>> candidates = fost.learning.CandidateSizes(fost.Reflectors, 16, (1, 2, 4), max_size=16)
    >>> [structure.n_reflectors for structure in candidates.structures(max_flops=200)]
    [1, 2, 3]
    """

    structure: type[Structure]
    n_features: int
    sizes: Sequence[int] = ()
    max_size: int = 1
    min_member_size: int | None = None
    fixed_starts: bool = False

    def structures(self, max_flops: int | None, base_flops: int = 0) -> list[Structure]:
        """The structures that cost less than a dense matrix, including the base.

        With `max_flops` the largest size within the limit is among them.
        """
        if not self.sizes:
            return [self._of_size(None)]
        dense = dense_flops(self.n_features)
        room = (dense - 1 if max_flops is None else min(max_flops, dense - 1)) - base_flops
        largest = self._largest(room)
        fitting = [size for size in self.sizes if size <= largest]
        if max_flops is not None and fitting and largest not in fitting:
            fitting += [largest] if largest < 2 * fitting[-1] else []
        return [self._of_size(size) for size in fitting]

    def members(
        self, counts: Sequence[int], max_flops: int | None, base_flops: int = 0
    ) -> list[Structure]:
        """The structures for members of banks with `counts` members.

        A member costs less than half of a dense matrix. With `max_flops`, the candidates are the
        largest sizes that fit for each number of members. Sizes of at most half of the smallest of
        them follow.
        """
        smallest = self.min_member_size
        if smallest is None:
            return []
        if not self.sizes:
            return [self._of_size(None)]
        dense = dense_flops(self.n_features)
        sizes = [smallest * _MEMBER_SIZE_FACTOR**k for k in range(11)]
        sizes = [size for size in sizes if size <= self.max_size]
        sizes = [size for size in sizes if base_flops + self._flops(size) < dense / 2]
        if max_flops is not None:
            rooms = {
                min(dense - 1 - base_flops, (max_flops - base_flops) // count) for count in counts
            }
            fitting = {size for size in map(self._largest, rooms) if size >= smallest}
            below = min(fitting, default=0) / 2
            sizes = sorted(fitting.union(size for size in sizes if size <= below))
        return [self._of_size(size) for size in sizes]

    def _of_size(self, size: int | None) -> Structure:
        return self.structure.of_size(size, self.n_features)

    def _flops(self, size: int) -> int:
        return self._of_size(size).flops(self.n_features)

    def _largest(self, room: int) -> int:
        """The largest size that costs at most `room` operations; 0 if there is none."""
        return bisect_right(range(1, self.max_size + 1), room, key=self._flops)


def check_update(coder: Coder, structure: Structure) -> Coder:
    """The result of `update` of a structure, which may be of another package."""
    if not isinstance(coder, Coder):
        raise TypeError(
            f"{type(structure).__name__}.update must return a transform, got {type(coder).__name__}"
        )
    return coder


def set_checked(structure: Structure, **checked: object) -> None:
    """Replace the arguments of a frozen structure by their checked values."""
    for name, value in checked.items():
        object.__setattr__(structure, name, value)


def with_fields(structure: Structure, /, **values: object) -> Structure:
    """A structure with other values of some of its fields."""
    if not values:
        return structure
    if not is_dataclass(structure) or isinstance(structure, type):
        raise TypeError(f"{type(structure).__name__} must be a dataclass to have fields changed")
    return replace(structure, **values)


def check_count(value: object, name: str) -> int | Literal["auto"]:
    """A positive integer or "auto"; the upper limit depends on the signals."""
    if isinstance(value, str):
        if value != "auto":
            raise ValueError(f"{name} must be an integer or 'auto', got {value!r}")
        return "auto"
    return check_integer(value, name, 1, 2**31 - 1)


def count_label(count: int | str, parts: str) -> str:
    """ "16 rotations", "1 reflector", "auto reflectors"; `parts` is a plural that ends in s."""
    return f"{count} {parts[:-1] if count == 1 else parts}"
