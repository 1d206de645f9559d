"""Unions of one structure: orthogonal matching pursuit in the atoms of all members.

1. Start from a bank that is learned from a sample.
2. Improve it with batches of signals: code a batch by pursuit, then update each member in turn.
3. Continue with all signals, in the loop of `fost.learn`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fost import _core
from fost._typing import Floats
from fost._validation import check_integer
from fost.coding.encode import apply_plan
from fost.coding.selection import SelectionRule
from fost.learning.bank import BankOf, build_members, check_member, update_member
from fost.learning.learn import alternate
from fost.learning.missing import REFILLS, GaussianPrior, encode_with_refills
from fost.learning.statistics import Statistic, sum_of_squares
from fost.learning.structure import Problem, Structure, set_checked
from fost.streams import Sums
from fost.streams.base import Weights
from fost.transforms import Coder, PursuitCoder, Union, with_base
from fost.transforms.bank import TransformCollection

# Signals per feature and member for the bank that a union starts from. Batches improve the start,
# so more signals or iterations gain nothing in the end.
_START_SIGNALS = 4
# The average number of uses of each atom in a batch. Batches with 12 uses are too noisy; batches
# with 48 uses find poorer minima in the same time.
_USES = 24
_MAX_BATCHES = 320
# The limit for a small `max_iter`. With two batches per iteration the same error takes longer.
_BATCHES_PER_ITERATION = 8
# Batches are drawn from a sample of this many batches, which stays in memory.
_SAMPLED_BATCHES = 16
# How often all members are updated for the same sums; once in the first batches, which gain more
# from other signals.
_ROUNDS = 2
_FIRST_BATCHES = 25
# Numbers in X X^T: 2 GiB.
_MAX_SUMS = 2**28


@dataclass(frozen=True)
class UnionOf(Structure):
    r"""Unions of transforms of one structure, whose codes may use atoms of all members.

    Signals are coded by orthogonal matching pursuit in the atoms of all members. Then each member
    in turn is updated for the residual of the others, from
    :math:`M_l = X_l (Y - \sum_{k \ne l} U_k X_k)^T`, which follows from the two sums
    :math:`X Y^T` and :math:`X X^T`. An update never increases the error for given codes. Pursuit is
    greedy, however: new codes may be worse than the last ones, which are not stored. The error may
    therefore increase slightly in some iterations; the result is the best of all iterations.

    The starts are those of `BankOf`, by which a bank is learned first from a few signals. Then
    batches of signals update the members: eight for each of `max_iter` iterations, at most 320. The
    noise of batches avoids poor minima. All signals follow. A bank or a union with as many members
    is also a start, which continues with all signals at once.

    Parameters
    ----------
    structure : Structure
        The structure of the members: `Orthonormal`, `Reflectors`, `Rotations`.
    n_members : int
        The number of members, L; at most 2^14 / n, since learning keeps (L n)^2 sums.

    Examples
    --------
    Smooth signals with spikes:

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

    structure: Structure
    n_members: int

    is_collection: ClassVar[bool] = True
    is_monotone: ClassVar[bool] = False
    starts = BankOf.starts

    def __post_init__(self) -> None:
        member = check_member(self.structure, "structure")
        n_members = check_integer(self.n_members, "n_members", 1, 2**20)
        set_checked(self, n_members=n_members, wants_base=member.wants_base)

    @property
    def label(self) -> str:
        return f"union of {self.n_members} x {self.structure.label}"

    @property
    def family(self) -> str:
        return f"unions of {self.structure.family}"

    def flops(self, n_features: int) -> int:
        return self.n_members * self.structure.flops(n_features)

    def storage_bits(self, n_features: int) -> int:
        return self.n_members * self.structure.storage_bits(n_features)

    def fit_to(self, problem: Problem) -> UnionOf:
        if not problem.rule.is_fixed:
            raise ValueError("threshold must be None for a union: pursuit keeps n_nonzero_coefs")
        most = max_union_members(problem.n_features)
        if self.n_members > most:
            raise ValueError(
                f"n_members must be at most {most} for n_features={problem.n_features}, since "
                f"learning keeps a sum for each pair of atoms and 2**28 in all, "
                f"got {self.n_members}"
            )
        return replace(self, structure=self.structure.fit_to(problem))

    def initialise(self, problem: Problem, init: str) -> Union:
        """A bank by the named start, improved by batches of signals."""
        few = problem.data.sample(_START_SIGNALS * problem.n_features * self.n_members)
        # Batches make up for a rough start.
        rough = self._batch_size(problem) > 0
        quick = replace(problem, data=few, max_iter=1, rough=rough, saved_gram=None)
        bank = BankOf(self.structure, self.n_members)
        return self._learn_batches(problem, Union(alternate(quick, bank, init).transform.members))

    def _batch_size(self, problem: Problem) -> int:
        """The number of signals in a batch; 0 if a batch would contain all signals."""
        size = _USES * self.n_members * problem.n_features // problem.n_nonzero_coefs
        return size if size < len(problem.data.distinct[0]) and problem.max_iter else 0

    def _learn_batches(self, problem: Problem, union: Union) -> Union:
        """The union updated by one batch after another."""
        size = self._batch_size(problem)
        if not size:
            return union
        data = problem.data.sample(_SAMPLED_BATCHES * size).loaded()
        rows = np.empty(0, np.int64)
        for k in range(min(_MAX_BATCHES, _BATCHES_PER_ITERATION * problem.max_iter)):
            if len(rows) < size:
                rows = problem.random.permutation(data.n_signals)
            batch = replace(problem, data=data.weighted_subset(rows[:size]), saved_gram=None)
            rows = rows[size:]
            matrix, products, _ = self._sums(batch, union)
            rounds = 1 if k < _FIRST_BATCHES else _ROUNDS
            union = self._update(batch, matrix, products, union, rounds)
        return union

    def accepts(self, coder: Coder) -> bool:
        return True  # `build` raises an error for coders that are neither banks nor unions

    def adapt(self, problem: Problem, coder: Coder) -> Coder:
        """The union of the members of a bank."""
        return self.build(problem, coder)

    def build(self, problem: Problem, coder: Coder) -> Union:
        """The union whose members are of the member structure."""
        if not isinstance(coder, TransformCollection) or coder.n_members != self.n_members:
            raise ValueError(
                f"init must be a bank or a union of {self.n_members} transforms, or a name, "
                f"got {coder!r}"
            )
        return Union(build_members(self.structure, problem, coder))

    def statistic(self, problem: Problem, coder: Coder, refills: int = REFILLS) -> Statistic:
        matrix, products, imputed = self._sums(problem, coder, refills)
        atoms = coder.matrix.T
        # The codes represent 2 <Y, U X> - ||U X||^2 of the energy of completed signals. On missing
        # entries Y equals U X, so the energy of these is subtracted.
        # Both sums may be close to the largest number, so that twice one of them would overflow.
        common = np.vdot(matrix, atoms)
        kept = common - np.vdot(products @ atoms, atoms) + common - imputed
        return Statistic(matrix, max(0.0, float(kept)), products=products)

    def _sums(
        self, problem: Problem, coder: Coder, refills: int = REFILLS
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """X Y^T in the domain of the base, X X^T, and the energy of imputed entries."""
        union = with_base(problem.base, coder)
        assert isinstance(union, Union)
        data = problem.data
        one_pass = PursuitPass(union, problem.n_nonzero_coefs, data.name, data.prior, refills)
        matrix, products, imputed = data.stream.total(one_pass)
        if problem.base is not None:
            matrix = apply_plan(problem.base._plan, matrix, inverse=False, name=data.name)
        return matrix, products, float(imputed)

    def update(self, problem: Problem, statistic: Statistic, current: Coder) -> Union:
        """Two rounds of updates of each member for the residual of the others."""
        assert statistic.products is not None
        return self._update(problem, statistic.matrix, statistic.products, current, _ROUNDS)

    def _update(
        self,
        problem: Problem,
        matrix: NDArray[np.float64],
        products: NDArray[np.float64],
        current: Coder,
        rounds: int,
    ) -> Union:
        n, members = problem.n_features, list(current.members)
        atoms = np.concatenate([member.matrix.T for member in members])
        used = np.diagonal(products)
        for b in [*range(self.n_members)] * rounds:
            own = slice(b * n, (b + 1) * n)
            if not used[own].any():
                continue
            pairs = products[own]
            others = pairs @ atoms - pairs[:, own] @ atoms[own]
            members[b] = update_member(self.structure, problem, matrix[own] - others, members[b])
            atoms[own] = members[b].matrix.T
        return Union(members)


def max_union_members(n_features: int) -> int:
    """The number of members for which X X^T fits in memory."""
    return max(1, int(_MAX_SUMS**0.5) // n_features)


@dataclass(frozen=True)
class PursuitPass:
    """X W Y^T and X W X^T of a block of signals with weights W, and the energy of imputed entries.

    The codes X are found by orthogonal matching pursuit in a union or another such dictionary.
    """

    union: PursuitCoder
    n_nonzero_coefs: int
    name: str
    prior: GaussianPrior | None = None
    refills: int = REFILLS

    def __call__(self, block: Floats, weights: Weights | None = None) -> Sums:
        missing = None if self.prior is None else np.isnan(block)
        if self.prior is None or missing is None or not missing.any():
            signals, codes = block, self._codes(block)
        else:
            decode = self.union.decode
            signals, codes, _ = encode_with_refills(
                block, missing, self.prior, self.refills, self._codes, decode, self.name
            )
        values = codes.data
        if weights is not None:
            roots = np.sqrt(weights)  # may overflow float32
            signals = signals * roots[:, None]
            values = values * np.repeat(roots, np.diff(codes.indptr))
        n_atoms = self.union.n_atoms
        matrix, products = np.empty((n_atoms, block.shape[1])), np.empty((n_atoms, n_atoms))
        indptr = codes.indptr.astype(np.int64)
        indices = codes.indices.astype(np.int32, copy=False)
        _core.code_sums(values, indices, indptr, signals, matrix, products)
        return matrix, products, 0.0 if missing is None else sum_of_squares(signals[missing])

    def _codes(self, block: Floats) -> csr_array:
        return self.union._encode_block(
            SelectionRule(self.n_nonzero_coefs), False, self.name, block
        )
