"""Imputation: Gaussians, mixtures, their fit, and the imputer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import fost
from fost.imputation import Gaussian, Mixture
from tests.fuzz.judge import Fuzz
from tests.fuzz.targets import target
from tests.fuzz.targets.estimators import parameters_of
from tests.fuzz.targets.transforms import _damage, a_path

Array = NDArray[Any]


def with_missing(fuzz: Fuzz, count: int, n: int) -> Array:
    """Signals of random type and scale with missing entries; the first signal is complete."""
    Y = np.cumsum(fuzz.rng.standard_normal((count, n)), axis=1)
    Y *= fuzz.pick((1e-30, 1, 1, 1e30))
    X = np.where(fuzz.rng.random(Y.shape) < fuzz.pick((0, 0.1, 0.5, 0.9)), np.nan, Y)
    X[0] = Y[0]
    return X.astype(fuzz.pick((np.float32, np.float64)))


def check_filled(fuzz: Fuzz, filled: Array, X: Array) -> None:
    seen = ~np.isnan(X)
    fuzz.expect(filled.shape == X.shape and filled.dtype == X.dtype, "shape, type")
    fuzz.expect((filled[seen] == X[seen]).all(), "observed entries are unchanged")
    fuzz.expect(np.isfinite(filled).all(), "missing entries are filled")


@target(3)
def mixture_fill(fuzz: Fuzz) -> None:
    n = min(fuzz.size(), 17)
    variances: Any = fuzz.rng.random(n) + 1e-3
    if fuzz.spoil():
        variances = fuzz.wrong("variances", -variances, variances[:-1], "x", np.nan * variances)
    transform: Any = fuzz.transform(n)
    if fuzz.spoil():
        transform = fuzz.not_a_transform("transform", n)
    gaussian = fuzz.call(Gaussian, np.zeros(n), transform, variances)
    weights: Any = None if fuzz.chance(0.5) else [1, 2]
    if fuzz.spoil():
        weights = fuzz.wrong("weights", [1], [0, 1], [1, -1], "x", [np.nan, 1])
    mixture = fuzz.call(Mixture, [gaussian] * 2, weights)
    X = with_missing(fuzz, fuzz.count(1), n)
    missing: Any = None
    if fuzz.spoil():
        missing = fuzz.wrong("missing", np.zeros((1, n + 1), bool), np.isnan(X) * 1, "x", 3)
    check_filled(fuzz, fuzz.call(mixture.fill, X, missing), X)


@target()
def mixture_files(fuzz: Fuzz) -> None:
    n = min(fuzz.size(), 17)
    gaussian = Gaussian(np.zeros(n), fuzz.transform(n), fuzz.rng.random(n) + 1e-3)
    mixture, good = Mixture([gaussian] * 2, [1, 2]), fuzz.folder / "mixture.safetensors"
    fuzz.call(mixture.save, a_path(fuzz, good))
    if fuzz.chance(0.5):
        _damage(fuzz, good)
    loaded = fuzz.call(fost.imputation.load_mixture, a_path(fuzz, good), names=("mixture",))
    if not fuzz.doubtful:
        X = with_missing(fuzz, 3, n)
        fuzz.expect(np.array_equal(loaded.fill(X), mixture.fill(X)), "equal after loading")


@target(1)
def fit_mixture(fuzz: Fuzz) -> None:
    n = min(fuzz.size(), 9)
    X: Any = with_missing(fuzz, fuzz.count(3), n)
    members = fuzz.integer("n_members", 1, min(3, len(X)), len(X))
    steps = fuzz.integer("max_iter", 0, 2, 10**6)
    coder: Any = None
    if fuzz.chance(0.2):
        members, coder = None, fuzz.transform(n)
        if fuzz.spoil():
            coder = fuzz.not_a_transform("coder", n)
    # None is a valid value of both.
    fuzz.bad = [b for b in fuzz.bad if b not in ("n_members=None", "max_iter=None")]
    fuzz.bad = [b for b in fuzz.bad if coder is None or not b.startswith("n_members")]
    mixture = fuzz.call(
        fost.imputation.fit_mixture,
        X,
        members,
        coder=coder,
        max_iter=steps,
        random_state=fuzz.random_state(),
        checkpoint=fuzz.folder / "state.safetensors" if fuzz.chance(0.3) else None,
    )
    check_filled(fuzz, mixture.fill(X), X)


@target(2)
def imputer(fuzz: Fuzz) -> None:
    n = min(fuzz.size(), 9)
    X = with_missing(fuzz, fuzz.count(2), n)
    lowest: Any = fuzz.rng.choice([-np.inf, -1e300, 0.5])
    if fuzz.spoil():
        lowest = fuzz.wrong("min_value", "x", np.nan, np.zeros(n + 1), [[0.0]], np.full(n, np.nan))
    estimator = fost.Imputer(
        None if fuzz.chance(0.5) else fuzz.integer("n_members", 1, 3, 2**31 - 1),
        add_indicator=False,
        keep_empty_features=fuzz.flag(),
        min_value=lowest,
        random_state=fuzz.random_state(),
    )
    fuzz.bad = [b for b in fuzz.bad if b != "n_members=None"]
    given: Any = X
    if fuzz.spoil():
        given = fuzz.wrong("X", X[0], "x", X * np.inf, X[:0], 3, X + 1j)
    fuzz.call(estimator.fit, given, names=parameters_of(fost.Imputer))
    check_filled(fuzz, fuzz.call(estimator.transform, X), X)
