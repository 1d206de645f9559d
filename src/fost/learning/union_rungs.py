"""Unions among what is worth trying: where pursuit is affordable."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from fost.learning.frontier import Rung, learned_rung
from fost.learning.registry import families
from fost.learning.structure import Structure
from fost.learning.union import UnionOf, most_members
from fost.transforms import Transform
from fost.transforms.union import pursuit_flops


def union_rungs(
    n: int, s: int, bases: dict[str, Transform | None], limit: int, max_members: int
) -> Iterator[Rung]:
    """Unions of what banks are made of, each with as many members as a limit of operations allows.

    The pursuit of s entries counts, in atoms that are all different.
    """
    most = min(max_members, most_members(n))
    counts = [2**k for k in range(1, 21) if 2**k <= most]
    for family in families():
        for name, base, member in _members(n, family, bases, counts):
            found = [_rung(n, s, name, base, UnionOf(member, count)) for count in counts]
            fitting = [rung for rung in found if rung.flops <= limit]
            yield from fitting[-1:]


def _members(
    n: int, family: type[Structure], bases: dict[str, Transform | None], counts: list[int]
) -> Iterator[tuple[str, Transform | None, Structure]]:
    """Members over the last base that the structure is worth it for."""
    for name, base in reversed(bases.items()):
        ladder = family.ladder(n, base is not None)
        if ladder is not None and ladder.least_member is not None:
            beneath = 0 if base is None else base.flops
            for member in ladder.members(counts, None, beneath):
                yield name, base, member
            return


def _rung(n: int, s: int, name: str, base: Transform | None, union: UnionOf) -> Rung:
    rung = learned_rung(n, name, base, union, union.label)
    return replace(rung, flops=rung.flops + pursuit_flops(s, union.n_members * n))
