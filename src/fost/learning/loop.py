"""The one alternating loop: code the signals, update the transform, until it stops paying.

1. Start from a transform U, by name or given.
2. Code all signals, X = T_s(U^T Y); of this pass only M = X Y^T and ||X||_F^2 are kept.
3. Let the structure find its best U for these codes, from M alone.
4. Go on with 2 until the relative error changes by less than `tol` or `max_iter` is reached.

Neither step can make the error larger, so it never rises (the paper's guarantee).
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from fost._threads import single_threaded_blas
from fost._validation import check_callable, check_integer, check_number, check_path, check_verbose
from fost.learning.bank import BankOf
from fost.learning.checkpoint import Checkpoint
from fost.learning.progress import ProgressLine
from fost.learning.sources import as_source
from fost.learning.state import LearningResult, State
from fost.learning.structure import Problem, Structure
from fost.transforms import Bank, Chain, Dense, Transform, with_base

Callback = Callable[[int, float, Transform], Any]
RandomState = int | np.random.Generator | np.random.RandomState | None


def learn(
    Y: Any,
    structure: Structure,
    n_nonzero_coefs: int,
    *,
    base: Transform | None = None,
    init: str | Transform | Bank | None = None,
    max_iter: int = 100,
    tol: float = 1e-6,
    random_state: RandomState = None,
    callback: Callback | None = None,
    verbose: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
) -> LearningResult:
    """Learn an orthonormal transform that makes signals sparse.

    Minimises ||Y - U X||_F^2 over transforms U of the given structure and codes X with at most
    `n_nonzero_coefs` entries per signal, by alternating between the two.

    Parameters
    ----------
    Y : array-like of shape (n_signals, n_features)
        Signals in rows. Arrays of float32 and float64 are used where they lie; other types are
        converted to float64 first. Memory maps, arrays of Zarr, iterables of blocks and Dask
        arrays are passed over block by block (see `fost.learning.as_source`).
    structure : Structure
        What U is made of: `Full`, `Reflectors`, `Rotations`.
    n_nonzero_coefs : int
        Entries per code, s.
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
        and the errors, to the last bit, of a run that was never interrupted. A file of other
        signals, settings or versions, or a damaged one, is a ValueError.

    Returns
    -------
    LearningResult
        Ctrl-C is answered by a warning and the best transform so far, once there is one.

    Examples
    --------
    >>> import fost, numpy as np
    >>> Y = np.random.default_rng(0).standard_normal((1000, 16))
    >>> result = fost.learn(Y, fost.Reflectors(4), n_nonzero_coefs=3)
    >>> result.transform
    Householder(n_features=16, n_reflectors=4, flops=256)
    >>> bool(result.errors[-1] < result.errors[0])
    True
    """
    check_callable(callback, "callback")
    verbose = check_verbose(verbose)
    if checkpoint is not None:
        check_path(checkpoint, "checkpoint")
    with single_threaded_blas:
        problem, init = prepare(
            Y, structure, n_nonzero_coefs, base, init, max_iter, tol, random_state
        )
        keeper, resumed = None, None
        if checkpoint is not None:
            keeper = Checkpoint(checkpoint, problem, structure, init, random_state is not None)
            resumed = keeper.resume()
        structure, state = resumed or (structure.fit_to(problem), None)
        result = alternate(
            problem,
            structure,
            init,
            callback,
            verbose,
            interruptible=True,
            checkpoint=keeper,
            state=state,
        )
        return replace(result, transform=with_base(base, result.transform))


def prepare(
    Y: Any,
    structure: Structure,
    n_nonzero_coefs: int,
    base: Transform | None,
    init: str | Transform | Bank | None,
    max_iter: int,
    tol: float,
    random_state: RandomState,
) -> tuple[Problem, str | Transform]:
    """The arguments of `learn`, checked, as a problem and a start beyond the base."""
    if not isinstance(structure, Structure):
        raise TypeError(
            f"structure must be Full(), Reflectors(m) or Rotations(g), "
            f"got {type(structure).__name__}"
        )
    tol = check_number(tol, "tol", 0)
    max_iter = check_integer(max_iter, "max_iter", 0, 2**31 - 1)
    source = as_source(Y)
    n = source.n_features
    if base is not None:
        if isinstance(base, Bank):
            raise TypeError("base must be a transform, got a Bank")
        _check_size(base, "base", n)
    start: str | Transform = structure.default_init
    if isinstance(init, Transform | Bank):
        if isinstance(init, Bank) and not isinstance(structure, BankOf):
            raise TypeError("init must be a name or a transform, got a Bank; BankOf takes one")
        _check_size(init, "init", n)
        start = _beyond(base, init)
    elif isinstance(init, str):
        start = init
    elif init is not None:
        raise TypeError(f"init must be a name or a transform, got {type(init).__name__}")
    problem = Problem(
        source=source,
        base=base,
        n_nonzero_coefs=check_integer(n_nonzero_coefs, "n_nonzero_coefs", 1, n, "n_features"),
        random=as_generator(random_state),
        max_iter=max_iter,
        tol=tol,
    )
    return problem, start


@single_threaded_blas
def alternate(
    problem: Problem,
    structure: Structure,
    init: str | Transform,
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
    progress = ProgressLine(verbose, problem.max_iter)
    try:
        while not state.converged and state.n_iter < problem.max_iter:
            state.step(problem, structure)
            if checkpoint:
                checkpoint.save_if_due(structure, state)
            progress.report(state.n_iter, state.errors[-1])
            whole = with_base(problem.base, state.transform) if callback else state.transform
            if callback and callback(state.n_iter, state.errors[-1], whole):
                break
        if checkpoint:
            checkpoint.save(structure, state)
    except KeyboardInterrupt:
        if not interruptible:
            raise
        warnings.warn(
            f"learning was interrupted after {state.n_iter} iterations; "
            "this is the best transform so far",
            RuntimeWarning,
            stacklevel=4,  # the caller of learn, beyond the decorator
        )
    finally:
        progress.close()
    return state.result(problem)


def _check_size(transform: Transform | Bank, name: str, n_features: int) -> None:
    if not isinstance(transform, Transform | Bank):
        raise TypeError(f"{name} must be a transform, got {type(transform).__name__}")
    if transform.n_features != n_features:
        raise ValueError(
            f"{name} has n_features={transform.n_features}, but Y has {n_features} features"
        )


def _beyond(base: Transform | None, transform: Any) -> Any:
    """What remains of a transform of signals when the base has been applied already."""
    if base is None:
        return transform
    if isinstance(transform, Bank):
        return Bank([_beyond(base, member) for member in transform.transforms])
    prefix = Chain([base]).members
    if isinstance(transform, Chain) and transform.members[: len(prefix)] == prefix:
        rest = transform.members[len(prefix) :]
        if len(rest) == 1:
            return rest[0]
        if rest:
            return Chain(rest)
    return Dense(base.forward(transform.matrix.T).T)


def as_generator(random_state: RandomState) -> np.random.Generator:
    """What scikit-learn calls a random state, as NumPy's generator."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.Generator(random_state._bit_generator)
    wanted = "random_state must be a nonnegative integer, a Generator or None"
    try:
        if isinstance(random_state, bool | np.bool_):
            raise TypeError
        return np.random.default_rng(random_state)
    except TypeError:
        raise TypeError(f"{wanted}, got {random_state!r}") from None
    except ValueError:
        raise ValueError(f"{wanted}, got {random_state!r}") from None
