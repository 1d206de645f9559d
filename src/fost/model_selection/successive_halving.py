"""Successive halving: candidates are trained on few signals first, the best ones on more.

1. Train candidates on a sample for a few iterations, each from the candidate before in its series.
   A series ends where larger candidates are unlikely to be better than cheaper ones.
2. Evaluate all candidates on the held-out signals, and predict the errors that they would have
   after training on all signals.
3. Keep the best quarter, and continue their training with four times the signals.
4. Repeat from step 2 until the remaining candidates have been trained on all signals.
5. Train the winner once more from its own start, a bank also from banks with fewer members, and
   keep the best.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fost._threads import at_most
from fost._typing import Floats
from fost.learning.learn import LearningOptions, learn_part
from fost.learning.training_data import TrainingData
from fost.model_selection.candidates import (
    Candidate,
    CandidateSpec,
    SparseAtoms,
    relative_error,
)
from fost.transforms import Coder

# Signals in the first rung: so many, and at least so many per feature, which is enough for the
# members of a bank to differ.
_FIRST_SIGNALS = 4096
_SIGNALS_PER_FEATURE = 32
# From one rung to the next: the factor of the number of signals, and that of the candidates.
_MORE_SIGNALS = 4
_FEWER_CANDIDATES = 4
# The maximal number of iterations in the first rung and in the others. Training stops when the
# error changes by less than this share of the smallest error so far. The winner is trained to
# convergence later.
_FIRST_ITERATIONS, _ITERATIONS = 6, 16
_KSVD_ITERATIONS = 2  # as many times more, since they are cheap
_CHANGE = 3e-4
# In the first rung, a series of candidates ends when the error falls to no less than this share of
# the error before, or when the predicted error is above that of a cheaper candidate.
_SATURATED = 0.99
_TINY = float(np.finfo(np.float64).tiny)
# The momentum of all training here, see `LearningState.step`: for image patches it saves about
# half of the iterations.
MOMENTUM = 0.8
# Iterations and maximal number of signals for banks that are only split. After more iterations the
# members of the next bank would differ less.
_ITERATIONS_BETWEEN = 4
_SIGNALS_BETWEEN = 2**15

# Signals and repetitions by which times are measured.
_TIMED_SIGNALS, _TIMINGS = 2048, 5

# Sorts candidates from the best to the worst by their predicted errors.
Ranking = Callable[[Sequence[Candidate], Sequence[float]], list[Candidate]]


@dataclass(frozen=True)
class Rung:
    """The number of signals and the maximal number of candidates of one rung."""

    n_signals: int
    n_candidates: int


def halving_schedule(n_signals: int, n_features: int, n_candidates: int) -> list[Rung]:
    """Rungs from a sample to all signals; at least two, since each has few iterations."""
    count = min(n_signals, max(_FIRST_SIGNALS, _SIGNALS_PER_FEATURE * n_features))
    rungs = [Rung(count, n_candidates)]
    while len(rungs) < 2 or count < n_signals:
        count *= _MORE_SIGNALS
        if 2 * count > n_signals:  # another rung would have hardly more signals
            count = n_signals
        n_candidates = -(-n_candidates // _FEWER_CANDIDATES)
        rungs.append(Rung(count, n_candidates))
    return rungs


@dataclass(frozen=True)
class SuccessiveHalving:
    """The training and held-out signals of a search, and its options.

    Signals are in random order, so that a sample is the first of them. They are arrays, or
    training data if there are missing entries, weights or a threshold.
    """

    train: Floats | TrainingData
    held_out: Floats | TrainingData
    n_nonzero_coefs: int
    max_iter: int
    tol: float
    random: np.random.Generator
    name: str = "Y"  # of the signals, for error messages
    threshold: float | None = None
    # Whether a series of growing candidates ends early where larger ones are unlikely to be chosen.
    ends_series: bool = True
    measures_time: bool = False

    def run(
        self,
        specs: Sequence[CandidateSpec],
        schedule: Sequence[Rung],
        rank: Ranking,
        on_start: Callable[[CandidateSpec], None] = lambda spec: None,
        allows: Callable[[Candidate], bool] = lambda row: True,
    ) -> Iterator[Candidate]:
        """Yields candidates as they are trained, those of later rungs again."""
        found: dict[str, Candidate] = {}
        smallest, remaining = 1.0, specs
        for k, rung in enumerate(schedule):
            if k:
                rows = list(found.values())
                ranked = rank(rows, [self._predicted_error(row) for row in rows])
                most = min(rung.n_candidates, -(-len(rows) // _FEWER_CANDIDATES))
                kept = {row.structure for row in ranked[:most]}
                remaining = [spec for spec in remaining if spec.name in kept]
            data = self._first(rung.n_signals)
            latest: dict[str, Coder] = {}
            series: dict[str, list[Candidate]] = {}
            for spec in remaining:
                before_it = series.get(spec.series, []) if self.ends_series and not k else []
                within = [row for row in found.values() if allows(row)]
                beyond = [row for row in found.values() if not allows(row)]
                if _is_hopeless(spec, before_it, within) or _is_slow(spec, beyond):
                    continue
                on_start(spec)
                before = found.get(spec.name)
                starts = (before.transform,) if before else _starts(spec, latest)
                iterations = _ITERATIONS if k else _FIRST_ITERATIONS
                row = self._train(spec, starts, data, _CHANGE * smallest, before, iterations)
                found[spec.name], latest[spec.series] = row, row.transform
                series.setdefault(spec.series, []).append(row)
                smallest = min(smallest, row.held_out_error)
                yield row
            remaining = [spec for spec in remaining if spec.name in found]
            found = {spec.name: found[spec.name] for spec in remaining}
        rows = list(found.values())
        winner = rank(rows, [row.held_out_error for row in rows])[0]
        steps = _steps_to(specs, winner.structure)
        if isinstance(steps[-1].structure, SparseAtoms):
            return  # every rung starts anew
        on_start(steps[-1])
        again = self._retrain(steps, data, _CHANGE * smallest, winner)
        yield min(winner, again, key=lambda row: row.held_out_error)

    def _retrain(
        self, steps: Sequence[CandidateSpec], data: TrainingData, tol: float, before: Candidate
    ) -> Candidate:
        """The last of some candidates, from its own start and from the candidates before."""
        between: tuple[Coder, ...] = ()
        some = self._first(min(_SIGNALS_BETWEEN, count_signals(self.train)))
        for spec in steps[:-1]:
            starts = between or _own_start(spec)
            before = self._train(spec, starts, some, tol, before, _ITERATIONS_BETWEEN)
            between = (before.transform,)
        return self._train(steps[-1], (*_own_start(steps[-1]), *between), data, tol, before)

    def _first(self, count: int) -> TrainingData:
        """The first `count` training signals; all candidates use the same samples of them."""
        return first_signals(self.train, count, self.name).with_random(self.random)

    def _train(
        self,
        spec: CandidateSpec,
        starts: Sequence[str | Coder],
        data: TrainingData,
        tol: float,
        before: Candidate | None,
        iterations: int = _ITERATIONS,
    ) -> Candidate:
        """The candidate from the start with the smallest error on the training signals."""
        began = time.perf_counter()
        if spec.structure is None:
            assert spec.base is not None
            coder: Coder = spec.base
        elif isinstance(spec.structure, SparseAtoms):
            most = min(self.max_iter, _KSVD_ITERATIONS * iterations)
            s = self.n_nonzero_coefs
            ksvd = spec.structure.learn(data, spec.base, s, most, 0.0, self.random)
            if ksvd.interrupted_:
                raise KeyboardInterrupt
            coder = ksvd.dictionary_
        else:
            options = LearningOptions(
                structure=spec.structure,
                n_nonzero_coefs=self.n_nonzero_coefs,
                base=spec.base,
                max_iter=min(self.max_iter, iterations),
                tol=max(self.tol, tol),
                random_state=self.random,
                threshold=self.threshold,
                momentum=MOMENTUM,
            )
            results = [learn_part(data, replace(options, init=init)) for init in starts]
            coder = min(results, key=lambda result: result.error).transform
        seen = data if isinstance(self.train, TrainingData) else self.train[: data.n_signals]
        s, threshold = self.n_nonzero_coefs, self.threshold
        return Candidate(
            spec.name,
            spec.family,
            coder.encode_flops(s),
            coder.n_parameters,
            train_error=relative_error(seen, coder, s, threshold),
            held_out_error=relative_error(self.held_out, coder, s, threshold),
            seconds=time.perf_counter() - began + (before.seconds if before else 0.0),
            transform=coder,
            n_signals=data.n_signals,
            nanoseconds=self._nanoseconds(coder) if self.measures_time else 0.0,
        )

    def _nanoseconds(self, coder: Coder) -> float:
        """The shortest of some times to encode a held-out signal on one thread."""
        held_out = self.held_out
        rows = held_out.rows() if isinstance(held_out, TrainingData) else held_out
        rows = np.nan_to_num(np.resize(rows, (_TIMED_SIGNALS, rows.shape[1])))
        seconds = []
        with at_most(1):
            for _ in range(_TIMINGS):
                began = time.perf_counter()
                coder.encode(rows, self.n_nonzero_coefs, threshold=self.threshold)
                seconds.append(time.perf_counter() - began)
        return 1e9 * min(seconds) / len(rows)

    def _predicted_error(self, row: Candidate) -> float:
        """The held-out error of a candidate after training on all signals.

        Overfitting lowers the training error as much as it raises the held-out error. The error
        for infinitely many signals therefore lies halfway between both, and the distance to it is
        inversely proportional to the number of signals.
        """
        halfway = (row.train_error + row.held_out_error) / 2
        share = row.n_signals / count_signals(self.train)
        return halfway + share * (row.held_out_error - halfway)


def first_signals(signals: Floats | TrainingData, count: int, name: str) -> TrainingData:
    """The first `count` signals, in the order that they have."""
    if isinstance(signals, TrainingData):
        return signals.weighted_subset(np.arange(count))
    return TrainingData.from_rows(signals[:count], name, is_canonical=True)


def count_signals(signals: Floats | TrainingData) -> int:
    """The number of signals of an array or of training data."""
    return signals.n_signals if isinstance(signals, TrainingData) else len(signals)


def _steps_to(specs: Sequence[CandidateSpec], name: str) -> list[CandidateSpec]:
    """The candidate of that name, after the candidates of its series that it depends on."""
    (end,) = (k for k, spec in enumerate(specs) if spec.name == name)
    below = [spec for spec in specs[: end + 1] if spec.series == specs[end].series]
    own = [k for k, spec in enumerate(below) if spec.starts or spec.structure is None]
    return below[own[-1] :]


def _is_hopeless(
    spec: CandidateSpec, before: Sequence[Candidate], others: Iterable[Candidate]
) -> bool:
    """Whether a candidate is unlikely to be better than cheaper ones, by its series before it.

    Errors fall by less and less as sizes grow. So the error is at least the last one of the series,
    reduced by the same factor as before. The rest of a series that is skipped is skipped, too.
    """
    if len(before) < 2:
        return False
    factor = before[-1].held_out_error / max(before[-2].held_out_error, _TINY)
    cheaper = [row.held_out_error for row in others if row.flops <= spec.flops]
    predicted = min(factor, 1.0) * before[-1].held_out_error
    return factor > _SATURATED or predicted > min(cheaper, default=np.inf)


def _is_slow(spec: CandidateSpec, beyond: Iterable[Candidate]) -> bool:
    """Whether another candidate of the family with no more operations is beyond the budget."""
    return any(row.family == spec.family and row.flops <= spec.flops for row in beyond)


def _own_start(spec: CandidateSpec) -> tuple[str, ...]:
    return () if spec.structure is None else spec.structure.starts[:1]


def _starts(spec: CandidateSpec, latest: dict[str, Coder]) -> tuple[str | Coder, ...]:
    before = (latest[spec.series],) if spec.series in latest else ()
    return (*before, *spec.starts)
