"""The best transform or bank for a budget, as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fost._progress import progress
from fost._random import RandomState, as_generator
from fost._threads import single_threaded_blas
from fost._typing import Floats
from fost._validation import check_integer, check_number, check_verbose
from fost.estimators.auto_choice import Wish, bases_for
from fost.estimators.base import CoderEstimator
from fost.estimators.convergence import warn_unless_converged
from fost.estimators.defaults import default_entries
from fost.estimators.weighted import WeightedFit
from fost.learning import InterruptedWarning, Source, as_source
from fost.learning.bank import most_members
from fost.learning.contest import MOMENTUM, Contest, first_of, n_signals_of, rounds
from fost.learning.frontier import Candidate, Frontier, Rung, relative_error, rungs
from fost.learning.loop import run
from fost.learning.task import Task
from fost.learning.union_rungs import union_rungs
from fost.selection import Rule, check_rule
from fost.streams import Stream
from fost.transforms.orthonormal import dense_flops

# Signals that candidates are compared on where they are not all in memory.
_EXPLORED = 100_000
# Signals that say which shape they have, where nobody else does.
_FEW = 4096


class AutoDictionary(WeightedFit, CoderEstimator):
    """The dictionary with the least error for a budget of operations, or the reverse.

    Learns rotations, reflectors and whatever other structures are registered along ladders of
    sizes, without a base and over the DCT of the signals, each size from the one before, and
    a dense dictionary; then banks of them with more and more members, each from the one before,
    and, where `max_flops` has room for matching pursuit, unions.
    Judges them all on signals that were held out, and continues the chosen one on all signals.
    Candidates are learned on a sample first, by a few iterations; the quarter of them that
    promises most goes on with four times as many signals, until the last have seen all; and the
    best of these is learned once more from its own start, in case that is better. Of signals
    that are not in memory up to 100,000, spread over all, decide between candidates.

    A bank suits mixed signals (see `fost.Bank`). Its codes have a column for each atom of each
    member: where their number must be known beforehand, or where `dictionary_` must be one
    orthonormal transform, set ``max_members=1``.

    Parameters
    ----------
    n_nonzero_coefs : int or None
        Entries per code, s; if None a sixteenth of the features, at least 4 where there are 4. With
        a threshold at most so many, or as many as it takes if None.
    signal_shape : int or tuple of int, optional
        Shape of a signal, such as (8, 8) for patches: its DCT is tried as a base. If None, the
        better one for some of the signals of that along one axis and, where n is a square number,
        that of a square; neither where the entries themselves are sparser.
    max_flops : int, float, "auto" or None
        Operations per signal at most: the choice is the least held-out error within them.
        ``"auto"`` is n (2 n - 1), those of a dense transform, unless there is a
        `max_relative_error`, which then decides alone; None is no limit, and takes much longer. A
        bank must be better by what log2(B) / log2(n) more coefficients would gain, since it
        takes as many bits to name one of B members as these places; a union of K atoms, whose
        pursuit counts, by what s log2(K / n) / log2(n) more would, since each place is named.
    max_relative_error : float, optional
        Relative error on held-out signals at most: the choice is the cheapest below it.
    max_members : int
        Members of a bank or union at most: banks of 2, 4, 8 and so on are tried up to this, as
        far as there are as many signals per member as features. 1 tries single transforms only,
        in about a quarter of the time. Operations leave out the selection of coefficients, which a
        bank does for every member: of equal operations, 8 members take about one and a half
        times as long as a single transform to encode signals.
    validation_fraction : float
        The share of the signals that is held out.
    max_iter : int
        Iterations at most, for the choice; candidates have up to 16 in each round.
    tol : float
        The choice is done when its relative error changes by less than this.
    random_state : int, Generator, RandomState or None
        For the choice of the signals that are held out, and of those in samples.
    verbose : bool or None
        Show a progress bar on stderr; None shows it in a terminal only.
    sparse_output : bool
        Whether `transform` returns a csr_array or an ndarray.
    threshold : float, optional
        Codes keep all entries of a magnitude above this, each of which counts as much as a squared
        error of threshold^2: in all errors, and in the choice.

    Attributes
    ----------
    dictionary_ : Transform, Bank or Union
        The chosen one.
    frontier_ : Frontier
        All candidates: structure, family, n_members, flops, n_parameters, the number of
        signals that it was learned from and the relative error on them, that on held-out
        signals, seconds. `fost.plot_frontier` draws it.
    chosen_ : Candidate
        The row of `frontier_` that `dictionary_` continues.
    components_ : ndarray of shape (n_atoms, n_features)
        The atoms, in rows; n_atoms is n_features, times the members of a bank.
    n_nonzero_coefs_ : int
        Entries per code in `fit`.
    error_ : float
        Relative error of `dictionary_` on all signals.
    errors_ : ndarray of shape (n_iter_,)
        Relative error after each of the last steps, on all signals.
    start_error_ : float
        Relative error before the last steps.
    n_iter_ : int
        Iterations of the last steps; a fixed transform has one, which changes nothing.
    interrupted_ : bool
        Whether Ctrl-C ended the search, or the last steps.

    Examples
    --------
    >>> import fost, numpy as np
    >>> Y = np.cumsum(np.random.default_rng(0).standard_normal((400, 16)), axis=1)
    >>> auto = fost.AutoDictionary(2, signal_shape=16, max_flops=200, random_state=0).fit(Y)
    >>> auto.dictionary_.flops <= 200
    True

    Signals of two kinds:

    >>> rng = np.random.default_rng(0)
    >>> Y[::2] = 20 * rng.standard_normal((200, 16)) * (rng.random((200, 16)) < 0.1)
    >>> isinstance(auto.fit(Y).dictionary_, fost.Bank)
    True
    """

    _least_signals = 2
    _takes_gaps = True

    def __init__(
        self,
        n_nonzero_coefs: int | None = None,
        signal_shape: int | tuple[int, ...] | None = None,
        max_flops: float | Literal["auto"] | None = "auto",
        max_relative_error: float | None = None,
        max_members: int = 8,
        *,
        validation_fraction: float = 0.25,
        max_iter: int = 100,
        tol: float = 1e-6,
        random_state: RandomState = None,
        verbose: bool | None = None,
        sparse_output: bool = True,
        threshold: float | None = None,
    ) -> None:
        self.n_nonzero_coefs = n_nonzero_coefs
        self.signal_shape = signal_shape
        self.max_flops = max_flops
        self.max_relative_error = max_relative_error
        self.max_members = max_members
        self.validation_fraction = validation_fraction
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.sparse_output = sparse_output
        self.threshold = threshold

    @property
    def _rule(self) -> Rule:
        """What codes are made by."""
        n = self.n_features_in_
        return check_rule(self._learned_entries(n), None, self.threshold, n)

    def _learned_entries(self, n_features: int) -> int | None:
        """Entries per code, by the parameters; None where a threshold alone decides."""
        if self.n_nonzero_coefs is not None or self.threshold is not None:
            return self.n_nonzero_coefs
        return default_entries(n_features)

    def _encoded(self, signals: Stream) -> csr_array:
        rule = self._rule
        return self.dictionary_.encode(signals, rule.s, threshold=rule.threshold)

    def _fit(self, signals: Stream) -> None:
        # Of signals that are not in memory, or have gaps, some decide between the candidates, and
        # only the chosen one is learned further on all.
        source = as_source(signals).in_order()
        whole = signals.resident and not signals.gaps
        sample = source if whole else source.sample(_EXPLORED).loaded()
        random = as_generator(self.random_state)
        distinct = len(sample.apart[0])
        count = self._held_out_count(distinct)
        self._check()
        order = random.permutation(distinct)
        # A single one is judged on itself.
        train, held_out = self._divided(sample, order[count:], np.sort(order[: max(1, count)]))
        todo = self._todo(train)
        wish = Wish(held_out, self._rule.s, self.max_relative_error, self.threshold)
        self.frontier_ = self._explored(train, wish, todo, random)
        self.chosen_ = wish.best(self.frontier_)
        rung = next(r for r in todo if r.name == self.chosen_.structure)
        self._continue(source, rung, random)

    def _divided(
        self, sample: Source, train: NDArray[np.int64], held_out: NDArray[np.int64]
    ) -> tuple[Floats | Source, Floats | Source]:
        """Signals to learn from, and those that were held out, of those that are told apart."""
        places, weights = sample.apart
        rows = sample.in_memory()
        gaps = sample.gaps and bool(np.isnan(rows).any())
        if gaps or weights is not None or self.threshold is not None:
            own = [None if weights is None else weights[part] for part in (train, held_out)]
            return sample.taken(places[train], own[0]), sample.taken(places[held_out], own[1])
        return rows[places[train]], rows[places[held_out]]

    def _explored(
        self, train: Floats | Source, wish: Wish, todo: list[Rung], random: np.random.Generator
    ) -> Frontier:
        """All candidates, or those that were learned before an interrupt."""
        shown = None if self.verbose is None else check_verbose(self.verbose)
        plan = rounds(n_signals_of(train), self.n_features_in_, len(todo))
        contest = Contest(
            train, wish.held_out, wish.n_nonzero_coefs, self.max_iter, self.tol, random, "X",
            self.threshold,
        )  # fmt: skip
        found: dict[str, Candidate] = {}
        done, total = 0, sum(each.n_candidates for each in plan) + 1
        self.interrupted_ = False
        with single_threaded_blas, progress("candidate", total, shown) as advance:
            learned = contest.held(todo, plan, wish.order, lambda rung: advance(done, rung.name))
            try:
                for candidate in learned:
                    found[candidate.structure] = candidate
                    done += 1
            except KeyboardInterrupt:
                if not found:
                    raise
                self.interrupted_ = True
                warnings.warn(
                    f"interrupted after {done} of {total} candidates; the choice is among these",
                    InterruptedWarning,
                    stacklevel=4,  # the caller of fit
                )
            advance(done, "")
        return Frontier(list(found.values()))

    def _check(self) -> None:
        """Whether the parameters are what they must be; `_todo` looks at the shape."""
        self.n_nonzero_coefs_ = self._learned_entries(self.n_features_in_)
        _ = self._rule  # checks n_nonzero_coefs and threshold
        check_integer(self.max_iter, "max_iter", 0, 2**31 - 1)
        check_number(self.tol, "tol", 0)
        if self.max_relative_error is not None:
            check_number(self.max_relative_error, "max_relative_error", 0, 1)
        check_integer(self.max_members, "max_members", 1, 2**20)

    def _todo(self, train: Floats | Source) -> list[Rung]:
        """The rungs within the budget, and banks with enough signals for their members."""
        n_features, n_signals, rule = self.n_features_in_, n_signals_of(train), self._rule
        few = first_of(train, min(n_signals, _FEW), "X")
        bases = bases_for(
            self.signal_shape, n_features, lambda U: relative_error(few, U, rule.s, rule.threshold)
        )
        most = int(self.max_members)
        most = max(1, min(most, n_signals // n_features, most_members(n_features)))
        limit = self._limit(n_features)
        if limit is None:
            return rungs(n_features, bases, None, most)
        todo = rungs(n_features, bases, limit, most)
        if self.threshold is None:  # codes of unions are pursued
            todo += union_rungs(n_features, self._rule.s, bases, limit, most)
        affordable = [rung for rung in todo if rung.flops <= limit]
        if not affordable:
            cheapest = min(rungs(n_features, bases), key=lambda rung: rung.flops)
            raise ValueError(
                f"max_flops={limit} is below the cheapest candidate, {cheapest.name} "
                f"with {cheapest.flops} operations"
            )
        return affordable

    def _limit(self, n_features: int) -> int | None:
        """Operations per signal at most; None for no limit."""
        if self.max_flops is None:
            return None
        if isinstance(self.max_flops, str) and self.max_flops == "auto":
            return dense_flops(n_features) if self.max_relative_error is None else None
        return int(check_number(self.max_flops, "max_flops", 1))

    def _held_out_count(self, n_signals: int) -> int:
        share = check_number(self.validation_fraction, "validation_fraction", 0, 1)
        if not 0 < share < 1:
            raise ValueError(f"validation_fraction must be between 0 and 1, got {share!r}")
        return min(max(1, round(share * n_signals)), n_signals - 1)

    def _continue(self, source: Source, rung: Rung, random: np.random.Generator) -> None:
        """The chosen one, learned further on all signals."""
        self.dictionary_ = self.chosen_.transform
        self.start_error_ = self.error_ = self.chosen_.train_error
        self.errors_, self.n_iter_ = np.array([self.error_]), 1
        if rung.structure is not None:
            task = Task(
                rung.structure,
                self.n_nonzero_coefs_,
                rung.base,
                self.dictionary_,
                self.max_iter,
                self.tol,
                random,
                self.threshold,
                momentum=MOMENTUM,
            )
            result = run(source, task, interruptible=True)
            self.dictionary_ = result.transform
            self.error_, self.start_error_ = result.error, result.start_error
            self.errors_, self.n_iter_ = result.errors, result.n_iter
            self.interrupted_ = self.interrupted_ or result.interrupted
            warn_unless_converged(result, self.max_iter, self.tol)
