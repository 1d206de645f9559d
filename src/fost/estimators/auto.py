"""Automatic choice of a dictionary within a budget, as a scikit-learn estimator."""

from __future__ import annotations

import sys
import warnings
from math import ceil, log2
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fost._progress import progress
from fost._threads import single_threaded_blas
from fost._typing import Floats
from fost._validation import RandomState, as_generator, check_integer, check_number, check_verbose
from fost._warnings import external_stacklevel
from fost.coding.selection import SelectionRule, check_rule
from fost.estimators.base import CoderEstimator, WeightedFit, default_entries, warn_unless_converged
from fost.learning import InterruptedWarning, as_training_data
from fost.learning.bank import max_bank_members
from fost.learning.learn import LearningOptions, learn_part
from fost.learning.training_data import TrainingData
from fost.model_selection.candidates import (
    Candidate,
    CandidateSpec,
    Frontier,
    candidate_specs,
    relative_error,
    union_specs,
)
from fost.model_selection.criteria import SelectionCriterion, bases_for
from fost.model_selection.successive_halving import (
    MOMENTUM,
    SuccessiveHalving,
    count_signals,
    first_signals,
    halving_schedule,
)
from fost.streams import Stream
from fost.transforms import PursuitCoder
from fost.transforms.coder import dense_flops
from fost.transforms.pursuit_coder import pursuit_flops

if TYPE_CHECKING:
    from fost.baselines import KSVD

# The number of signals that candidates are compared on if the signals are not all in memory.
_MAX_EXPLORED = 100_000
# The number of signals that the shape of a signal is guessed from.
_SHAPE_SIGNALS = 4096
# Iterations of K-SVD, and the share of the error of the chosen candidate below which it is better.
_KSVD_ITERATIONS = 30
_KSVD_MARGIN = 0.95


