"""The plain NumPy twin of every kernel, in float64 and without any cleverness.

Signals are rows. Where a kernel is compared with its twin bit for bit (selection, codes), the
twin works on the values it is given and does no arithmetic of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pywt
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

import fost
from fost.transforms.base import Transposed

Array = NDArray[Any]
Apply = Callable[[Array], Array]


def householder_forward(vectors: ArrayLike, Y: ArrayLike) -> Array:
    """U^T y with U = U_m ... U_1: y <- y - 2 u_j (u_j^T y) for j = m ... 1."""
    out = np.array(Y, dtype=np.float64)
    for u in np.asarray(vectors, dtype=np.float64)[::-1]:
        out -= 2 * np.outer(out @ u, u)
    return out


def householder_inverse(vectors: ArrayLike, X: ArrayLike) -> Array:
    """U x with U = U_m ... U_1: x <- x - 2 u_j (u_j^T x) for j = 1 ... m."""
    return householder_forward(np.asarray(vectors)[::-1], X)


def givens_forward(pairs: ArrayLike, blocks: ArrayLike, Y: ArrayLike) -> Array:
    """U^T y with U = G_g ... G_1: (y_i, y_j) <- B_k^T (y_i, y_j) for k = g ... 1."""
    out = np.array(Y, dtype=np.float64)
    for pair, block in zip(np.asarray(pairs)[::-1], np.asarray(blocks)[::-1], strict=True):
        out[:, pair] = out[:, pair] @ block
    return out


def givens_inverse(pairs: ArrayLike, blocks: ArrayLike, X: ArrayLike) -> Array:
    """U x with U = G_g ... G_1: (x_i, x_j) <- B_k (x_i, x_j) for k = 1 ... g."""
    out = np.array(X, dtype=np.float64)
    for pair, block in zip(np.asarray(pairs), np.asarray(blocks), strict=True):
        out[:, pair] = out[:, pair] @ block.T
    return out


def dct_matrix(length: int) -> Array:
    """C_kj = sqrt((1 if k = 0 else 2) / L) cos(pi (2j + 1) k / (2L))."""
    k, j = np.ogrid[:length, :length]
    # Reducing the angle modulo 2 pi in integers keeps the cosine exact for long lines.
    cosines = np.cos(np.pi * ((2 * j + 1) * k % (4 * length)) / (2 * length))
    return np.sqrt(np.where(k == 0, 1.0, 2.0) / length) * cosines


def dct_forward(shape: Sequence[int], Y: ArrayLike) -> Array:
    """The DCT-II along every axis of y.reshape(shape)."""
    return _along_axes([dct_matrix(length) for length in shape], shape, Y)


def dct_inverse(shape: Sequence[int], X: ArrayLike) -> Array:
    """The DCT-III, the transpose of the DCT-II, along every axis of x.reshape(shape)."""
    return _along_axes([dct_matrix(length).T for length in shape], shape, X)


def _along_axes(matrices: Sequence[Array], shape: Sequence[int], Y: ArrayLike) -> Array:
    out = np.array(Y, dtype=np.float64).reshape(-1, *shape)
    for axis, matrix in enumerate(matrices, start=1):
        out = np.moveaxis(np.moveaxis(out, axis, -1) @ matrix.T, -1, axis)
    return out.reshape(-1, prod(shape))


@cache
def fixed_matrix(transform: fost.Hadamard | fost.Wavelet) -> Array:
    """U, by its definition."""
    n = transform.n_features
    if isinstance(transform, fost.Hadamard):
        return np.asarray(scipy.linalg.hadamard(n) / np.sqrt(n))
    wavelet, out = pywt.Wavelet(transform.name), np.eye(n).reshape(n, *transform.shape)
    axes = [axis for axis, length in enumerate(transform.shape, 1) if length > 1]
    for k in range(transform.level):
        coarse = out[:, *(slice((length >> k) or 1) for length in transform.shape)]
        for axis in axes:
            line = np.moveaxis(coarse, axis, -1)
            line[...] = line @ filter_bank(wavelet, line.shape[-1])
    return out.reshape(n, n)


def filter_bank(wavelet: pywt.Wavelet, n: int) -> Array:
    """One level of a periodic filter bank, the coarse part first."""
    bank, length = np.zeros((n, n)), wavelet.dec_len
    for row, taps in enumerate((wavelet.dec_lo, wavelet.dec_hi)):
        for k in range(n // 2):
            for m, tap in enumerate(taps):
                bank[(2 * k + length // 2 - m) % n, row * (n // 2) + k] += tap
    return bank


def forward(transform: fost.Transform, Y: ArrayLike) -> Array:
    """U^T y of any transform, from its parameters."""
    match transform:
        case fost.Householder():
            return householder_forward(transform.vectors, Y)
        case fost.Givens():
            return givens_forward(transform.pairs, transform.blocks, Y)
        case fost.DCT():
            return dct_forward(transform.shape, Y)
        case fost.Hadamard() | fost.Wavelet():
            return np.asarray(Y, dtype=np.float64) @ fixed_matrix(transform)
        case Transposed():
            return inverse(transform.transform, Y)
        case fost.Dense():
            return np.asarray(Y, dtype=np.float64) @ transform.matrix
        case fost.Chain():
            out = np.asarray(Y, dtype=np.float64)
            for member in transform.stages:
                out = forward(member, out)
            return out
    raise TypeError(type(transform))


def inverse(transform: fost.Transform, X: ArrayLike) -> Array:
    """U x of any transform, from its parameters."""
    match transform:
        case fost.Householder():
            return householder_inverse(transform.vectors, X)
        case fost.Givens():
            return givens_inverse(transform.pairs, transform.blocks, X)
        case fost.DCT():
            return dct_inverse(transform.shape, X)
        case fost.Hadamard() | fost.Wavelet():
            return np.asarray(X, dtype=np.float64) @ fixed_matrix(transform).T
        case Transposed():
            return forward(transform.transform, X)
        case fost.Dense():
            return np.asarray(X, dtype=np.float64) @ transform.matrix.T
        case fost.Chain():
            out = np.asarray(X, dtype=np.float64)
            for member in reversed(transform.stages):
                out = inverse(member, out)
            return out
    raise TypeError(type(transform))


def select_mask(C: Array, s: int) -> NDArray[np.bool_]:
    """Where T_s keeps: the s largest |c| of each row, ties to the lower index, never zeros."""
    order = np.argsort(-np.abs(C), axis=1, kind="stable")[:, :s]
    mask = np.zeros(C.shape, dtype=bool)
    np.put_along_axis(mask, order, True, axis=1)
    return np.asarray(mask & (C != 0))


def select(C: Array, s: int) -> Array:
    """T_s(c) of each row as a dense array."""
    return np.where(select_mask(C, s), C, C.dtype.type(0))


def select_rows(C: Array, s: int) -> list[tuple[Array, Array]]:
    """T_s(c) of each row as (indices, values), sorted by index."""
    return [
        (np.flatnonzero(keep), row[keep]) for row, keep in zip(C, select_mask(C, s), strict=True)
    ]


def entries_within(
    C: Array, s: int, tol: float | None = None, threshold: float | None = None
) -> Array:
    """How many of the largest entries of each row a `SelectionRule` keeps."""
    magnitudes = np.sort(np.abs(C.astype(np.float64)), axis=1)
    if threshold is not None:
        return np.asarray(np.minimum((magnitudes > threshold).sum(axis=1), s))
    with np.errstate(over="ignore", under="ignore"):
        left = np.cumsum(magnitudes**2, axis=1)  # of the smallest, the next smallest, ...
    unneeded = (magnitudes == 0) if tol == 0 else (left <= tol)
    return np.asarray(np.minimum(C.shape[1] - unneeded.sum(axis=1), s))


def select_within(
    C: Array, s: int, tol: float | None = None, threshold: float | None = None
) -> list[tuple[Array, Array]]:
    """The entries that a rule keeps of each row as (indices, values), sorted by index."""
    counts = entries_within(C, s, tol, threshold)
    return [
        select_rows(row[None], int(k))[0] if k else select_rows(row[None] * 0, 1)[0]
        for row, k in zip(C, counts, strict=True)
    ]


def compact(rows: Sequence[tuple[Array, Array]], dtype: Any) -> tuple[Array, Array, Array]:
    """(values, indices, indptr) of rows of (indices, values), one after the other."""
    indptr = np.cumsum([0, *(len(indices) for indices, _ in rows)])
    indices = np.concatenate([np.empty(0, np.int64), *(indices for indices, _ in rows)])
    values = np.concatenate([np.empty(0, dtype), *(values for _, values in rows)])
    return values, indices, indptr


def encode(transform: fost.Transform, Y: ArrayLike, s: int) -> Array:
    """T_s(U^T y) as a dense array."""
    return select(forward(transform, Y), s)


def decode(transform: fost.Transform, codes: Any) -> Array:
    """U x: the sum of the atoms (columns of U), each times its entry of the code."""
    return np.asarray(codes.toarray() if hasattr(codes, "toarray") else codes) @ matrix(transform).T


def matrix(transform: fost.Transform) -> Array:
    """U; column j is U e_j."""
    return inverse(transform, np.eye(transform.n_features)).T


def statistic(
    Y: Array, s: int, learned: Apply | None = None, base: Apply | None = None
) -> tuple[Array, float]:
    """M_ij = sum over signals x_i z_j and ||X||_F^2 with Z = base(Y), X = T_s(learned(Z))."""
    Z = Y if base is None else base(Y)
    X = select(Z if learned is None else learned(Z), s).astype(np.float64)
    return X.T @ Z.astype(np.float64), float(np.sum(X * X))


def omp(
    y: Array,
    atoms: Array,
    s: int,
    missing: Array | None = None,
    tol: float | None = None,
    normalize: bool = False,
) -> Array:
    """The code of one signal by orthogonal matching pursuit, with least squares at every step."""
    steps = list(omp_steps(y, atoms, s, missing, tol, normalize))
    return steps[-1][1] if steps else np.zeros(len(atoms))


def omp_steps(
    y: Array,
    atoms: Array,
    s: int,
    missing: Array | None = None,
    tol: float | None = None,
    normalize: bool = False,
) -> Iterator[tuple[float, Array]]:
    """Each step of the pursuit of one signal: how clear the choice of its atom was, and the code.

    The first is by how much the best correlation exceeds the next one, and zero, over ||y||, and
    times the least singular value of the atoms before, which scales the errors of the residual.
    """
    observed = np.ones(len(y), dtype=bool) if missing is None else ~missing
    y, D = y[observed].astype(np.float64), atoms[:, observed].astype(np.float64)
    norms = np.linalg.norm(D, axis=1)
    chosen: list[int] = []
    x = np.zeros(len(D))
    residual = y
    while len(chosen) < s and (tol is None or residual @ residual > tol):
        strength = np.abs(D @ residual)
        if normalize:
            strength = np.divide(strength, norms, out=np.zeros_like(strength), where=norms > 0)
        strength[chosen] = -1
        best = int(np.argmax(strength))
        if strength[best] <= 1e-12 * np.linalg.norm(y):
            break
        lead = strength[best] - np.partition(np.r_[strength, 0, 0], -2)[-2]
        if chosen:
            lead *= np.linalg.svd(D[chosen], compute_uv=False)[-1]
        chosen.append(best)
        x = np.zeros(len(D))
        x[chosen] = np.linalg.lstsq(D[chosen].T, y, rcond=None)[0]
        residual = y - x @ D
        yield float(lead / np.linalg.norm(y)), x


def code_sums(X: Array, Y: Array) -> tuple[Array, Array]:
    """X Y^T and X X^T of codes and signals in rows."""
    X, Y = X.astype(np.float64), Y.astype(np.float64)
    return X.T @ Y, X.T @ X


def sparse_correlations(
    transform: fost.Transform, indices: Array, values: Array, Y: Array
) -> Array:
    """A^T B^T y for all signals: sums of the base coefficients that each atom combines."""
    C = forward(transform, Y.astype(np.float64))
    return np.asarray(np.einsum("rkp,kp->rk", C[:, indices], values))


def sweep_atoms(
    Y: Array, atoms: Array, X: Array, order: Sequence[int], n_entries: int | None = None
) -> tuple[Array, Array]:
    """One sweep of approximate K-SVD: for each atom d and coefficients x of the signals that use
    it, d' = E^T x normalised and x' = E d' with E = Y - (X D without this atom). With `n_entries`,
    d' keeps that many entries of largest magnitude."""
    D, X = np.array(atoms, dtype=np.float64), np.array(X, dtype=np.float64)
    for k in order:
        users = np.flatnonzero(X[:, k])
        x = X[users, k].copy()
        X[users, k] = 0
        E = Y[users] - X[users] @ D
        d = E.T @ x
        if n_entries is not None:
            d = select(d[None], n_entries)[0]
        if np.linalg.norm(d) > 0:
            D[k] = d / np.linalg.norm(d)
            x = E @ D[k]
        X[users, k] = x
    return D, X


