"""Rotations of two features at a time, best on top of a fast base."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from fost import _core
from fost._validation import check_integer
from fost.learning.ladder import Ladder
from fost.learning.loop import alternate
from fost.learning.orthonormal import Orthonormal
from fost.learning.registry import register
from fost.learning.sources import Statistic
from fost.learning.structure import Problem, Structure, check_count, counted, store
from fost.transforms import Coder, Dense, Givens, Transform

# As many rotations are allowed for any number of features, though n^2 may be fewer: what suits
# most signals should not fail for the smallest.
_ALWAYS_ALLOWED = 4096
# Numbers of rotations that are worth trying, without a base and over one.
_SIZES = tuple(2**k for k in range(3, 21))
_SIZES_OVER_BASE = tuple(size for k in range(3, 21) for size in (2**k, 3 * 2 ** (k - 1)))
# n_rotations="auto": a rotation (six operations) must lower the relative error by this much.
_AUTO_GAIN = 1e-4
# init="aligned": Q-DLA runs on so many signals, for so many iterations at most, until the
# relative error changes by less than this. More of either gains nothing; a few iterations do where
# the start of a start is wanted.
_ALIGNED_SIGNALS = 2048
_ALIGNED_ITERATIONS = 30
_ROUGH_ITERATIONS = 5
_ALIGNED_TOL = 3e-4


@register("givens", "rotations of two features each")
@dataclass(frozen=True)
class Rotations(Structure):
    """Chains of g rotations or reflections of two features each, applied in 6 g operations.

    One update is a sweep over the chain: each rotation in turn becomes the one, its pair of
    features included, that lowers ||Y - U X||_F most, the others fixed. Without a base they
    are poor; over the DCT of pictures 64 of them do better than 12 reflectors at a third of
    the cost.

    Parameters
    ----------
    n_rotations : int or "auto"
        Number of rotations, at most n^2, or 4096 where that is more: n (n - 1) / 2 of them reach
        every orthonormal matrix up to signs, and n^2 cost three times the operations of a dense
        one. ``"auto"`` adds them greedily until the next one would lower the relative error by
        less than 1e-4.

    Notes
    -----
    Starts: ``"aligned"`` (the default: learn `Orthonormal` for a few iterations, permute and sign
    its atoms to lie closest to those of the base, and begin with its codes) and ``"base"`` (begin
    with the codes of the base itself).

    C. Rusu and J. Thompson, "Learning Fast Sparsifying Transforms", IEEE Transactions on Signal
    Processing, 2017, learn such chains without a base, as generalised Givens rotations.

    Examples
    --------
    >>> import fost, numpy as np
    >>> Y = np.cumsum(np.random.default_rng(0).standard_normal((500, 16)), axis=1)
    >>> fost.learn(Y, fost.Rotations(8), n_nonzero_coefs=2, base=fost.DCT(16)).transform
    Chain(n_features=16, stages=[DCT, Givens], flops=166)
    """

    parts = "rotations"
    wants_base = True
    starts = ("aligned", "base")

    n_rotations: int | Literal["auto"]

    def __post_init__(self) -> None:
        store(self, n_rotations=check_count(self.n_rotations, "n_rotations"))

    @property
    def label(self) -> str:
        return counted(self.n_rotations, self.parts)

    def flops(self, n_features: int) -> int:
        assert isinstance(self.n_rotations, int), "n_rotations is decided by fit_to"
        return 6 * self.n_rotations

    @classmethod
    def of_size(cls, size: int | None, n_features: int) -> Rotations:
        return cls(size or n_features)

    @classmethod
    def ladder(cls, n_features: int, over_base: bool) -> Ladder | None:
        if n_features == 1:
            return None
        sizes = _SIZES_OVER_BASE if over_base else _SIZES
        return Ladder(cls, n_features, sizes, _most(n_features), max(4, n_features // 16))

    def fit_to(self, problem: Problem) -> Rotations:
        n = problem.n_features
        if n < 2:
            raise ValueError("rotations need at least two features, Y has n_features=1")
        if self.n_rotations == "auto":
            return replace(self, n_rotations=_choose_n_rotations(problem))
        check_rotations(self.n_rotations, "n_rotations", n)
        return self

    def initial(self, problem: Problem, init: str) -> Coder:
        if init == "base":
            return self._identity(problem.n_features)
        # All numbers of rotations have the same start.
        key = ("aligned", problem.base, problem.rule, problem.rough)
        return problem.source.once(key, lambda: _aligned(problem))

    def restart(self, problem: Problem, coder: Coder) -> Coder:
        """The same chain, a shorter one with identities behind it, or identities alone."""
        identity = self._identity(problem.n_features)
        if not isinstance(coder, Givens) or coder.n_rotations > identity.n_rotations:
            return identity
        rest = slice(coder.n_rotations, None)
        return Givens(
            np.concatenate([coder.pairs, identity.pairs[rest]]),
            np.concatenate([coder.blocks, identity.blocks[rest]]),
            problem.n_features,
        )

    def update(self, problem: Problem, statistic: Statistic, current: Coder) -> Coder:
        assert isinstance(current, Givens)
        pairs, blocks = current.pairs.copy(), current.blocks.copy()
        _core.sweep_rotations(statistic.scaled, pairs, blocks, np.empty(len(pairs)), -1.0)
        return Givens.made(pairs, blocks, problem.n_features)

    def _identity(self, n_features: int) -> Givens:
        assert isinstance(self.n_rotations, int), "n_rotations is decided by fit_to"
        return Givens(*_identities(self.n_rotations), n_features)


def check_rotations(value: object, name: str, n_features: int) -> int:
    """A number of rotations that is of use for so many features."""
    return check_integer(value, name, 1, _most(n_features), "max(n_features**2, 4096)")


def _most(n_features: int) -> int:
    return min(max(n_features**2, _ALWAYS_ALLOWED), 2**31 - 1)


def _identities(g: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Pairs and blocks of g rotations that do nothing."""
    return np.tile(np.array([[0, 1]], np.int32), (g, 1)), np.tile(np.eye(2), (g, 1, 1))


def _aligned(problem: Problem) -> Transform:
    """A transform of Q-DLA, its atoms in the order and with the signs nearest the identity.

    The codes do not care about order and signs, but the rotations, which start from the
    identity, have less to undo.
    """
    start = Dense(np.eye(problem.n_features)) if problem.base is not None else "svd"
    sample = problem.source.sample(_ALIGNED_SIGNALS)
    iterations = _ROUGH_ITERATIONS if problem.rough else _ALIGNED_ITERATIONS
    quick = problem.but(source=sample, max_iter=iterations, tol=_ALIGNED_TOL)
    Q = alternate(quick, Orthonormal(), start).transform.matrix
    rows, columns = linear_sum_assignment(-np.abs(Q))
    ordered = Q[:, columns[np.argsort(rows)]]
    signs = np.where(np.diag(ordered) < 0, -1.0, 1.0)
    return Dense(ordered * signs)


def _choose_n_rotations(problem: Problem) -> int:
    """How many rotations pay, each against six operations, when added greedily."""
    n = problem.n_features
    most = n * (n - 1) // 2
    pairs, blocks = _identities(most)
    statistic = problem.code(_aligned(problem))
    scale = np.abs(statistic.matrix).max() or 1.0
    least = _AUTO_GAIN * problem.total / 2 / scale
    count = _core.sweep_rotations(statistic.scaled, pairs, blocks, np.empty(most), least)
    return max(1, count)
