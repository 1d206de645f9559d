"""Candidates of model selection: structures of many sizes, banks, and dictionaries for pursuit.

`candidate_specs` and `PursuitSpecs` list what to try; `Frontier` holds what was learned.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, overload

import numpy as np

from fost._scaling import scale_to_safe_range
from fost._typing import Floats
from fost.coding.selection import SelectionRule
from fost.learning.bank import BankOf
from fost.learning.circulant import Circulants
from fost.learning.registry import structure_classes
from fost.learning.statistics import error_from_energy, sum_of_squares
from fost.learning.structure import Structure
from fost.learning.training_data import TrainingData
from fost.learning.union import UnionOf, max_union_members
from fost.transforms import DCT, Coder, PursuitCoder, Transform
from fost.transforms.coder import index_bits
from fost.transforms.pursuit_coder import pursuit_flops

if TYPE_CHECKING:
    from fost.baselines.sparse_ksvd import SparseKSVD

# Fixed transforms to learn over, by their names; learning without a base has an empty name.
Bases = dict[str, Transform | None]
# The costs that a budget can limit, by the attribute of candidates that has them.
COSTS = {"flops": "flops", "bits": "bits", "time": "nanoseconds"}
# Numbers of members of unions, and the largest size of a member, in units of n. The last numbers
# that fit are tried: many small members often have lower errors than few large ones.
_UNION_COUNTS = (2, 4, 8, 16, 32)
_TRIED_COUNTS = 3
_MEMBER_SIZE = 4
# Entries per atom of sparse K-SVD in units of n / 32.
_ENTRIES = (1, 2, 3, 4, 6, 8, 32)
# Kernels of circulants, and random starts.
_MAX_CIRCULANTS = 8
_CIRCULANT_STARTS = 4


@dataclass(frozen=True)
class Candidate:
    """A dictionary that was tried, with its costs and its relative errors."""

    structure: str
    # The name without the size.
    family: str
    flops: int
    n_parameters: int
    train_error: float
    held_out_error: float
    seconds: float
    transform: Coder
    # The number of training signals; only the best candidates are trained on all signals.
    n_signals: int = 0
    # The measured time to encode a signal; 0 unless time is limited.
    nanoseconds: float = 0.0

    @property
    def bits(self) -> int:
        """Bits to store its parameters."""
        return self.transform.storage_bits()

    @property
    def n_members(self) -> int:
        """The number of members; 1 for a single transform."""
        return self.transform.n_members


class Frontier(Sequence[Candidate]):
    """All candidates, the cheapest first; its repr is a table with the Pareto front marked.

    The cost is "flops", "bits" or "time".
    """

    def __init__(self, candidates: Sequence[Candidate], cost: str = "flops") -> None:
        self.cost = COSTS[cost]
        self._rows = sorted(
            candidates, key=lambda row: (getattr(row, self.cost), row.held_out_error)
        )

    @overload
    def __getitem__(self, index: int) -> Candidate: ...

    @overload
    def __getitem__(self, index: slice) -> list[Candidate]: ...

    def __getitem__(self, index: int | slice) -> Candidate | list[Candidate]:
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def best(self) -> list[Candidate]:
        """The Pareto front: no candidate of equal or lower cost has a smaller held-out error."""
        best: list[Candidate] = []
        for row in self._rows:
            if not best or row.held_out_error < best[-1].held_out_error:
                best.append(row)
        return best

    def as_dicts(self) -> list[dict[str, object]]:
        """The candidates as dictionaries, for a DataFrame or a file."""
        best = {id(row) for row in self.best}
        fields = [
            {**vars(row), "bits": row.bits, "n_members": row.n_members, "best": id(row) in best}
            for row in self._rows
        ]
        return [{k: v for k, v in row.items() if k != "transform"} for row in fields]

    def __repr__(self) -> str:
        wide = max([30, *(len(row.structure) for row in self)])
        lines = [
            f"  {'structure':<{wide}}{'flops':>8}{'bits':>10}{'ns':>7}{'signals':>9}{'train':>9}"
            f"{'held-out':>10}{'s':>7}"
        ]
        best = {id(row) for row in self.best}
        for row in self._rows:
            measured = f"{row.nanoseconds:,.0f}" if row.nanoseconds else "-"
            lines.append(
                f"{'*' if id(row) in best else ' '} {row.structure:<{wide}}{row.flops:>8,}"
                f"{row.bits:>10,}{measured:>7}{row.n_signals:>9,}{row.train_error:>9.2%}"
                f"{row.held_out_error:>10.2%}{row.seconds:>7.2f}"
            )
        return "\n".join([*lines, "* nothing of equal or lower cost is better"])


@dataclass(frozen=True)
class SparseAtoms:
    """Dictionaries of sparse K-SVD; of K-SVD, without a base, if atoms have n entries."""

    n_atoms: int
    n_entries: int
    is_dense: bool

    starts: ClassVar[tuple[str, ...]] = ("signals",)

    @property
    def label(self) -> str:
        return f"{self.family}, {self.n_atoms} atoms" + f" x {self.n_entries}" * (not self.is_dense)

    @property
    def family(self) -> str:
        return "K-SVD" if self.is_dense else "sparse K-SVD"

    def flops(self, n_features: int) -> int:
        return 2 * self.n_atoms * self.n_entries

    def storage_bits(self, n_features: int) -> int:
        index = 0 if self.is_dense else index_bits(n_features)
        return self.n_atoms * self.n_entries * (16 + index)

    def learn(
        self,
        data: TrainingData,
        base: Transform | None,
        n_nonzero_coefs: int,
        max_iter: int,
        tol: float,
        random: np.random.Generator,
    ) -> SparseKSVD:
        """The fitted estimator."""
        from fost.baselines.sparse_ksvd import (
            SparseKSVD,
        )  # which imports the base classes of estimators

        return SparseKSVD(
            self.n_atoms,
            self.n_entries,
            base,
            n_nonzero_coefs,
            max_iter=max_iter,
            tol=tol,
            random_state=random,
        ).fit(data.stream)


@dataclass(frozen=True)
class CandidateSpec:
    """A candidate to be learned: a structure over a base, or the base alone.

    Attributes
    ----------
    name : str
        The name with the size, unique among all candidates.
    family : str
        The name without the size.
    base : Transform or None
    structure : Structure, SparseAtoms or None
    series : str
        Candidates of one series start from the candidate before.
    flops : int
        Operations per signal.
    starts : tuple
        Further starts besides the candidate before.
    bits : int
        Bits to store the parameters.
    nanoseconds : float
        0, since the time is measured after training.
    """

    name: str
    family: str
    base: Transform | None
    structure: Structure | SparseAtoms | None
    series: str
    flops: int
    starts: tuple[str | Transform, ...] = ()
    bits: int = 0
    nanoseconds: float = 0.0


def candidate_specs(
    n: int, bases: Bases, max_flops: int | None = None, max_members: int = 1
) -> list[CandidateSpec]:
    """All candidates for n features, each series from its smallest size.

    With `max_flops` each series ends with the largest size within the limit. Banks with up to
    `max_members` members come after all single transforms.
    """
    specs = [
        CandidateSpec(name, name, base, None, name, base.flops)
        for name, base in _fixed_transforms(n, bases).items()
    ]
    # Without a base the codes of a fixed transform are still a good start.
    fixed = tuple(base for base in bases.values() if base is not None)
    cheapest_first = sorted(structure_classes(), key=lambda cls: _cheapest_flops(cls, n))
    for cls in cheapest_first:
        for name, base in bases.items():
            sizes = cls.candidate_sizes(n, base is not None)
            if sizes is None:
                continue
            others = fixed if sizes.fixed_starts and base is None else ()
            for structure in sizes.structures(max_flops, _flops(base)):
                specs.append(_learned_spec(n, name, base, structure, structure.family, others))
    counts = sorted({2**k for k in range(21) if 2**k < max_members} | {max_members})[1:]
    for cls in cheapest_first:
        specs.extend(_bank_specs(n, cls, bases, counts, max_flops))
    return specs


def _fixed_transforms(n: int, bases: Bases) -> dict[str, Transform]:
    """The bases, and the DCT along one axis beside the DCT along several."""
    fixed = {name: base for name, base in bases.items() if base is not None}
    if any(isinstance(base, DCT) and len(base.shape) > 1 for base in fixed.values()):
        return {f"1-D DCT {n}": DCT(n), **fixed}
    return fixed


def _bank_specs(
    n: int, cls: type[Structure], bases: Bases, counts: Sequence[int], max_flops: int | None
) -> Iterator[CandidateSpec]:
    """Banks of a structure with more and more members, each split from the bank before.

    Banks are tried over each base and without one: members cannot leave a shared base, which may
    suit only some of the signals.
    """
    for name, base in bases.items():
        sizes = cls.candidate_sizes(n, base is not None)
        if sizes is None or sizes.min_member_size is None:
            continue
        for member in sizes.members(counts, max_flops, _flops(base)):
            for count in counts:
                bank = BankOf(member, count)
                spec = _learned_spec(n, name, base, bank, f"banks of {member.label}")
                yield spec if count == counts[0] else replace(spec, starts=())


@dataclass(frozen=True)
class PursuitSpecs:
    """Dictionaries for the pursuit of s entries: unions, sparse K-SVD, K-SVD and circulants.

    With `fills_budget` they have the largest sizes that `fits` allows, else all that it allows of
    a grid of sizes.
    """

    n: int
    s: int
    bases: Bases
    n_signals: int
    max_members: int
    fits: Callable[[CandidateSpec], bool]
    fills_budget: bool = True

    def __iter__(self) -> Iterator[CandidateSpec]:
        if self.n == 1:
            return
        for cls in structure_classes():
            yield from self._unions(cls)
        yield from self._sparse()
        if not any(isinstance(base, DCT) and len(base.shape) > 1 for base in self.bases.values()):
            yield from self._circulants()

    def _unions(self, cls: type[Structure]) -> list[CandidateSpec]:
        """Unions over the last base for which the structure has candidate sizes."""
        n, most = self.n, min(self.max_members, max_union_members(self.n))
        for name, base in reversed(self.bases.items()):
            sizes = cls.candidate_sizes(n, base is not None)
            if sizes is None or sizes.min_member_size is None:
                continue
            members = range(sizes.min_member_size, min(sizes.max_size, _MEMBER_SIZE * n) + 1)
            makes = [
                partial(self._union, cls if sizes.sizes else cls.of_size(None, n), name, base, k)
                for k in _UNION_COUNTS
                if k <= most
            ]
            found = [spec for make in makes for spec in self._sized(make, members, (1, n // 4, n))]
            return found[-_TRIED_COUNTS:] if self.fills_budget else found
        return []

    def _union(
        self,
        member: Structure | type[Structure],
        base_name: str,
        base: Transform | None,
        count: int,
        size: int,
    ) -> CandidateSpec:
        n, own = self.n, member if isinstance(member, Structure) else member.of_size(size, self.n)
        # A rotation takes six operations and changes two atoms; members share the other ones.
        atoms = min(count * n, n + count * (own.flops(n) // 3))
        return self._spec(UnionOf(own, count), atoms, base_name, base)

    def _sparse(self) -> list[CandidateSpec]:
        """Sparse K-SVD over the last base, and K-SVD."""
        n, (name, base) = self.n, list(self.bases.items())[-1]
        counts = range(max(3 * n // 8, self.s), min(8 * n, self.n_signals // 2) + 1)
        found: list[CandidateSpec] = []
        for p in sorted({max(1, n * part // 32) for part in _ENTRIES}):
            make = partial(self._sparse_atoms, p, *(("", None) if p == n else (name, base)))
            specs = self._sized(make, counts, (n // 2, n, 2 * n, 4 * n, 8 * n))
            if self.fills_budget and found and specs and make(counts[-1]) == specs[0]:
                found.pop()  # as many atoms with fewer entries
            found += specs
        return found

    def _sparse_atoms(
        self, n_entries: int, base_name: str, base: Transform | None, n_atoms: int
    ) -> CandidateSpec:
        structure = SparseAtoms(n_atoms, n_entries, n_entries == self.n)
        return self._spec(structure, n_atoms, base_name, base)

    def _circulants(self) -> Iterator[CandidateSpec]:
        limits = self.max_members, self.n_signals // self.n, max_union_members(self.n)
        most = min(_MAX_CIRCULANTS, *limits)
        for spec in self._sized(
            lambda count: self._spec(Circulants(count), count * self.n),
            range(1, most + 1),
            (2, 4, 8),
        ):
            yield replace(spec, starts=spec.starts * _CIRCULANT_STARTS)

    def _spec(
        self,
        structure: Structure | SparseAtoms,
        n_atoms: int,
        base_name: str = "",
        base: Transform | None = None,
    ) -> CandidateSpec:
        spec = _learned_spec(self.n, base_name, base, structure, structure.label)
        return replace(spec, flops=spec.flops + pursuit_flops(self.s, n_atoms))

    def _sized(
        self, make: Callable[[int], CandidateSpec], sizes: range, grid: tuple[int, ...]
    ) -> list[CandidateSpec]:
        """The largest candidate that fits, or all of the grid that fit; sizes are increasing."""
        if not self.fills_budget:
            grid = tuple(size for size in dict.fromkeys(grid) if size in sizes)
            return [spec for spec in map(make, grid) if self.fits(spec)]
        count = bisect_left(sizes, True, key=lambda size: not self.fits(make(size)))
        return [make(sizes[count - 1])] if count else []


def _learned_spec(
    n: int,
    base_name: str,
    base: Transform | None,
    structure: Structure | SparseAtoms,
    series: str,
    others: tuple[Transform, ...] = (),
) -> CandidateSpec:
    prefix = "" if base is None else f"{base_name} + "
    return CandidateSpec(
        name=f"{prefix}{structure.label}",
        family=f"{prefix}{structure.family}",
        base=base,
        structure=structure,
        series=f"{prefix}{series}",
        flops=_flops(base) + structure.flops(n),
        starts=(structure.starts[0], *others),
        bits=structure.storage_bits(n),
    )


def _flops(base: Transform | None) -> int:
    return 0 if base is None else base.flops


def _cheapest_flops(cls: type[Structure], n: int) -> int:
    """Operations of the smallest size without a base."""
    sizes = cls.candidate_sizes(n, over_base=False)
    first = sizes.structures(None)[:1] if sizes else []
    return first[0].flops(n) if first else 0


def relative_error(
    Y: Floats | TrainingData, coder: Coder, n_nonzero_coefs: int, threshold: float | None = None
) -> float:
    """||Y - U X||_F^2 / ||Y||_F^2 of the best codes X.

    For training data, which may have missing entries and weights, it is the objective of learning;
    with a threshold it includes threshold^2 ||X||_0.
    """
    if isinstance(Y, TrainingData):
        rule = SelectionRule(n_nonzero_coefs, threshold=threshold)
        if isinstance(coder, PursuitCoder):  # codes by pursuit do not give the error from M alone
            return Y.relative_error(coder, rule)
        return error_from_energy(Y.statistic(None, coder, rule).energy, Y.energy)
    Y = scale_to_safe_range(Y)
    codes = coder._encode_block(SelectionRule(n_nonzero_coefs), False, "Y", Y)
    return error_from_energy(coder.energy_kept(Y, codes), sum_of_squares(Y))
