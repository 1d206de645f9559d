"""What error can be had for what cost: many structures, tried along ladders of sizes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fost._scaling import within_reach
from fost.learning.bank import BankOf
from fost.learning.full import Full
from fost.learning.loop import alternate, prepare
from fost.learning.reflectors import Reflectors
from fost.learning.rotations import Rotations
from fost.learning.structure import Structure
from fost.streams import as_stream
from fost.transforms import DCT, Bank, Coder, Transform, with_base

# The sizes that are tried, as far as they are cheaper than a dense matrix.
_ROTATIONS = tuple(2**k for k in range(3, 21))
_ROTATIONS_OVER_BASE = tuple(size for k in range(3, 21) for size in (2**k, 3 * 2 ** (k - 1)))
_REFLECTORS = (*range(1, 9), *range(10, 17, 2), *range(20, 33, 4), *range(48, 257, 16))
# Members of banks are cheap, so that there can be many: sizes of them grow by this factor.
_MEMBER_STEP = 4


@dataclass(frozen=True)
class Candidate:
    """A transform or a bank that was tried, with its costs and its relative errors."""

    structure: str
    flops: int
    n_parameters: int
    train_error: float
    held_out_error: float
    seconds: float
    transform: Transform | Bank

    @property
    def n_transforms(self) -> int:
        """Members of a bank; 1 for a single transform."""
        return self.transform.n_transforms if isinstance(self.transform, Bank) else 1


class Frontier(Sequence[Candidate]):
    """All candidates, cheapest first; prints as a table, best for their cost marked."""

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self._rows = sorted(candidates, key=lambda row: (row.flops, row.held_out_error))

    def __getitem__(self, index: Any) -> Any:
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

    def as_dicts(self) -> list[dict[str, Any]]:
        """The rows as plain data, for a DataFrame or a file."""
        best = {id(row) for row in self.best}
        fields = [
            {**vars(row), "n_transforms": row.n_transforms, "best": id(row) in best}
            for row in self._rows
        ]
        return [{k: v for k, v in row.items() if k != "transform"} for row in fields]

    def __repr__(self) -> str:
        lines = [
            f"  {'structure':<30}{'flops':>8}{'parameters':>12}{'train':>9}{'held-out':>10}{'s':>7}"
        ]
        best = {id(row) for row in self.best}
        for row in self._rows:
            lines.append(
                f"{'*' if id(row) in best else ' '} {row.structure:<30}{row.flops:>8,}"
                f"{row.n_parameters:>12,}{row.train_error:>9.2%}{row.held_out_error:>10.2%}"
                f"{row.seconds:>7.2f}"
            )
        return "\n".join([*lines, "* nothing of equal or lower cost is better"])


@dataclass(frozen=True)
class Rung:
    """One candidate to come: a structure over a base, or the base alone."""

    name: str
    base: Transform | None
    structure: Structure | None
    ladder: str
    flops: int
    # Besides the last rung of the ladder, where there is one.
    starts: tuple[str | Transform, ...] = ()


def rungs(
    n: int,
    bases: dict[str, Transform | None],
    limit: int | None = None,
    max_transforms: int = 1,
) -> list[Rung]:
    """Everything worth trying for n features, each ladder from its cheapest size up.

    With a limit of operations each ladder ends with the size that just fits. Banks of up to
    `max_transforms` members come after all single transforms.
    """
    dense = (2 * n - 1) * n
    # Without a base the codes of a fixed transform are still a good start.
    fixed = tuple(base for base in bases.values() if base is not None)
    todo: list[Rung] = []
    for transform in fixed:
        if isinstance(transform, DCT) and len(transform.shape) > 1:
            plain = DCT(n)
            todo.append(Rung(f"1-D DCT {n}", plain, None, "1-D DCT", plain.flops))
    for base_name, base in bases.items():
        cost, prefix = (0, "") if base is None else (base.flops, f"{base_name} + ")
        if base is not None:
            todo.append(Rung(base_name, base, None, base_name, cost))
        room = (dense - 1 if limit is None else min(limit, dense - 1)) - cost
        sizes = _ROTATIONS if base is None else _ROTATIONS_OVER_BASE
        for g in _fitting(sizes, room // 6, limit) if n > 1 else ():
            name, ladder = _counted(prefix, g, "rotation"), f"{prefix}rotations"
            todo.append(Rung(name, base, Rotations(g), ladder, cost + 6 * g, ("aligned",)))
        starts: tuple[str | Transform, ...] = ("svd", *fixed) if base is None else ("svd",)
        for m in _fitting(_REFLECTORS, min(n, room // (4 * n)), limit):
            name, ladder = _counted(prefix, m, "reflector"), f"{prefix}reflectors"
            todo.append(Rung(name, base, Reflectors(m), ladder, cost + 4 * n * m, starts))
    todo.append(Rung("dense (Q-DLA)", None, Full(), "dense", dense, ("svd", *fixed)))
    counts = sorted({2**k for k in range(21) if 2**k < max_transforms} | {max_transforms})[1:]
    todo.extend(_banks(n, *list(bases.items())[-1], counts, limit))
    return todo


def _banks(
    n: int, base_name: str, base: Transform | None, counts: Sequence[int], limit: int | None
) -> Iterator[Rung]:
    """Banks of rotations over the base, of reflectors, and of dense members: ladders of sizes."""
    dense = (2 * n - 1) * n
    cost, prefix = (0, "") if base is None else (base.flops, f"{base_name} + ")
    for g in _member_sizes(max(4, n // 16), 6, cost, dense, counts, limit):
        yield from _members(prefix, base, Rotations(g), f"{g} rotations", 6 * g, counts)
    for m in _member_sizes(max(1, n // 32), 4 * n, 0, dense, counts, limit):
        name = _counted("", m, "reflector")
        yield from _members("", None, Reflectors(m), name, 4 * n * m, counts)
    yield from _members("", None, Full(), "dense", dense, counts)


def _member_sizes(
    least: int, unit: int, cost: int, dense: int, counts: Sequence[int], limit: int | None
) -> list[int]:
    """Sizes of members from `least` up, as far as they cost less than half of a dense matrix.

    One more costs `unit` operations, beyond the base's `cost`. With a limit those sizes of
    which so many members just fit, and others well below.
    """
    sizes = [least * _MEMBER_STEP**k for k in range(11)]
    sizes = [size for size in sizes if cost + unit * size < dense / 2]
    if limit is None:
        return sizes
    fitting = {min(dense - 1 - cost, (limit - cost) // count) // unit for count in counts}
    fitting = {size for size in fitting if size >= least}
    return sorted(fitting.union(size for size in sizes if 2 * size <= min(fitting, default=0)))


def _members(
    prefix: str,
    base: Transform | None,
    member: Structure,
    name: str,
    flops: int,
    counts: Sequence[int],
) -> Iterator[Rung]:
    """A ladder of banks with more and more members: each begins with the one before, split."""
    cost = 0 if base is None else base.flops
    for count in counts:
        yield Rung(
            f"{prefix}{count} x {name}",
            base,
            BankOf(member, count),
            f"{prefix}banks of {name}",
            cost + count * flops,
            ("splitting",) if count == counts[0] else (),
        )


def _fitting(sizes: Sequence[int], most: int, limit: int | None) -> list[int]:
    """The sizes up to `most`, and `most` itself where it comes from a limit."""
    fitting = [size for size in sizes if size <= most]
    if limit is not None and fitting and most not in fitting and most < 2 * fitting[-1]:
        fitting.append(most)
    return fitting


def _counted(prefix: str, size: int, noun: str) -> str:
    return f"{prefix}{size} {noun}{'s' if size > 1 else ''}"


def explore(
    train: NDArray[Any],
    held_out: NDArray[Any],
    n_nonzero_coefs: int,
    todo: Sequence[Rung],
    *,
    max_iter: int,
    tol: float,
    random: np.random.Generator,
    name: str = "Y",
    on_rung: Callable[[Rung], None] = lambda rung: None,
) -> Iterator[Candidate]:
    """Learns one rung after the other, from the last one of its ladder and from its own starts.

    Of several starts the one with the least error on the training signals counts. Errors call the
    signals by their `name`.
    """
    latest: dict[str, Transform | Bank] = {}
    for rung in todo:
        on_rung(rung)
        start = time.perf_counter()
        if rung.structure is None:
            assert rung.base is not None
            transform: Transform | Bank = rung.base
        else:
            before = (latest[rung.ladder],) if rung.ladder in latest else ()
            results = []
            for init in (*before, *rung.starts):
                problem, start_at = prepare(
                    as_stream(train, name),
                    rung.structure,
                    n_nonzero_coefs,
                    rung.base,
                    init,
                    max_iter,
                    tol,
                    random,
                )
                results.append(alternate(problem, rung.structure.fit_to(problem), start_at))
            learned = min(results, key=lambda result: result.errors[-1]).transform
            transform = with_base(rung.base, learned)
        latest[rung.ladder] = transform
        yield Candidate(
            rung.name,
            transform.flops,
            transform.n_parameters,
            relative_error(train, transform, n_nonzero_coefs),
            relative_error(held_out, transform, n_nonzero_coefs),
            time.perf_counter() - start,
            transform,
        )


def relative_error(Y: NDArray[Any], transform: Coder, n_nonzero_coefs: int) -> float:
    """||Y - U X||_F^2 / ||Y||_F^2 of the best codes X."""
    Y = within_reach(Y)
    kept = np.sum(np.square(transform.encode(Y, n_nonzero_coefs).data, dtype=np.float64))
    total = np.sum(np.square(Y, dtype=np.float64))
    return float(max(0.0, 1 - kept / total)) if total > 0 else 0.0
