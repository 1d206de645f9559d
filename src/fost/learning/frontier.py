"""What error can be had for what cost: many structures, tried along ladders of sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import overload

from fost._scaling import within_reach
from fost._typing import Floats
from fost.learning.bank import BankOf
from fost.learning.passes import squares
from fost.learning.registry import families
from fost.learning.sources import Source, share_lost
from fost.learning.structure import Structure
from fost.selection import Rule
from fost.transforms import DCT, Coder, Transform, Union


@dataclass(frozen=True)
class Candidate:
    """A transform or a bank that was tried, with its costs and its relative errors."""

    structure: str
    # What its sizes have in common; the name itself where there are none.
    family: str
    flops: int
    n_parameters: int
    train_error: float
    held_out_error: float
    seconds: float
    transform: Coder
    # Signals that it was learned from: those that are not among the best are not given all.
    n_signals: int = 0

    @property
    def n_members(self) -> int:
        """Members of a bank; 1 for a single transform."""
        return self.transform.n_members


class Frontier(Sequence[Candidate]):
    """All candidates, cheapest first; prints as a table, best for their cost marked."""

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
        """The candidates that no other of equal or lower cost beats on held-out signals."""
        best: list[Candidate] = []
        for row in self._rows:
            if not best or row.held_out_error < best[-1].held_out_error:
                best.append(row)
        return best

    def as_dicts(self) -> list[dict[str, object]]:
        """The rows as plain data, for a DataFrame or a file."""
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
class Rung:
    """One candidate to come: a structure over a base, or the base alone."""

    name: str
    family: str
    base: Transform | None
    structure: Structure | None
    # Rungs of one ladder begin with the one before.
    ladder: str
    flops: int
    # Besides the last rung of the ladder, where there is one.
    starts: tuple[str | Transform, ...] = ()


def rungs(
    n: int,
    bases: dict[str, Transform | None],
    limit: int | None = None,
    max_members: int = 1,
) -> list[Rung]:
    """Everything worth trying for n features, each ladder from its cheapest size up.

    With a limit of operations each ladder ends with the size that just fits. Banks of up to
    `max_members` members come after all single transforms.
    """
    todo = [_fixed(name, base) for name, base in _fixed_transforms(n, bases).items()]
    # Without a base the codes of a fixed transform are still a good start.
    fixed = tuple(base for base in bases.values() if base is not None)
    cheapest_first = sorted(families(), key=lambda family: _cheapest(family, n))
    for family in cheapest_first:
        for name, base in bases.items():
            ladder = family.ladder(n, base is not None)
            others = fixed if ladder and ladder.fixed_starts and base is None else ()
            for structure in ladder.rungs(limit, _flops(base)) if ladder else ():
                todo.append(learned_rung(n, name, base, structure, structure.family, others))
    counts = sorted({2**k for k in range(21) if 2**k < max_members} | {max_members})[1:]
    for family in cheapest_first:
        todo.extend(_banks(n, family, bases, counts, limit))
    return todo


def _fixed_transforms(n: int, bases: dict[str, Transform | None]) -> dict[str, Transform]:
    """The bases themselves, and the DCT along one axis beside that along several."""
    fixed = {name: base for name, base in bases.items() if base is not None}
    if any(isinstance(base, DCT) and len(base.shape) > 1 for base in fixed.values()):
        return {f"1-D DCT {n}": DCT(n), **fixed}
    return fixed


def _banks(
    n: int,
    family: type[Structure],
    bases: dict[str, Transform | None],
    counts: Sequence[int],
    limit: int | None,
) -> Iterator[Rung]:
    """Banks of a structure, with more and more members, each from the one before, split.

    Over each base that it is worth it for, and without one: members that share a base cannot
    leave it, and of signals of several kinds it suits some.
    """
    for name, base in bases.items():
        ladder = family.ladder(n, base is not None)
        if ladder is None or ladder.least_member is None:
            continue
        for member in ladder.members(counts, limit, _flops(base)):
            for count in counts:
                bank = BankOf(member, count)
                rung = learned_rung(n, name, base, bank, f"banks of {member.label}")
                yield rung if count == counts[0] else replace(rung, starts=())


def learned_rung(
    n: int,
    base_name: str,
    base: Transform | None,
    structure: Structure,
    ladder: str,
    others: tuple[Transform, ...] = (),
) -> Rung:
    prefix = "" if base is None else f"{base_name} + "
    return Rung(
        f"{prefix}{structure.label}",
        f"{prefix}{structure.family}",
        base,
        structure,
        f"{prefix}{ladder}",
        _flops(base) + structure.flops(n),
        (structure.starts[0], *others),
    )


def _fixed(name: str, base: Transform) -> Rung:
    return Rung(name, name, base, None, name, base.flops)


def _flops(base: Transform | None) -> int:
    return 0 if base is None else base.flops


def _cheapest(family: type[Structure], n: int) -> int:
    """Operations of the first rung without a base."""
    ladder = family.ladder(n, over_base=False)
    first = ladder.rungs(None)[:1] if ladder else []
    return first[0].flops(n) if first else 0


def relative_error(
    Y: Floats | Source, coder: Coder, n_nonzero_coefs: int, threshold: float | None = None
) -> float:
    """||Y - U X||_F^2 / ||Y||_F^2 of the best codes X.

    Of a source, where signals may have gaps and weights: what learning minimises, with a threshold
    the price of entries too.
    """
    if isinstance(Y, Source):
        rule = Rule(n_nonzero_coefs, threshold=threshold)
        if isinstance(coder, Union):  # whose codes are pursued, and say less of the error
            return Y.relative_error(coder, rule)
        return share_lost(Y.statistic(None, coder, rule).energy, Y.energy)
    Y = within_reach(Y)
    kept = coder.energy_kept(Y, coder.encode(Y, n_nonzero_coefs))
    return share_lost(kept, squares(Y))
