"""Automatic choice of a dictionary within a budget, as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from dataclasses import replace
from math import inf
from typing import Literal

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
from fost.learning.circulant import N_STARTS, Circulants
from fost.learning.learn import LearningOptions, learn_part
from fost.learning.training_data import TrainingData
from fost.model_selection.candidates import (
    COSTS,
    Candidate,
    CandidateSpec,
    Frontier,
    PursuitSpecs,
    SparseAtoms,
    candidate_specs,
    relative_error,
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
from fost.transforms import Transform
from fost.transforms.coder import dense_flops

# The number of signals that candidates are compared on if the signals are not all in memory.
_MAX_EXPLORED = 100_000
# The number of signals that the shape of a signal is guessed from.
_SHAPE_SIGNALS = 4096
# max_members="auto": members of banks, and of unions, whose members may be small.
_BANK_MEMBERS, _UNION_MEMBERS = 8, 32
_CRITERIA = "'flops', 'bits' or 'time'"


class AutoDictionary(WeightedFit, CoderEstimator):
    """The dictionary with the smallest error within a budget, or the cheapest for an error.

    The candidates are rotations, reflectors and all other registered structures in increasing
    sizes. They have no base, the DCT of the signals, or a wavelet that is better or cheaper than
    the DCT. Banks follow. Where the budget allows matching pursuit, so do unions, sparse K-SVD,
    K-SVD and, for signals with one axis, circulants.

    Say ``criterion="flops"``, ``"bits"`` or ``"time"`` with a `budget` to get the lowest held-out
    error within it. Without a criterion, `max_flops` limits the operations, and errors are compared
    at equal bits of the codes.

    Successive halving selects among them. Candidates are trained on a sample for a few iterations
    and compared on held-out signals. Larger sizes are left out where the error hardly falls, or
    where a cheaper candidate is better, unless `max_relative_error` is given. The best quarter
    continues with four times as many signals, until the last candidates have seen all signals. The
    winner is trained once more from its own start, and finally to convergence on all signals. If
    the signals are not in memory, a sample of 100,000 signals decides between the candidates.

    A bank suits heterogeneous signals (see `fost.Bank`). Its codes have a column for each atom of
    each member. Set ``max_members=1`` if `dictionary_` must be one orthonormal transform. Sparse
    K-SVD and K-SVD learn from signals in memory: from the sample, if there are more.

    Parameters
    ----------
    n_nonzero_coefs : int or None
        Entries per code, s; if None a sixteenth of the features, but at least 4. With a threshold
        it is the maximal number, and None is no limit.
    signal_shape : int or tuple of int, optional
        The shape of a signal, such as (8, 8) for patches; its DCT is tried as a base. If None, the
        DCT along one axis is compared with that of a square, if n is a square number. No base is
        used if the entries themselves are sparser.
    max_flops : int, float, "auto" or None
        The maximal number of operations per signal, without a criterion. ``"auto"`` is
        n (2 n - 1), the cost of a dense transform, or no limit if `max_relative_error` is given.
        None is no limit, which takes much longer, and tries no pursuit. A bank of B members must
        beat the best single transform with log2(B) / log2(n) extra coefficients, which is the cost
        of storing the member index. For pursuit in K atoms, which counts as operations,
        these are s log2(K / n) / log2(n) extra coefficients.
    max_relative_error : float, optional
        The maximal relative error on held-out signals; the cheapest candidate within it is chosen.
    max_members : int or "auto"
        The maximal number of members of a bank or union; ``"auto"`` is 8 for banks and 32 for
        unions. Banks of 2, 4, 8 and so on members are tried, as long as there are as many signals
        per member as features. 1 tries single transforms only, in about a quarter of the time.
        Operations do not include the selection of coefficients, which a bank repeats for every
        member.
    criterion : {"flops", "bits", "time"}, optional
        The cost that `budget` limits. Operations to encode a signal are `Coder.encode_flops`, bits
        to store the dictionary are `Coder.storage_bits`. Time is measured in nanoseconds per
        encoded signal on one thread, so that choices near the limit differ from run to run. The
        lowest held-out error within the budget wins.
    budget : float, optional
        The maximal cost. It may be None if `max_relative_error` is given.
    validation_fraction : float
        The share of held-out signals, which are drawn at random. Held-out errors are too small if
        signals overlap, such as windows with a hop below their length.
    max_iter : int
        The maximal number of iterations for the chosen candidate. Candidates have up to 6 in the
        first rung of successive halving and up to 16 in the others.
    tol : float
        Stop when the relative error of the chosen candidate changes by less than this.
    random_state : int, Generator, RandomState or None
        The seed of the split into training and held-out signals, and of random starts.
    verbose : bool or None
        Show a progress bar on stderr. None shows a bar that disappears in terminals and notebooks,
        and a line every five seconds elsewhere.
    sparse_output : bool
        Whether `transform` returns a csr_array instead of an ndarray; dense by default, since
        many steps of a pipeline refuse sparse codes.
    threshold : float, optional
        Codes keep all entries whose magnitude exceeds the threshold. Each entry adds threshold^2 to
        all errors.

    Attributes
    ----------
    dictionary_ : Coder
        The chosen dictionary: a `Transform`, `Bank`, `Union`, `Circulant` or `SparseDictionary`,
        which also represents K-SVD.
    frontier_ : Frontier
        All candidates that were trained, with structure, family, n_members, n_parameters, number
        of training signals, and seconds of training. Their costs are flops, bits and nanoseconds,
        their relative errors are on training and on held-out signals. Candidates
        beyond a budget of time are among them. `fost.plot_frontier` draws it.
    chosen_ : Candidate
        The candidate in `frontier_` that `dictionary_` continues.
    components_ : ndarray of shape (n_atoms, n_features)
        The atoms, in rows.
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

    _min_signals = 2
    _allows_missing = True

    def __init__(
        self,
        n_nonzero_coefs: int | None = None,
        signal_shape: int | tuple[int, ...] | None = None,
        max_flops: float | Literal["auto"] | None = "auto",
        max_relative_error: float | None = None,
        max_members: int | Literal["auto"] = "auto",
        *,
        criterion: Literal["flops", "bits", "time"] | None = None,
        budget: float | None = None,
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
        self.criterion = criterion
        self.budget = budget
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
        criterion = SelectionCriterion(
            held_out,
            self._rule.s,
            self.max_relative_error,
            self.threshold,
            self.criterion,
            self._limit(self.n_features_in_),
        )
        specs = self._specs(train, criterion)
        self.frontier_ = self._search(train, criterion, specs, random)
        self.chosen_ = criterion.best(self.frontier_)
        spec = next(spec for spec in specs if spec.name == self.chosen_.structure)
        self._continue(data, sample, spec, random)

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
            measures_time=self.criterion == "time",
        )
        found: dict[str, Candidate] = {}
        done, total = 0, sum(rung.n_candidates for rung in schedule) + 1
        self.interrupted_ = False
        with single_threaded_blas, progress("candidate", total, shown) as advance:
            trained = search.run(
                specs,
                schedule,
                criterion.rank,
                lambda spec: advance(done, spec.name),
                criterion.allows,
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
        return Frontier(list(found.values()), self.criterion or "flops")

    def _check(self) -> None:
        """Check the parameters, except `signal_shape`, which `_specs` checks."""
        self.n_nonzero_coefs_ = self._learned_entries(self.n_features_in_)
        _ = self._rule  # checks n_nonzero_coefs and threshold
        check_integer(self.max_iter, "max_iter", 0, 2**31 - 1)
        check_number(self.tol, "tol", 0)
        if self.max_relative_error is not None:
            check_number(self.max_relative_error, "max_relative_error", 0, 1)
        if not (isinstance(self.max_members, str) and self.max_members == "auto"):
            check_integer(self.max_members, "max_members", 1, 2**20)
        if self.criterion is None:
            if self.budget is not None:
                raise ValueError(f"budget={self.budget!r} needs a criterion: {_CRITERIA}")
            return
        if not isinstance(self.criterion, str) or self.criterion not in COSTS:
            raise ValueError(f"criterion must be None, {_CRITERIA}, got {self.criterion!r}")
        if self.max_flops is not None and self.max_flops != "auto":
            raise ValueError(
                f"max_flops={self.max_flops!r} must be 'auto' with a criterion, which has a budget"
            )
        if self.budget is None and self.max_relative_error is None:
            raise ValueError(
                f"budget or max_relative_error must be given for criterion={self.criterion!r}"
            )

    def _specs(
        self, train: Floats | TrainingData, criterion: SelectionCriterion
    ) -> list[CandidateSpec]:
        """The candidates within the budget; banks have enough signals for their members."""
        n_features, n_signals, rule = self.n_features_in_, count_signals(train), self._rule
        few = first_signals(train, min(n_signals, _SHAPE_SIGNALS), "X")
        bases = bases_for(
            self.signal_shape, n_features, lambda U: relative_error(few, U, rule.s, rule.threshold)
        )
        in_bank, in_union = (
            max(1, min(most, n_signals // n_features, max_bank_members(n_features)))
            for most in (
                (_BANK_MEMBERS, _UNION_MEMBERS)
                if self.max_members == "auto"
                else [int(self.max_members)] * 2
            )
        )
        limit = criterion.budget
        by_flops = self.criterion in (None, "flops") and limit < inf
        specs = candidate_specs(n_features, bases, int(limit) if by_flops else None, in_bank)
        # Pursuit has no threshold; without a criterion, it must have a limit of operations.
        if self.threshold is None and self.max_members != 1 and (by_flops or self.criterion):
            fills = self.max_relative_error is None and self.criterion != "time"
            specs += PursuitSpecs(
                n_features, rule.s, bases, n_signals, in_union, criterion.allows, fills
            )
        affordable = [spec for spec in specs if criterion.allows(spec)]
        if not affordable:
            criterion.raise_budget(candidate_specs(n_features, bases))
        return affordable

    def _limit(self, n_features: int) -> float:
        """The budget; infinity for no limit."""
        if self.criterion is not None:
            return inf if self.budget is None else check_number(self.budget, "budget", 0)
        if self.max_flops is None:
            return inf
        if isinstance(self.max_flops, str) and self.max_flops == "auto":
            return dense_flops(n_features) if self.max_relative_error is None else inf
        return int(check_number(self.max_flops, "max_flops", 1))

    def _held_out_count(self, n_signals: int) -> int:
        share = check_number(self.validation_fraction, "validation_fraction", 0, 1)
        if not 0 < share < 1:
            raise ValueError(f"validation_fraction must be between 0 and 1, got {share!r}")
        return min(max(1, round(share * n_signals)), n_signals - 1)

    def _continue(
        self,
        data: TrainingData,
        sample: TrainingData,
        spec: CandidateSpec,
        random: np.random.Generator,
    ) -> None:
        """Train the chosen candidate to convergence on all signals."""
        self.dictionary_ = self.chosen_.transform
        self.start_error_ = self.error_ = self.chosen_.train_error
        self.errors_, self.n_iter_ = np.array([self.error_]), 1
        if isinstance(spec.structure, SparseAtoms):
            self._continue_sparse(data, sample, spec.structure, spec.base, random)
        elif spec.structure is not None:
            options = LearningOptions(
                structure=spec.structure,
                n_nonzero_coefs=self.n_nonzero_coefs_,
                base=spec.base,
                max_iter=self.max_iter,
                tol=self.tol,
                random_state=random,
                threshold=self.threshold,
                momentum=MOMENTUM,
            )
            # Circulants have many local minima: they try their own starts, too.
            n_starts = N_STARTS if isinstance(spec.structure, Circulants) else 0
            found = []
            for init in (self.dictionary_, *spec.starts[:1] * n_starts):
                found.append(learn_part(data, replace(options, init=init), interruptible=True))
                if found[-1].interrupted:
                    self.interrupted_ = True
                    break
            result = min(found, key=lambda result: result.error)
            self.dictionary_ = result.transform
            self.error_, self.start_error_ = result.error, result.start_error
            self.errors_, self.n_iter_ = result.errors, result.n_iter
            warn_unless_converged(result, self.max_iter, self.tol)

    def _continue_sparse(
        self,
        data: TrainingData,
        sample: TrainingData,
        atoms: SparseAtoms,
        base: Transform | None,
        random: np.random.Generator,
    ) -> None:
        """The same for sparse K-SVD, which starts anew, from signals in memory."""
        ksvd = atoms.learn(sample, base, self._rule.s, self.max_iter, self.tol, random)
        self.interrupted_ = self.interrupted_ or ksvd.interrupted_
        coders = self.dictionary_, ksvd.dictionary_
        errors = [data.relative_error(coder, self._rule) for coder in coders]
        self.start_error_, self.error_ = errors[0], min(errors)
        self.dictionary_ = coders[errors.index(self.error_)]
        self.errors_, self.n_iter_ = ksvd.errors_, max(1, ksvd.n_iter_)
