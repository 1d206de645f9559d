"""Candidates of model selection: structures of many sizes, over a base or without, and banks.

`candidate_specs` lists what to try; `Frontier` holds what was learned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import overload

from fost._scaling import scale_to_safe_range
from fost._typing import Floats
from fost.coding.selection import SelectionRule
from fost.learning.bank import BankOf
from fost.learning.registry import structure_classes
from fost.learning.statistics import error_from_energy, sum_of_squares
from fost.learning.structure import Structure
from fost.learning.training_data import TrainingData
from fost.learning.union import UnionOf, max_union_members
from fost.transforms import DCT, Coder, PursuitCoder, Transform
from fost.transforms.pursuit_coder import pursuit_flops

# Fixed transforms to learn over, by their names; learning without a base has an empty name.
Bases = dict[str, Transform | None]


@dataclass(frozen=True)
class Candidate:
    """A transform, bank or union that was tried, with its costs and its relative errors."""

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

    @property
    def n_members(self) -> int:
        """The number of members; 1 for a single transform."""
        return self.transform.n_members


class Frontier(Sequence[Candidate]):
    """All candidates, the cheapest first; its repr is a table with the Pareto front marked."""

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self._rows = sorted(candidates, key=lambda row: (row.flops, row.held_out_error))

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
            {**vars(row), "n_members": row.n_members, "best": id(row) in best} for row in self._rows
        ]
        return [{k: v for k, v in row.items() if k != "transform"} for row in fields]

    def __repr__(self) -> str:
        wide = max([30, *(len(row.structure) for row in self)])
        lines = [
            f"  {'structure':<{wide}}{'flops':>8}{'parameters':>12}{'signals':>9}{'train':>9}"
            f"{'held-out':>10}{'s':>7}"
        ]
        best = {id(row) for row in self.best}
        for row in self._rows:
            lines.append(
                f"{'*' if id(row) in best else ' '} {row.structure:<{wide}}{row.flops:>8,}"
                f"{row.n_parameters:>12,}{row.n_signals:>9,}{row.train_error:>9.2%}"
                f"{row.held_out_error:>10.2%}{row.seconds:>7.2f}"
            )
        return "\n".join([*lines, "* nothing of equal or lower cost is better"])


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
    structure : Structure or None
    series : str
        Candidates of one series start from the candidate before.
    flops : int
        Operations per signal.
    starts : tuple
        Further starts besides the candidate before.
    """

    name: str
    family: str
    base: Transform | None
    structure: Structure | None
    series: str
    flops: int
    starts: tuple[str | Transform, ...] = ()


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


def union_specs(
    n: int, s: int, bases: Bases, max_flops: int, max_members: int
) -> Iterator[CandidateSpec]:
    """Unions of the members that banks have, each with the most members within `max_flops`.

    The count includes the pursuit of s entries, for atoms that are all different.
    """
    most = min(max_members, max_union_members(n))
    counts = [2**k for k in range(1, 21) if 2**k <= most]
    for cls in structure_classes():
        for name, base, member in _union_members(n, cls, bases, counts):
            unions = [UnionOf(member, count) for count in counts]
            specs = [_learned_spec(n, name, base, union, union.label) for union in unions]
            pursuits = [pursuit_flops(s, count * n) for count in counts]
            fitting = [
                replace(spec, flops=spec.flops + pursuit)
                for spec, pursuit in zip(specs, pursuits, strict=True)
                if spec.flops + pursuit <= max_flops
            ]
            yield from fitting[-1:]


def _union_members(
    n: int, cls: type[Structure], bases: Bases, counts: list[int]
) -> Iterator[tuple[str, Transform | None, Structure]]:
    """Members over the last base for which the structure has candidate sizes."""
    for name, base in reversed(bases.items()):
        sizes = cls.candidate_sizes(n, base is not None)
        if sizes is not None and sizes.min_member_size is not None:
            for member in sizes.members(counts, None, _flops(base)):
                yield name, base, member
            return


def _learned_spec(
    n: int,
    base_name: str,
    base: Transform | None,
    structure: Structure,
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
