"""The one alternating loop: code the signals, update the transform, until it stops paying.

1. Start from a transform U, by name or given.
2. Code all signals, X = T_s(U^T Y); of this pass only M = X Y^T and ||X||_F^2 are kept.
3. Let the structure find its best U for these codes, from M alone.
4. Go on with 2 until the relative error changes by less than `tol` or `max_iter` is reached.

Neither step can make the error larger, so it never rises (the paper's guarantee). With a threshold
the same is true of what it minimises; with missing entries `State.step` sees to it.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Literal

from numpy.typing import ArrayLike

from fost._progress import progress
from fost._random import RandomState
from fost._threads import single_threaded_blas
from fost._validation import (
    ContainsNaN,
    check_callable,
    check_path,
    check_verbose,
    hint_at_missing,
)
from fost.learning.checkpoint import Checkpoint
from fost.learning.state import InterruptedWarning, LearningResult, State
from fost.learning.structure import Problem, Structure
from fost.learning.task import Task
from fost.streams import Stream
from fost.transforms import Coder, Transform, with_base

# Called with the iteration, its relative error and the transform; true ends the learning.
Callback = Callable[[int, float, Coder], object]


def learn(
    Y: ArrayLike | Stream | Iterable[ArrayLike],
    structure: Structure,
    n_nonzero_coefs: int | None = None,
    *,
    threshold: float | None = None,
    missing: ArrayLike | Stream | Iterable[ArrayLike] | Literal["nan"] | None = None,
    sample_weight: ArrayLike | None = None,
    base: Transform | None = None,
    init: str | Coder | None = None,
    max_iter: int = 100,
    tol: float = 1e-6,
    random_state: RandomState = None,
    callback: Callback | None = None,
    verbose: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
) -> LearningResult:
    """Learn an orthonormal transform that makes signals sparse.

    Minimises ||Y - U X||_F^2 over transforms U of the given structure and codes X with at most
    `n_nonzero_coefs` entries per signal, by alternating between the two. With a threshold it
    minimises ||Y - U X||_F^2 + threshold^2 ||X||_0.

    Parameters
    ----------
    Y : array-like of shape (n_signals, n_features)
        Signals in rows. What float32 holds exactly (float32, float16, integers of 8 and 16
        bits) is computed in float32, anything else in float64. Memory maps, arrays of Zarr,
        iterables of blocks and Dask arrays are passed over block by block (see
        `fost.learning.as_source`).
    structure : Structure
        What U is made of: `Orthonormal`, `Reflectors`, `Rotations`, a `BankOf` or `UnionOf`
        them, or one of your own.
    n_nonzero_coefs : int, optional
        Entries per code, s; at most so many where there is a threshold.
    threshold : float, optional
        Codes keep all entries of a magnitude above this, so that each signal gets as many as it
        needs, and ||Y - U X||_F^2 + threshold^2 ||X||_0 is minimised.
    missing : array of bool of the shape of Y, or "nan", optional
        True where an entry of Y is unobserved, whatever it holds; ``"nan"``: where Y is NaN. Then
        the error on observed entries is minimised: each pass fills signals from their codes, a few
        times (three, and more where the error would rise otherwise). Nothing is kept of a signal
        from one pass to the next, so that this works for signals of any size. Where Y is an
        array of Dask or Zarr, or yields blocks, this may be one too.
    sample_weight : array-like of shape (n_signals,), optional
        How many times each signal counts: any numbers that are not negative. Whole ones are equal
        to copies of signals, in any order.
    base : Transform, optional
        A fixed transform B under the learned one: U = B U_learned. Learning then works on the
        coefficients B^T y, which are computed on the fly.
    init : str, Transform or None
        A start by name (each structure says which it knows, and which is its default), or a
        transform whose codes T_s(U^T y) start the alternation. A transform of the same
        structure, such as an earlier result, is continued exactly. For banks, a bank of at
        most as many members.
    max_iter : int
        Iterations at most.
    tol : float
        Stop when the relative error changes by less than this in one iteration; 0 never stops
        early.
    random_state : int, Generator, RandomState or None
        For starts and orders that are random.
    callback : callable, optional
        Called as ``callback(iteration, error, transform)`` after each iteration; learning stops
        if it returns True.
    verbose : bool
        Show progress on stderr.
    checkpoint : path, optional
        A file that the state is written to, in one step, every ten iterations or five seconds
        and at the end. Where it exists learning goes on from it, and ends with the transform
        and the errors, to the last bit, of a run that was never interrupted. A run that is
        finished goes on where `max_iter` is larger now or, if it had converged, `tol` is
        smaller; one that did more iterations than `max_iter` is returned as it is. A file of
        other signals, other settings or another version, or a damaged one, is a ValueError.

    Returns
    -------
    LearningResult
        Ctrl-C is answered by a warning and the best transform so far, once there is one; the
        result says that it was `interrupted`.

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
    task = Task(
        structure, n_nonzero_coefs, base, init, max_iter, tol, random_state, threshold, missing,
        sample_weight,
    )  # fmt: skip
    try:
        with single_threaded_blas:
            problem, start = _posed(task, Y)
            keeper, resumed = None, None
            if checkpoint is not None:
                keeper = Checkpoint(checkpoint, problem, structure, start, random_state is not None)
                resumed = keeper.resume()
            structure, state = resumed or (structure.fit_to(problem), None)
            result = alternate(
                problem,
                structure,
                start,
                callback,
                verbose,
                interruptible=True,
                checkpoint=keeper,
                state=state,
            )
            return replace(result, transform=with_base(base, result.transform))
    except ContainsNaN as error:
        raise hint_at_missing(error) from None


