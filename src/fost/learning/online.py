"""Online learning from batches of signals that are not stored.

1. Code a batch with the current transform.
2. Add its statistic to a running sum, M_t = w_t M_(t-1) + X_t Y_t^T, with a forgetting factor w_t.
3. Update the transform once from M_t.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from numpy.typing import ArrayLike

from fost._threads import single_threaded_blas
from fost._validation import as_generator, check_number
from fost.learning.learn import LearningOptions
from fost.learning.statistics import Statistic, error_from_energy
from fost.learning.structure import Problem, Structure
from fost.streams import Stream
from fost.transforms import Coder, Transform, with_base

# forgetting="auto": w_t = (1 - 1/t)^10. A batch that is half as old as the first batch has weight
# 1/1000, so that codes of early transforms are soon forgotten while the average grows. With a power
# of 3 early codes persist too long; with 20 too few signals are averaged (error after 5 epochs).
_AUTO_POWER = 10

Forgetting = float | Literal["auto"]


class OnlineLearner:
    """A transform that is learned batch by batch.

    Each batch comes with the current options. If the structure or the base has changed, learning
    continues from the current transform with new sums.
    """

    def __init__(self, options: LearningOptions) -> None:
        self._options = options
        self._random = as_generator(options.random_state)
        self._structure = options.structure
        self._current: Coder | None = None
        self.base: Transform | None = None
        self._statistic: Statistic | None = None
        self.n_batches = 0

    @property
    def transform(self) -> Coder:
        """The current transform, with the base."""
        assert self._current is not None, "there was no batch yet"
        return with_base(self.base, self._current)

    @single_threaded_blas
    def learn_batch(
        self, Y: ArrayLike | Stream, options: LearningOptions, forgetting: Forgetting
    ) -> float:
        """One pass over a batch and one update; returns the error before the update."""
        forgetting = _check_forgetting(forgetting)
        before, current, given = self._options, self._current, options
        if current is not None:
            same = (options.structure, options.base) == (before.structure, before.base)
            if same:
                options = replace(options, init=None, base=self.base)
            else:
                options, current = replace(options, init=self.transform), None
        same_seed = options.random_state == before.random_state
        random = self._random if same_seed else as_generator(options.random_state)
        problem, init = replace(options, random_state=random).problem(Y)
        if current is None:  # the first batch, or the first of another structure or base
            structure, sums = options.structure.fit_to(problem), None
            if isinstance(init, str):
                start = structure.initialise(problem, init)
            else:
                start = structure.adapt(problem, init)
            current = structure.build(problem, start)
        else:
            structure, sums, start = self._structure, self._statistic, current
        found, total = _encode_batch(problem, structure, start)
        sums = found if sums is None else self._add(sums, found, forgetting)
        self._current = structure.update(problem, sums, current)
        self._options, self._random, self.base = given, random, problem.base
        self._structure, self._statistic = structure, sums
        self.n_batches += 1
        return error_from_energy(found.energy, total)

    def _add(self, sums: Statistic, found: Statistic, forgetting: Forgetting) -> Statistic:
        """The weighted sum of the statistic so far and the statistic of one more batch."""
        if forgetting == "auto":
            weight = (1 - 1 / (self.n_batches + 1)) ** _AUTO_POWER
        else:
            weight = float(forgetting)
        matrix = weight * sums.matrix + found.matrix
        products = found.products
        if products is not None and sums.products is not None:
            products = weight * sums.products + products
        return Statistic(matrix, weight * sums.energy + found.energy, products=products)


def _encode_batch(problem: Problem, structure: Structure, coder: Coder) -> tuple[Statistic, float]:
    """The statistic of a batch and its ||Y||_F^2, from one pass if the structure allows."""
    if not structure.is_monotone:
        return structure.statistic(problem, coder), problem.signal_energy
    found = problem.data.statistic(problem.base, coder, problem.rule, with_energy=True)
    assert found.signal_energy is not None
    return found, found.signal_energy


def _check_forgetting(forgetting: object) -> Forgetting:
    if isinstance(forgetting, str):
        if forgetting != "auto":
            raise ValueError(
                f"forgetting must be 'auto' or a number from 0 to 1, got {forgetting!r}"
            )
        return "auto"
    return check_number(forgetting, "forgetting", 0, 1)
