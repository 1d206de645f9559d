"""Candidates that compete on few signals first, the best of them on more: successive halving.

1. Learn every rung on a sample, by a few iterations, each from the one before on its ladder.
2. Judge them all on the held-out signals, and foresee what errors they would have if they had
   been learned from all signals.
3. Keep the best quarter, and let them go on from where they are with four times the signals.
4. Go on with 2 until those that are left have been learned from all signals.
5. Learn the winner once more from its own start, a bank also from those of fewer members, by few
   iterations each, and keep the best.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fost._typing import Floats
from fost.learning.frontier import Candidate, Rung, relative_error
from fost.learning.loop import run
from fost.learning.sources import ArraySource, Source
from fost.learning.task import Task
from fost.transforms import Coder

# Signals of the first round: so many, and so many for each feature, which is enough for the
# members of a bank to differ.
_FIRST_SIGNALS = 4096
_SIGNALS_PER_FEATURE = 32
# From one round to the next: times as many signals, and one of so many candidates.
_MORE_SIGNALS = 4
_ONE_OF = 4
# Iterations in each round at most; and a candidate rests when its error changes by less than this
# share of the least error so far. The choice is learned to its end later.
_ITERATIONS = 16
_CHANGE = 3e-4
# Of all learning here, the last too, see `State.step`: about half of the iterations for patches.
MOMENTUM = 0.8
# Iterations, and signals at most, of banks that are only there to be split. After more of them
# the members have settled, and those of the next bank find less to differ in.
_ITERATIONS_BETWEEN = 4
_SIGNALS_BETWEEN = 2**15

# The candidates from the best to the worst, by the errors that they are foreseen to have.
Order = Callable[[Sequence[Candidate], Sequence[float]], list[Candidate]]


@dataclass(frozen=True)
class Round:
    """Of how many signals, and of how many candidates at most."""

    n_signals: int
    n_candidates: int


def rounds(n_signals: int, n_features: int, n_candidates: int) -> list[Round]:
    """From a sample to all signals; at least two, since iterations are few in each."""
    count = min(n_signals, max(_FIRST_SIGNALS, _SIGNALS_PER_FEATURE * n_features))
    found = [Round(count, n_candidates)]
    while len(found) < 2 or count < n_signals:
        count *= _MORE_SIGNALS
        if 2 * count > n_signals:  # another round would hardly have more
            count = n_signals
        n_candidates = -(-n_candidates // _ONE_OF)
        found.append(Round(count, n_candidates))
    return found


@dataclass(frozen=True)
class Contest:
    """What candidates are learned from and judged on, and how."""

    # In random order: samples are the first of them. Sources where signals have gaps or weights, or
    # where there is a threshold.
    train: Floats | Source
    held_out: Floats | Source
    n_nonzero_coefs: int
    max_iter: int
    tol: float
    random: np.random.Generator
    # What errors call the signals.
    name: str = "Y"
    threshold: float | None = None

    def held(
        self,
        todo: Sequence[Rung],
        rounds: Sequence[Round],
        order: Order,
        on_rung: Callable[[Rung], None] = lambda rung: None,
    ) -> Iterator[Candidate]:
        """Yields candidates as they are learned; those that go on come again, better."""
        left: dict[str, Candidate] = {}
        least, everything = 1.0, todo
        for k, each in enumerate(rounds):
            if k:
                ranked = order(list(left.values()), [self._foreseen(row) for row in left.values()])
                kept = {row.structure for row in ranked[: each.n_candidates]}
                todo = [rung for rung in todo if rung.name in kept]
            source = self._first(each.n_signals)
            latest: dict[str, Coder] = {}
            for rung in todo:
                on_rung(rung)
                before = left.get(rung.name)
                starts = (before.transform,) if before else _starts(rung, latest)
                left[rung.name] = self._learned(rung, starts, source, _CHANGE * least, before)
                latest[rung.ladder] = left[rung.name].transform
                least = min(least, left[rung.name].held_out_error)
                yield left[rung.name]
            left = {rung.name: left[rung.name] for rung in todo}
        winner = order(list(left.values()), [row.held_out_error for row in left.values()])[0]
        steps = _steps(everything, winner.structure)
        on_rung(steps[-1])
        again = self._climbed(steps, source, _CHANGE * least, winner)
        yield min(winner, again, key=lambda row: row.held_out_error)

    def _climbed(
        self, steps: Sequence[Rung], source: Source, tol: float, before: Candidate
    ) -> Candidate:
        """The last of some rungs, from its own start or each from the one before."""
        between: tuple[Coder, ...] = ()
        some = self._first(min(_SIGNALS_BETWEEN, n_signals_of(self.train)))
        for rung in steps[:-1]:
            starts = between or _own_start(rung)
            before = self._learned(rung, starts, some, tol, before, _ITERATIONS_BETWEEN)
            between = (before.transform,)
        return self._learned(steps[-1], (*_own_start(steps[-1]), *between), source, tol, before)

    def _learned(
        self,
        rung: Rung,
        starts: Sequence[str | Coder],
        source: Source,
        tol: float,
        before: Candidate | None,
        iterations: int = _ITERATIONS,
    ) -> Candidate:
        """A candidate from the start that leaves the least error on the training signals."""
        start = time.perf_counter()
        if rung.structure is None:
            assert rung.base is not None
            coder: Coder = rung.base
        else:
            max_iter, tol = min(self.max_iter, iterations), max(self.tol, tol)
            s, random = self.n_nonzero_coefs, self.random
            task = Task(
                rung.structure, s, rung.base, None, max_iter, tol, random, self.threshold,
                momentum=MOMENTUM,
            )  # fmt: skip
            results = [run(source, replace(task, init=init)) for init in starts]
            coder = min(results, key=lambda result: result.error).transform
        seen = source if isinstance(self.train, Source) else self.train[: source.n_signals]
        return Candidate(
            rung.name,
            rung.family,
            coder.encode_flops(self.n_nonzero_coefs),
            coder.n_parameters,
            train_error=relative_error(seen, coder, self.n_nonzero_coefs, self.threshold),
            held_out_error=relative_error(
                self.held_out, coder, self.n_nonzero_coefs, self.threshold
            ),
            seconds=time.perf_counter() - start + (before.seconds if before else 0.0),
            transform=coder,
            n_signals=source.n_signals,
        )

    def _first(self, count: int) -> Source:
        """So many of the signals to learn from."""
        return first_of(self.train, count, self.name)

    def _foreseen(self, row: Candidate) -> float:
        """The held-out error that a candidate would have after learning from all signals.

        What parameters gain on the signals that they were fitted to they lose on others, so that
        what infinitely many signals would give lies halfway between both errors; and the
        distance from there falls with the number of signals.
        """
        halfway = (row.train_error + row.held_out_error) / 2
        share = row.n_signals / n_signals_of(self.train)
        return halfway + share * (row.held_out_error - halfway)


def first_of(signals: Floats | Source, count: int, name: str) -> Source:
    """The first so many signals, and what errors call them."""
    if isinstance(signals, Source):
        return signals.part(np.arange(count))
    source = ArraySource(signals[:count], name)
    source.settled = True
    return source


def n_signals_of(signals: Floats | Source) -> int:
    return signals.n_signals if isinstance(signals, Source) else len(signals)


def _steps(todo: Sequence[Rung], name: str) -> list[Rung]:
    """The rung of that name, after those of its ladder that it cannot begin without."""
    (end,) = (k for k, rung in enumerate(todo) if rung.name == name)
    below = [rung for rung in todo[: end + 1] if rung.ladder == todo[end].ladder]
    own = [k for k, rung in enumerate(below) if rung.starts or rung.structure is None]
    return below[own[-1] :]


def _own_start(rung: Rung) -> tuple[str, ...]:
    return () if rung.structure is None else rung.structure.starts[:1]


def _starts(rung: Rung, latest: dict[str, Coder]) -> tuple[str | Coder, ...]:
    before = (latest[rung.ladder],) if rung.ladder in latest else ()
    return (*before, *rung.starts)
