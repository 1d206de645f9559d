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
from fost._files import open_file, write_atomically
from fost._validation import check_integer, check_number, check_shape
from fost.learning.bank import BankOf
from fost.learning.sources import Statistic
from fost.learning.state import State
from fost.learning.structure import Problem, Structure
from fost.transforms import Bank, Transform, storage

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
        open_file(self._path).close()  # a folder or a pipe is an OSError, as everywhere
        random = self._problem.random.bit_generator
        with self._blaming_the_file():
            notes, arrays = _read(self._path)
            gram = self._checked_gram(notes, arrays)
            structure, state = _restored(notes, arrays, self._structure, self._problem)
            _check_random(notes["random"], random.state, "the state of random numbers")
            random.state = notes["random"]
        # The sums themselves, so that signals in other blocks make no difference.
        self._problem.__dict__["gram"] = gram
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
            reason = f"it has no {error}" if isinstance(error, KeyError) else str(error)
            raise CheckpointError(f"cannot resume from {str(self._path)!r}: {reason}") from error

    def _checked_gram(
        self, notes: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> NDArray[np.float64]:
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
        gram = _sums(arrays, "gram", mine.shape)
        if np.abs(gram - mine).max() > _SAME_SIGNALS * np.abs(mine).max():
            raise CheckpointError(f"{where} other signals: their sums of squares do not agree")
        return gram


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


def _decided(structure: Structure, fields: Any, problem: Problem) -> Structure:
    """A structure as it was decided, which is what was asked for but for what was "auto"."""
    if not isinstance(fields, dict) or not _fields(structure).keys() <= fields.keys():
        raise ValueError(f"it does not say what was decided about {structure!r}")
    values: dict[str, Any] = {}
    for name, saved in fields.items():
        asked = getattr(structure, name)
        if isinstance(asked, Structure):
            values[name] = _decided(asked, saved, problem)
        elif asked is None or asked == "auto":
            # There are n (n - 1) / 2 pairs of features, and no more reflectors than features.
            n = problem.n_features
            values[name] = check_integer(saved, name, 1, n * n, "n_features**2")
        elif asked != saved:
            raise ValueError(f"its structure has {name}={saved!r}, not {asked!r}")
    if values:
        structure = dataclasses.replace(structure, **values)  # type: ignore[type-var]
    return structure.fit_to(problem)


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
    """What a file says, each part of it checked against the problem: it may be forged."""
    structure = _decided(structure, notes["structure"], problem)
    transform, best = (
        _transform(notes[name], f"{name}.", arrays, structure, problem)
        for name in ("transform", "best")
    )
    errors = _sums(arrays, "errors", (None,))
    n_iter = len(errors) - 1
    if not 0 <= n_iter <= problem.max_iter or errors.min() < 0:
        raise ValueError(f"its {len(errors)} errors are not those of a run")
    reseeded = notes["reseeded"]
    if not isinstance(reseeded, list) or len(reseeded) != n_iter:
        raise ValueError("it does not say how many members were replaced in each iteration")
    state = State(
        transform=transform,
        statistic=Statistic(
            _sums(arrays, "statistic", (transform.n_atoms, problem.n_features)),
            check_number(notes["energy"], "energy", 0),
        ),
        errors=errors.tolist(),
        own_start=_flag(notes, "own_start"),
        best=best,
        best_error=check_number(notes["best_error"], "best_error", 0),
        converged=_flag(notes, "converged"),
        reseeded=[check_integer(count, "reseeded", 0, 2**31 - 1) for count in reseeded],
    )
    return structure, state


def _transform(
    described: Any,
    prefix: str,
    arrays: dict[str, NDArray[Any]],
    structure: Structure,
    problem: Problem,
) -> Any:
    """A transform of the structure, to the last bit: what restarting with it leaves in shape."""
    transform: Any = storage.build(described, prefix, arrays, exact=True)
    if transform.n_features != problem.n_features:
        raise ValueError(
            f"it has a transform of {transform.n_features} features, Y has {problem.n_features}"
        )
    many = isinstance(transform, Bank) and not isinstance(structure, BankOf)
    if many or _form(structure.restart(problem, transform)) != _form(transform):
        raise ValueError(f"it has a transform that is not of the structure, {transform!r}")
    return transform


def _form(transform: Any) -> Any:
    """All of a transform but its numbers."""
    arrays: dict[str, NDArray[Any]] = {}
    described = storage.describe(transform, "", arrays)
    return described, {name: array.shape for name, array in arrays.items()}


def _sums(
    arrays: dict[str, NDArray[Any]], name: str, shape: tuple[int | None, ...]
) -> NDArray[np.float64]:
    array = arrays[name]
    check_shape(array, name, shape)
    if array.dtype != np.float64 or not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite numbers in float64, got {array.dtype}")
    return array


def _flag(notes: dict[str, Any], name: str) -> bool:
    if not isinstance(notes[name], bool):
        raise ValueError(f"{name} must be true or false, got {notes[name]!r}")
    return bool(notes[name])


def _check_random(saved: Any, own: Any, name: str) -> None:
    """Raises where a state could not be one of these random numbers.

    NumPy takes any; a place beyond the end of a generator's numbers would be read all the same.
    """
    if isinstance(own, dict):
        if not isinstance(saved, dict) or saved.keys() != own.keys():
            raise ValueError(f"{name} is that of other random numbers")
        for key, value in own.items():
            _check_random(saved[key], value, key)
    elif isinstance(own, np.ndarray):
        if not isinstance(saved, list) or len(saved) != len(own):
            raise ValueError(f"{name} must be {len(own)} numbers")
        limit = int(np.iinfo(own.dtype).max)
        for number in saved:
            check_integer(number, name, 0, limit)
    elif not isinstance(own, int):
        if saved != own:
            raise ValueError(f"{name} must be {own!r}, got {saved!r}")
    else:
        # States have at most 128 bits; `pos` counts the 624 numbers of MT19937, `buffer_pos`
        # the 4 of Philox.
        check_integer(saved, name, 0, {"pos": 624, "buffer_pos": 4}.get(name, 2**128 - 1))
