"""Learning from batches that come one at a time and are not kept.

The loop of `fost.learn` with another statistic: instead of M of all signals, each batch adds its
own to a running sum, coded with the transform of that moment, and the transform is updated once.
M_t = w_t M_(t-1) + X_t Y_t^T, where w_t says how much is remembered.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from numpy.typing import ArrayLike

from fost._threads import single_threaded_blas
from fost._validation import as_generator, check_number
from fost.learning.sources import Statistic, share_lost
from fost.learning.structure import Problem, Structure
from fost.learning.task import Task
from fost.streams import Stream
from fost.transforms import Coder, with_base

# forgetting="auto": w_t = (1 - 1/t)^10. A batch that is half as old as the first one counts
# 1/1000: codes of bad transforms are forgotten soon, and more and more signals are averaged.
# With 3 the first ones linger, with 20 too little is averaged (error after 5 epochs).
_AUTO_POWER = 10

Forgetting = float | Literal["auto"]


class OnlineLearner:
    """A transform that is learned batch by batch.

    Each batch comes with the task as it is now. Where its structure or its base have changed,
    learning goes on from the transform so far, but with new sums: the old ones are of others.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self._random = as_generator(task.random_state)
        self._structure = task.structure
        self._current: Coder | None = None
        self._statistic: Statistic | None = None
        self.n_batches = 0

    @property
    def transform(self) -> Coder:
        """What has been learned so far, with the base."""
        assert self._current is not None, "there was no batch yet"
        return with_base(self._task.base, self._current)

    @single_threaded_blas
    def learn(self, Y: ArrayLike | Stream, task: Task, forgetting: Forgetting) -> float:
        """One pass over a batch and one update; the relative error of the batch before it."""
        forgetting = _checked_forgetting(forgetting)
        before, current = self._task, self._current
        if current is not None:
            same = (task.structure, task.base) == (before.structure, before.base)
            task = replace(task, init=None if same else self.transform)
            current = current if same else None
        same_numbers = task.random_state == before.random_state
        random = self._random if same_numbers else as_generator(task.random_state)
        problem, init = replace(task, random_state=random).problem(Y)
        if current is None:  # the first batch, or the first of another structure or base
            structure, sums = task.structure.fit_to(problem), None
            start = structure.start(problem, init)
            current = structure.restart(problem, start)
        else:
            structure, sums, start = self._structure, self._statistic, current
        found, total = _coded(problem, structure, start)
        sums = found if sums is None else self._added(sums, found, forgetting)
        self._current = structure.update(problem, sums, current)
        self._task, self._random, self._structure, self._statistic = task, random, structure, sums
        self.n_batches += 1
        return share_lost(found.energy, total)

    def _added(self, sums: Statistic, found: Statistic, forgetting: Forgetting) -> Statistic:
        """What is remembered of the sums so far, and those of one more batch."""
        if forgetting == "auto":
            weight = (1 - 1 / (self.n_batches + 1)) ** _AUTO_POWER
        else:
            weight = float(forgetting)
        matrix = weight * sums.matrix + found.matrix
        products = found.products
        if products is not None and sums.products is not None:
            products = weight * sums.products + products
        return Statistic(matrix, weight * sums.energy + found.energy, products=products)


def _coded(problem: Problem, structure: Structure, coder: Coder) -> tuple[Statistic, float]:
    """One pass over a batch, and its ||Y||_F^2, from the same pass where that has it."""
    if not structure.never_rises:
        return structure.code(problem, coder), problem.total
    found = problem.source.statistic(problem.base, coder, problem.rule, with_total=True)
    assert found.total is not None
    return found, found.total


def _checked_forgetting(forgetting: object) -> Forgetting:
    if isinstance(forgetting, str):
        if forgetting != "auto":
            raise ValueError(
                f"forgetting must be 'auto' or a number from 0 to 1, got {forgetting!r}"
            )
        return "auto"
    return check_number(forgetting, "forgetting", 0, 1)
