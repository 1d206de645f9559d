"""Files from which interrupted learning goes on as if nothing had happened.

A checkpoint is a .safetensors file without pickles: the transform, the statistic, the best
transform so far, the history and the state of the random numbers, and the signals' Gram matrix
and the settings, by which other signals and other settings are noticed. What is read back is
equal to the last bit, so a resumed run ends as an uninterrupted one does.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

import fost
from fost._files import write_atomically
from fost.learning.sources import Statistic
from fost.learning.state import State
from fost.learning.structure import Problem, Structure
from fost.transforms import Transform, storage

FORMAT = "fost checkpoint"
VERSION = "2"

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
        init: str | Transform,
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
        with self._blaming_the_file():
            notes, arrays = _read(self._path)
            self._check(notes, arrays["gram"])
            structure, state = _restored(notes, arrays, self._structure, self._problem)
        # The sums themselves, so that signals in other blocks make no difference.
        self._problem.__dict__["gram"] = arrays["gram"]
        self._problem.random.bit_generator.state = notes["random"]
        self._written_iter = state.n_iter
        return structure, state

    def save(self, structure: Structure, state: State) -> None:
        """Write the file, in one step."""
        arrays = {
            "gram": self._problem.gram,
            "statistic": state.statistic.matrix,
            "errors": np.array(state.errors),
        }
        notes = {
            "settings": self._settings,
            "structure": _fields(structure),
            "transform": storage.describe(state.transform, "transform.", arrays),
            "best": storage.describe(state.best, "best.", arrays),
            "best_error": state.best_error,
            "energy": state.statistic.energy,
            "own_start": state.own_start,
            "converged": state.converged,
            "reseeded": state.reseeded,
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
            raise CheckpointError(f"cannot resume from {str(self._path)!r}: {error}") from error

    def _check(self, notes: dict[str, Any], gram: NDArray[np.float64]) -> None:
        """Raises a CheckpointError unless the file is of these settings and these signals."""
        where = f"cannot resume from {str(self._path)!r}: it is of"
        saved = notes["settings"]
        for name, value in self._settings.items():
            if saved.get(name) != value:
                what = "another version" if name == "fost" else "other signals or settings"
                raise CheckpointError(
                    f"{where} {what}: {name} was {saved.get(name)!r} and is now {value!r}"
                )
        mine = self._problem.gram
        if np.abs(gram - mine).max() > _SAME_SIGNALS * np.abs(mine).max():
            raise CheckpointError(f"{where} other signals: their sums of squares do not agree")


def _settings(
    problem: Problem, structure: Structure, init: str | Transform, seeded: bool
) -> dict[str, Any]:
    """What must be the same for a run to go on, as plain data."""
    state = json.dumps(problem.random.bit_generator.state, default=lambda array: array.tolist())
    return {
        "fost": fost.__version__,
        "n_signals": problem.source.n_signals,
        "n_features": problem.n_features,
        "rounding": problem.source.rounding,
        "structure": repr(structure),
        "n_nonzero_coefs": problem.n_nonzero_coefs,
        "base": None if problem.base is None else storage.checksum(problem.base),
        "init": init if isinstance(init, str) else storage.checksum(init),
        "max_iter": problem.max_iter,
        "tol": problem.tol,
        "random_state": hashlib.sha256(state.encode()).hexdigest() if seeded else None,
    }


def _fields(structure: Structure) -> dict[str, Any]:
    """What was decided about a structure, such as the number of reflectors for "auto"."""
    if not dataclasses.is_dataclass(structure):
        return {}
    values = {f.name: getattr(structure, f.name) for f in dataclasses.fields(structure) if f.init}
    plain = {k: v for k, v in values.items() if isinstance(v, bool | int | float | str)}
    return plain | {k: _fields(v) for k, v in values.items() if isinstance(v, Structure)}


def _decided(structure: Structure, fields: dict[str, Any], problem: Problem) -> Structure:
    """A structure as it was decided."""
    if not fields:
        return structure.fit_to(problem)
    values = {
        name: _decided(getattr(structure, name), value, problem)
        if isinstance(value, dict)
        else value
        for name, value in fields.items()
    }
    return dataclasses.replace(structure, **values)  # type: ignore[type-var]


def _read(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    with safetensors.safe_open(str(path), framework="numpy") as file:
        header = file.metadata() or {}
        if header.get("format") != FORMAT:
            raise ValueError("it is not a checkpoint of fost")
        if header.get("version") != VERSION:
            raise ValueError(
                f"it has version {header.get('version')!r} of the format, "
                f"this fost reads version {VERSION!r}"
            )
        arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    text = header.get("state", "")
    if header.get("checksum") != storage.digest(text, arrays):
        raise ValueError("its checksum does not match, it is damaged")
    return json.loads(text), arrays


def _restored(
    notes: dict[str, Any], arrays: dict[str, NDArray[Any]], structure: Structure, problem: Problem
) -> tuple[Structure, State]:
    structure = _decided(structure, notes["structure"], problem)
    state = State(
        transform=storage.build(notes["transform"], "transform.", arrays, exact=True),
        statistic=Statistic(arrays["statistic"], notes["energy"]),
        errors=arrays["errors"].tolist(),
        own_start=notes["own_start"],
        best=storage.build(notes["best"], "best.", arrays, exact=True),
        best_error=notes["best_error"],
        converged=notes["converged"],
        reseeded=notes["reseeded"],
    )
    return structure, state
