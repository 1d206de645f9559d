"""Banks of one structure: one pass gives a statistic for each member."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fost._validation import check_integer
from fost.learning.canonical_order import (
    WeightedRows,
    round_down,
    split_by_weight,
    total_weight,
)
from fost.learning.learn import alternate
from fost.learning.registry import describe_structures
from fost.learning.statistics import Statistic
from fost.learning.structure import Problem, Structure, check_update, set_checked
from fost.learning.training_data import MIN_ENERGY, TrainingData
from fost.transforms import Bank, Coder, Transform, with_base

# Starts use so many signals per member and so many iterations, or one iteration for rough starts.
_SIGNALS_PER_MEMBER = 4096
_MAX_SIGNALS = 65536
_ITERATIONS = 5
# Numbers in the statistics of all members together: 2 GiB.
_MAX_SUMS = 2**28
# The share of a member's signals, those with the largest errors, that a new member is learned from.
_WORST_SHARE = 0.5


@dataclass(frozen=True)
class BankOf(Structure):
    """Banks of transforms of one structure, for heterogeneous signals.

    Each signal is coded in the member that keeps most of its energy, and contributes to the
    statistic of that member. Each member is then updated from its own statistic. As with a single
    transform the error never increases. A member that no signal uses is replaced by one learned
    from the signals with the largest errors, which cannot increase the error either.

    There are three starts. ``"splitting"``, the default, begins with one member and splits the
    member with the largest error until there are enough. ``"farthest"`` adds members for the
    signals with the largest relative errors. ``"subsets"`` learns the members from random subsets.
    A bank with fewer members is also a start and is split in the same way.

    Parameters
    ----------
    structure : Structure
        The structure of the members: `Orthonormal`, `Reflectors`, `Rotations`.
    n_members : int
        The number of members, L; at most 2^28 / n^2, since learning keeps n^2 sums for each.

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

    structure: Structure
    n_members: int

    is_collection: ClassVar[bool] = True
    starts = ("splitting", "farthest", "subsets")

    def __post_init__(self) -> None:
        member = check_member(self.structure, "structure")
        n_members = check_integer(self.n_members, "n_members", 1, 2**20)
        set_checked(self, n_members=n_members, wants_base=member.wants_base)

    @property
    def label(self) -> str:
        return f"{self.n_members} x {self.structure.label}"

    @property
    def family(self) -> str:
        return f"banks of {self.structure.family}"

    def flops(self, n_features: int) -> int:
        return self.n_members * self.structure.flops(n_features)

    def storage_bits(self, n_features: int) -> int:
        return self.n_members * self.structure.storage_bits(n_features)

    def fit_to(self, problem: Problem) -> BankOf:
        most = max_bank_members(problem.n_features)
        if self.n_members > most:
            raise ValueError(
                f"n_members must be at most {most} for n_features={problem.n_features}, since "
                "learning keeps n_features**2 sums for each and 2**28 in all, "
                f"got {self.n_members}"
            )
        return replace(self, structure=self.structure.fit_to(problem))

    def initialise(self, problem: Problem, init: str) -> Bank:
        """A bank learned from a sample by one of the named starts."""
        data = self._sample(problem)
        if init == "subsets":
            order = problem.random.permutation(data.n_signals)
            parts = split_by_weight(order, data.weights, None, self.n_members)
            return Bank(self._learn_member(problem, data, part) for part in parts)
        if init == "farthest":
            return self._add_farthest(problem, data)
        return self._split(problem, data, [self._learn_member(problem, data)])

    def accepts(self, coder: Coder) -> bool:
        return True  # `build` raises an error for coders that are not banks

    def adapt(self, problem: Problem, coder: Coder) -> Coder:
        """A bank with fewer members is split."""
        if not isinstance(coder, Bank) or coder.n_members >= self.n_members:
            return coder
        members = build_members(self.structure, problem, coder)
        return self._split(problem, self._sample(problem), members)

    def build(self, problem: Problem, coder: Coder) -> Bank:
        """The bank whose members are of the member structure."""
        if not isinstance(coder, Bank) or coder.n_members != self.n_members:
            raise ValueError(
                f"init must be a bank of at most {self.n_members} transforms, or a name, "
                f"got {coder!r}"
            )
        return Bank(build_members(self.structure, problem, coder))

    def update(self, problem: Problem, statistic: Statistic, current: Coder) -> Bank:
        """The update of each member from its own statistic; unused members are replaced."""
        members, unused = [], []
        for b, (matrix, member) in enumerate(
            zip(self._matrices(statistic), current.members, strict=True)
        ):
            if matrix.any():
                member = update_member(self.structure, problem, matrix, member)
            else:
                unused.append(b)
            members.append(member)
        if unused:
            self._replace_unused(problem, members, unused)
        return Bank(members)

    def n_unused(self, statistic: Statistic) -> int:
        return sum(not matrix.any() for matrix in self._matrices(statistic))

    def _matrices(self, statistic: Statistic) -> NDArray[np.float64]:
        """M of each member."""
        n = statistic.matrix.shape[1]
        return statistic.matrix.reshape(self.n_members, n, n)

    def _sample(self, problem: Problem) -> TrainingData:
        count = min(_MAX_SIGNALS, _SIGNALS_PER_MEMBER * self.n_members)
        return problem.data.sample(count).loaded()

    def _learn_member(
        self, problem: Problem, data: TrainingData, part: WeightedRows | None = None
    ) -> Transform:
        """A member learned from signals or a part of them; its start if they are negligible."""
        rows = data.rows() if part is None else data.stream.take(part[0])
        largest = float(np.nanmax(np.abs(rows), initial=0.0))
        if largest * largest < MIN_ENERGY:  # no signals, or only signals that are too small
            own = TrainingData.from_rows(np.zeros((1, problem.n_features)), problem.data.name)
        else:
            own = data if part is None else data.subset(*part)
        quick = replace(problem, data=own, max_iter=_n_iterations(problem), saved_gram=None)
        transform = alternate(quick, self.structure, self.structure.starts[0]).transform
        assert isinstance(transform, Transform)
        return transform

    def _split(self, problem: Problem, data: TrainingData, members: list[Transform]) -> Bank:
        """Add members for the worst signals of the worst member until there are enough."""
        quick = replace(problem, data=data, saved_gram=None)
        weights = data.weights
        while len(members) < self.n_members:
            if len(members) >= data.n_signals:  # nothing is left to split
                return self._fill_up(members)
            chosen, errors, _ = _encode(problem, members, data)
            weighted = errors if weights is None else errors * weights
            totals = np.bincount(chosen, weighted, minlength=len(members))
            own = np.flatnonzero(chosen == np.argmax(totals))
            order = own[np.argsort(-errors[own], kind="stable")]
            own_weight = total_weight(None if weights is None else weights[own], len(own))
            (worst,) = split_by_weight(order, weights, _WORST_SHARE * own_weight)
            members.append(self._learn_member(problem, data, worst))
            smaller = replace(self, n_members=len(members))
            for _ in range(_n_iterations(problem)):
                bank = Bank(members)
                statistic = smaller.statistic(quick, bank)
                members = list(smaller.update(quick, statistic, bank).members)
        return Bank(members)

    def _add_farthest(self, problem: Problem, data: TrainingData) -> Bank:
        """Add members for the signals with the largest relative errors."""
        weights = data.weights
        share = total_weight(weights, data.n_signals) / self.n_members
        members = [self._learn_member(problem, data)]
        while len(members) < self.n_members:
            _, errors, energies = _encode(problem, members, data)
            left = np.divide(errors, energies, out=np.zeros_like(errors), where=energies > 0)
            if not left.any():  # all signals are represented exactly
                return self._fill_up(members)
            (worst,) = split_by_weight(np.argsort(-left, kind="stable"), weights, share)
            members.append(self._learn_member(problem, data, worst))
        return Bank(members)

    def _fill_up(self, members: list[Transform]) -> Bank:
        """A bank with copies of the first member, which no signal uses."""
        return Bank([*members, *members[:1] * (self.n_members - len(members))])

    def _replace_unused(
        self, problem: Problem, members: list[Transform], unused: list[int]
    ) -> None:
        """Replace unused members by members for the signals with the largest errors."""
        data = self._sample(problem)
        _, errors, _ = _encode(problem, members, data)
        weights = data.weights
        share = round_down(total_weight(weights, data.n_signals) / self.n_members, weights)
        order = np.argsort(-errors, kind="stable")
        order = order[errors[order] > 0]  # the other signals are represented exactly
        parts = split_by_weight(order, weights, share * len(unused), len(unused))
        for b, part in zip(unused, parts, strict=True):
            if len(part[0]):
                members[b] = self._learn_member(problem, data, part)


