"""Unions of one structure: pursuit in the atoms of all members, each of which is then updated."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fost import _core
from fost._typing import Floats
from fost._validation import check_integer
from fost.learning.bank import BankOf, check_member, single
from fost.learning.filling import Prior
from fost.learning.loop import alternate
from fost.learning.passes import REFILLS, Weights, squares
from fost.learning.sources import Statistic
from fost.learning.structure import Problem, Structure, store
from fost.streams import Sums
from fost.transforms import Coder, Union, with_base
from fost.transforms.bank import Several

# Signals per feature and member of the bank that a union starts from. Batches improve what it
# becomes: more signals, or more iterations of the bank and its members, gain nothing in the end.
_START_SIGNALS = 4
# How often each atom is used in a batch, on average, and batches. With 12 uses they are too
# noisy, with 48 they find poorer minima in the same time.
_USES = 24
_BATCHES = 320
# At most, where `max_iter` says that time is short: with two it takes longer to the same error.
_BATCHES_PER_ITERATION = 8
# Batches that are drawn from as many signals, which are kept in memory.
_KEPT_BATCHES = 16
# How often all members are updated for the same sums, each for the latest of the others; once in
# the first batches, which have more to gain from other signals.
_ROUNDS = 2
_FIRST_BATCHES = 25
# Numbers in X X^T: 2 GiB of them.
_MOST_SUMS = 2**28


@dataclass(frozen=True)
class UnionOf(Structure):
    """Unions of transforms of one structure: codes may use atoms of all members.

    Signals are coded by orthogonal matching pursuit in the atoms of all members. Then each member
    in turn is updated for what the others leave, from M_b = X_b (Y - the others' parts)^T, which
    follows from two sums over the signals, X Y^T and X X^T. An update never raises the error for
    given codes. Pursuit is greedy, though, and its next codes may be worse than the last ones,
    which learning, that keeps sums and no codes, cannot go back to. The error may thus rise a
    little now and then; the result is the best of all iterations.

    Starts by name are those of `BankOf`, by which a bank is learned first, from a few signals.
    Then batches of signals update the members, eight for each of `max_iter` and 320 at most: what
    one batch does not know of the others leads past poor minima. All signals follow. A bank or a
    union of as many members is a start too, from which all signals go on at once.

    Parameters
    ----------
    member : Structure
        What the members are: `Orthonormal`, `Reflectors`, `Rotations`.
    n_members : int
        How many there are, B; at most 2^14 / n, since learning keeps (B n)^2 sums.

    Examples
    --------
    Waves with spikes:

    >>> import fost, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> Y = np.cumsum(rng.standard_normal((1000, 16)), axis=1)
    >>> Y[np.arange(1000), rng.integers(16, size=1000)] += 20
    >>> union = fost.learn(Y, fost.UnionOf(fost.Orthonormal(), 2), 3, random_state=0)
    >>> union.transform
    Union(n_features=16, n_members=2, flops=992)
    >>> bank = fost.learn(Y, fost.BankOf(fost.Orthonormal(), 2), n_nonzero_coefs=3, random_state=0)
    >>> bool(union.error < bank.error)
    True
    """

    member: Structure
    n_members: int

    several: ClassVar[bool] = True
    starts = BankOf.starts
    never_rises: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_member(self.member, "member")
        store(self, n_members=check_integer(self.n_members, "n_members", 1, 2**20))

    @property
    def label(self) -> str:
        return f"union of {self.n_members} x {self.member.label}"

    @property
    def family(self) -> str:
        return f"unions of {self.member.family}"

    @property
    def bank(self) -> BankOf:
        """The banks that it starts from."""
        return BankOf(self.member, self.n_members)

    def flops(self, n_features: int) -> int:
        return self.n_members * self.member.flops(n_features)

    def fit_to(self, problem: Problem) -> UnionOf:
        if not problem.rule.is_fixed:
            raise ValueError("threshold must be None for a union: pursuit keeps n_nonzero_coefs")
        most = most_members(problem.n_features)
        if self.n_members > most:
            raise ValueError(
                f"n_members must be at most {most} for n_features={problem.n_features}, since "
                f"learning keeps a sum for each pair of atoms and 2**28 in all, "
                f"got {self.n_members}"
            )
        return replace(self, member=self.member.fit_to(problem))

    def initial(self, problem: Problem, init: str) -> Union:
        few = problem.source.sample(_START_SIGNALS * problem.n_features * self.n_members)
        # Without batches nothing but all signals would make up for a rough start.
        rough = self._batch_size(problem) > 0
        quick = problem.but(source=few, max_iter=1, rough=rough)
        return self._batched(problem, Union(alternate(quick, self.bank, init).transform.members))

    def _batch_size(self, problem: Problem) -> int:
        """Signals in a batch, or none if one would be all."""
        size = _USES * self.n_members * problem.n_features // problem.n_nonzero_coefs
        return size if size < len(problem.source.apart[0]) and problem.max_iter else 0

    def _batched(self, problem: Problem, union: Union) -> Union:
        """Better for batches of signals, one after another, if one is not all."""
        size = self._batch_size(problem)
        if not size:
            return union
        signals = problem.source.sample(_KEPT_BATCHES * size).loaded()
        places = np.empty(0, np.int64)
        for k in range(min(_BATCHES, _BATCHES_PER_ITERATION * problem.max_iter)):
            if len(places) < size:
                places = problem.random.permutation(signals.n_signals)
            batch = problem.but(source=signals.part(places[:size]))
            places = places[size:]
            matrix, products, _ = self._sums(batch, union)
            statistic = Statistic(matrix, 0.0, products=products)
            union = self._updated(batch, statistic, union, 1 if k < _FIRST_BATCHES else _ROUNDS)
        return union

    def start(self, problem: Problem, init: str | Coder) -> Coder:
        if isinstance(init, str):
            return super().start(problem, init)
        return self.restart(problem, init)

    def takes(self, coder: Coder) -> bool:
        return True  # restart says what is wrong with those that are neither banks nor unions

    def restart(self, problem: Problem, coder: Coder) -> Union:
        if not isinstance(coder, Several) or coder.n_members != self.n_members:
            raise ValueError(
                f"init must be a bank or a union of {self.n_members} transforms, or a name, "
                f"got {coder!r}"
            )
        return Union(single(self.member.restart(problem, member)) for member in coder.members)

    def code(self, problem: Problem, coder: Coder, refills: int = REFILLS) -> Statistic:
        matrix, products, guessed = self._sums(problem, coder, refills)
        atoms = coder.matrix.T
        # Of what the codes X keep of observed entries, 2 <Y, U X> - ||U X||^2 without the others,
        # in which Y and U X are equal.
        kept = 2 * np.vdot(matrix, atoms) - np.vdot(products @ atoms, atoms) - guessed
        return Statistic(matrix, max(0.0, float(kept)), products=products)

    def _sums(
        self, problem: Problem, coder: Coder, refills: int = REFILLS
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """X Y^T, in the domain of the base, X X^T, and the squares of what was filled in."""
        union = with_base(problem.base, coder)
        assert isinstance(union, Union)
        source = problem.source
        sums = SumsOf(union, problem.n_nonzero_coefs, source.name, source.prior, refills)
        matrix, products, guessed = source.total(sums)
        if problem.base is not None:
            matrix = matrix @ problem.base
        return matrix, products, float(guessed)

    def update(self, problem: Problem, statistic: Statistic, current: Coder) -> Union:
        return self._updated(problem, statistic, current, _ROUNDS)

    def _updated(
        self, problem: Problem, statistic: Statistic, current: Coder, rounds: int
    ) -> Union:
        assert statistic.products is not None
        n, members = problem.n_features, list(current.members)
        atoms = np.concatenate([member.matrix.T for member in members])
        used = np.diagonal(statistic.products)
        for b in [*range(self.n_members)] * rounds:
            own = slice(b * n, (b + 1) * n)
            if not used[own].any():
                continue
            pairs = statistic.products[own]
            others = pairs @ atoms - pairs[:, own] @ atoms[own]
            rest = Statistic(statistic.matrix[own] - others, 0.0)
            members[b] = single(self.member.update(problem, rest, members[b]))
            atoms[own] = members[b].matrix.T
        return Union(members)


def most_members(n_features: int) -> int:
    """Members of which X X^T can be kept."""
    return max(1, int(_MOST_SUMS**0.5) // n_features)


@dataclass(frozen=True)
class SumsOf:
    """X W Y^T and X W X^T of a block of signals, their codes in a union and their weights W.

    Where entries are missing (NaN), these are filled by a prior and then by the codes, over and
    over; the last of the sums is that of their squares.
    """

    union: Union
    s: int
    name: str
    prior: Prior | None = None
    refills: int = REFILLS

    def __call__(self, block: Floats, weights: Weights | None = None) -> Sums:
        missing = None if self.prior is None else np.isnan(block)
        signals, codes = self._coded(block, missing)
        values = codes.data
        if weights is not None:
            roots = np.sqrt(weights).astype(block.dtype)
            signals = signals * roots[:, None]
            values = values * np.repeat(roots, np.diff(codes.indptr))
        n_atoms = self.union.n_atoms
        matrix, products = np.empty((n_atoms, block.shape[1])), np.empty((n_atoms, n_atoms))
        indptr = codes.indptr.astype(np.int64)
        indices = codes.indices.astype(np.int32, copy=False)
        _core.code_sums(values, indices, indptr, signals, matrix, products)
        return matrix, products, 0.0 if missing is None else squares(signals[missing])

    def _coded(self, block: Floats, missing: NDArray[np.bool_] | None) -> tuple[Floats, csr_array]:
        """Signals without gaps, and their codes, which what was missing is filled from."""
        if self.prior is None or missing is None or not missing.any():
            return block, self.union.encode(block, self.s)
        if np.isinf(block).any():
            raise ValueError(f"{self.name} contains infinity")
        filled = self.prior.filled(block, missing)
        for _ in range(max(1, self.refills)):
            codes = self.union.encode(filled, self.s)
            filled = np.where(missing, self.union.decode(codes), block)
        return filled, codes
