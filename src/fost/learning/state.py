"""The state of the alternating minimisation, one iteration of it, and its result."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from fost._warnings import external_stacklevel
from fost.learning.missing import REFILLS
from fost.learning.statistics import Statistic, error_from_energy
from fost.learning.structure import Problem, Structure, check_update
from fost.transforms import Coder, Transform, with_base

# A pass fills missing entries from codes at most so many times.
MAX_REFILLS = 4 * REFILLS
# Learning stops after so many iterations without progress.
_PATIENCE = 10


@dataclass(frozen=True)
class LearningResult:
    r"""The learned transform, the history of its error and the reason why learning stopped.

    Attributes
    ----------
    transform : Transform, Bank or Union
        The learned transform; with a base, the chain of both.
    error : float
        Its relative error, :math:`\|Y - U X\|_F^2 / \|Y\|_F^2`. With a threshold it is
        :math:`(\|Y - U X\|_F^2 + \text{threshold}^2 \|X\|_0) / \|Y\|_F^2`. With missing entries
        the norms are over observed entries.
    errors : ndarray of shape (n_iter,)
        The relative error after each iteration. It never increases, except for unions, whose
        codes are not optimal: `transform` is the best of all iterations.
    start_error : float
        The relative error of the start. It may be smaller than all of `errors` if the start is
        not of the structure: the DCT can be better than any single reflector.
    n_iter : int
        The number of iterations.
    converged : bool
        Whether the error changed by less than `tol` in the last iteration.
    reseeded : ndarray of shape (n_iter,)
        The number of unused members of a bank before each iteration. The iteration replaced them
        if there were signals to learn new members from.
    interrupted : bool
        Whether Ctrl-C stopped learning, so that this is the best of the iterations so far.
    stopped : bool
        Whether the callback stopped learning.
    base : Transform or None
        The base under the learned transform.
    init_errors : ndarray of shape (n_starts,)
        The relative error of each start after a few iterations on a sample; empty if `n_init` is
        1. The best start was continued.

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
    base: Transform | None = field(default=None, repr=False)
    init_errors: NDArray[np.float64] = field(default_factory=lambda: np.empty(0), repr=False)


class InterruptedWarning(RuntimeWarning):
    """Ctrl-C stopped learning; the best result so far is returned.

    Examples
    --------
    >>> import fost
    >>> issubclass(fost.learning.InterruptedWarning, RuntimeWarning)
    True
    """


class ObjectiveRoseWarning(RuntimeWarning):
    """The error increased by more than rounding explains, which is a bug in a structure.

    Examples
    --------
    >>> import fost
    >>> issubclass(fost.learning.ObjectiveRoseWarning, RuntimeWarning)
    True
    """


