r"""Learning by alternating minimisation.

1. Start with the codes of a transform U, which is given or named.
2. Code all signals, :math:`X = T_s(U^T Y)`. This pass keeps only :math:`M = X Y^T` and
   :math:`\|X\|_F^2`.
3. Replace U by the transform of the structure that is best for these codes, computed from M alone.
4. Repeat from step 2 until the relative error changes by less than `tol`, or `max_iter` times.

Neither step 2 nor step 3 can increase the error, so the error never increases (the guarantee of the
paper). With a threshold the same holds for the penalised error. With missing entries
`LearningState.step` rejects updates that would increase it.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fost._progress import progress
from fost._threads import single_threaded_blas
from fost._validation import (
    NotFinite,
    RandomState,
    as_generator,
    check_callable,
    check_integer,
    check_number,
    check_path,
    check_verbose,
    hint_at_missing,
)
from fost._warnings import external_stacklevel
from fost.coding.selection import check_rule
from fost.learning.checkpoint import LearningCheckpoint
from fost.learning.registry import describe_structures
from fost.learning.state import InterruptedWarning, LearningResult, LearningState
from fost.learning.structure import Problem, Structure
from fost.learning.training_data import TrainingData, as_training_data
from fost.learning.trials import choose_base, choose_start
from fost.streams import Stream, as_stream, is_dask
from fost.streams.inspection import first_not_finite
from fost.transforms import Coder, Transform, with_base, without_base
from fost.transforms.bases import base_of, check_signal_shape, describe_base, make_base

# Called with the iteration, its relative error and the transform; True stops learning.
Callback = Callable[[int, float, Coder], object]
# Called with the state before the first iteration. The context is the duration of the run. Its
# value is called after each iteration; True stops learning.
Monitor = Callable[[LearningState], AbstractContextManager[Callable[[LearningState], bool]]]


def learn(
    Y: ArrayLike | Stream | Iterable[ArrayLike],
    structure: Structure,
    n_nonzero_coefs: int | None = None,
    *,
    threshold: float | None = None,
    missing: ArrayLike | Stream | Iterable[ArrayLike] | Literal["nan"] | None = None,
    sample_weight: ArrayLike | None = None,
    base: str | Transform | None = "auto",
    signal_shape: int | tuple[int, ...] | None = None,
    init: str | Coder | None = None,
    n_init: int = 1,
    max_iter: int = 1000,
    tol: float = 1e-6,
    random_state: RandomState = None,
    callback: Callback | None = None,
    verbose: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
) -> LearningResult:
    r"""Learn an orthonormal transform in which signals are sparse.

    Minimises :math:`\|Y - U X\|_F^2` over transforms U of the given structure and codes X with at
    most `n_nonzero_coefs` entries per signal, by alternating between the two. With a threshold it
    minimises :math:`\|Y - U X\|_F^2 + \text{threshold}^2 \|X\|_0`.

    Parameters
    ----------
    Y : array-like of shape (n_signals, n_features)
        Signals in rows. Types that float32 holds exactly (float32, float16, integers of 8 and 16
        bits) are computed in float32, all others in float64. Memory maps, arrays of Zarr,
        iterables of blocks and Dask arrays are processed block by block (see
        `fost.learning.as_training_data`).
    structure : Structure
        The structure of U: `Orthonormal`, `Reflectors`, `Rotations`, a `BankOf` or `UnionOf` one
        of these, `Circulants`, or your own.
    n_nonzero_coefs : int, optional
        Entries per code, s; with a threshold, the maximal number.
    threshold : float, optional
        Codes keep all entries whose magnitude exceeds the threshold, so that the number of
        entries differs between signals.
    missing : array of bool of the shape of Y, or "nan", optional
        True where an entry of Y is unobserved, whatever its value; ``"nan"``: where Y is NaN. The
        error on observed entries is minimised. Each pass fills missing entries from the codes three
        times, or more often if the error would increase otherwise. No signal is stored between
        passes, so that this works for data of any size. If Y is read block by block, the mask may
        be too.
    sample_weight : array-like of shape (n_signals,), optional
        The weight of each signal: nonnegative numbers. Integer weights are equivalent to copies
        of signals, in any order.
    base : Transform, {"auto", "dct", "hadamard", "wavelet", "none"} or None
        A fixed transform B under the learned one: U = B U_learned. Learning then works on the
        coefficients B^T y, which are computed on the fly. ``"auto"`` chooses a base for
        `Rotations`, and for banks and unions of them, by the error after a few iterations on a
        sample. It compares no base, the DCT and, if PyWavelets is installed, a wavelet. Other
        structures have no base then. If `init` is a transform, ``"auto"`` keeps its base.
    signal_shape : int or tuple of int, optional
        The shape of a signal for bases that are given by name, such as (8, 8) for patches. If
        None, signals have one axis; ``"auto"`` also tries squares.
    init : str, Transform or None
        The name of a start (each structure lists its own, the default first), or a transform
        whose codes T_s(U^T y) start the alternation. A transform of the same structure, such as
        an earlier result, is continued (a checkpoint continues momentum too). For banks, a bank
        with at most as many members.
    n_init : int
        The number of starts. Each start is tried for a few iterations on a sample, and the best
        one is continued. A start without random choices is not repeated. Rotations then go on
        with the half of the rotations of the start before that matters most.
    max_iter : int
        The maximal number of iterations.
    tol : float
        Stop when the relative error changes by less than this in one iteration; 0 never stops
        early.
    random_state : int, Generator, RandomState or None
        The seed of samples, random starts and orders; None: different numbers in each call.
    callback : callable, optional
        Called as ``callback(iteration, error, transform)`` after each iteration; learning stops
        if it returns True.
    verbose : bool
        Show progress on stderr.
    checkpoint : path, optional
        A file to which the state is written atomically, every ten iterations or five seconds and
        at the end. If the file exists, learning resumes from it. The result is bit-identical to
        that of an uninterrupted run. A finished run is continued if `max_iter` is larger or, after
        convergence, `tol` is smaller than before. A run that did more iterations than `max_iter`
        is returned unchanged. A damaged file, or one of other signals, other options or another
        version, raises a ValueError.
        If the file cannot be replaced later, for instance on a full disk, a warning says so and
        learning continues.

    Returns
    -------
    LearningResult
        After Ctrl-C, a warning is issued and the best transform so far is returned, with
        `interrupted` set.

    Examples
    --------
    >>> import fost, numpy as np
    >>> Y = np.random.default_rng(0).standard_normal((1000, 16))
    >>> result = fost.learn(Y, fost.Reflectors(4), n_nonzero_coefs=3)
    >>> result.transform
    Householder(n_features=16, n_reflectors=4, flops=256)
    >>> bool(result.error < result.start_error)
    True
    """
    check_callable(callback, "callback")
    verbose = check_verbose(verbose)
    if checkpoint is not None:
        check_path(checkpoint, "checkpoint")
    options = LearningOptions(
        structure=structure,
        n_nonzero_coefs=n_nonzero_coefs,
        base=base,
        signal_shape=signal_shape,
        init=init,
        n_init=n_init,
        max_iter=max_iter,
        tol=tol,
        random_state=random_state,
        threshold=threshold,
        missing=missing,
        sample_weight=sample_weight,
    )
    try:
        with single_threaded_blas:
            problem, start = options.problem(Y)
            problem = replace(problem, data=problem.data.in_canonical_order())
            begin: str | Coder | LearningState = start
            keeper = None
            if checkpoint is not None:
                keeper = LearningCheckpoint(checkpoint, problem, structure, start, options)
            if keeper is not None and keeper.exists:
                problem, structure, begin, init_errors = keeper.resume()
            else:
                structure = structure.fit_to(problem)
                problem, begin, init_errors = options.start(problem, structure, start)
                if keeper is not None:
                    keeper.begin(problem, init_errors)
            monitor = None
            if callback or verbose or keeper:
                monitor = partial(_monitor, problem, structure, callback, verbose, keeper)
            result = alternate(problem, structure, begin, monitor, interruptible=True)
            return replace(
                result,
                transform=with_base(problem.base, result.transform),
                base=problem.base,
                init_errors=init_errors,
            )
    except NotFinite as error:
        raise hint_at_missing(error, "" if missing is not None else _place(Y)) from None


def _place(Y: object) -> str:
    """Where the first signal is that has NaN or infinity; empty for signals on a cluster."""
    place = None if is_dask(Y) else first_not_finite(as_stream(Y))
    return "" if place is None else f" in {place}"


@dataclass(frozen=True, kw_only=True)
class LearningOptions:
    """The arguments of `fost.learn` that define the problem, unchecked."""

    structure: Structure
    n_nonzero_coefs: int | None
    base: str | Transform | None = None
    signal_shape: int | tuple[int, ...] | None = None
    init: str | Coder | None = None
    n_init: int = 1
    max_iter: int = 1000
    tol: float = 1e-6
    random_state: RandomState = None
    threshold: float | None = None
    missing: object = None
    sample_weight: object = None
    momentum: float = 0.0  # see `LearningState.step`

    def problem(self, Y: object) -> tuple[Problem, str | Coder]:
        """The checked problem for signals Y, and the start without the base."""
        structure = self.structure
        if not isinstance(structure, Structure):
            known = describe_structures(collections=True)
            raise TypeError(f"structure must be {known}, got {_describe(structure)}")
        tol = check_number(self.tol, "tol", 0)
        max_iter = check_integer(self.max_iter, "max_iter", 0, 2**31 - 1)
        random = as_generator(self.random_state)
        data = as_training_data(Y, self.missing, self.sample_weight)
        if data.random is None:
            data = data.with_random(random)
        n = data.n_features
        if self.n_nonzero_coefs is None and self.threshold is None:
            raise ValueError("n_nonzero_coefs or threshold must be given")
        rule = check_rule(self.n_nonzero_coefs, None, self.threshold, n)
        check_integer(self.n_init, "n_init", 1, 2**31 - 1)
        check_signal_shape(self.signal_shape, n)
        start, base = self._check_start(structure, n), None
        if not self.chooses_base:
            base = make_base(self.base, n, self.signal_shape)
        elif structure.wants_base and not isinstance(start, str):
            base = base_of(start)
        problem = Problem(
            data, base, rule.s, random, max_iter, tol, rule.threshold, momentum=self.momentum
        )
        if self.chooses_base and structure.wants_base and isinstance(start, str):
            base = choose_base(problem, structure, start, self.signal_shape)
            problem = replace(problem, base=base)
        return problem, start if isinstance(start, str) else without_base(base, start)

    @property
    def chooses_base(self) -> bool:
        """Whether the base is "auto"."""
        return isinstance(self.base, str) and self.base == "auto"

    def start(
        self, problem: Problem, structure: Structure, init: str | Coder
    ) -> tuple[Problem, str | Coder, NDArray[np.float64]]:
        """The best of `n_init` starts, the problem with its samples, and their errors."""
        n_init = check_integer(self.n_init, "n_init", 1, 2**31 - 1)
        if n_init == 1 or not isinstance(init, str):
            return problem, init, np.empty(0)
        return choose_start(problem, structure, init, n_init)

    def _check_start(self, structure: Structure, n_features: int) -> str | Coder:
        """The name of a start, or a transform."""
        if self.init is None:
            return structure.starts[0]
        if isinstance(self.init, str):
            if self.init not in structure.starts:
                known = ", ".join(repr(name) for name in structure.starts)
                raise ValueError(
                    f"init must be a transform or, for {type(structure).__name__}, one of {known}, "
                    f"got {self.init!r}"
                )
            return self.init
        if not isinstance(self.init, Coder):
            raise TypeError(f"init must be a name or a transform, got {_describe(self.init)}")
        if not structure.accepts(self.init):
            raise TypeError(
                f"init must be a name or a transform, got {_describe(self.init)}; BankOf takes one"
            )
        _check_n_features(self.init, "init", n_features)
        return self.init


def learn_part(
    Y: ArrayLike | Stream | TrainingData, options: LearningOptions, *, interruptible: bool = False
) -> LearningResult:
    """`learn` as a part of a larger computation, which Ctrl-C ends by a KeyboardInterrupt.

    The last part may be `interruptible`, and then returns its best transform so far.
    """
    with single_threaded_blas:
        problem, start = options.problem(Y)
        problem = replace(problem, data=problem.data.in_canonical_order())
        structure = options.structure.fit_to(problem)
        result = alternate(problem, structure, start, interruptible=interruptible)
        transform = with_base(problem.base, result.transform)
        return replace(result, transform=transform, base=problem.base)


def alternate(
    problem: Problem,
    structure: Structure,
    begin: str | Coder | LearningState,
    monitor: Monitor | None = None,
    interruptible: bool = False,
) -> LearningResult:
    """The alternation on a checked problem, from a start or a state; the result has no base.

    After Ctrl-C it returns a result, with a warning, if it is `interruptible`.
    """
    if isinstance(begin, LearningState):
        state = begin
    else:
        if isinstance(begin, str):
            begin = structure.initialise(problem, begin)
        else:
            begin = structure.adapt(problem, begin)
        state = LearningState.begin(problem, structure, begin)
    interrupted = stopped = False
    try:
        with monitor(state) if monitor else nullcontext() as stop_after:
            while len(state.errors) < problem.max_iter and not state.converged(problem.tol):
                state.step(problem, structure)
                if stop_after is not None and stop_after(state):
                    stopped = True
                    break
    except KeyboardInterrupt:
        if not interruptible:
            raise
        interrupted = True
        warnings.warn(
            f"learning was interrupted after {state.n_iter} iterations; "
            "this is the best transform so far",
            InterruptedWarning,
            stacklevel=external_stacklevel(),
        )
    return state.result(problem, structure, interrupted, stopped)


@contextmanager
def _monitor(
    problem: Problem,
    structure: Structure,
    callback: Callback | None,
    verbose: bool,
    checkpoint: LearningCheckpoint | None,
    state: LearningState,
) -> Iterator[Callable[[LearningState], bool]]:
    """The checkpoint, the progress bar and the callback of a run."""
    if checkpoint and not checkpoint.exists:
        checkpoint.save(structure, state)
    over = "" if problem.base is None else f" over {describe_base(problem.base)}"
    with progress("iteration", problem.max_iter, verbose) as advance:
        if state.errors:
            advance(state.n_iter, f"resumed, relative error {100 * state.errors[-1]:.4f} %")

        def stop_after(state: LearningState) -> bool:
            if checkpoint:
                checkpoint.save_if_due(structure, state)
            error = state.errors[-1]
            advance(state.n_iter, f"relative error {100 * error:.4f} %{over}")
            if callback is None:
                return False
            return bool(callback(state.n_iter, error, with_base(problem.base, state.transform)))

        yield stop_after
    if checkpoint:
        checkpoint.save(structure, state)


def _check_n_features(coder: Coder, name: str, n_features: int) -> None:
    if coder.n_features != n_features:
        raise ValueError(
            f"{name} has n_features={coder.n_features}, but Y has {n_features} features"
        )


def _describe(value: object) -> str:
    """An argument for error messages: "a Bank", or the type of an object that is not of fost."""
    if isinstance(value, type):
        return f"the class {value.__name__} itself"
    name = type(value).__name__
    return f"a {name}" if isinstance(value, Coder) else name
