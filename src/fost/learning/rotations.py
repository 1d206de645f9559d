"""Generalised Givens rotations: chains of rotations of two features at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from fost import _core
from fost._validation import check_integer
from fost.coding.encode import apply_plan
from fost.learning import initialise
from fost.learning.learn import alternate
from fost.learning.orthonormal import Orthonormal
from fost.learning.registry import register
from fost.learning.statistics import Statistic
from fost.learning.structure import (
    CandidateSizes,
    Problem,
    Structure,
    check_count,
    count_label,
    set_checked,
)
from fost.learning.training_data import TrainingData
from fost.streams.arrays import ArrayStream
from fost.transforms import Coder, Dense, Givens, Transform
from fost.transforms.coder import index_bits

# So many rotations are allowed for any number of features, although n^2 may be fewer: a default
# that suits most signals should not fail for short ones.
_ALWAYS_ALLOWED = 4096
# Numbers of rotations that model selection tries, without a base and over one.
_SIZES = tuple(2**k for k in range(3, 21))
_SIZES_OVER_BASE = tuple(size for k in range(3, 21) for size in (2**k, 3 * 2 ** (k - 1)))
# n_rotations="auto": a rotation (six operations) must reduce the relative error by this much.
_AUTO_GAIN = 1e-4
# init="aligned": the number of features, of signals per feature and of entries of all signals, the
# maximal number of iterations and the tolerance of Q-DLA. Other features have little energy. With
# fewer signals, the result depends more on the sample. A start of another start needs only a few
# iterations.
_ALIGNED_FEATURES = 256
_ALIGNED_SIGNALS = 64
_ALIGNED_ENTRIES = 2**20
_ALIGNED_ITERATIONS = 30
_ROUGH_ITERATIONS = 5
_ALIGNED_TOL = 3e-4
# A local minimum that is reached with momentum has a smaller error, see `benchmarks.rotations`.
_MOMENTUM = 0.9
# `Givens` corrects blocks B with max|B B^T - I| above this.
_ORTHOGONAL = 8 * float(np.finfo(np.float64).eps)


@register("givens", "rotations of two features each")
@dataclass(frozen=True)
class Rotations(Structure):
    r"""Chains of g rotations or reflections of two features each, applied in 6 g operations.

    One update is a sweep over the chain. Each rotation in turn, with its pair of features, becomes
    the one that reduces :math:`\|Y - U X\|_F` most while the others are fixed. Rotations need a
    base: over the DCT of images, 64 rotations have a smaller error than 12 reflectors at a third of
    the cost.

    Parameters
    ----------
    n_rotations : int or "auto"
        The number of rotations, at most n^2, or 4096 if that is more. n (n - 1) / 2 rotations
        represent every orthonormal matrix up to signs. ``"auto"`` adds rotations greedily until
        the next one would reduce the relative error by less than 1e-4.

    Notes
    -----
    The start ``"base"`` begins with the codes of the base. The default start, ``"aligned"``, learns
    `Orthonormal` for a few iterations, on the 256 features of the base with the largest energy. It
    permutes and signs these atoms to be closest to the base, and begins with their codes.

    References
    ----------
    C. Rusu and J. Thompson, "Learning Fast Sparsifying Transforms", IEEE Transactions on Signal
    Processing, 2017. They learn such chains without a base.

    Examples
    --------
    >>> import fost, numpy as np
    >>> Y = np.cumsum(np.random.default_rng(0).standard_normal((500, 16)), axis=1)
    >>> fost.learn(Y, fost.Rotations(8), n_nonzero_coefs=2, base=fost.DCT(16)).transform
    Chain(n_features=16, stages=[DCT, Givens], flops=166)
    """

    parts = "rotations"
    wants_base = True
    momentum = _MOMENTUM
    starts = ("aligned", "base")

    n_rotations: int | Literal["auto"]

    def __post_init__(self) -> None:
        set_checked(self, n_rotations=check_count(self.n_rotations, "n_rotations"))

    @property
    def label(self) -> str:
        return count_label(self.n_rotations, self.parts)

    def flops(self, n_features: int) -> int:
        assert isinstance(self.n_rotations, int), "fit_to chooses n_rotations"
        return 6 * self.n_rotations

    def storage_bits(self, n_features: int) -> int:
        return self.flops(n_features) // 6 * (16 + 2 * index_bits(n_features))

    @classmethod
    def of_size(cls, size: int | None, n_features: int) -> Rotations:
        return cls(size or n_features)

    @classmethod
    def candidate_sizes(cls, n_features: int, over_base: bool) -> CandidateSizes | None:
        if n_features == 1:
            return None
        sizes = _SIZES_OVER_BASE if over_base else _SIZES
        member = max(4, n_features // 16)
        return CandidateSizes(cls, n_features, sizes, _max_rotations(n_features), member)

    def fit_to(self, problem: Problem) -> Rotations:
        n = problem.n_features
        if n < 2:
            raise ValueError("rotations need at least two features, Y has n_features=1")
        if self.n_rotations == "auto":
            return replace(self, n_rotations=_choose_n_rotations(problem))
        check_rotations(self.n_rotations, "n_rotations", n)
        return self

    def initialise(self, problem: Problem, init: str) -> Coder:
        """The identity, or an orthonormal matrix that is aligned with the base."""
        if init == "base":
            return self._identity(problem.n_features)
        # The start does not depend on the number of rotations.
        key = ("aligned", problem.base, problem.rule, problem.rough)
        return problem.data.cached(key, partial(_aligned, problem))

    def build(self, problem: Problem, coder: Coder) -> Coder:
        """The same chain, a shorter chain followed by identities, or identities alone."""
        identity = self._identity(problem.n_features)
        if not isinstance(coder, Givens) or coder.n_rotations > identity.n_rotations:
            return identity
        if coder.n_rotations == identity.n_rotations and _is_orthogonal(coder.blocks):
            return coder
        rest = slice(coder.n_rotations, None)
        return Givens(
            np.concatenate([coder.pairs, identity.pairs[rest]]),
            np.concatenate([coder.blocks, identity.blocks[rest]]),
            problem.n_features,
        )

    def update(self, problem: Problem, statistic: Statistic, current: Coder) -> Coder:
        """One sweep over the chain, with the best pair of features for each rotation."""
        assert isinstance(current, Givens)
        pairs, blocks = current.pairs.copy(), current.blocks.copy()
        _core.sweep_rotations(statistic.scaled, pairs, blocks, np.empty(len(pairs)), -1.0)
        return Givens._unchecked(pairs, blocks, problem.n_features)

    def prune(self, problem: Problem, coder: Coder) -> Coder | None:
        """The half of the rotations without which the codes would lose most energy."""
        assert isinstance(coder, Givens)
        if coder.n_rotations < 2:
            return None
        losses = removal_losses(self.statistic(problem, coder).scaled, coder)
        kept = np.sort(np.argsort(-losses, kind="stable")[: len(losses) - len(losses) // 2])
        return Givens._unchecked(coder.pairs[kept], coder.blocks[kept], problem.n_features)

    def _identity(self, n_features: int) -> Givens:
        assert isinstance(self.n_rotations, int), "fit_to chooses n_rotations"
        return Givens._unchecked(*identities(self.n_rotations), n_features)


def removal_losses(M: NDArray[np.float64], chain: Givens) -> NDArray[np.float64]:
    """The decrease of <M, U^T> without each of the rotations G_1, ..., G_g.

    At rotation k, R = (G_(k-1) ... G_1) M (G_g ... G_k). Without it, the trace of R loses the
    difference between its pair of features and the same pair without G_k.
    """
    R = M.copy()
    for pair, block in zip(chain.pairs[::-1], chain.blocks[::-1], strict=True):
        R[:, pair] = R[:, pair] @ block
    losses = np.empty(len(chain.pairs))
    for k, (pair, block) in enumerate(zip(chain.pairs, chain.blocks, strict=True)):
        own = R[np.ix_(pair, pair)]
        losses[k] = np.trace(own) - np.trace(own @ block.T)
        R[pair] = block @ R[pair]
        R[:, pair] = R[:, pair] @ block.T
    return losses


def check_rotations(value: object, name: str, n_features: int) -> int:
    """A number of rotations within the limit for `n_features`."""
    return check_integer(value, name, 1, _max_rotations(n_features), "max(n_features**2, 4096)")


def _max_rotations(n_features: int) -> int:
    return min(max(n_features**2, _ALWAYS_ALLOWED), 2**31 - 1)


def identities(g: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Pairs and blocks of g identities."""
    return np.tile(np.array([[0, 1]], np.int32), (g, 1)), np.tile(np.eye(2), (g, 1, 1))