def shrink_patches(
    array: Array,
    matrices: Sequence[Array],
    shape: tuple[int, ...],
    places: Sequence[tuple[int, ...]],
    level: float,
    pilot: Array | None = None,
    sharpness: float = 1.0,
    deviations: Array | None = None,
) -> tuple[Array, Array]:
    """Patches shrunk in the domains of U_1, U_2, ... (columns are atoms) and added up.

    One after another; in the mean over the domains those count most that suit a patch best. The
    deviations of coloured noise have one row per domain.
    """
    if deviations is None:
        deviations = np.ones((len(matrices), len(matrices[0])))

    def window_at(place: tuple[int, ...]) -> tuple[slice, ...]:
        return tuple(slice(k, k + n) for k, n in zip(place, shape, strict=True))

    def patch_at(samples: Array, place: tuple[int, ...]) -> tuple[Array, float]:
        patch = samples[window_at(place)].astype(np.float64).ravel()
        return patch - patch.mean(), float(patch.mean())

    sums, weights = np.zeros(array.shape), np.zeros(array.shape)
    for place in places:
        patch, mean = patch_at(array, place)
        parts, part_weights, costs = [], [], []
        for U, d in zip(matrices, deviations, strict=True):
            c = U.T @ patch
            if pilot is None:
                gains = (np.abs(c) > level * d).astype(float)
                costs.append(np.minimum(1, (c / (level * d)) ** 2).sum())
            else:
                squares = (U.T @ patch_at(pilot, place)[0]) ** 2
                gains = squares / (squares + level * d**2)
                costs.append(gains.sum())
            parts.append(U @ (gains * c))
            part_weights.append(1 / (1 + np.sum(gains**2 * d**2)))
        excess = sharpness * (np.array(costs) - min(costs))
        beliefs = np.maximum(0, 1 - excess / 8) ** 8
        shares = beliefs / beliefs.sum() * part_weights
        window = window_at(place)
        sums[window] += (shares @ np.array(parts)).reshape(shape) + shares.sum() * mean
        weights[window] += shares.sum()
    return sums, weights


