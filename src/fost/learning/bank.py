"""Banks of one structure: as many statistics as members, from one pass."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fost._validation import check_integer
from fost.learning.copies import Part, dealt, number, times, whole
from fost.learning.loop import alternate
from fost.learning.registry import known
from fost.learning.sources import LEAST_TOTAL, ArraySource, Source, Statistic
from fost.learning.structure import Problem, Structure, store
from fost.transforms import Bank, Coder, Transform, with_base

# Starts look at so many signals per member, and learn with so many iterations, or with one where
# they need not be good.
_SIGNALS_PER_MEMBER = 4096
_MOST_SIGNALS = 65536
_ITERATIONS = 5
# Numbers in the statistics of all members together: 2 GiB of them.
_MOST_SUMS = 2**28
# The share of a member's signals, those represented worst, that a new member is learned from.
_WORST = 0.5


@dataclass(frozen=True)
class BankOf(Structure):
    """Banks of transforms of one structure, for mixed signals.

    Each signal is coded in the member that keeps most of its energy, and adds to the statistic
    of that member; each member is then updated from its own statistic. As with a single
    transform the error never rises. A member that no signal uses is replaced by one learned from
    the signals that are represented worst, which cannot raise the error either.

    Starts by name: ``"splitting"`` (the default) begins with one member and splits the one with
    the largest error until there are enough; ``"farthest"`` adds members for the signals of
    which all others leave the largest share; ``"subsets"`` learns the members from random
    subsets. A bank with fewer members is a start too, and is split in the same way.

    Parameters
    ----------
    member : Structure
        What the members are: `Orthonormal`, `Reflectors`, `Rotations`.
    n_members : int
        How many there are, B; at most 2^28 / n^2, since learning keeps n^2 sums for each.

    Examples
    --------
    >>> import fost, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> Y = np.cumsum(rng.standard_normal((1000, 16)), axis=1)
    >>> Y[::2] = 20 * rng.standard_normal((500, 16)) * (rng.random((500, 16)) < 0.15)
    >>> bank = fost.learn(Y, fost.BankOf(fost.Orthonormal(), 2), n_nonzero_coefs=3)
    >>> bank.transform
    Bank(n_features=16, n_members=2, flops=992)
    >>> bool(bank.error < fost.learn(Y, fost.Orthonormal(), n_nonzero_coefs=3).error / 2)
    True
    """

    member: Structure
    n_members: int

    several: ClassVar[bool] = True
    starts = ("splitting", "farthest", "subsets")

    def __post_init__(self) -> None:
        check_member(self.member, "member")
        store(self, n_members=check_integer(self.n_members, "n_members", 1, 2**20))

    @property
    def label(self) -> str:
        return f"{self.n_members} x {self.member.label}"

    @property
    def family(self) -> str:
        return f"banks of {self.member.family}"

    def flops(self, n_features: int) -> int:
        return self.n_members * self.member.flops(n_features)

    def fit_to(self, problem: Problem) -> BankOf:
        most = most_members(problem.n_features)
        if self.n_members > most:
            raise ValueError(
                f"n_members must be at most {most} for n_features={problem.n_features}, since "
                "learning keeps n_features**2 sums for each and 2**28 in all, "
                f"got {self.n_members}"
            )
        return replace(self, member=self.member.fit_to(problem))

    def initial(self, problem: Problem, init: str) -> Bank:
        signals = self._sample(problem)
        if init == "subsets":
            order = problem.random.permutation(signals.n_signals)
            parts = dealt(order, signals.weights, None, self.n_members)
            return Bank(self._learned(problem, signals, part) for part in parts)
        if init == "farthest":
            return self._farthest(problem, signals)
        return self._split(problem, signals, [self._learned(problem, signals)])

    def start(self, problem: Problem, init: str | Coder) -> Coder:
        if not isinstance(init, Bank) or init.n_members >= self.n_members:
            return super().start(problem, init)
        members = [single(self.member.restart(problem, member)) for member in init.members]
        return self._split(problem, self._sample(problem), members)

    def takes(self, coder: Coder) -> bool:
        return True  # restart says what is wrong with those that are no banks

    def restart(self, problem: Problem, coder: Coder) -> Bank:
        if not isinstance(coder, Bank) or coder.n_members != self.n_members:
            raise ValueError(
                f"init must be a bank of at most {self.n_members} transforms, or a name, "
                f"got {coder!r}"
            )
        return Bank(single(self.member.restart(problem, member)) for member in coder.members)

    def update(self, problem: Problem, statistic: Statistic, current: Coder) -> Bank:
        members, unused = [], []
        for b, (matrix, member) in enumerate(
            zip(self._parts(statistic), current.members, strict=True)
        ):
            if matrix.any():
                member = single(self.member.update(problem, Statistic(matrix, 0.0), member))
            else:
                unused.append(b)
            members.append(member)
        if unused:
            self._reseed(problem, members, unused)
        return Bank(members)

    def n_unused(self, statistic: Statistic) -> int:
        return sum(not matrix.any() for matrix in self._parts(statistic))

    def _parts(self, statistic: Statistic) -> NDArray[np.float64]:
        n = statistic.matrix.shape[1]
        return statistic.matrix.reshape(self.n_members, n, n)

    def _sample(self, problem: Problem) -> Source:
        count = min(_MOST_SIGNALS, _SIGNALS_PER_MEMBER * self.n_members)
        return problem.source.sample(count).loaded()

    def _learned(self, problem: Problem, signals: Source, part: Part | None = None) -> Transform:
        """A member for signals, or some of them; the start where there are none."""
        rows = signals.in_memory() if part is None else signals.take(part[0])
        largest = float(np.nanmax(np.abs(rows), initial=0.0))
        if largest * largest < LEAST_TOTAL:  # none, or none that alone would not be too small
            own: Source = ArraySource(np.zeros((1, problem.n_features)), problem.source.name)
        else:
            own = signals if part is None else signals.part(*part)
        quick = problem.but(source=own, max_iter=_iterations(problem))
        return single(alternate(quick, self.member, self.member.starts[0]).transform)

    def _split(self, problem: Problem, signals: Source, members: list[Transform]) -> Bank:
        """Until there are enough, the signals that the worst member represents worst get one."""
        quick = problem.but(source=signals)
        while len(members) < self.n_members:
            if len(members) >= signals.n_signals:  # there is nothing left to split
                return self._filled_up(members)
            chosen, errors, _ = _coded(problem, members, signals)
            weights = signals.weights
            totals = np.bincount(chosen, times(errors, weights), minlength=len(members))
            own = np.flatnonzero(chosen == np.argmax(totals))
            order = own[np.argsort(-errors[own], kind="stable")]
            (worst,) = dealt(order, weights, _WORST * number(own, weights))
            members.append(self._learned(problem, signals, worst))
            stage = replace(self, n_members=len(members))
            for _ in range(_iterations(problem)):
                bank = Bank(members)
                members = list(stage.update(quick, quick.code(bank), bank).members)
        return Bank(members)

    def _farthest(self, problem: Problem, signals: Source) -> Bank:
        """Member after member for those signals of which the others leave the largest share."""
        weights = signals.weights
        share = number(slice(None), weights, signals.n_signals) / self.n_members
        members = [self._learned(problem, signals)]
        while len(members) < self.n_members:
            _, errors, energies = _coded(problem, members, signals)
            left = np.divide(errors, energies, out=np.zeros_like(errors), where=energies > 0)
            if not left.any():  # nothing is left for more members
                return self._filled_up(members)
            (worst,) = dealt(np.argsort(-left, kind="stable"), weights, share)
            members.append(self._learned(problem, signals, worst))
        return Bank(members)

    def _filled_up(self, members: list[Transform]) -> Bank:
        """With copies of the first, which no signal uses, until there are enough."""
        return Bank([*members, *members[:1] * (self.n_members - len(members))])

    def _reseed(self, problem: Problem, members: list[Transform], unused: list[int]) -> None:
        """Members for the signals that are represented worst, in the place of unused ones."""
        signals = self._sample(problem)
        _, errors, _ = _coded(problem, members, signals)
        weights = signals.weights
        share = whole(number(slice(None), weights, signals.n_signals) / self.n_members, weights)
        order = np.argsort(-errors, kind="stable")
        order = order[errors[order] > 0]  # others need no member
        parts = dealt(order, weights, share * len(unused), len(unused))
        for b, part in zip(unused, parts, strict=True):
            if len(part[0]):
                members[b] = self._learned(problem, signals, part)


def _iterations(problem: Problem) -> int:
    return 1 if problem.rough else _ITERATIONS


def check_member(member: object, name: str) -> Structure:
    """A structure that banks can be made of: any but banks and unions."""
    if not isinstance(member, Structure) or member.several:
        raise TypeError(f"{name} must be {known()}, got {type(member).__name__}")
    return member


def most_members(n_features: int) -> int:
    """Members whose statistics can be kept."""
    return max(1, _MOST_SUMS // n_features**2)


def single(coder: Coder) -> Transform:
    """What a member structure makes: one transform."""
    assert isinstance(coder, Transform)
    return coder


def _coded(
    problem: Problem, members: list[Transform], signals: Source
) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
    """Which member each signal uses, what is lost of it, and the energy that it had."""
    bank = with_base(problem.base, Bank(members))
    assert isinstance(bank, Bank)
    coded = signals.coding(bank, problem.rule).coded(signals.in_memory())
    return bank.chosen(coded.codes), np.maximum(coded.lost, 0), coded.energies
