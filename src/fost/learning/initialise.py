"""Starts of the alternation: orthonormal bases and reflectors from the data or at random."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.sparse.linalg import ArpackError, eigsh

from fost._threads import single_threaded_blas

# From this number of features on, a few principal components come from Lanczos iterations, unless
# these need more restarts. LAPACK takes 2.5 to 4 times as long.
_MIN_LANCZOS = 1024
_MAX_RESTARTS = 5


def fixed_signs(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Columns whose signs make their entry of largest magnitude positive."""
    largest = np.argmax(np.abs(columns), axis=0)
    signs = np.sign(columns[largest, np.arange(columns.shape[1])])
    return columns * np.where(signs == 0, 1.0, signs)


def principal_components(gram: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """The `count` leading left singular vectors of Y (signals in columns), in columns.

    These are the leading eigenvectors of Y Y^T, whose size does not depend on the number of
    signals.
    """
    n = len(gram)
    if n >= _MIN_LANCZOS and 32 * count <= n:
        start = np.random.default_rng(0).standard_normal(n)
        with suppress(ArpackError), single_threaded_blas:
            _, vectors = eigsh(gram, k=count, which="LA", v0=start, maxiter=_MAX_RESTARTS)
            return fixed_signs(vectors[:, ::-1])
    _, vectors = scipy.linalg.eigh(gram, subset_by_index=[n - count, n - 1])
    return fixed_signs(vectors[:, ::-1])


def approximate_basis(
    gram: NDArray[np.float64], random: np.random.Generator
) -> NDArray[np.float64]:
    """A few principal components, completed at random to an orthonormal basis (section II).

    Lanczos iterations give n / 8 components. The others are random directions, orthogonalised by
    QR.
    """
    n = len(gram)
    count = n // 8
    if count == 0 or not gram.any():
        return random_basis(n, random)
    start = random.standard_normal(n)
    _, leading = eigsh(gram, k=count, which="LA", v0=start, tol=1e-6)
    columns = np.hstack([leading[:, ::-1], random.standard_normal((n, n - count))])
    return fixed_signs(np.linalg.qr(columns)[0])


def random_basis(n: int, random: np.random.Generator) -> NDArray[np.float64]:
    """A random orthonormal basis in columns."""
    return fixed_signs(np.linalg.qr(random.standard_normal((n, n)))[0])


def random_unit_rows(m: int, n: int, random: np.random.Generator) -> NDArray[np.float64]:
    """Random rows of norm one."""
    rows = random.standard_normal((m, n))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def triangularising_reflectors(columns: NDArray[np.float64], m: int) -> NDArray[np.float64]:
    """The vectors u_1 ... u_m (rows) of reflectors that make `columns` upper triangular.

    The first m columns of ``U_1 ... U_m columns`` are upper triangular. Vector u_m introduces the
    zeros of the first column. Vector u_(m-1) introduces the zeros of the second column and has one
    leading zero, and so on.
    """
    work = columns.copy()
    n, width = work.shape
    vectors = np.zeros((m, n))
    for c in range(min(m, width)):
        x = work[c:, c]
        u = x.copy()
        u[0] += np.copysign(np.linalg.norm(x), x[0])
        length = np.linalg.norm(u)
        if length == 0:
            continue
        u /= length
        work[c:] -= 2 * np.outer(u, u @ work[c:])
        vectors[m - 1 - c, c:] = u
    return vectors


def orthogonalised(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Orthonormal rows with the same span as the rows of `vectors`."""
    return np.asarray(np.linalg.qr(vectors.T)[0].T)
