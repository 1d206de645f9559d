r"""Chains of rotations that diagonalise a symmetric matrix approximately.

Minimises :math:`\|S - U \operatorname{diag}(w) U^T\|_F` over chains U of g rotations. If w is
free, the best w is the diagonal of :math:`A = U^T S U`. The error is the off-diagonal part of A. If
w is fixed, the same steps maximise :math:`\sum_i w_i A_{ii}`.

1. `append` adds rotations at the end, each with the largest gain (Jacobi).
2. `sweep` optimises the angle of each rotation while the others are fixed, backward and forward.
3. `insert` adds rotations between the others, where the commutator of both sides is largest.
4. `drop` removes the rotations with the smallest gain.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, sqrt

import numpy as np
from numpy.typing import NDArray

from fost import _core
from fost.transforms import Givens, Transform

Floats64 = NDArray[np.float64]

# "grow" appends an eighth of the chain before each sweep. "insert" starts with n / 2 rotations and
# inserts n / 8 before each sweep. Refinement drops a quarter of the chain and refills it, eight
# times. Chosen on sensor and community graphs with other seeds than the tables; ring and grid
# graphs, which have no seed, showed that "full" needs both searches.
_GROWTH, _START, _STEP = 8, 2, 8
_ROUNDS, _DROPPED = 8, 4
# Scores of insertions below this, for matrices scaled to entries of about 1, are rounding errors.
_LEAST_SCORE = 1e-14


class RotationSearch:
    """A chain of rotations for the symmetric matrix S, with the matrices of both its ends.

    Between calls A = U^T S U and D = diag(w) belong to the end of the chain. `best` is the shortest
    chain with an error of at most `allowed`, or the chain with the smallest error.
    """

    def __init__(self, S: Floats64, weights: Floats64 | None = None, allowed: float = 0.0) -> None:
        self.S, self.weights, self.allowed = S, weights, allowed
        n = len(S)
        # Rows an odd number of cache lines apart keep columns in different sets of the cache.
        self._A = np.zeros((n, 8 * (n // 8 + 1 | 1)))
        self._A[:, :n] = S
        self._D = np.empty_like(self._A)
        self.pairs, self.angles = np.empty((0, 2), np.int32), np.empty((0, 2))
        self._gains = np.empty(0)
        self._update_weights()
        self.best = self._candidate()

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def rotated(self) -> Floats64:
        """A = U^T S U."""
        return self._A[:, : len(self._A)]

    @property
    def error(self) -> float:
        """The norm of the off-diagonal part of A; with fixed w minus the sum of w_i A_ii."""
        if self.weights is not None:
            return -float(np.diagonal(self.rotated) @ self.weights)
        return off_diagonal_norm(self.rotated)

    def append(self, count: int) -> int:
        """Append at most `count` rotations, until the error is at most `allowed`."""
        # Making A_ij zero reduces the squared error by 2 A_ij^2.
        enough = inf if self.weights is not None else (self.error**2 - self.allowed**2) / 2
        pairs, angles = np.empty((count, 2), np.int32), np.empty((count, 2))
        gains = np.empty(count)
        added = _core.greedy_rotations(self._A, self.weights, pairs, angles, gains, 0.0, enough)
        self.pairs = np.concatenate([self.pairs, pairs[:added]])
        self.angles = np.concatenate([self.angles, angles[:added]])
        self._gains = np.concatenate([self._gains, gains[:added] / 2])
        self._update_weights()
        return added

    def sweep(self) -> None:
        """Optimise all angles, backward and forward."""
        self._sweep(backward=True)
        self._sweep(backward=False)
        self._update_weights()

    def insert(self, count: int) -> int:
        """Insert at most `count` rotations, at most one per feature, and optimise all angles.

        With w = diag(A), insertions cannot separate equal eigenvalues; Jacobi rotations can.
        """
        partners, scores = np.empty((len(self), 2), np.int32), np.empty((len(self), 2))
        _core.propose_rotations(self._A, self._D, self.pairs, self.angles, partners, scores)
        used = np.zeros(len(self.S), bool)
        places: list[int] = []
        pairs: list[tuple[int, int]] = []
        for candidate in np.argsort(-scores, axis=None, kind="stable"):
            place, side = divmod(int(candidate), 2)
            i, j = self.pairs[place, side], partners[place, side]
            if len(places) == count or scores[place, side] <= _LEAST_SCORE:
                break
            if not used[i] and not used[j]:
                used[[i, j]] = True
                places.append(place)
                pairs.append((i, j))
        if places:
            self.pairs = np.insert(self.pairs, places, pairs, axis=0)
            self.angles = np.insert(self.angles, places, (1.0, 0.0), axis=0)
            self._gains = np.zeros(len(self))
        self._sweep(backward=False)
        self._update_weights()
        return len(places) + (self.append(count - len(places)) if len(places) < count else 0)

    def drop(self, count: int) -> None:
        """Remove the `count` rotations with the smallest gains in the last sweep."""
        kept = np.sort(np.argsort(-self._gains, kind="stable")[: len(self) - count])
        self.pairs, self.angles = self.pairs[kept], self.angles[kept]
        self._gains = self._gains[kept]
        self.rotated[...] = conjugated(self.S, chain(self.pairs, self.angles, len(self.S)))
        self._update_weights()

    def steps(self, n_rotations: int, build: str, refine: bool) -> Iterator[None]:
        """Search chains of at most `n_rotations`; yields after each step.

        It ends when the error is at most `allowed`. `build` is "greedy", "grow" (append and sweep)
        or "insert" (insert and sweep).
        """
        n = len(self.S)
        if self.error <= self.allowed:
            return
        # Insertions are blind to equal eigenvalues, so all searches begin with Jacobi rotations.
        quarter = n_rotations // 4 if n_rotations < n * n else 0
        starts = {"greedy": n, "grow": max(quarter, n), "insert": n // _START}
        step = max(1, n // _STEP)
        added = self.append(min(max(1, starts[build]), n_rotations))
        while True:
            if build != "greedy" and len(self):
                self.sweep()
            self._keep_best()
            yield
            rest = n_rotations - len(self)
            if not added or not rest or self.error <= self.allowed:
                break
            if build == "insert":
                added = self.insert(min(step, rest))
            else:
                growth = n if build == "greedy" else max(1, len(self) // _GROWTH)
                added = self.append(min(growth, rest))
        if not refine or len(self) < n_rotations or self.error <= self.allowed:
            return
        for _ in range(_ROUNDS):
            self.drop(n_rotations // _DROPPED)
            while len(self) < n_rotations and self.insert(min(step, n_rotations - len(self))):
                self.sweep()
            self._keep_best()
            yield

    def _candidate(self) -> tuple[float, int, Givens]:
        U = chain(self.pairs, self.angles, len(self.S))
        return max(self.error, self.allowed), len(self), U

    def _keep_best(self) -> None:
        self.best = min(self.best, self._candidate(), key=lambda candidate: candidate[:2])

    def _sweep(self, backward: bool) -> None:
        _core.sweep_angles(self._A, self._D, self.pairs, self.angles, self._gains, backward)

    def _update_weights(self) -> None:
        self._D[...] = 0
        diagonal = np.diagonal(self.rotated) if self.weights is None else self.weights
        np.fill_diagonal(self._D[:, : len(self._D)], diagonal)


def chain(pairs: NDArray[np.int32], angles: Floats64, n_features: int) -> Givens:
    """U = J_1 ... J_g as a transform, whose first rotation is the last of the product."""
    c, s = angles[::-1].T
    blocks = np.stack([c, s, -s, c], axis=1).reshape(-1, 2, 2)
    return Givens._unchecked(np.ascontiguousarray(pairs[::-1]), blocks, n_features)


def conjugated(S: Floats64, U: Transform | None) -> Floats64:
    """U^T S U, symmetric to the last bit; S if U is None."""
    A = S if U is None else U.forward(np.ascontiguousarray(U.forward(S).T))
    return np.asarray((A + A.T) / 2, dtype=np.float64)


def off_diagonal_norm(A: Floats64) -> float:
    """The Frobenius norm of A without its diagonal."""
    squares = np.square(A)
    np.fill_diagonal(squares, 0)
    return sqrt(float(squares.sum()))