def _posed(task: Task, Y: object) -> tuple[Problem, str | Coder]:
    """The problem, and the start, with the signals in an order that is their own."""
    problem, start = task.problem(Y)
    return problem.but(source=problem.source.in_order()), start


def run(Y: ArrayLike | Stream, task: Task, interruptible: bool = False) -> LearningResult:
    """`learn` as a part of something larger, which Ctrl-C shall end: it is a KeyboardInterrupt.

    Unless it is the last part, whose result is one in any case.
    """
    with single_threaded_blas:
        problem, start = _posed(task, Y)
        structure = task.structure.fit_to(problem)
        result = alternate(problem, structure, start, interruptible=interruptible)
        return replace(result, transform=with_base(task.base, result.transform))


@single_threaded_blas
def alternate(
    problem: Problem,
    structure: Structure,
    init: str | Coder,
    callback: Callback | None = None,
    verbose: bool = False,
    interruptible: bool = False,
    checkpoint: Checkpoint | None = None,
    state: State | None = None,
) -> LearningResult:
    """The loop itself, on a checked problem; the result is the transform beyond the base.

    Ctrl-C ends it with a warning and a result if it is `interruptible`, and with
    KeyboardInterrupt, as everywhere, if it is part of something larger. It begins with `init`
    unless there is a `state` to go on from.
    """
    if state is None:
        state = State.at(problem, structure, structure.start(problem, init))
        if checkpoint:
            checkpoint.save(structure, state)
    interrupted = stopped = False
    try:
        with progress("iteration", problem.max_iter, verbose) as advance:
            while not state.converged(problem.tol) and state.n_iter < problem.max_iter:
                state.step(problem, structure)
                if checkpoint:
                    checkpoint.save_if_due(structure, state)
                error = state.errors[-1]
                advance(state.n_iter, f"relative error {100 * error:.4f} %")
                whole = with_base(problem.base, state.transform) if callback else state.transform
                if callback and callback(state.n_iter, error, whole):
                    stopped = True
                    break
        if checkpoint:
            checkpoint.save(structure, state)
    except KeyboardInterrupt:
        if not interruptible:
            raise
        interrupted = True
        warnings.warn(
            f"learning was interrupted after {state.n_iter} iterations; "
            "this is the best transform so far",
            InterruptedWarning,
            stacklevel=4,  # the caller of learn, beyond the decorator
        )
    return state.result(problem, structure, interrupted, stopped)