def similar_blocks(
    guide: Array, block: tuple[int, ...], at: tuple[int, ...], reach: tuple[int, ...], most: int
) -> list[tuple[int, ...]]:
    """Where the block at a place and those most like it begin, the nearest first.

    Of equal ones those count first whose offsets come first: 0, -1, 1, -2, 2, ... along all axes
    but the last, and ascending along that.
    """

    def entries(place: tuple[int, ...]) -> Array:
        return guide[tuple(slice(p, p + k) for p, k in zip(place, block, strict=True))]

    def offsets(axis: int) -> list[int]:
        last = axis == guide.ndim - 1
        near = sorted(
            range(-reach[axis], reach[axis] + 1), key=lambda d: d if last else (abs(d), d)
        )
        return [d for d in near if 0 <= at[axis] + d <= guide.shape[axis] - block[axis]]

    around = product(*(offsets(axis) for axis in range(guide.ndim)))
    places = [tuple(p + d for p, d in zip(at, offset, strict=True)) for offset in around]
    others = [place for place in places if place != at]
    others.sort(key=lambda place: float(np.square(entries(place) - entries(at)).sum()))
    return [at, *others][:most]


def filter_groups(
    images: Array,
    pilots: Array,
    window: Array,
    variance: float,
    steps: tuple[int, ...],
    reach: tuple[int, ...],
    most: int,
    shape: Array | None = None,
) -> tuple[Array, Array]:
    """Blocks filtered under the Gaussian of the pilots of those like them, and added up.

    The covariance of the noise is the variance times `shape`, by default the identity matrix.
    """
    noise = variance * (np.eye(window.size) if shape is None else shape)
    sums, weights = np.zeros(images.shape), np.zeros(images.shape[1:])
    lasts = [extent - k for extent, k in zip(images.shape[1:], window.shape, strict=True)]
    starts = [
        sorted({*range(0, last, step), last}) for last, step in zip(lasts, steps, strict=True)
    ]
    for at in product(*starts):
        group = similar_blocks(pilots[0], window.shape, at, reach, most)
        windows = [
            tuple(slice(p, p + k) for p, k in zip(place, window.shape, strict=True))
            for place in group
        ]
        for c in range(len(images)):
            P = np.array([pilots[c][where].ravel() for where in windows], dtype=np.float64)
            Y = np.array([images[c][where].ravel() for where in windows], dtype=np.float64)
            mean = P.mean(axis=0)
            C = (P - mean).T @ (P - mean) / len(P)
            gain = np.linalg.solve(C + noise, C)
            estimates = mean + (Y - mean) @ gain
            for where, estimate in zip(windows, estimates, strict=True):
                sums[c][where] += window * estimate.reshape(window.shape)
        for where in windows:
            weights[where] += window
    return sums, weights