@dataclass
class LearningState:
    """The transform, the statistic of its codes, and the history of the errors."""

    transform: Coder
    statistic: Statistic
    start_error: float
    # Whether the start is of the structure. Other starts may be better than any transform in it.
    own_start: bool
    best: Coder
    best_error: float
    errors: list[float] = field(default_factory=list)
    reseeded: list[int] = field(default_factory=list)
    # How often a pass fills missing entries from codes.
    refills: int = REFILLS
    # M of the iteration before, for momentum.
    previous_matrix: NDArray[np.float64] | None = None

    @classmethod
    def begin(cls, problem: Problem, structure: Structure, start: Coder) -> LearningState:
        """The state before the first iteration, with the codes of any coder."""
        total = problem.signal_energy  # first, because it finds signals that overflow
        transform = structure.build(problem, start)
        statistic = structure.statistic(problem, start)
        error = error_from_energy(statistic.energy, total)
        own_start = transform is start or transform == start
        return cls(transform, statistic, error, own_start, transform, error)

    @property
    def n_iter(self) -> int:
        return len(self.errors)

    def converged(self, tol: float) -> bool:
        """Whether the last iteration changed the error by less than `tol`.

        The first iteration does not count after a start outside the structure. Errors that go up
        and down, as those of unions, have converged if the last iterations reduced the smallest
        error by less than `tol`.
        """
        if len(self.errors) < (1 if self.own_start else 2):
            return False
        before = self.errors[-2] if len(self.errors) > 1 else self.start_error
        return abs(before - self.errors[-1]) < tol or no_progress(self.errors, tol)

    def step(self, problem: Problem, structure: Structure) -> None:
        """One iteration: update the transform from M, then code the signals.

        M is the gradient of the convex function ||X||_F^2 / 2 with respect to U, and an update
        maximises <M, U^T>. With momentum the update uses M extrapolated from the last two
        iterations, as in Nesterov's method. An update that would increase the error is repeated
        without momentum.
        """
        self.reseeded.append(structure.n_unused(self.statistic))
        before = self.errors[-1] if self.errors else self.start_error
        first = not self.errors and not self.own_start
        total = problem.signal_energy
        extrapolated = self._extrapolated(problem, structure)
        transform = structure.update(problem, extrapolated or self.statistic, self.transform)
        check_update(transform, structure)
        statistic = structure.statistic(problem, transform, self.refills)
        error = error_from_energy(statistic.energy, total)
        if extrapolated and error > before:
            transform = structure.update(problem, self.statistic, self.transform)
            statistic = structure.statistic(problem, transform, self.refills)
            error = error_from_energy(statistic.energy, total)
        if problem.data.has_missing and structure.is_monotone:
            # Each pass fills missing entries anew, so that its codes may be worse than the codes
            # of the pass before. More refills improve them.
            while error > before and self.refills < MAX_REFILLS:
                self.refills *= 2
                statistic = structure.statistic(problem, transform, self.refills)
                error = error_from_energy(statistic.energy, total)
            if error > before and not first:  # reject the update
                transform, statistic, error = self.transform, self.statistic, before
        if not first and structure.is_monotone:
            self._check_descent(problem, structure, transform, error, before)
        if first or error <= self.best_error:
            self.best, self.best_error = transform, error
        has_momentum = problem.momentum or structure.momentum
        self.previous_matrix = self.statistic.matrix if has_momentum else None
        self.transform, self.statistic = transform, statistic
        self.errors.append(error)

    def _extrapolated(self, problem: Problem, structure: Structure) -> Statistic | None:
        """The statistic extrapolated by momentum; None where momentum does not apply.

        That is the case with missing entries, which each step fills differently, and before a
        member is replaced.
        """
        if self.previous_matrix is None or problem.data.has_missing:
            return None
        if not structure.is_monotone or self.reseeded[-1]:
            return None
        matrix = self.statistic.matrix
        momentum = max(problem.momentum, structure.momentum)
        further = matrix + momentum * (matrix - self.previous_matrix)
        return replace(self.statistic, matrix=further)

    def _check_descent(
        self,
        problem: Problem,
        structure: Structure,
        transform: Coder,
        error: float,
        before: float,
    ) -> None:
        """Warn if the error increased by more than rounding explains."""
        # Coefficients have rounding errors relative to the signal; the first term bounds the error
        # of the sum of their squares. The second is for the parameters: each operation scales
        # coefficients by a norm that is one up to rounding in float64.
        slack = 16 * problem.data.rounding * np.sqrt(problem.n_features)
        slack += np.finfo(np.float64).eps * with_base(problem.base, transform).flops
        if error <= before + slack or error <= before + slack + _underflow(problem, transform):
            return
        members = getattr(structure, "structure", structure)  # of a bank
        own = type(members if structure.is_collection else structure)
        reason = "this is a bug, please report it"
        if own.__module__.partition(".")[0] != "fost":
            reason = f"{own.__name__}.update must not increase the error for given codes"
        warnings.warn(
            f"the relative error rose from {before:.12g} to {error:.12g} in iteration "
            f"{self.n_iter + 1}: {reason}",
            ObjectiveRoseWarning,
            stacklevel=external_stacklevel(),
        )

    def result(
        self,
        problem: Problem,
        structure: Structure,
        interrupted: bool = False,
        stopped: bool = False,
    ) -> LearningResult:
        """The best transform so far, without the base."""
        error = self.best_error
        if not self.errors and not self.own_start:
            # The returned transform is not the start, so its error is not known yet.
            statistic = structure.statistic(problem, self.best)
            error = error_from_energy(statistic.energy, problem.signal_energy)
        return LearningResult(
            transform=self.best,
            error=error,
            errors=np.array(self.errors, dtype=np.float64),
            start_error=self.start_error,
            n_iter=len(self.errors),
            converged=self.converged(problem.tol),
            reseeded=np.array(self.reseeded, dtype=np.intp),
            interrupted=interrupted,
            stopped=stopped,
        )


def no_progress(errors: list[float], tol: float) -> bool:
    """Whether the last iterations reduced the smallest error by less than `tol`."""
    if len(errors) <= _PATIENCE or tol == 0:
        return False
    return min(errors[-_PATIENCE:]) > min(errors[:-_PATIENCE]) - tol


def _underflow(problem: Problem, transform: Coder) -> float:
    """A bound of the error of the relative error due to underflow.

    Each operation on tiny signals has an absolute error of up to the smallest number, which an
    orthonormal transform does not enlarge. Each coefficient thus has at most `flops` such errors,
    and ||X||_F has that times the square root of the number of coefficients.
    """
    n_coefficients = problem.data.n_signals * problem.n_features
    each = problem.data.smallest * with_base(problem.base, transform).flops
    share = each * np.sqrt(n_coefficients / problem.signal_energy)
    return float(share * (2 + share))
