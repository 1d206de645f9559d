"""Files from which interrupted learning goes on as if nothing had happened.

A checkpoint is a .safetensors file without pickles: the transform, the statistic, the best
transform so far, the history and the state of the random numbers, and the signals' Gram matrix
and the settings, by which other signals and other settings are noticed. What is read back is
equal to the last bit, so a resumed run ends as an uninterrupted one does.
"""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

import fost
from fost._checkpoints import Arrays, CheckpointError, KeptFile, restore_random, seed_of, sums
from fost.learning.restored import FORMAT, VERSION, decided_fields, restored
from fost.learning.state import State
from fost.learning.structure import Problem, Structure
from fost.transforms import Coder, storage

__all__ = ["Checkpoint", "CheckpointError"]

# A file is written when so many iterations or seconds have gone by since the last one.
_ITERATIONS = 10
_SECONDS = 5.0


class Checkpoint:
    """Where an alternation is written to from time to time, and read back from.

    `seeded` says whether the random numbers of the problem were asked for: if not, any will do.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        problem: Problem,
        structure: Structure,
        init: str | Coder,
        seeded: bool,
    ) -> None:
        self._file = KeptFile(path, FORMAT, VERSION)
        self._problem = problem
        self._settings = _settings(problem, structure, init, seeded)
        self._structure = structure
        self._written_at, self._written_iter = time.monotonic(), 0

    def resume(self) -> tuple[Structure, State] | None:
        """The structure, as it was decided, and the state; None where there is no file yet."""
        if not self._file.exists:
            return None
        with self._file.blamed():
            notes, arrays = self._file.read(self._settings)
            own = self._problem.gram
            gram = sums(arrays, "gram", own.shape)
            self._file.check_signals(gram, own, "sums of squares")
            structure, state = restored(notes, arrays, self._structure, self._problem)
            restore_random(self._problem.random, notes["random"])
        # The sums themselves, so that signals in other blocks make no difference.
        self._problem.__dict__["gram"] = gram
        self._written_iter = state.n_iter
        return structure, state

    def save(self, structure: Structure, state: State) -> None:
        """Write the file, in one step."""
        arrays: Arrays = {
            "gram": self._problem.gram,
            "statistic": state.statistic.matrix,
            "errors": np.array(state.errors, dtype=np.float64),
        }
        if state.statistic.products is not None:
            arrays["products"] = state.statistic.products
        notes = {
            "settings": self._settings,
            "structure": decided_fields(structure),
            "transform": storage.describe(state.transform, "transform.", arrays),
            "best": storage.describe(state.best, "best.", arrays),
            "best_error": state.best_error,
            "start_error": state.start_error,
            "energy": state.statistic.energy,
            "own_start": state.own_start,
            "reseeded": state.reseeded,
            "refills": state.refills,
            "random": self._problem.random.bit_generator.state,
        }
        self._file.write(notes, arrays)
        self._written_at, self._written_iter = time.monotonic(), state.n_iter

    def save_if_due(self, structure: Structure, state: State) -> None:
        iterations = state.n_iter - self._written_iter
        if iterations >= _ITERATIONS or time.monotonic() - self._written_at >= _SECONDS:
            self.save(structure, state)


def _settings(
    problem: Problem, structure: Structure, init: str | Coder, seeded: bool
) -> dict[str, Any]:
    """What must be the same for a run to go on, as plain data: all but when it ends."""
    return {
        "fost": fost.__version__,
        "n_signals": problem.source.n_given,
        "n_features": problem.n_features,
        "rounding": problem.source.rounding,
        "structure": repr(structure),
        "n_nonzero_coefs": problem.n_nonzero_coefs,
        "threshold": problem.threshold,
        "base": None if problem.base is None else storage.checksum(problem.base),
        "init": init if isinstance(init, str) else storage.checksum(init),
        "random_state": seed_of(problem.random) if seeded else None,
    }