def condition(
    mean: Array, covariance: Array, y: Array, missing: Array
) -> tuple[Array, float, Array]:
    """One signal with gaps under a Gaussian, by the inverse of what is observed.

    The signal with its gaps filled, the log-density of what is observed, and the conditional
    covariance, zero where entries are observed.
    """
    o, m = np.flatnonzero(~missing), np.flatnonzero(missing)
    inverse = np.linalg.inv(covariance[np.ix_(o, o)])
    d = (y - mean)[o]
    filled, left = y.copy(), np.zeros_like(covariance)
    weights = covariance[np.ix_(m, o)] @ inverse
    filled[m] = mean[m] + weights @ d
    left[np.ix_(m, m)] = covariance[np.ix_(m, m)] - weights @ covariance[np.ix_(o, m)]
    volume = np.linalg.slogdet(covariance[np.ix_(o, o)])[1]
    return filled, -(d @ inverse @ d + volume + len(o) * np.log(2 * np.pi)) / 2, left


def content_hashes(Y: NDArray[Any]) -> NDArray[np.uint64]:
    """Content hashes: the coarse shape of a signal in the upper 32 bits, its bits in the lower."""
    wide = Y.astype(np.float64)
    factors = _mixed(np.arange(1, Y.shape[1] + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    factors |= np.uint64(1)
    scale = 181.0233 / np.nanmax(np.abs(wide), axis=1, keepdims=True, initial=1e-300)
    looks = (wide * scale + 6755399441055744.0).view(np.uint64)
    words = wide.view(np.uint64)
    looks = _mixed((looks * factors).sum(axis=1, dtype=np.uint64))
    holds = _mixed(((words ^ (words >> np.uint64(32))) * factors).sum(axis=1, dtype=np.uint64))
    return (looks >> np.uint64(32) << np.uint64(32)) | (holds & np.uint64(2**32 - 1))


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def invert_covariance(covariance: Array) -> tuple[Array, float]:
    """The inverse of a covariance, and the logarithm of its determinant."""
    return np.linalg.inv(covariance), float(np.linalg.slogdet(covariance)[1])


def find_energies(rows: Array, means: Array, precisions: Array) -> Array:
    """d^T P d for each signal and each Gaussian, where d is what it differs from the mean by."""
    differences = rows[:, None] - means
    return np.asarray(np.einsum("rki,kij,rkj->rk", differences, precisions, differences))


def advance(
    estimate: Array,
    velocity: Array,
    target: Array,
    missing: Array,
    relaxation: float,
    momentum: float,
) -> tuple[Array, Array]:
    """An estimate and its step, further towards a target where something is missing."""
    step = momentum * velocity + relaxation * np.where(missing, target - estimate, 0)
    return estimate + step, step


def circulant_atoms(kernels: Array) -> Array:
    """All circular shifts of the kernels, in rows: kernel l shifted by i is row l * n + i."""
    return np.array([np.roll(kernel, i) for kernel in kernels for i in range(len(kernel))])
