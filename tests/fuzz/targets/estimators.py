"""Estimators of scikit-learn's kind, and the picture of what `AutoDictionary` found."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fost
from tests.fuzz.judge import Fuzz
from tests.fuzz.targets import target
from tests.fuzz.targets.coding import computed
from tests.fuzz.targets.learning import some_base, some_shape, some_start

Array = NDArray[Any]


def parameters_of(kind: type) -> tuple[str, ...]:
    """What errors of `fit` may name. Messages of scikit-learn about X name it or the estimator."""
    return (*inspect.signature(kind).parameters, "X", kind.__name__)


def learned(fuzz: Fuzz, kind: Any, known: Any, n: int, **parameters: Any) -> Any:
    """An estimator of the kind that learns a `known` structure."""
    return kind(
        n_nonzero_coefs=fuzz.optional("n_nonzero_coefs", 1, n),
        base=some_base(fuzz, n),
        signal_shape=some_shape(fuzz, n),
        init=some_start(fuzz, known, n),
        n_init=fuzz.integer("n_init", 1, 3, 2**31 - 1),
        max_iter=fuzz.integer("max_iter", 0, 3, 2**31 - 1),
        tol=fuzz.number("tol", 0, 1e-3, least=0),
        random_state=fuzz.random_state(),
        sparse_output=fuzz.flag(),
        forgetting="auto",
        **parameters,
    )


def use(fuzz: Fuzz, estimator: Any, n: int, lazy: bool = True, least: int = 1) -> None:
    """Fit, or fit a batch, then transform, back, and score."""
    names = parameters_of(type(estimator))
    X, _ = fuzz.signals("X", n, least, lazy, columns=False, objects=False)
    if getattr(estimator, "_allows_missing", False):
        fuzz.allow_gaps("X", X)
    online = hasattr(estimator, "partial_fit") and fuzz.chance(0.3)
    if online and fuzz.chance(0.5):
        forgetting = fuzz.number("forgetting", 0, 1, least=0, most=1)
        estimator.set_params(forgetting=forgetting)
    if online:  # which do not look at these
        fuzz.bad = [b for b in fuzz.bad if not b.startswith(("max_iter", "tol", "n_init"))]
    fuzz.call(estimator.partial_fit if online else estimator.fit, X, names=names)
    fuzz.expect(estimator.n_features_in_ == n, "n_features_in_")
    fuzz.expect(len(estimator.errors_) == estimator.n_iter_, "errors_")
    atoms = estimator.components_
    fuzz.expect(np.isfinite(atoms).all(), "finite atoms")
    fuzz.close((atoms**2).sum(axis=1, keepdims=True), np.ones((len(atoms), 1)), "unit atoms", 1e3)
    new, rows = fuzz.signals("X", n, 1, lazy, objects=False)
    if getattr(estimator, "_allows_missing", False):
        fuzz.allow_gaps("X", new)
    codes = fuzz.call(estimator.transform, new, names=names, then=computed_codes)
    dense = codes.toarray() if hasattr(codes, "toarray") else codes
    fuzz.expect(dense.shape == (len(rows), len(atoms)), "shape of codes")
    fuzz.expect(((dense != 0).sum(axis=1) <= estimator.n_nonzero_coefs_).all(), "entries")
    back = fuzz.call(estimator.inverse_transform, codes, names=names)
    fuzz.close(back, dense @ atoms.astype(dense.dtype), "codes @ atoms", 100)
    score = fuzz.call(estimator.score, new, names=names)
    fuzz.expect(-1 - 1e-5 <= score <= 0, f"a score between -1 and 0, {score}")


def computed_codes(codes: Any) -> Any:
    if hasattr(codes, "compute") and isinstance(codes._meta, np.ndarray):
        return codes.compute()
    return computed(codes)


@target(3)
def orthonormal_dictionary(fuzz: Fuzz) -> None:
    n = min(fuzz.size(), 17) + 1
    use(fuzz, learned(fuzz, fost.OrthonormalDictionary, fost.Orthonormal(), n), n)


@target(3)
def householder_dictionary(fuzz: Fuzz) -> None:
    n = min(fuzz.size(), 17) + 1
    m = "auto" if fuzz.chance(0.1) else fuzz.integer("n_reflectors", 1, n)
    order = fuzz.choice("order", ("cyclic", "random"))
    orthogonal = fuzz.flag()
    parameters = {"n_reflectors": m, "orthogonal": orthogonal, "order": order}
    kind, structure = fost.HouseholderDictionary, fost.Reflectors(1, bool(orthogonal))
    use(fuzz, learned(fuzz, kind, structure, n, **parameters), n)


@target(3)
def givens_dictionary(fuzz: Fuzz) -> None:
    n = min(fuzz.size(), 17) + 1
    g = "auto" if fuzz.chance(0.1) else fuzz.integer("n_rotations", 1, 2 * n, 2**31 - 1)
    use(fuzz, learned(fuzz, fost.GivensDictionary, fost.Rotations(1), n, n_rotations=g), n)


@target(3)
def bank_dictionary(fuzz: Fuzz) -> None:
    n = min(fuzz.size(), 9) + 1
    structure = fuzz.pick(
        (None, fost.Orthonormal(), fost.Reflectors(1), fost.Rotations(np.int8(2)))
    )
    if fuzz.spoil():
        wrong = (
            3,
            "orthonormal",
            fost.Orthonormal,
            fost.DCT(n),
            [],
            fost.BankOf(fost.Orthonormal(), 2),
        )
        structure = fuzz.wrong("structure", *wrong)
    bank = fost.BankOf(fost.Orthonormal(), 2)
    count = fuzz.integer("n_members", 1, 3, 2**20)
    parameters = {"structure": structure, "n_members": count}
    estimator = learned(fuzz, fost.BankDictionary, bank, n, **parameters)
    use(fuzz, estimator, n)


@target(2)
def union_dictionary(fuzz: Fuzz) -> None:
    n = min(fuzz.size(), 9) + 1
    structure = fuzz.pick((None, fost.Orthonormal(), fost.Reflectors(1), fost.Rotations(2)))
    if fuzz.spoil():
        wrong = (
            3,
            "orthonormal",
            fost.Orthonormal,
            fost.DCT(n),
            [],
            fost.UnionOf(fost.Orthonormal(), 2),
        )
        structure = fuzz.wrong("structure", *wrong)
    known = fost.UnionOf(fost.Orthonormal(), 2)
    parameters = {"structure": structure, "n_members": 2}
    use(fuzz, learned(fuzz, fost.UnionDictionary, known, n, **parameters), n)


@target(2)
def circulant_dictionary(fuzz: Fuzz) -> None:
    n = min(fuzz.size(), 9) + 1
    estimator = fost.CirculantDictionary(
        fuzz.integer("n_members", 1, 3, 2**20),
        fuzz.optional("n_nonzero_coefs", 1, n),
        n_init=fuzz.integer("n_init", 1, 3, 2**31 - 1),
        max_iter=fuzz.integer("max_iter", 0, 3, 2**31 - 1),
        tol=fuzz.number("tol", 0, 1e-3, least=0),
        random_state=fuzz.random_state(),
        sparse_output=fuzz.flag(),
    )
    use(fuzz, estimator, n)


def auto(fuzz: Fuzz, n: int) -> Any:
    shape = fuzz.pick((None, n, (n,), (1, n)))
    if fuzz.spoil():
        shape = fuzz.wrong("signal_shape", n + 1, (n, 2), 0, "8", 1.5, [], (None,))
    return fost.AutoDictionary(
        fuzz.integer("n_nonzero_coefs", 1, n),
        shape,
        max_flops=None if fuzz.chance(0.3) else fuzz.number("max_flops", 8 * n, 1e6, least=1),
        max_relative_error=None
        if fuzz.chance(0.7)
        else fuzz.number("max_relative_error", 1, 1, least=0, most=1),
        max_members=fuzz.integer("max_members", 1, 2, 2**20),
        validation_fraction=fuzz.number("validation_fraction", 0.1, 0.9, least=0, most=1),
        max_iter=fuzz.integer("max_iter", 0, 1, 2**31 - 1),
        tol=fuzz.number("tol", 0, 1e-3, least=0),
        random_state=fuzz.random_state(),
        verbose=False,
        sparse_output=fuzz.flag(),
    )


@target(1)
def auto_dictionary(fuzz: Fuzz) -> None:
    n = fuzz.pick((2, 3, 4, 6))
    estimator = auto(fuzz, n)
    # None stands for no limit; the cheapest candidate may cost more than the limit.
    fuzz.bad = [b for b in fuzz.bad if b not in ("max_flops=None", "max_relative_error=None")]
    if estimator.max_flops is not None:
        fuzz.doubtful.append("max_flops")
    use(fuzz, estimator, n, least=2)


@target(1)
def plot_frontier(fuzz: Fuzz) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    Y = np.cumsum(fuzz.rng.standard_normal((20, 4)), axis=1)
    estimator: Any = fost.AutoDictionary(1, max_iter=1, max_members=1, random_state=0)
    if fuzz.spoil():
        wrong = (estimator, fost.AutoDictionary, None, 3, "auto", fost.DCT(4), fost.Orthonormal())
        estimator = fuzz.wrong("estimator", *wrong)
    else:
        estimator.fit(Y)
    ax = plt.figure().add_subplot() if fuzz.chance(0.5) else None
    if fuzz.spoil():
        ax = fuzz.wrong("ax", 3, "axes", [], plt, plt.figure())
    try:
        drawn = fuzz.call(fost.plot_frontier, estimator, ax, names=("AutoDictionary",))
        fuzz.expect(len(drawn.lines) > 1, "candidates are drawn")
        drawn.figure.canvas.draw()
    finally:
        plt.close("all")


@target(1)
def not_fitted(fuzz: Fuzz) -> None:
    kinds = (fost.AutoDictionary, fost.BankDictionary, fost.GivensDictionary)
    kind = fuzz.pick((*kinds, fost.HouseholderDictionary, fost.OrthonormalDictionary))
    method = fuzz.pick(("transform", "inverse_transform", "score"))
    fuzz.note_bad("self", kind.__name__)
    fuzz.call(getattr(kind(), method), np.eye(4), names=(kind.__name__,))
