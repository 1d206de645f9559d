"""The one alternating loop: code the signals, update the transform, until it stops paying.

1. Start from a transform U, by name or given.
2. Code all signals, X = T_s(U^T Y); of this pass only M = X Y^T and ||X||_F^2 are kept.
3. Let the structure find its best U for these codes, from M alone.
4. Go on with 2 until the relative error changes by less than `tol` or `max_iter` is reached.

Both steps solve their problem exactly, so the error never rises (the paper's guarantee).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fost._threads import single_threaded_blas
from fost._validation import check_integer
from fost.learning.progress import ProgressLine
from fost.learning.sources import ArraySource
from fost.learning.structure import Problem, Structure
from fost.transforms import Chain, Dense, Transform

# Features up to which the n x n algebra stays on one thread.
_SMALL = 256

Callback = Callable[[int, float, Transform], Any]


@dataclass(frozen=True)
class LearningResult:
    """What `learn` found, how it got there and why it stopped.

    Attributes
    ----------
    transform : Transform
        The learned transform; with a base, the chain of both.
    errors : ndarray of shape (n_iter + 1,)
        Relative error ||Y - U X||_F^2 / ||Y||_F^2 of the start and after each iteration.
    n_iter : int
        Iterations done.
    converged : bool
        Whether the error changed by less than `tol` in the last iteration.
    """

    transform: Transform
    errors: NDArray[np.float64]
    n_iter: int
    converged: bool


class ObjectiveRoseWarning(RuntimeWarning):
    """The error rose by more than rounding explains, which is a bug in a structure."""


def learn(
    Y: ArrayLike,
    structure: Structure,
    n_nonzero_coefs: int,
    *,
    base: Transform | None = None,
    init: str | Transform | None = None,
    max_iter: int = 100,
    tol: float = 1e-6,
    random_state: int | np.random.Generator | np.random.RandomState | None = None,
    callback: Callback | None = None,
    verbose: bool = False,
) -> LearningResult:
    """Learn an orthonormal transform that makes signals sparse.

    Minimises ||Y - U X||_F^2 over transforms U of the given structure and codes X with at most
    `n_nonzero_coefs` entries per signal, by alternating between the two.

    Parameters
    ----------
    Y : array-like of shape (n_signals, n_features)
        Signals in rows.
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
        structure, such as an earlier result, is continued exactly.
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

    Returns
    -------
    LearningResult
        Ctrl-C is answered by a warning and the best transform so far.

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
    if not isinstance(structure, Structure):
        raise TypeError(
            f"structure must be Full(), Reflectors(m) or Rotations(g), "
            f"got {type(structure).__name__}"
        )
    if not (isinstance(tol, float | int) and tol >= 0):
        raise ValueError(f"tol must be a nonnegative number, got {tol!r}")
    source = ArraySource(Y)
    n = source.n_features
    if base is not None:
        _check_size(base, "base", n)
    if init is None:
        init = structure.default_init
    elif isinstance(init, Transform):
        _check_size(init, "init", n)
        init = _beyond(base, init)
    elif not isinstance(init, str):
        raise TypeError(f"init must be a name or a transform, got {type(init).__name__}")
    problem = Problem(
        source=source,
        base=base,
        n_nonzero_coefs=check_integer(n_nonzero_coefs, "n_nonzero_coefs", 1, n, "n_features"),
        random=as_generator(random_state),
        max_iter=check_integer(max_iter, "max_iter", 0, 2**31 - 1),
        tol=float(tol),
    )
    return alternate(problem, structure.fit_to(problem), init, callback, verbose)


def alternate(
    problem: Problem,
    structure: Structure,
    init: str | Transform,
    callback: Callback | None = None,
    verbose: bool = False,
) -> LearningResult:
    """The loop itself, on a checked problem."""
    # Threads do not help BLAS and LAPACK with small matrices, and hurt on a busy machine.
    small = problem.n_features <= _SMALL
    with single_threaded_blas if small else nullcontext():
        return _alternate(problem, structure, init, callback, verbose)


def _alternate(
    problem: Problem,
    structure: Structure,
    init: str | Transform,
    callback: Callback | None,
    verbose: bool,
) -> LearningResult:
    start = structure.initial(problem, init) if isinstance(init, str) else init
    transform = structure.restart(problem, start)
    statistic = problem.code(start)
    errors = [problem.error(statistic)]
    # A start outside the structure may be better than anything inside it.
    own_start = transform == start
    best, best_error = transform, errors[0] if own_start else np.inf
    progress = ProgressLine(verbose, problem.max_iter)
    converged = False
    try:
        while not converged and len(errors) <= problem.max_iter:
            transform = structure.update(problem, statistic, transform)
            statistic = problem.code(transform)
            error = problem.error(statistic)
            if len(errors) > 1 or own_start:
                _check_descent(problem, error, errors[-1], len(errors))
                converged = abs(errors[-1] - error) < problem.tol
            errors.append(error)
            if error <= best_error:
                best, best_error = transform, error
            progress.report(len(errors) - 1, error)
            if callback and callback(len(errors) - 1, error, _whole(problem.base, transform)):
                break
    except KeyboardInterrupt:
        warnings.warn(
            f"learning was interrupted after {len(errors) - 1} iterations; "
            "this is the best transform so far",
            RuntimeWarning,
            stacklevel=4,
        )
    finally:
        progress.close()
    return LearningResult(
        _whole(problem.base, best), np.array(errors), len(errors) - 1, bool(converged)
    )


def _check_descent(problem: Problem, error: float, before: float, iteration: int) -> None:
    # Coefficients carry rounding errors relative to the signal; their energy adds up at most
    # this far from the truth.
    slack = 16 * problem.source.rounding * np.sqrt(problem.n_features)
    if error > before + slack:
        warnings.warn(
            f"the relative error rose from {before:.12g} to {error:.12g} in iteration "
            f"{iteration}: this is a bug, please report it",
            ObjectiveRoseWarning,
            stacklevel=5,
        )


def _check_size(transform: Transform, name: str, n_features: int) -> None:
    if not isinstance(transform, Transform):
        raise TypeError(f"{name} must be a transform, got {type(transform).__name__}")
    if transform.n_features != n_features:
        raise ValueError(
            f"{name} has n_features={transform.n_features}, but Y has {n_features} features"
        )


def _whole(base: Transform | None, learned: Transform) -> Transform:
    return learned if base is None else Chain([base, learned])


def _beyond(base: Transform | None, transform: Transform) -> Transform:
    """What remains of a transform of signals when the base has been applied already."""
    if base is None:
        return transform
    prefix = Chain([base]).members
    if isinstance(transform, Chain) and transform.members[: len(prefix)] == prefix:
        rest = transform.members[len(prefix) :]
        if len(rest) == 1:
            return rest[0]
        if rest:
            return Chain(rest)
    return Dense(base.forward(transform.matrix.T).T)


def as_generator(
    random_state: int | np.random.Generator | np.random.RandomState | None,
) -> np.random.Generator:
    """What scikit-learn calls a random state, as NumPy's generator."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.Generator(random_state._bit_generator)
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise ValueError(
            f"random_state must be a nonnegative integer, a Generator or None, got {random_state!r}"
        ) from None