def _is_orthogonal(blocks: NDArray[np.float64]) -> bool:
    """Whether all blocks are orthogonal up to rounding."""
    a, b, c, d = blocks.reshape(-1, 4).T
    gaps = np.abs([a * a + b * b - 1, a * c + b * d, c * c + d * d - 1])
    return bool(gaps.max(initial=0.0) <= _ORTHOGONAL)


def _aligned(problem: Problem) -> Transform:
    """A transform of Q-DLA whose atoms have the order and signs closest to the identity.

    Codes do not depend on order and signs, but rotations start from the identity. Q-DLA works on
    the leading features of the base, or else on the leading principal components. The other ones
    stay unchanged.
    """
    n, gram = problem.n_features, problem.gram
    if problem.base is None:
        Q, leading = initialise.principal_components(gram, n), np.arange(n)[:_ALIGNED_FEATURES]
    else:
        Q, order = np.eye(n), np.argsort(-np.diag(gram), kind="stable")
        leading = np.sort(order[:_ALIGNED_FEATURES])
    quick = replace(
        problem,
        data=_leading_coefficients(problem, Q, leading),
        base=None,
        n_nonzero_coefs=min(problem.n_nonzero_coefs, len(leading)),
        max_iter=_ROUGH_ITERATIONS if problem.rough else _ALIGNED_ITERATIONS,
        tol=_ALIGNED_TOL,
        momentum=_MOMENTUM,
        saved_gram=None,
    )
    start = Dense._unchecked(np.eye(len(leading)))
    Q[:, leading] = Q[:, leading] @ alternate(quick, Orthonormal(), start).transform.matrix
    moved = np.arange(n) if problem.base is None else leading
    rows, columns = linear_sum_assignment(-np.abs(Q[np.ix_(moved, moved)]))
    Q[:, moved[rows]] = Q[:, moved[columns]]
    signs = np.where(np.diag(Q) < 0, -1.0, 1.0)
    return Dense._unchecked(np.ascontiguousarray(Q * signs))


