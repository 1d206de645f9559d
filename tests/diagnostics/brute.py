"""Brute-force references for diagnostics: the paper's matrices, with signals in columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import fost
from tests import cases

Array = NDArray[Any]


class Paper(NamedTuple):
    """Y, D and X = T_s(D^T Y) as in the paper: columns are signals and atoms."""

    Y: Array
    D: Array
    X: Array

    @property
    def error(self) -> float:
        return float(np.sum((self.Y - self.D @ self.X) ** 2))


def paper(transform: fost.Transform, Y: Array, s: int) -> Paper:
    X = transform.encode(Y, s).toarray()
    return Paper(Y.T.astype(float), transform.matrix, X.T.astype(float))


def nuclear(A: Array) -> float:
    return float(np.linalg.svd(A, compute_uv=False).sum())


def reflector(u: Array) -> Array:
    return np.eye(len(u)) - 2 * np.outer(u, u)


def product(vectors: Array) -> Array:
    """U_m ... U_1."""
    U = np.eye(vectors.shape[1])
    for u in vectors:
        U = reflector(u) @ U
    return U


def uneven_signals(n: int, count: int, seed: int, m: int = 6, s: int = 2) -> Array:
    """Signals that are sparse in a product of m reflectors, with uneven use of the atoms.

    For such signals, more reflectors than were learned help.
    """
    rng = np.random.default_rng(seed)
    C = rng.standard_normal((count, n)) * np.exp(-0.2 * np.arange(n))
    U = fost.Householder(cases.random_vectors(rng, m, n))
    return U.inverse(fost.select(C, s).toarray()) + 0.02 * rng.standard_normal((count, n))
