"""Direct NumPy translations of the paper's algorithms, as one writes them down.

Signals are in rows: Y is (n_signals, n), M = X Y^T is ``X.T @ Y``. They are slow and short:
the tests compare fost with them, and so do the benchmarks.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

Array = NDArray[np.floating]


def keep_largest(C: Array, s: int) -> Array:
    """T_s, row by row."""
    places = np.argpartition(np.abs(C), -s, axis=1)[:, -s:]
    X = np.zeros_like(C)
    np.put_along_axis(X, places, np.take_along_axis(C, places, axis=1), axis=1)
    return X


def reflect_rows(Y: Array, u: Array) -> Array:
    """Y (I - 2 u u^T)."""
    u = u.astype(Y.dtype)
    return Y - np.outer(2 * (Y @ u), u)


def forward(Y: Array, vectors: Array) -> Array:
    """U^T y for U = U_m ... U_1, signals in rows: u_m comes first."""
    for u in vectors[::-1]:
        Y = reflect_rows(Y, u)
    return Y


def relative_error(Y: Array, X: Array) -> float:
    return 1 - float(np.sum(X.astype(float) ** 2) / np.sum(Y.astype(float) ** 2))


def principal_components(Y: Array, count: int) -> Array:
    """Leading left singular vectors of the signals in columns."""
    return np.linalg.svd(Y.T.astype(float), full_matrices=False)[0][:, :count]


def svd_reflectors(Y: Array, m: int) -> Array:
    """Initialisation steps 1 and 2 of Algorithms 1 and 2."""
    n = Y.shape[1]
    Q = principal_components(Y, min(m + 1, n))
    vectors = np.zeros((m, n))
    for c in range(min(m, Q.shape[1])):
        u = np.zeros(n)
        u[c:] = Q[c:, c]
        u[c] += np.copysign(np.linalg.norm(u), u[c])
        u /= np.linalg.norm(u)
        Q = Q - 2 * np.outer(u, u @ Q)
        vectors[m - 1 - c] = u
    return vectors


def learn_full(Y: Array, s: int, iterations: int) -> tuple[Array, list[float]]:
    """Q-DLA."""
    Q = principal_components(Y, Y.shape[1])
    errors = []
    for k in range(iterations + 1):
        X = keep_largest(Y @ Q.astype(Y.dtype), s)
        errors.append(relative_error(Y, X))
        if k < iterations:
            U, _, Vt = scipy.linalg.svd((Y.T @ X).astype(float))
            Q = U @ Vt
    return Q, errors


def procrustes(M: Array, current: Array, rank: int) -> Array:
    """The orthonormal Q that maximises tr(Q M), M of this rank; of several the nearest."""
    U, _, Vt = scipy.linalg.svd(M.T)
    P, _, Wt = np.linalg.svd(U[:, rank:].T @ current @ Vt[rank:].T)
    return np.asarray(U[:, :rank] @ Vt[:rank] + U[:, rank:] @ P @ Wt @ Vt[rank:])


def learn_orthogonal(Y: Array, m: int, s: int, iterations: int) -> tuple[Array, list[float]]:
    """Algorithm 1, QH_m-DLA."""
    vectors = np.linalg.qr(svd_reflectors(Y, m).T)[0].T
    errors = []
    for k in range(iterations + 1):
        X = keep_largest(forward(Y, vectors), s)
        errors.append(relative_error(Y, X))
        if k < iterations:
            M = (X.T @ Y).astype(float)
            values, columns = scipy.linalg.eigh(M + M.T)
            columns[:, values >= 0] = 0
            vectors = columns[:, :m].T[::-1]
    return vectors, errors


def learn_reflectors(Y: Array, m: int, s: int, iterations: int) -> tuple[Array, list[float]]:
    """Algorithm 2, H_m-DLA."""
    vectors = svd_reflectors(Y, m)
    errors = []
    for k in range(iterations + 1):
        X = keep_largest(forward(Y, vectors), s)
        errors.append(relative_error(Y, X))
        if k < iterations:
            vectors = sweep((X.T @ Y).astype(float), vectors)
    return vectors, errors


def sweep(M: Array, vectors: Array) -> Array:
    """Step 1 of Algorithm 2: all reflectors in turn, each from scratch."""
    vectors = vectors.copy()
    for j in range(len(vectors)):
        R = M.copy()
        for u in vectors[:j]:  # (U_(j-1) ... U_1) M
            R = R - 2 * np.outer(u, u @ R)
        for u in vectors[:j:-1]:  # M (U_m ... U_(j+1))
            R = reflect_rows(R, u)
        values, columns = scipy.linalg.eigh(R + R.T)
        vectors[j] = columns[:, 0] if values[0] < 0 else 0
    return vectors


def sweep_rotations(M: Array, pairs: Array, blocks: Array) -> tuple[Array, Array, list[float]]:
    """All rotations in turn, each the best of all pairs, from scratch, by 2 x 2 SVDs."""
    n = len(M)
    pairs, blocks, gains = pairs.copy(), blocks.copy(), []
    for k in range(len(pairs)):
        R = rotation_product(pairs[:k], blocks[:k], n) @ M
        R = R @ rotation_product(pairs[k + 1 :], blocks[k + 1 :], n)
        best = -1.0
        for i in range(n):
            for j in range(i + 1, n):
                block = R[np.ix_([i, j], [i, j])]
                U, values, Vt = np.linalg.svd(block)
                gain = values.sum() - np.trace(block)
                if gain > best + 1e-12:
                    best, pairs[k], blocks[k] = gain, (i, j), (U @ Vt).T
        gains.append(best)
    return pairs, blocks, gains


def rotation_product(pairs: Array, blocks: Array, n: int) -> Array:
    """G_g ... G_1 as a matrix."""
    U = np.eye(n)
    for (i, j), block in zip(pairs, blocks, strict=True):
        U[[i, j]] = block @ U[[i, j]]
    return U