def _leading_coefficients(
    problem: Problem, basis: NDArray[np.float64], leading: NDArray[np.intp]
) -> TrainingData:
    """Coefficients of a sample of the signals in the base, or else in the basis.

    Missing entries are replaced by conditional means.
    """
    width = len(leading)
    data = problem.data.sample(min(_ALIGNED_SIGNALS * width, _ALIGNED_ENTRIES // width))
    rows = data.rows()
    if data.prior is not None:
        rows = data.prior.fill(rows, np.isnan(rows))
    if problem.base is None:
        found = rows @ basis[:, leading].astype(rows.dtype)
    else:
        found = apply_plan(problem.base._plan, rows, inverse=False, name=data.name)[:, leading]
    stream = ArrayStream(np.ascontiguousarray(found), data.name, weights=data.weights)
    return TrainingData(stream, is_canonical=True)


def _choose_n_rotations(problem: Problem) -> int:
    """The number of greedily added rotations of which each gains at least `_AUTO_GAIN`."""
    n = problem.n_features
    most = n * (n - 1) // 2
    pairs, blocks = identities(most)
    statistic = problem.data.statistic(problem.base, _aligned(problem), problem.rule)
    scale = np.abs(statistic.matrix).max() or 1.0
    min_gain = _AUTO_GAIN * problem.signal_energy / 2 / scale
    count = _core.sweep_rotations(statistic.scaled, pairs, blocks, np.empty(most), min_gain)
    return max(1, count)
