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


def symmetric_product(pairs: Array, angles: Array, n: int) -> Array:
    """J_1 ... J_g as a matrix, J = [[c, s], [-s, c]]."""
    U = np.eye(n)
    for (i, j), (c, s) in zip(pairs, angles, strict=True):
        U[:, [i, j]] = U[:, [i, j]] @ np.array([[c, s], [-s, c]])
    return U


def greedy_jacobi(S: Array, g: int, weights: Array | None = None) -> tuple[list[float], Array]:
    """The gains of g greedy rotations, and the rotated matrix; scans all pairs, by 2 x 2 eigh.

    The gain is A_ij^2, or with weights the increase of sum_i w_i A_ii.
    """
    A, gains = S.copy(), []
    for _ in range(g):
        best = -1.0
        for i in range(len(A)):
            for j in range(i + 1, len(A)):
                block = A[np.ix_([i, j], [i, j])]
                values, vectors = np.linalg.eigh(block)
                gain = block[0, 1] ** 2
                if weights is not None:
                    w = weights[[i, j]]
                    gain = np.sort(w) @ values - w @ np.diag(block)
                if gain > best:
                    # Ascending eigenvalues belong to the features in the order of their weights.
                    order = np.diag(block) if weights is None else weights[[i, j]]
                    best, found = gain, ([i, j], vectors[:, np.argsort(np.argsort(order))])
        U = np.eye(len(A))
        U[np.ix_(found[0], found[0])] = found[1]
        A = U.T @ A @ U
        gains.append(best)
    return gains, A


def angle_coefficients(A: Array, D: Array, i: int, j: int) -> Array:
    """p, q, r, v of tr(J^T A J D) / 2 = p cos t + q sin t + r cos 2t + v sin 2t + const."""
    t = np.arange(5) * 2 * np.pi / 5
    traces = []
    for c, s in zip(np.cos(t), np.sin(t), strict=True):
        J = symmetric_product(np.array([[i, j]]), np.array([[c, s]]), len(A))
        traces.append(np.trace(J.T @ A @ J @ D) / 2)
    basis = np.stack([np.cos(t), np.sin(t), np.cos(2 * t), np.sin(2 * t), np.ones(5)], axis=1)
    return np.linalg.solve(basis, np.array(traces))[:4]


def sweep_angles(
    S: Array, w: Array, pairs: Array, angles: Array, backward: bool
) -> tuple[Array, Array]:
    """New angles and their gains: every stationary point, from the roots of a quartic."""
    n, angles, gains = len(S), angles.copy(), np.empty(len(pairs))
    for k in range(len(pairs))[:: -1 if backward else 1]:
        left = symmetric_product(pairs[:k], angles[:k], n)
        right = symmetric_product(pairs[k + 1 :], angles[k + 1 :], n)
        A, D = left.T @ S @ left, right * w @ right.T
        p, q, r, v = angle_coefficients(A, D, *pairs[k])
        # f'(t) = 0 for z = exp(i t) is a polynomial of degree 4.
        roots = np.roots([2 * (v + 1j * r), q + 1j * p, 0, q - 1j * p, 2 * (v - 1j * r)])
        t = np.concatenate([np.angle(roots), [np.arctan2(*angles[k, ::-1])]])
        f = p * (np.cos(t) - 1) + q * np.sin(t) + r * (np.cos(2 * t) - 1) + v * np.sin(2 * t)
        gains[k] = f.max()
        angles[k] = np.cos(t[f.argmax()]), np.sin(t[f.argmax()])
    return angles, gains


def propose_rotations(S: Array, w: Array, pairs: Array, angles: Array) -> Array:
    """scores[k, e, q]: the score of a rotation of feature pairs[k, e] and q before rotation k."""
    n, scores = len(S), np.full((len(pairs), 2, len(S)), -1.0)
    for k in range(len(pairs)):
        left = symmetric_product(pairs[:k], angles[:k], n)
        right = symmetric_product(pairs[k:], angles[k:], n)
        A, D = left.T @ S @ left, right * w @ right.T
        for e, p in enumerate(pairs[k]):
            for q in set(range(n)) - {p}:
                first, slope, second, slope2 = angle_coefficients(A, D, p, q)
                bend = first + 4 * second
                scores[k, e, q] = np.hypot(bend, slope + 2 * slope2) - bend
    return scores


def circulant_kernels(Y: Array, X: Array, n_members: int) -> Array:
    """The kernels c_l that minimise ||Y - sum over l of c_l * x_l||_F, by one dense least squares.

    Row i of X holds the codes of signal i; * is circular convolution.
    """
    n = Y.shape[1]
    codes = X.reshape(len(Y), n_members, n)
    shifts = [np.roll(codes, k, axis=2) for k in range(n)]  # the contribution of entry k
    system = np.stack(shifts, axis=2).reshape(len(Y), n_members * n, n)
    columns = system.transpose(0, 2, 1).reshape(-1, n_members * n)
    return np.linalg.lstsq(columns, Y.ravel(), rcond=None)[0].reshape(n_members, n)
