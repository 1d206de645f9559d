"""Checkpoints of learning: a run that resumes from one gives a bit-identical result.

A checkpoint contains the transform, the statistic, the best transform so far, the history and the
state of the random numbers. It also contains the Gram matrix of the signals and the options, to
detect other signals and other options. A file may be damaged or forged, so every part is checked.
"""

from __future__ import annotations

import dataclasses
import os
import time
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import fost
from fost._checkpoints import (
    Arrays,
    CheckpointFile,
    Notes,
    finite_array,
    random_state_hash,
    restore_random,
)
from fost._validation import RandomState, check_integer, check_number
from fost.learning.state import MAX_REFILLS, LearningState
from fost.learning.statistics import Statistic
from fost.learning.structure import Problem, Structure, with_fields
from fost.transforms import Coder, Transform, storage

if TYPE_CHECKING:
    from fost.learning.learn import LearningOptions

_FORMAT, _VERSION = "fost checkpoint", "7"
# A file is written when so many iterations or seconds have passed since the last one.
_ITERATIONS = 10
_SECONDS = 5.0


class LearningCheckpoint:
    """The checkpoint file of one run of `fost.learn`.

    Parameters
    ----------
    path : path
    problem : Problem
    structure : Structure
        As it was given, before `fit_to`.
    init : str or Coder
    options : LearningOptions
        As they were given. Without a seed, any random numbers continue a run.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        problem: Problem,
        structure: Structure,
        init: str | Coder,
        options: LearningOptions,
    ) -> None:
        self._file = CheckpointFile(path, _FORMAT, _VERSION)
        self._problem, self._structure = problem, structure
        self._chooses_base = options.chooses_base
        self._init_errors: NDArray[np.float64] = np.empty(0)
        base = None if problem.base is None else _label(problem.base)
        self._options: Notes = {
            "fost": fost.__version__,
            "n_signals": problem.data.n_given,
            "n_features": problem.n_features,
            "rounding": problem.data.rounding,
            "structure": repr(structure),
            "n_nonzero_coefs": problem.n_nonzero_coefs,
            "threshold": problem.threshold,
            "base": "auto" if options.chooses_base else base,
            "n_init": int(options.n_init),
            "init": init if isinstance(init, str) else _label(init),
            "random_state": _seed_label(options.random_state, problem.random),
        }
        self._written_at, self._written_iter = time.monotonic(), 0

    @property
    def exists(self) -> bool:
        """Whether there is a file to resume from."""
        return self._file.exists

    def begin(self, problem: Problem, init_errors: NDArray[np.float64]) -> None:
        """The run begins with this problem, after its start was chosen."""
        self._problem, self._init_errors = problem, init_errors

    def resume(self) -> tuple[Problem, Structure, LearningState, NDArray[np.float64]]:
        """The saved problem, the fitted structure, the state, and the errors of all starts."""
        problem = self._problem
        with self._file.blamed():
            notes, arrays = self._file.read(self._options)
            if self._chooses_base:
                base = _base(notes["base"], arrays, problem.n_features)
                problem = dataclasses.replace(problem, base=base)
            self._init_errors = finite_array(arrays, "init_errors", (None,))
            gram = finite_array(arrays, "gram", problem.gram.shape)
            self._file.check_signals(gram, problem.gram, "sums of squares")
            structure = _fitted(self._structure, notes["structure"], problem)
            state = _state(notes, arrays, structure, problem)
            restore_random(problem.random, notes["random"])
            if (seed := notes["sample_seed"]) is not None:
                seed = check_integer(seed, "sample_seed", 0, 2**63 - 1)
        data = problem.data.with_random(problem.random, seed)
        self._problem = dataclasses.replace(problem, data=data, saved_gram=gram)
        self._written_iter = state.n_iter
        return self._problem, structure, state, self._init_errors

    def save(self, structure: Structure, state: LearningState) -> None:
        """Write the file atomically."""
        arrays: Arrays = {
            "gram": self._problem.gram,
            "statistic": state.statistic.matrix,
            "errors": np.array(state.errors, dtype=np.float64),
            "init_errors": self._init_errors,
        }
        base = self._problem.base
        if state.statistic.products is not None:
            arrays["products"] = state.statistic.products
        if state.previous_matrix is not None:
            arrays["previous_statistic"] = state.previous_matrix
        notes: Notes = {
            "settings": self._options,
            "structure": _plain_fields(structure),
            "transform": storage.describe(state.transform, "transform.", arrays),
            "best": storage.describe(state.best, "best.", arrays),
            "base": None if base is None else storage.describe(base, "base.", arrays),
            "best_error": state.best_error,
            "start_error": state.start_error,
            "energy": state.statistic.energy,
            "own_start": state.own_start,
            "reseeded": state.reseeded,
            "refills": state.refills,
            "random": self._problem.random.bit_generator.state,
            "sample_seed": self._problem.data.sample_seed,
        }
        self._file.write(notes, arrays)
        self._written_at, self._written_iter = time.monotonic(), state.n_iter

    def save_if_due(self, structure: Structure, state: LearningState) -> None:
        """Write the file if enough iterations or seconds have passed."""
        iterations = state.n_iter - self._written_iter
        if iterations >= _ITERATIONS or time.monotonic() - self._written_at >= _SECONDS:
            self.save(structure, state)


def _label(coder: Coder) -> str:
    """A transform for messages, with a checksum of its parameters."""
    return f"{coder!r} (checksum {storage.checksum(coder)[:16]})"


def _seed_label(random_state: RandomState, random: np.random.Generator) -> int | str | None:
    """A seed as it was given, or a hash of the state of a generator."""
    if random_state is None:
        return None
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return f"a generator (state {random_state_hash(random)[:16]})"


def _state(notes: Notes, arrays: Arrays, structure: Structure, problem: Problem) -> LearningState:
    """The state of a file, which must fit the structure and the problem."""
    transform, best = (
        _transform(notes[name], f"{name}.", arrays, structure, problem)
        for name in ("transform", "best")
    )
    errors = finite_array(arrays, "errors", (None,))
    if (errors < 0).any():
        raise ValueError("it has negative errors")
    reseeded = notes["reseeded"]
    if not isinstance(reseeded, list) or len(reseeded) != len(errors):
        raise ValueError(
            f"it has {len(errors)} errors, but not as many numbers of replaced members"
        )
    if not isinstance(notes["own_start"], bool):
        raise ValueError(f"own_start must be true or false, got {notes['own_start']!r}")
    products: NDArray[np.float64] | None = None
    if not structure.is_monotone:  # a union, which needs X X^T
        products = finite_array(arrays, "products", (transform.n_atoms, transform.n_atoms))
    shape = transform.n_atoms, problem.n_features
    matrix = finite_array(arrays, "statistic", shape)
    previous: NDArray[np.float64] | None = None
    if structure.momentum and len(errors):
        previous = finite_array(arrays, "previous_statistic", shape)
    return LearningState(
        transform=transform,
        statistic=Statistic(matrix, check_number(notes["energy"], "energy", 0), None, products),
        start_error=check_number(notes["start_error"], "start_error", 0),
        errors=errors.tolist(),
        own_start=notes["own_start"],
        best=best,
        best_error=check_number(notes["best_error"], "best_error", 0),
        refills=check_integer(notes["refills"], "refills", 1, MAX_REFILLS),
        reseeded=[check_integer(count, "reseeded", 0, 2**31 - 1) for count in reseeded],
        previous_matrix=previous,
    )


def _transform(
    description: object, prefix: str, arrays: Arrays, structure: Structure, problem: Problem
) -> Coder:
    """A bit-exact transform of the structure: `build` keeps its form."""
    transform: Coder = storage.build(description, prefix, arrays, exact=True)
    if transform.n_features != problem.n_features:
        raise ValueError(
            f"it has a transform of {transform.n_features} features, Y has {problem.n_features}"
        )
    accepted = structure.accepts(transform)
    if not accepted or _form(structure.build(problem, transform)) != _form(transform):
        raise ValueError(f"it has a transform that is not of the structure, {transform!r}")
    return transform


def _base(description: object, arrays: Arrays, n_features: int) -> Transform | None:
    """The base that a run has chosen."""
    if description is None:
        return None
    base = storage.build(description, "base.", arrays, exact=True)
    if not isinstance(base, Transform) or base.n_features != n_features:
        raise ValueError(f"it has a base that does not fit, {base!r}")
    return base


def _form(transform: Coder) -> object:
    """The description of a transform without its numbers."""
    arrays: Arrays = {}
    description = storage.describe(transform, "", arrays)
    return description, {name: array.shape for name, array in arrays.items()}


def _plain_fields(structure: Structure) -> dict[str, object]:
    """The fields of a fitted structure, such as the number of reflectors chosen for "auto"."""
    if not dataclasses.is_dataclass(structure):
        return {}
    values = {f.name: getattr(structure, f.name) for f in dataclasses.fields(structure) if f.init}
    plain = {k: v for k, v in values.items() if isinstance(v, bool | int | float | str)}
    return plain | {k: _plain_fields(v) for k, v in values.items() if isinstance(v, Structure)}


def _fitted(structure: Structure, fields: object, problem: Problem) -> Structure:
    """The fitted structure: the given one with the saved values of "auto" fields."""
    if not isinstance(fields, dict) or not _plain_fields(structure).keys() <= fields.keys():
        raise ValueError(f"it does not describe the structure {structure!r}")
    values: dict[str, object] = {}
    for name, saved in fields.items():
        given = getattr(structure, name)
        if isinstance(given, Structure):
            values[name] = _fitted(given, saved, problem)
        elif given is None or given == "auto":
            # There are n (n - 1) / 2 pairs of features, and at most n reflectors.
            n = problem.n_features
            values[name] = check_integer(saved, name, 1, n * n, "n_features**2")
        elif given != saved:
            raise ValueError(f"its structure has {name}={saved!r}, not {given!r}")
    return with_fields(structure, **values).fit_to(problem)
