"""Files from which interrupted learning goes on as if nothing had happened.

A checkpoint is a .safetensors file without pickles: the transform, the statistic, the best
transform so far, the history and the state of the random numbers, and the signals' Gram matrix
and the settings, by which other signals and other settings are noticed. What is read back is
equal to the last bit, so a resumed run ends as an uninterrupted one does.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray

import fost
from fost._files import open_file, write_atomically
from fost.learning.restored import (
    FORMAT,
    VERSION,
    Arrays,
    Notes,
    check_random,
    decided_fields,
    read,
    restored,
    sums,
)
from fost.learning.state import State
from fost.learning.structure import Problem, Structure
from fost.transforms import Coder, storage

# A file is written when so many iterations or seconds have gone by since the last one.
_ITERATIONS = 10
_SECONDS = 5.0
# Sums over the same signals in other blocks agree within this, relative to the largest.
_SAME_SIGNALS = 1e-8


class CheckpointError(ValueError):
    """A checkpoint that cannot be resumed: it is damaged, or of something else."""


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
        self._path = Path(os.fspath(path))
        self._problem = problem
        self._settings = _settings(problem, structure, init, seeded)
        self._structure = structure
        self._written_at, self._written_iter = time.monotonic(), 0

    def resume(self) -> tuple[Structure, State] | None:
        """The structure, as it was decided, and the state; None where there is no file yet."""
        if not self._path.exists():
            return None
        open_file(self._path).close()  # a folder or a pipe is an OSError, as everywhere
        random = self._problem.random.bit_generator
        with self._blaming_the_file():
            notes, arrays = read(self._path)
            gram = self._checked_gram(notes, arrays)
            structure, state = restored(notes, arrays, self._structure, self._problem)
            check_random(notes["random"], random.state, "the state of random numbers")
            random.state = notes["random"]
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
        text = json.dumps(notes, sort_keys=True, default=lambda array: array.tolist())
        header = {
            "format": FORMAT,
            "version": VERSION,
            "state": text,
            "checksum": storage.digest(text, arrays),
        }
        write_atomically(self._path, safetensors.numpy.save(arrays, header))
        self._written_at, self._written_iter = time.monotonic(), state.n_iter

    def save_if_due(self, structure: Structure, state: State) -> None:
        iterations = state.n_iter - self._written_iter
        if iterations >= _ITERATIONS or time.monotonic() - self._written_at >= _SECONDS:
            self.save(structure, state)

    @contextmanager
    def _blaming_the_file(self) -> Iterator[None]:
        try:
            yield
        except (CheckpointError, MemoryError, OSError):
            raise
        except Exception as error:
            reason = f"it has no {error}" if isinstance(error, KeyError) else str(error)
            raise CheckpointError(f"cannot resume from {str(self._path)!r}: {reason}") from error

    def _checked_gram(self, notes: Notes, arrays: Arrays) -> NDArray[np.float64]:
        """Y^T Y; a CheckpointError unless the file is of these settings and these signals."""
        where = f"cannot resume from {str(self._path)!r}: it is of"
        saved = notes["settings"]
        for name, value in self._settings.items():
            if saved.get(name) != value:
                what = "another version" if name == "fost" else "other signals or settings"
                raise CheckpointError(
                    f"{where} {what}: {name} was {saved.get(name)!r} and is now {value!r}"
                )
        mine = self._problem.gram
        gram = sums(arrays, "gram", mine.shape)
        if np.abs(gram - mine).max() > _SAME_SIGNALS * np.abs(mine).max():
            raise CheckpointError(f"{where} other signals: their sums of squares do not agree")
        return gram


def _settings(
    problem: Problem, structure: Structure, init: str | Coder, seeded: bool
) -> dict[str, Any]:
    """What must be the same for a run to go on, as plain data: all but when it ends."""
    state = json.dumps(problem.random.bit_generator.state, default=lambda array: array.tolist())
    return {
        "fost": fost.__version__,
        "n_signals": problem.source.n_signals,
        "n_features": problem.n_features,
        "rounding": problem.source.rounding,
        "structure": repr(structure),
        "n_nonzero_coefs": problem.n_nonzero_coefs,
        "threshold": problem.threshold,
        "base": None if problem.base is None else storage.checksum(problem.base),
        "init": init if isinstance(init, str) else storage.checksum(init),
        "random_state": hashlib.sha256(state.encode()).hexdigest() if seeded else None,
    }
