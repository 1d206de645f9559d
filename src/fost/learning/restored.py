"""What a checkpoint says, each part of it checked: it may be damaged, or forged."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from fost._checkpoints import Arrays, Notes, sums
from fost._validation import check_integer, check_number
from fost.learning.sources import Statistic
from fost.learning.state import MOST_REFILLS, State
from fost.learning.structure import Problem, Structure, changed
from fost.transforms import Coder, storage

FORMAT = "fost checkpoint"
VERSION = "4"


def restored(
    notes: Notes, arrays: Arrays, structure: Structure, problem: Problem
) -> tuple[Structure, State]:
    """The structure as it was decided, and the state; both fit the problem."""
    structure = _decided(structure, notes["structure"], problem)
    transform, best = (
        _transform(notes[name], f"{name}.", arrays, structure, problem)
        for name in ("transform", "best")
    )
    errors = sums(arrays, "errors", (None,))
    if (errors < 0).any():
        raise ValueError("its errors are not those of a run")
    reseeded = notes["reseeded"]
    if not isinstance(reseeded, list) or len(reseeded) != len(errors):
        raise ValueError(
            f"it has {len(errors)} errors, and does not say of as many iterations how many members "
            "were replaced"
        )
    state = State(
        transform=transform,
        statistic=Statistic(
            sums(arrays, "statistic", (transform.n_atoms, problem.n_features)),
            check_number(notes["energy"], "energy", 0),
            products=_products(arrays, structure, transform),
        ),
        start_error=check_number(notes["start_error"], "start_error", 0),
        errors=errors.tolist(),
        own_start=_flag(notes, "own_start"),
        best=best,
        best_error=check_number(notes["best_error"], "best_error", 0),
        refills=check_integer(notes["refills"], "refills", 1, MOST_REFILLS),
        reseeded=[check_integer(count, "reseeded", 0, 2**31 - 1) for count in reseeded],
    )
    return structure, state


def _products(arrays: Arrays, structure: Structure, transform: Coder) -> NDArray[np.float64] | None:
    """X X^T where the structure needs it."""
    if structure.never_rises:
        return None
    return sums(arrays, "products", (transform.n_atoms, transform.n_atoms))


def _transform(
    described: object, prefix: str, arrays: Arrays, structure: Structure, problem: Problem
) -> Coder:
    """A transform of the structure, to the last bit: what restarting with it leaves in shape."""
    transform: Coder = storage.build(described, prefix, arrays, exact=True)
    if transform.n_features != problem.n_features:
        raise ValueError(
            f"it has a transform of {transform.n_features} features, Y has {problem.n_features}"
        )
    own = structure.takes(transform)
    if not own or _form(structure.restart(problem, transform)) != _form(transform):
        raise ValueError(f"it has a transform that is not of the structure, {transform!r}")
    return transform


def _form(transform: Coder) -> object:
    """All of a transform but its numbers."""
    arrays: Arrays = {}
    described = storage.describe(transform, "", arrays)
    return described, {name: array.shape for name, array in arrays.items()}


def _flag(notes: Notes, name: str) -> bool:
    if not isinstance(notes[name], bool):
        raise ValueError(f"{name} must be true or false, got {notes[name]!r}")
    return bool(notes[name])


def decided_fields(structure: Structure) -> dict[str, object]:
    """What was decided about a structure, such as the number of reflectors for "auto"."""
    if not dataclasses.is_dataclass(structure):
        return {}
    values = {f.name: getattr(structure, f.name) for f in dataclasses.fields(structure) if f.init}
    plain = {k: v for k, v in values.items() if isinstance(v, bool | int | float | str)}
    return plain | {k: decided_fields(v) for k, v in values.items() if isinstance(v, Structure)}


def _decided(structure: Structure, fields: object, problem: Problem) -> Structure:
    """A structure as it was decided, which is what was asked for but for what was "auto"."""
    if not isinstance(fields, dict) or not decided_fields(structure).keys() <= fields.keys():
        raise ValueError(f"it does not say what was decided about {structure!r}")
    values: dict[str, object] = {}
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
    return changed(structure, **values).fit_to(problem)
