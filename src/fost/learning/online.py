"""Learning from batches that come one at a time and are not kept.

The loop of `fost.learn` with another statistic: instead of M of all signals, each batch adds its
own to a running sum, coded with the transform of that moment, and the transform is updated once.
M_t = w_t M_(t-1) + X_t Y_t^T, where w_t says how much is remembered.
"""

from __future__ import annotations

from typing import Any, Literal

from fost._threads import single_threaded_blas
from fost._validation import check_number
from fost.learning.loop import RandomState, as_generator, prepare
from fost.learning.sources import Statistic
from fost.learning.structure import Structure
from fost.transforms import Transform, with_base

# forgetting="auto": w_t = (1 - 1/t)^10. A batch that is half as old as the first one counts
# 1/1000: codes of bad transforms are forgotten soon, and more and more signals are averaged.
# With 3 the first ones linger, with 20 too little is averaged (error after 5 epochs).
_AUTO_POWER = 10

Forgetting = float | Literal["auto"]


class OnlineLearner:
    """A transform that is learned batch by batch."""

    def __init__(
        self,
        structure: Structure,
        n_nonzero_coefs: int,
        base: Transform | None,
        init: str | Transform | None,
        random_state: RandomState,
        forgetting: Forgetting,
    ) -> None:
        self._forgetting = _checked_forgetting(forgetting)
        self._structure = structure
        self._n_nonzero_coefs = n_nonzero_coefs
        self._base, self._init = base, init
        self._random = as_generator(random_state)
        self._current: Transform | None = None
        self._statistic: Statistic | None = None
        self.n_batches = 0

    @property
    def transform(self) -> Transform:
        """What has been learned so far, with the base."""
        assert self._current is not None, "there was no batch yet"
        whole: Transform = with_base(self._base, self._current)
        return whole

    @single_threaded_blas
    def learn(self, Y: Any) -> float:
        """One pass over a batch and one update; the relative error of the batch before it."""
        problem, init = prepare(
            Y, self._structure, self._n_nonzero_coefs, self._base, self._init, 1, 0, self._random
        )
        if self._current is None:
            self._structure = self._structure.fit_to(problem)
            start = self._structure.start(problem, init)
            self._current = self._structure.restart(problem, start)
        else:
            start = self._current
        s = problem.n_nonzero_coefs
        found, total = problem.source.statistic_and_total(self._base, start, s)
        self.n_batches += 1
        self._statistic = self._added(found)
        self._current = self._structure.update(problem, self._statistic, self._current)
        return max(0.0, 1.0 - found.energy / total) if total > 0 else 0.0

    def _added(self, found: Statistic) -> Statistic:
        before = self._statistic
        if before is None:
            return found
        if self._forgetting == "auto":
            weight = (1 - 1 / self.n_batches) ** _AUTO_POWER
        else:
            weight = float(self._forgetting)
        matrix = weight * before.matrix + found.matrix
        return Statistic(matrix, weight * before.energy + found.energy)


def _checked_forgetting(forgetting: Any) -> Forgetting:
    if isinstance(forgetting, str):
        if forgetting != "auto":
            raise ValueError(
                f"forgetting must be 'auto' or a number from 0 to 1, got {forgetting!r}"
            )
        return "auto"
    return check_number(forgetting, "forgetting", 0, 1)