class AutoDictionary(WeightedFit, CoderEstimator):
    """The dictionary with the smallest error within a budget of operations, or the reverse.

    The candidates are rotations, reflectors and all other registered structures in increasing
    sizes, without a base and over the DCT of the signals; a dense dictionary; banks with increasing
    numbers of members; and unions, if `max_flops` allows matching pursuit. Each size starts from
    the size before.

    Successive halving selects among them. Candidates are trained on a sample for a few iterations
    and compared on held-out signals. Larger sizes are left out where the error hardly falls, or
    where a cheaper candidate is better, unless `max_relative_error` is given. The best quarter
    continues with four times as many signals, until the last candidates have seen all signals. The
    winner is trained once more from its own start, and finally to convergence on all signals. If
    the signals are not in memory, a sample of 100,000 signals decides between the candidates.

    A bank suits heterogeneous signals (see `fost.Bank`). Its codes have a column for each atom of
    each member. Set ``max_members=1`` if `dictionary_` must be one orthonormal transform.

    General dictionaries are no candidates, since they have no fast transform. Where `max_flops`
    allows pursuit in 2 n_features general atoms, K-SVD is compared on the same held-out signals
    (see `ksvd_`). On repetitive signals, such as windows of an electrocardiogram, its error can be
    lower. If it is clearly lower, even at equal bits, `verbose` shows a line.

    Parameters
    ----------
    n_nonzero_coefs : int or None
        Entries per code, s; if None a sixteenth of the features, but at least 4. With a threshold
        it is the maximal number, and None is no limit.
    signal_shape : int or tuple of int, optional
        The shape of a signal, such as (8, 8) for patches; its DCT is tried as a base. If None, the
        DCT along one axis and, if n is a square number, the DCT of a square are compared on some
        of the signals. None is used if the entries themselves are sparser.
    max_flops : int, float, "auto" or None
        The maximal number of operations per signal; the candidate with the smallest held-out
        error within it is chosen. ``"auto"`` is n (2 n - 1), the cost of a dense transform, or no
        limit if `max_relative_error` is given. None is no limit, which takes much longer. A bank of
        B members must beat the best single transform even if that one gets log2(B) / log2(n) extra
        coefficients (the cost of storing the member index). For a union of K atoms, whose pursuit
        counts as operations, these are s log2(K / n) / log2(n) extra coefficients.
    max_relative_error : float, optional
        The maximal relative error on held-out signals; the cheapest candidate within it is chosen.
    max_members : int
        The maximal number of members of a bank or union. Banks of 2, 4, 8 and so on members are
        tried, as long as there are as many signals per member as features. 1 tries single
        transforms only, in about a quarter of the time. Operations do not include the selection of
        coefficients, which a bank repeats for every member.
    validation_fraction : float
        The share of held-out signals.
    max_iter : int
        The maximal number of iterations for the chosen candidate; candidates have up to 6 in the
        first rung of successive halving and up to 16 in the others.
    tol : float
        Stop when the relative error of the chosen candidate changes by less than this.
    random_state : int, Generator, RandomState or None
        The seed of the split into training and held-out signals, and of random starts.
    verbose : bool or None
        Show a progress bar on stderr, and whether K-SVD is better; None shows them in terminals
        only.
    sparse_output : bool
        Whether `transform` returns a csr_array instead of an ndarray; dense by default, since
        many steps of a pipeline refuse sparse codes.
    threshold : float, optional
        Codes keep all entries whose magnitude exceeds the threshold. Each entry adds threshold^2 to
        all errors.

    Attributes
    ----------
    dictionary_ : Transform, Bank or Union
        The chosen dictionary.
    frontier_ : Frontier
        All candidates that were trained: structure, family, n_members, flops, n_parameters, number
        of training signals, relative errors on training and held-out signals, seconds.
        `fost.plot_frontier` draws it.
    chosen_ : Candidate
        The candidate in `frontier_` that `dictionary_` continues.
    ksvd_ : fost.baselines.KSVD or None
        K-SVD with 2 n_features atoms, learned from the training signals of the candidates. None if
        `max_flops` is below its operations, if `max_relative_error` or a threshold is given, if
        signals are not in memory, repeated, weighted, incomplete or fewer than its atoms, or after
        an interrupt.
    ksvd_held_out_error_ : float or None
        Its relative error on held-out signals, to compare with ``chosen_.held_out_error``.
    components_ : ndarray of shape (n_atoms, n_features)
        The atoms, in rows; n_atoms is n_features times the number of members.
    n_nonzero_coefs_ : int
        Entries per code in `fit`.
    error_ : float
        Relative error of `dictionary_` on all signals.
    errors_ : ndarray of shape (n_iter_,)
        Relative error after each iteration of the final training on all signals.
    start_error_ : float
        Relative error before the final training.
    n_iter_ : int
        Iterations of the final training; 1 for a fixed transform.
    interrupted_ : bool
        Whether Ctrl-C stopped the search or the final training.

    Examples
    --------
    >>> import fost, numpy as np
    >>> Y = np.cumsum(np.random.default_rng(0).standard_normal((400, 16)), axis=1)
    >>> auto = fost.AutoDictionary(2, signal_shape=16, max_flops=200, random_state=0).fit(Y)
    >>> auto.dictionary_.flops <= 200
    True

    Heterogeneous signals:

    >>> rng = np.random.default_rng(0)
    >>> Y[::2] = 20 * rng.standard_normal((200, 16)) * (rng.random((200, 16)) < 0.1)
    >>> isinstance(auto.fit(Y).dictionary_, fost.Bank)
    True
    """

    ksvd_: KSVD | None
    ksvd_held_out_error_: float | None
    _min_signals = 2
    _allows_missing = True

    def __init__(
        self,
        n_nonzero_coefs: int | None = None,
        signal_shape: int | tuple[int, ...] | None = None,
        max_flops: float | Literal["auto"] | None = "auto",
        max_relative_error: float | None = None,
        max_members: int = 8,
        *,
        validation_fraction: float = 0.25,
        max_iter: int = 1000,
        tol: float = 1e-6,
        random_state: RandomState = None,
        verbose: bool | None = None,
        sparse_output: bool = False,
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
    def _rule(self) -> SelectionRule:
        """The selection rule of the codes."""
        n = self.n_features_in_
        return check_rule(self._learned_entries(n), None, self.threshold, n)

    def _learned_entries(self, n_features: int) -> int | None:
        """Entries per code; None if only a threshold limits them."""
        if self.n_nonzero_coefs is not None or self.threshold is not None:
            return self.n_nonzero_coefs
        return default_entries(n_features)

    def _encoded(self, signals: Stream) -> csr_array:
        rule = self._rule
        return self.dictionary_.encode(signals, rule.s, threshold=rule.threshold)

    def _fit(self, signals: Stream) -> None:
        # A sample decides between the candidates if signals are not in memory or have missing
        # entries. Only the chosen candidate is trained further on all signals.
        random = as_generator(self.random_state)
        data = as_training_data(signals).with_random(random).in_canonical_order()
        complete = signals.in_memory and not signals.has_missing
        sample = data if complete else data.sample(_MAX_EXPLORED).loaded()
        n_distinct = len(sample.distinct[0])
        count = self._held_out_count(n_distinct)
        self._check()
        order = random.permutation(n_distinct)
        # A single signal is both training and held-out signal.
        train, held_out = self._split(sample, order[count:], np.sort(order[: max(1, count)]))
        specs = self._specs(train)
        criterion = SelectionCriterion(
            held_out, self._rule.s, self.max_relative_error, self.threshold
        )
        self.frontier_ = self._search(train, criterion, specs, random)
        self.chosen_ = criterion.best(self.frontier_)
        spec = next(spec for spec in specs if spec.name == self.chosen_.structure)
        self._continue(data, spec, random)
        self.ksvd_, self.ksvd_held_out_error_ = None, None
        if isinstance(train, TrainingData) or isinstance(held_out, TrainingData):
            return  # missing entries, weights or a threshold
        if signals.in_memory and self._allows_ksvd(len(train)):
            self._compare_ksvd(train, held_out, random)

    def _split(
        self, sample: TrainingData, train: NDArray[np.int64], held_out: NDArray[np.int64]
    ) -> tuple[Floats | TrainingData, Floats | TrainingData]:
        """Training and held-out signals, for indices of the distinct signals."""
        rows, weights = sample.distinct
        signals = sample.rows()
        incomplete = sample.has_missing and bool(np.isnan(signals).any())
        if incomplete or weights is not None or self.threshold is not None:
            own = [None if weights is None else weights[part] for part in (train, held_out)]
            return sample.subset(rows[train], own[0]), sample.subset(rows[held_out], own[1])
        return signals[rows[train]], signals[rows[held_out]]

    def _search(
        self,
        train: Floats | TrainingData,
        criterion: SelectionCriterion,
        specs: list[CandidateSpec],
        random: np.random.Generator,
    ) -> Frontier:
        """All candidates, or the candidates trained before an interrupt."""
        shown = None if self.verbose is None else check_verbose(self.verbose)
        schedule = halving_schedule(count_signals(train), self.n_features_in_, len(specs))
        search = SuccessiveHalving(
            train,
            criterion.held_out,
            criterion.n_nonzero_coefs,
            self.max_iter,
            self.tol,
            random,
            name="X",
            threshold=self.threshold,
            ends_series=self.max_relative_error is None,
        )
        found: dict[str, Candidate] = {}
        done, total = 0, sum(rung.n_candidates for rung in schedule) + 1
        self.interrupted_ = False
        with single_threaded_blas, progress("candidate", total, shown) as advance:
            trained = search.run(
                specs, schedule, criterion.rank, lambda spec: advance(done, spec.name)
            )
            try:
                for candidate in trained:
                    found[candidate.structure] = candidate
                    done += 1
            except KeyboardInterrupt:
                if not found:
                    raise
                self.interrupted_ = True
                warnings.warn(
                    f"interrupted after {done} of {total} candidates; the choice is among these",
                    InterruptedWarning,
                    stacklevel=external_stacklevel(),
                )
            advance(done if self.interrupted_ else total, "")
        return Frontier(list(found.values()))

    def _check(self) -> None:
        """Check the parameters, except `signal_shape`, which `_specs` checks."""
        self.n_nonzero_coefs_ = self._learned_entries(self.n_features_in_)
        _ = self._rule  # checks n_nonzero_coefs and threshold
        check_integer(self.max_iter, "max_iter", 0, 2**31 - 1)
        check_number(self.tol, "tol", 0)
        if self.max_relative_error is not None:
            check_number(self.max_relative_error, "max_relative_error", 0, 1)
        check_integer(self.max_members, "max_members", 1, 2**20)

    def _specs(self, train: Floats | TrainingData) -> list[CandidateSpec]:
        """The candidates within the budget; banks have enough signals for their members."""
        n_features, n_signals, rule = self.n_features_in_, count_signals(train), self._rule
        few = first_signals(train, min(n_signals, _SHAPE_SIGNALS), "X")
        bases = bases_for(
            self.signal_shape, n_features, lambda U: relative_error(few, U, rule.s, rule.threshold)
        )
        most = int(self.max_members)
        most = max(1, min(most, n_signals // n_features, max_bank_members(n_features)))
        limit = self._limit(n_features)
        if limit is None:
            return candidate_specs(n_features, bases, None, most)
        specs = candidate_specs(n_features, bases, limit, most)
        if self.threshold is None:  # pursuit in unions has no threshold
            specs += union_specs(n_features, rule.s, bases, limit, most)
        affordable = [spec for spec in specs if spec.flops <= limit]
        if not affordable:
            cheapest = min(candidate_specs(n_features, bases), key=lambda spec: spec.flops)
            raise ValueError(
                f"max_flops={limit} is below the cheapest candidate, {cheapest.name} "
                f"with {cheapest.flops} operations"
            )
        return affordable

    def _limit(self, n_features: int) -> int | None:
        """The maximal number of operations per signal; None for no limit."""
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

    def _continue(
        self, data: TrainingData, spec: CandidateSpec, random: np.random.Generator
    ) -> None:
        """Train the chosen candidate to convergence on all signals."""
        self.dictionary_ = self.chosen_.transform
        self.start_error_ = self.error_ = self.chosen_.train_error
        self.errors_, self.n_iter_ = np.array([self.error_]), 1
        if spec.structure is not None:
            options = LearningOptions(
                structure=spec.structure,
                n_nonzero_coefs=self.n_nonzero_coefs_,
                base=spec.base,
                init=self.dictionary_,
                max_iter=self.max_iter,
                tol=self.tol,
                random_state=random,
                threshold=self.threshold,
                momentum=MOMENTUM,
            )
            result = learn_part(data, options, interruptible=True)
            self.dictionary_ = result.transform
            self.error_, self.start_error_ = result.error, result.start_error
            self.errors_, self.n_iter_ = result.errors, result.n_iter
            self.interrupted_ = self.interrupted_ or result.interrupted
            warn_unless_converged(result, self.max_iter, self.tol)

    def _allows_ksvd(self, n_signals: int) -> bool:
        """Whether there are enough signals for K-SVD, and `max_flops` has room for its pursuit."""
        if self.interrupted_ or self.max_relative_error is not None:
            return False
        n, limit = self.n_features_in_, self._limit(self.n_features_in_)
        flops = 4 * n * n + pursuit_flops(self._rule.s, 2 * n)  # as of `batch_omp_flops`
        return n_signals >= 2 * n and (limit is None or flops <= limit)

    def _compare_ksvd(self, train: Floats, held_out: Floats, random: np.random.Generator) -> None:
        """Learn K-SVD, and report it if it is clearly better than the chosen candidate.

        Each of its s entries takes one more bit than that of a transform, for the index of one of
        2 n atoms. So a transform or a bank is compared with s / log2(n) additional coefficients.
        """
        from fost.baselines import KSVD  # which imports the base classes of estimators

        n, s = self.n_features_in_, self._rule.s
        iterations = min(self.max_iter, _KSVD_ITERATIONS)
        ksvd = KSVD(2 * n, s, max_iter=iterations, tol=0.0, random_state=random).fit(train)
        self.ksvd_, self.interrupted_ = ksvd, ksvd.interrupted_
        self.ksvd_held_out_error_ = error = -ksvd.score(held_out)
        coder = self.chosen_.transform
        extra = 0 if isinstance(coder, PursuitCoder) else ceil(s / log2(max(n, 2)))
        rival = relative_error(held_out, coder, min(s + extra, n))
        shown = sys.stderr.isatty() if self.verbose is None else self.verbose
        rounding = n * float(np.finfo(held_out.dtype).eps)  # smaller errors are equal
        if shown and max(error, rounding) < _KSVD_MARGIN * rival:
            print(
                f"K-SVD with {2 * n} atoms has a held-out error of {error:.3%}, "
                f"{self.chosen_.structure} has {self.chosen_.held_out_error:.3%}; see ksvd_",
                file=sys.stderr,
            )