def build_members(member: Structure, problem: Problem, coder: Coder) -> list[Transform]:
    """The members of a bank or union, built by their structure."""
    built: list[Transform] = []
    for transform in coder.members:
        own = member.build(problem, transform)
        assert isinstance(own, Transform)
        built.append(own)
    return built


def update_member(
    member: Structure, problem: Problem, matrix: NDArray[np.float64], current: Transform
) -> Transform:
    """A member updated from its own M."""
    updated = check_update(member.update(problem, Statistic(matrix, 0.0), current), member)
    assert isinstance(updated, Transform)
    return updated


def check_member(member: object, name: str) -> Structure:
    """A structure for members: any structure except banks and unions."""
    if not isinstance(member, Structure) or member.is_collection:
        raise TypeError(f"{name} must be {describe_structures()}, got {type(member).__name__}")
    return member


def max_bank_members(n_features: int) -> int:
    """The number of members whose statistics fit in memory."""
    return max(1, _MAX_SUMS // n_features**2)


def _n_iterations(problem: Problem) -> int:
    return 1 if problem.rough else _ITERATIONS


def _encode(
    problem: Problem, members: list[Transform], data: TrainingData
) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
    """The member that each signal uses, its error and its energy."""
    bank = with_base(problem.base, Bank(members))
    assert isinstance(bank, Bank)
    encoded = data.encoder(bank, problem.rule).encode(data.rows())
    return bank.chosen(encoded.codes), np.maximum(encoded.errors, 0), encoded.energies
