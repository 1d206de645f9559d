"""Approximation of a given orthonormal matrix by a fast transform."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from fost._threads import single_threaded_blas
from fost._validation import check_orthonormal, check_parameters
from fost.approximation.eigh import check_base
from fost.approximation.rotation_search import Floats64
from fost.learning.reflectors import Reflectors
from fost.learning.rotations import Rotations, identities
from fost.learning.statistics import Statistic
from fost.learning.structure import Problem
from fost.learning.training_data import as_training_data
from fost.transforms import Coder, Givens, Householder, Transform, with_base

_FREEDOMS = ("order", "signs")
# Sweeps end when the squared error changes by less than this part of ||Q||_F^2.
_TOL = 1e-7
_MAX_SWEEPS = 200


@dataclass(frozen=True)
class Approximation:
    """The result of `fost.approximate`.

    Attributes
    ----------
    transform : Transform
        U, close to ``Q[:, order] * signs``.
    order, signs : ndarray of shape (n_features,)
        The column of Q, and its sign, that each column of U approximates.
    error : float
        ||(Q[:, order] * signs - U) W||_F / ||W||_F, where W is the diagonal matrix of the square
        roots of ``weights[order]``.
    """

    transform: Transform
    order: NDArray[np.int64]
    signs: Floats64
    error: float


def approximate(
    Q: ArrayLike,
    structure: Rotations | Reflectors,
    *,
    base: str | Transform | None = None,
    weights: ArrayLike | None = None,
    free: Sequence[str] = _FREEDOMS,
) -> Approximation:
    r"""Approximate an orthonormal matrix by rotations or reflectors.

    Minimises :math:`\sum_j \omega_{\pi(j)} \|\sigma_j q_{\pi(j)} - u_j\|^2` over transforms U of
    the structure. The minimum is also over orders :math:`\pi` and signs :math:`\sigma` of the
    columns of Q, unless `free` excludes them. The method is that of `fost.learn`, from several
    starts.

    Parameters
    ----------
    Q : array-like of shape (n_features, n_features)
        An orthonormal matrix; its columns are the atoms.
    structure : Rotations or Reflectors
        The structure of U, with a number of rotations or reflectors.
    base : Transform or str, optional
        A fast transform B under the structure, U = B V.
    weights : array-like of shape (n_features,), optional
        Nonnegative weights of the columns of Q; all 1 by default.
    free : sequence of {"order", "signs"}
        Whether the order and the signs of the columns of Q may be changed.

    Returns
    -------
    Approximation
        Its `transform` is close to ``Q[:, order] * signs``.

    Notes
    -----
    Most orthonormal matrices have no short approximation: n log2 n rotations leave an error of
    about 0.75 for random ones with 128 features. The DCT and other fast transforms are not found
    either, although short chains for them exist; pass them as `base`. To approximate eigenvectors,
    use `fost.eigh` with the matrix itself, which leaves more freedom.

    The result is a local minimum. Even n (n - 1) / 2 rotations may end with the determinant of the
    wrong sign and an error of 2 / sqrt(n). Another `free` then often helps.

    Examples
    --------
    >>> import fost, numpy as np
    >>> Q = fost.Givens([(0, 5), (5, 2)], [[[0.6, 0.8], [-0.8, 0.6]]] * 2, n_features=6).matrix
    >>> found = fost.approximate(Q[:, ::-1], fost.Rotations(2))
    >>> found.transform
    Givens(n_features=6, n_rotations=2, flops=12)
    >>> bool(found.error < 1e-6)
    True
    """
    matrix, _ = check_orthonormal(Q, "Q")
    n = len(matrix)
    if not isinstance(structure, Rotations | Reflectors):
        raise TypeError(f"structure must be Rotations or Reflectors, got {structure!r}")
    count = structure.n_rotations if isinstance(structure, Rotations) else structure.n_reflectors
    if count == "auto":
        raise ValueError(f"structure must have a number of {structure.parts}, got {structure!r}")
    fixed = check_base(base, n, "Q")
    w = np.ones(n) if weights is None else check_parameters(weights, "weights", (n,))
    if w.min() < 0 or not w.any():
        raise ValueError(f"weights must be nonnegative and not all zero, got {w.min():g}")
    if not isinstance(free, list | tuple) or not all(name in _FREEDOMS for name in free):
        raise ValueError(f"free must be a sequence of 'order' and 'signs', got {free!r}")
    w = w / w.max()
    with single_threaded_blas:
        target = matrix if fixed is None else np.asarray(fixed.forward(matrix.T).T, np.float64)
        random = np.random.default_rng(0)  # only for Reflectors(order="random")
        data = as_training_data(matrix)
        problem = Problem(data, fixed, 1, random, max_iter=_MAX_SWEEPS, tol=_TOL)
        structure = structure.fit_to(problem)
        matches = [
            _matched(target, np.eye(n), w, names) for names in ((free, ()) if free else ((),))
        ]
        found = [
            _alternate(problem, structure, start, target, w, free, *match)
            for match in matches
            for start in _starts(target[:, match[0]] * match[1], w[match[0]], structure)
        ]
    error, U, order, signs = min(found, key=itemgetter(0))
    return Approximation(with_base(fixed, U), order, signs, float(np.sqrt(error)))


def _alternate(
    problem: Problem,
    structure: Rotations | Reflectors,
    start: Transform,
    Q: Floats64,
    weights: Floats64,
    free: Sequence[str],
    order: NDArray[np.int64],
    signs: Floats64,
) -> tuple[float, Transform, NDArray[np.int64], Floats64]:
    """The squared relative error, U, order and signs after sweeps that begin with `start`."""
    current: Coder = structure.build(problem, start)
    error = np.inf
    for _ in range(_MAX_SWEEPS):
        # tr(U M) is maximal for the best U, with M = diag(weights) Q^T.
        M = (Q[:, order] * (signs * weights[order])).T
        current = structure.update(problem, Statistic(M, 0.0), current)
        U = current.matrix
        order, signs = _matched(Q, U, weights, free)
        gaps = np.square(Q[:, order] * signs - U).sum(axis=0)
        last, error = error, float(gaps @ weights[order]) / float(weights.sum())
        if last - error <= _TOL:
            break
    assert isinstance(current, Transform)
    return error, current, order, signs


def _matched(
    Q: Floats64, U: Floats64, weights: Floats64, free: Sequence[str]
) -> tuple[NDArray[np.int64], Floats64]:
    """The order and signs of the columns of Q that are closest to those of U."""
    products = U.T @ Q
    order = np.arange(len(Q))
    if "order" in free:
        gains = (np.abs(products) if "signs" in free else products) * weights
        order = linear_sum_assignment(gains, maximize=True)[1]
    matched = products[np.arange(len(Q)), order]
    return order, np.where((matched < 0) & ("signs" in free), -1.0, 1.0)


def _starts(Q: Floats64, weights: Floats64, structure: Rotations | Reflectors) -> list[Transform]:
    """The transforms that sweeps begin with; the best result counts.

    Rotations begin with the identity, and with one reflection at the end of the chain, since sweeps
    seldom change the determinant. Reflectors begin with those of the largest rotation angles of Q.
    The real Schur form of Q has blocks -1, a reflector each, and rotations by t of a plane, two
    reflectors whose vectors are t / 2 apart.
    """
    n = len(Q)
    if isinstance(structure, Rotations):
        assert isinstance(structure.n_rotations, int)
        pairs, blocks = identities(structure.n_rotations)
        identity = Givens(pairs, blocks, n)
        pairs[-1] = np.argsort(np.diagonal(Q) * weights, kind="stable")[:2]
        blocks[-1, 0, 0] = -1
        return [identity, Givens(pairs, blocks, n)]
    assert isinstance(structure.n_reflectors, int)
    T, Z = scipy.linalg.schur(Q, output="real")
    angles = np.arctan2(np.r_[np.diagonal(T, -1), 0.0], np.diagonal(T))
    planes: list[tuple[float, Floats64]] = []
    k = 0
    while k < n:
        width = 2 if k + 1 < n and abs(T[k + 1, k]) > 1e-8 else 1
        if width == 2:
            turned = Z[:, k : k + 2] @ [np.cos(angles[k] / 2), np.sin(angles[k] / 2)]
            planes.append((T[k, k], np.stack([Z[:, k], turned])))
        elif T[k, k] < 0:
            planes.append((-1.0, Z[None, :, k]))
        k += width
    vectors = [v for _, plane in sorted(planes, key=itemgetter(0)) for v in plane]
    start = np.zeros((structure.n_reflectors, n))
    start[: len(vectors)] = vectors[: len(start)]
    return [Householder(start)]
