"""Given matrices by rotations and reflectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import aslinearoperator

import fost
from tests.fuzz.judge import Fuzz
from tests.fuzz.targets import target
from tests.fuzz.targets.estimators import parameters_of
from tests.fuzz.targets.learning import some_base


def fixed_base(fuzz: Fuzz, n: int) -> Any:
    """A base for a matrix, of which "auto" cannot be chosen without signals."""
    base = some_base(fuzz, n)
    return fuzz.note_bad("base", base) if isinstance(base, str) and base == "auto" else base


@target(3)
def eigh(fuzz: Fuzz) -> None:
    n = min(fuzz.size(), 33)
    S = fuzz.rng.standard_normal((n, n))
    S = (S + S.T) * fuzz.pick((1.0, 0.0, 1e-200, 1e200))
    S = fuzz.pick((S, S, np.diag(np.diag(S)), np.eye(n), np.ones((n, n))))
    given: Any = fuzz.pick((S, S, S.tolist(), scipy.sparse.csr_array(S), aslinearoperator(S)))
    if fuzz.spoil():
        skew = np.eye(n) + np.tri(n + 1)[1:, 1:] * np.arange(1.0, n + 1)[:, None]
        wrong = (None, "S", S[None], S * np.nan, np.ones((n, n + 1)), 1j * np.eye(n), np.ones(n))
        given = fuzz.wrong("S", *wrong, *([skew] if n > 1 else []))
    by_error = fuzz.chance(0.3)
    options: dict[str, Any] = {
        "base": fixed_base(fuzz, n),
        "effort": fuzz.choice("effort", ("greedy", "grow", "full")),
    }
    if by_error:
        options["tol"] = fuzz.number("tol", 0.1, 1, least=0)
        names: tuple[str, ...] = ("n_rotations",)
    else:
        options["n_rotations"] = fuzz.integer("n_rotations", 1, 3 * n, max(n * n, 4096))
        names = ("tol",)
    result = fuzz.call(fost.eigh, given, names=names, **options)
    w, U = result
    fuzz.close(U.matrix.T @ U.matrix, np.eye(n), "orthonormal", 10)
    scale = np.abs(S).max() or 1.0
    A = U.matrix.T @ (S / scale) @ U.matrix
    size = np.linalg.norm(S / scale)
    fuzz.expect(np.abs(np.diag(A) - w / scale).max() <= 1e-10 * n, "w is the diagonal")
    error = np.linalg.norm(A - np.diag(np.diag(A)))
    fuzz.expect(abs(error - result.error * size) <= 1e-10 * n, "the error of the result")
    if by_error:
        fuzz.expect(result.error <= float(options["tol"]) + 1e-10, "the wanted error")


@target(3)
def approximate(fuzz: Fuzz) -> None:
    n = min(fuzz.size(), 33) + 1
    Q: Any = np.linalg.qr(fuzz.rng.standard_normal((n, n)))[0]
    given = Q
    if fuzz.spoil():
        given = fuzz.wrong("Q", None, "Q", 2 * Q, Q[:-1], Q * np.nan, np.zeros((n, n)), 1j * Q)
    structure: Any = fuzz.pick((fost.Rotations(n), fost.Reflectors(max(1, n // 4))))
    if fuzz.spoil():
        wrong = (None, 3, fost.Orthonormal(), fost.Rotations("auto"), fost.DCT(n), fost.Rotations)
        structure = fuzz.wrong("structure", *wrong)
    weights: Any = fuzz.rng.uniform(0.1, 2, n) if fuzz.chance(0.5) else None
    if fuzz.spoil():
        weights = fuzz.wrong("weights", -np.ones(n), np.ones(n + 1), np.zeros(n), "w", [np.nan] * n)
    free: Any = fuzz.pick((("order", "signs"), ("order",), ("signs",), (), ["signs"]))
    if fuzz.spoil():
        free = fuzz.wrong("free", "order", ("scale",), 3, None, (1,))
    base = fixed_base(fuzz, n)
    options = {"base": base, "weights": weights, "free": free}
    found = fuzz.call(fost.approximate, given, structure, **options)
    U = found.transform.matrix
    fuzz.close(U.T @ U, np.eye(n), "orthonormal", 10)
    gaps = np.square(Q[:, found.order] * found.signs - U).sum(axis=0)
    w = np.ones(n) if weights is None else weights
    error = np.sqrt(gaps @ w[found.order] / w.sum())
    fuzz.expect(abs(error - found.error) <= 1e-7, "the error of the result")


@target(3)
def fast_pca(fuzz: Fuzz) -> None:
    n = min(fuzz.size(), 17) + 1
    base: Any = "auto" if fuzz.chance(0.5) else some_base(fuzz, n)
    g = "auto" if fuzz.chance(0.3) else fuzz.integer("n_rotations", 1, 2 * n, max(n * n, 4096))
    X, plain = fuzz.signals("X", n, 2, columns=False, objects=False)
    count = fuzz.optional("n_components", 1, min(plain.shape), min(plain.shape))
    estimator = fost.FastPCA(count, g, base)
    names = parameters_of(fost.FastPCA)
    fuzz.call(estimator.fit, X, names=names)
    k = min(plain.shape) if count is None else int(count)
    atoms = estimator.components_
    fuzz.close(atoms @ atoms.T, np.eye(k), "orthonormal", 10)
    fuzz.expect((estimator.explained_variance_ >= 0).all(), "variances")
    codes = fuzz.call(estimator.transform, X, names=names)
    fuzz.expect(codes.shape == (len(plain), k), "shape of codes")
    back = fuzz.call(estimator.inverse_transform, codes, names=names)
    fuzz.expect(back.shape == plain.shape, "shape of signals")
