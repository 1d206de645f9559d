"""Where an alternation is, and its next step."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from fost.learning.passes import REFILLS
from fost.learning.sources import Statistic
from fost.learning.structure import Problem, Structure
from fost.transforms import Coder, with_base


@dataclass(frozen=True)
class LearningResult:
    """What `learn` found, how it got there and why it stopped.

    Attributes
    ----------
    transform : Transform, Bank or Union
        What was learned; with a base, the chain of both.
    error : float
        Its relative error, ||Y - U X||_F^2 / ||Y||_F^2. With a threshold it is
        (||Y - U X||_F^2 + threshold^2 ||X||_0) / ||Y||_F^2, with missing entries that of the
        observed ones.
    errors : ndarray of shape (n_iter,)
        The relative error after each iteration. It never rises, but for unions, whose codes are
        not the best there are: `transform` is the best of all iterations.
    start_error : float
        The relative error of the start. It may lie below all of `errors` where the start is not
        of the structure: the DCT can be better than any single reflector.
    n_iter : int
        Iterations done.
    converged : bool
        Whether the error changed by less than `tol` in the last iteration.
    reseeded : ndarray of shape (n_iter,)
        How many members of a bank no signal used before each iteration, which replaced them as
        far as there were signals to learn others from.
    interrupted : bool
        Whether Ctrl-C ended it, so that this is the best of the iterations done so far.
    stopped : bool
        Whether the callback ended it.

    Examples
    --------
    >>> import fost, numpy as np
    >>> Y = np.cumsum(np.random.default_rng(0).standard_normal((500, 16)), axis=1)
    >>> result = fost.learn(Y, fost.Reflectors(4), 2, max_iter=5, tol=0)
    >>> result.n_iter, len(result.errors), bool(result.error == result.errors[-1])
    (5, 5, True)
    """

    transform: Coder
    error: float
    errors: NDArray[np.float64] = field(repr=False)
    start_error: float
    n_iter: int
    converged: bool
    reseeded: NDArray[np.intp] = field(repr=False)
    interrupted: bool = False
    stopped: bool = False


# As many times at most does a pass fill signals with gaps from their codes.
MOST_REFILLS = 4 * REFILLS


class InterruptedWarning(RuntimeWarning):
    """Ctrl-C ended the learning, and there is a result all the same.

    Examples
    --------
    >>> import fost
    >>> issubclass(fost.learning.InterruptedWarning, RuntimeWarning)
    True
    """


class ObjectiveRoseWarning(RuntimeWarning):
    """The error rose by more than rounding explains, which is a bug in a structure.

    Examples
    --------
    >>> import fost
    >>> issubclass(fost.learning.ObjectiveRoseWarning, RuntimeWarning)
    True
    """


@dataclass
class State:
    """The transform, the statistic of its codes, and the history: all that the next step needs."""

    transform: Coder
    statistic: Statistic
    start_error: float
    # A start outside the structure may be better than anything inside it.
    own_start: bool
    best: Coder
    best_error: float
    errors: list[float] = field(default_factory=list)
    reseeded: list[int] = field(default_factory=list)
    # How often a pass fills signals with gaps from their codes.
    refills: int = REFILLS
    # M of the step before, for momentum.
    earlier: NDArray[np.float64] | None = None

    @classmethod
    def at(cls, problem: Problem, structure: Structure, start: Coder) -> State:
        """The beginning, with the codes of any transform."""
        transform, statistic = structure.restart(problem, start), structure.code(problem, start)
        error = problem.error(statistic)
        return cls(transform, statistic, error, transform == start, transform, error)

    @property
    def n_iter(self) -> int:
        return len(self.errors)

    @property
    def last_error(self) -> float:
        """That of the last iteration, or of the start."""
        return self.errors[-1] if self.errors else self.start_error

    def converged(self, tol: float) -> bool:
        """Whether the last iteration changed the error by less than this.

        The first does not count after a start outside the structure.
        """
        if self.n_iter < (1 if self.own_start else 2):
            return False
        before = self.errors[-2] if self.n_iter > 1 else self.start_error
        return abs(before - self.errors[-1]) < tol

    def step(self, problem: Problem, structure: Structure) -> None:
        """One iteration: update the transform, code the signals.

        M is the gradient, by U, of ||X||_F^2 / 2, which is convex, and a step maximises <M, U^T>.
        With momentum it does so for M taken further than the last step changed it, as Nesterov's
        method takes gradients; where the error would rise, an ordinary step is taken instead.
        """
        self.reseeded.append(structure.n_unused(self.statistic))
        ahead, before = self._ahead(problem, structure), self.last_error
        transform = structure.update(problem, ahead or self.statistic, self.transform)
        statistic = structure.code(problem, transform, self.refills)
        if ahead and problem.error(statistic) > before:
            transform = structure.update(problem, self.statistic, self.transform)
            statistic = structure.code(problem, transform, self.refills)
        error = problem.error(statistic)
        first = self.n_iter == 0 and not self.own_start
        if problem.source.gaps and structure.never_rises:
            # Codes of a pass do not begin with those of the pass before, and need not be better.
            while error > before and self.refills < MOST_REFILLS:
                self.refills *= 2
                statistic = structure.code(problem, transform, self.refills)
                error = problem.error(statistic)
            if error > before and not first:  # a step that is not taken
                transform, statistic, error = self.transform, self.statistic, before
        if not first and structure.never_rises:
            _check_descent(problem, transform, error, before, self.n_iter + 1)
        if first or error <= self.best_error:
            self.best, self.best_error = transform, error
        self.earlier = self.statistic.matrix if problem.momentum else None
        self.transform, self.statistic = transform, statistic
        self.errors.append(error)

    def _ahead(self, problem: Problem, structure: Structure) -> Statistic | None:
        """The statistic taken further, where that is known to pay.

        Not with gaps, which other steps fill otherwise, nor where a member is to be replaced.
        """
        usual = structure.never_rises and not problem.source.gaps and not self.reseeded[-1]
        if self.earlier is None or not usual:
            return None
        matrix = self.statistic.matrix
        further = matrix + problem.momentum * (matrix - self.earlier)
        return replace(self.statistic, matrix=further)

    def result(
        self,
        problem: Problem,
        structure: Structure,
        interrupted: bool = False,
        stopped: bool = False,
    ) -> LearningResult:
        error = self.best_error
        if self.n_iter == 0 and not self.own_start:
            # What is returned is not the start, and has an error of its own.
            error = problem.error(structure.code(problem, self.best))
        return LearningResult(
            transform=self.best,
            error=error,
            errors=np.array(self.errors, dtype=np.float64),
            start_error=self.start_error,
            n_iter=self.n_iter,
            converged=self.converged(problem.tol),
            reseeded=np.array(self.reseeded, dtype=np.intp),
            interrupted=interrupted,
            stopped=stopped,
        )


def _check_descent(
    problem: Problem, transform: Coder, error: float, before: float, iteration: int
) -> None:
    # Coefficients carry rounding errors relative to the signal; their energy adds up at most
    # this far from the truth.
    slack = 16 * problem.source.rounding * np.sqrt(problem.n_features)
    if error > before + slack and error > before + slack + _lost(problem, transform):
        warnings.warn(
            f"the relative error rose from {before:.12g} to {error:.12g} in iteration "
            f"{iteration}: this is a bug, please report it",
            ObjectiveRoseWarning,
            stacklevel=6,  # the caller of learn, beyond the decorator
        )


def _lost(problem: Problem, transform: Coder) -> float:
    """How far the relative error may be off because signals come near the least numbers.

    Each operation on them may be off by the least number itself, and an orthonormal transform
    does not enlarge that: so may each coefficient by as many of them as there are operations,
    and ||X||_F by the root of the number of coefficients times that.
    """
    n_coefficients = problem.source.n_signals * problem.n_features
    each = problem.source.least * with_base(problem.base, transform).flops
    share = each * np.sqrt(n_coefficients / problem.total)
    return float(share * (2 + share))
