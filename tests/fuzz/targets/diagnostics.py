"""Diagnostics of dictionaries."""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fost
from fost import diagnostics
from tests import cases
from tests.fuzz.judge import Fuzz
from tests.fuzz.targets import target

Array = NDArray[Any]
FLOPS = {
    diagnostics.omp_cholesky_flops: lambda n, s, K: (
        2 * s * n * K + 2 * s * s * n + 2 * s * (K + n) + s**3
    ),
    diagnostics.batch_omp_flops: lambda n, s, K: 2 * n * K + s * s * K + 3 * s * K + s**3,
}


@target(4)
def flops(fuzz: Fuzz) -> None:
    function: Callable[..., int] = fuzz.pick(tuple(FLOPS))
    n = fuzz.size()
    limits = {"n_nonzero_coefs": (1, n, n)}
    limits["n_atoms"] = (n, 2 * n, 2**31 - 1)
    given = {}
    for name in list(inspect.signature(function).parameters)[1:]:
        given[name] = fuzz.integer(name, *limits[name])
    if given.get("n_atoms", n) is None:
        fuzz.bad.pop()
    elif any(b.startswith("n_atoms=") for b in fuzz.bad):
        fuzz.doubtful, fuzz.bad = fuzz.bad, []  # fewer atoms than features are atoms
    found = fuzz.call(function, fuzz.integer("n_features", n, n, 2**31 - 1), **given)
    if not fuzz.doubtful:
        numbers = [n if k is None else int(k) for k in given.values()]
        fuzz.expect(found == FLOPS[function](n, *numbers), "operations")


@target(2)
def speed_ups(fuzz: Fuzz) -> None:
    n = fuzz.size()
    m = fuzz.integer("n_reflectors", 1, n)
    s = fuzz.integer("n_nonzero_coefs", 1, n)
    n_features = fuzz.integer("n_features", n, n, 2**31 - 1)
    found = fuzz.call(diagnostics.speed_ups, n_features, m, s)
    fuzz.expect(found.over_dense == (2 * n - 1) * n / (4 * n * int(m)), "ratio")
    str(found)
    repr(found)


def some_dictionary(fuzz: Fuzz, n: int, square: bool) -> tuple[Any, Array, bool]:
    """A dictionary of some form, its atoms in rows, and whether it is orthonormal."""
    if fuzz.spoil():
        wrong = (
            None,
            3,
            "dct",
            fost.DCT,
            fost.Orthonormal(),
            fost.OrthonormalDictionary(),
            [],
            {},
            [[]],
        )
        return fuzz.wrong("dictionary", *wrong), np.eye(n), True
    kind = fuzz.pick(("transform", "transform", "bank", "atoms", "result", "estimator"))
    if kind == "atoms" or (kind == "bank" and square):
        atoms = cases.random_vectors(fuzz.rng, n if square else n + 2, n)
        made, plain = fuzz.array("dictionary", atoms, precise=True, columns=False)
        fuzz.bad = [b for b in fuzz.bad if "Blocks" not in b]
        return made, plain.astype(np.float64), False
    if kind == "bank":
        bank = fuzz.bank(n)
        return bank, bank.matrix.T, False
    transform = fuzz.transform(n)
    if kind == "result":
        result = fost.LearningResult(
            transform, 0.0, np.empty(0), 0.0, 0, True, np.zeros(0, np.intp)
        )
        return result, transform.matrix.T, True
    if kind == "estimator":
        estimator = fost.OrthonormalDictionary(n_nonzero_coefs=1)
        estimator.dictionary_ = transform
        return estimator, transform.matrix.T, True
    return transform, transform.matrix.T, True


NAMES = ("atoms",)  # a dictionary may be atoms


@target(2)
def mutual_coherence(fuzz: Fuzz) -> None:
    made, atoms, _ = some_dictionary(fuzz, fuzz.size(), square=False)
    found = fuzz.call(diagnostics.mutual_coherence, made, names=NAMES)
    gram = np.abs(atoms @ atoms.T)
    np.fill_diagonal(gram, 0)
    fuzz.expect(abs(found - min(1, gram.max())) < 1e-5, "the largest inner product")


QUESTIONS = (
    diagnostics.each_reflector,
    diagnostics.gershgorin,
    diagnostics.one_more_reflector,
    diagnostics.procrustes,
    diagnostics.report,
    diagnostics.spectrum,
    diagnostics.symmetric_bound,
    diagnostics.symmetry,
)


@target(10)
def questions(fuzz: Fuzz) -> None:
    function = fuzz.pick(QUESTIONS)
    n = min(fuzz.size(), 33)
    square = function in (diagnostics.spectrum, diagnostics.symmetric_bound)
    made, atoms, orthonormal = some_dictionary(fuzz, n, square)
    if function is diagnostics.gershgorin and not orthonormal:
        fuzz.note_bad("dictionary", "not orthonormal")
    if function is diagnostics.each_reflector:  # requires reflectors
        fuzz.doubtful.append("dictionary")
    Y, plain = fuzz.signals("Y", n, least=1)
    s = fuzz.integer("n_nonzero_coefs", 1, min(n, len(atoms)))
    if s is None:  # the default of estimators
        fuzz.doubtful, fuzz.bad = fuzz.bad, []
    options: dict[str, Any] = {}
    taken = inspect.signature(function).parameters
    if "tol" in taken and fuzz.chance(0.5):
        options["tol"] = fuzz.number("tol", 0, 1e-3, least=0)
    if "base" in taken and fuzz.chance(0.5):
        options["base"] = fuzz.not_a_transform("base", n) if fuzz.spoil() else fuzz.transform(n)
        if function is diagnostics.report and len(atoms) != n:  # ignores the base then
            fuzz.doubtful += fuzz.bad
            fuzz.bad = []
    if "signal_shape" in taken and fuzz.chance(0.3):
        options["signal_shape"] = n
        if fuzz.spoil():
            options["signal_shape"] = fuzz.wrong("signal_shape", n + 1, 0, "square", (n, 2), 1.5)
    if "file" in taken:
        options["file"] = io.StringIO()
    found = fuzz.call(function, made, Y, s, names=NAMES, **options)
    str(found)
    repr(found)
    numbers = [v for v in vars(found).values() if isinstance(v, float | np.ndarray)]
    fuzz.expect(all(np.isfinite(v).all() for v in numbers), "finite numbers")
    if function is diagnostics.report and not fuzz.doubtful and orthonormal:
        codes = fost.select(plain @ atoms.T.astype(plain.dtype), int(s)).data.astype(np.float64)
        total = np.sum(plain.astype(np.float64) ** 2)
        error = max(0.0, 1 - np.sum(codes**2) / total) if total > 0 else 0.0
        fuzz.expect(abs(found.relative_error - error) < 1e-4, "the relative error")
    if function is diagnostics.one_more_reflector and not fuzz.doubtful:
        better = found.add_to(made)
        fuzz.expect(found.relative_gain >= 0 and better is not None, "a reflector to add")


@target(1)
def spectrum_methods(fuzz: Fuzz) -> None:
    n = min(fuzz.size(), 33)
    Y = fuzz.rng.standard_normal((40, n))
    found = diagnostics.spectrum(fuzz.transform(n), Y, 1)
    if fuzz.chance(0.5):
        m = fuzz.integer("n_reflectors", 0, n)
        fuzz.expect(fuzz.call(found.truncation_loss, m) >= 0, "a loss")
    else:
        m = fuzz.call(found.suggested_n_reflectors, fuzz.number("max_loss", 0, 1, least=0, most=1))
        fuzz.expect(0 <= m <= n, "a number of reflectors")
