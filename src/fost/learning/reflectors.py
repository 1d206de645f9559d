"""QH_m-DLA and H_m-DLA: products of m Householder reflectors (section III of the paper)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from fost import _core
from fost._validation import check_choice, check_flag, check_integer
from fost.learning import initialise
from fost.learning.learn import alternate
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
from fost.transforms import Coder, Householder

# n_reflectors="auto": all omitted reflectors together may cost this much relative error, by the
# prediction of equation (costDetailed2), after so many iterations of QH.
_AUTO_LOSS = 0.005
_AUTO_ITERATIONS = 10
# Up to so many features a few eigenvectors of Z are computed by Lanczos iterations.
_MAX_LANCZOS = 256
# Numbers of reflectors that model selection tries.
_SIZES = (*range(1, 9), *range(10, 17, 2), *range(20, 33, 4), *range(48, 257, 16))
# `Householder` normalises rows whose norm differs from one by more than this.
_UNIT_NORM = 8 * float(np.finfo(np.float64).eps)


@register("householder", "reflectors")
@register("orthogonal-householder", "reflectors orthogonal to each other", orthogonal=True)
@dataclass(frozen=True)
class Reflectors(Structure):
    r"""Products of m Householder reflectors, applied in 4 n m operations.

    :math:`U = U_m \cdots U_1` with reflectors :math:`U_j = I - 2 u_j u_j^T`.

    Parameters
    ----------
    n_reflectors : int or "auto"
        The number of reflectors, 1 to n. ``"auto"`` chooses it from the spectrum of
        :math:`\tilde Z = X Y^T + Y X^T`. Without the reflector of a negative eigenvalue :math:`-a`
        the relative error would be higher by :math:`2 a / \|Y\|_F^2`. Reflectors that together cost
        less than half a percentage point are omitted.
    orthogonal : bool
        If true, QH_m-DLA (Algorithm 1): the u_j are orthogonal to each other and U is symmetric.
        One update computes all of them, as the eigenvectors of the m lowest eigenvalues.
        If false, H_m-DLA (Algorithm 2): each reflector in turn becomes the best one for the others.
        This takes more time and gives a smaller error.
    order : {"cyclic", "random"}
        The order of the updates of Algorithm 2; its effect is small.
    triangular : bool
        Reflectors with leading zeros, as in a QR decomposition: u_m has none, u_(m-1) has one,
        and so on (end of section IV.B). Not with `orthogonal`.

    Notes
    -----
    The starts are ``"svd"`` (the default: the reflectors that triangularise the m + 1 leading
    principal components), ``"random"`` and, unless `orthogonal`, ``"orthogonal"`` (learn QH_m
    first).

    Examples
    --------
    >>> import fost, numpy as np
    >>> Y = np.random.default_rng(0).standard_normal((500, 16))
    >>> fost.learn(Y, fost.Reflectors(3), n_nonzero_coefs=2).transform
    Householder(n_features=16, n_reflectors=3, flops=192)
    """

    parts = "reflectors"

    n_reflectors: int | Literal["auto"]
    orthogonal: bool = False
    order: str = "cyclic"
    triangular: bool = False

    def __post_init__(self) -> None:
        set_checked(
            self,
            n_reflectors=check_count(self.n_reflectors, "n_reflectors"),
            orthogonal=check_flag(self.orthogonal, "orthogonal"),
            order=check_choice(self.order, "order", ("cyclic", "random")),
            triangular=check_flag(self.triangular, "triangular"),
        )
        if self.orthogonal and self.triangular:
            raise ValueError("triangular must be False where orthogonal is True")

    @property
    def starts(self) -> tuple[str, ...]:
        return ("svd", "random") if self.orthogonal else ("svd", "random", "orthogonal")

    @property
    def label(self) -> str:
        return count_label(self.n_reflectors, self.parts)

    def flops(self, n_features: int) -> int:
        return 4 * n_features * self._count

    def storage_bits(self, n_features: int) -> int:
        return 16 * n_features * self._count

    @classmethod
    def of_size(cls, size: int | None, n_features: int) -> Reflectors:
        return cls("auto" if size is None else size)

    @classmethod
    def candidate_sizes(cls, n_features: int, over_base: bool) -> CandidateSizes:
        member = None if over_base else max(1, n_features // 32)
        return CandidateSizes(cls, n_features, _SIZES, n_features, member, fixed_starts=True)

    def fit_to(self, problem: Problem) -> Reflectors:
        if self.n_reflectors == "auto":
            return replace(self, n_reflectors=_choose_n_reflectors(problem))
        check_integer(self.n_reflectors, "n_reflectors", 1, problem.n_features, "n_features")
        return self

    @property
    def _count(self) -> int:
        assert isinstance(self.n_reflectors, int), "fit_to chooses n_reflectors"
        return self.n_reflectors

    def initialise(self, problem: Problem, init: str) -> Coder:
        """Reflectors from principal components or at random, or QH_m-DLA."""
        m, n = self._count, problem.n_features
        if init == "orthogonal":
            return _learn_orthogonal(problem, m, problem.max_iter)
        if init == "svd":
            components = initialise.principal_components(problem.gram, min(m + 1, n))
            vectors = initialise.triangularising_reflectors(components, m)
        else:
            vectors = initialise.random_unit_rows(m, n, problem.random)
        if self.orthogonal:
            vectors = initialise.orthogonalised(vectors)
        return Householder(self._with_leading_zeros(vectors))

    def build(self, problem: Problem, coder: Coder) -> Coder:
        """The same reflectors, fewer reflectors followed by zeros, or zeros alone."""
        vectors = np.zeros((self._count, problem.n_features))
        if isinstance(coder, Householder) and coder.n_reflectors <= self._count:
            vectors[: coder.n_reflectors] = coder.vectors
            norms = np.linalg.norm(coder.vectors, axis=1)
            unit = (np.abs(norms - 1) <= _UNIT_NORM) | (norms == 0)
            if coder.n_reflectors == self._count and not self.triangular and unit.all():
                return coder
        return Householder(self._with_leading_zeros(vectors))

    def update(self, problem: Problem, statistic: Statistic, current: Coder) -> Coder:
        """Step 2 of Algorithm 1, or one sweep of Algorithm 2."""
        assert isinstance(current, Householder)
        if self.orthogonal:
            return Householder._unchecked(
                self._lowest_eigenvectors(statistic.scaled, current.vectors)
            )
        vectors = current.vectors.copy()
        order = np.arange(len(vectors), dtype=np.int32)
        if self.order == "random":
            problem.random.shuffle(order)
        # Signals in float32 do not determine M beyond float32.
        single = problem.data.stream.dtype == np.float32
        _core.sweep_reflectors(statistic.scaled, vectors, order, self._n_leading_zeros, single)
        return Householder._unchecked(vectors)

    def _lowest_eigenvectors(
        self, statistic: NDArray[np.float64], current: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Lanczos iterations from the current vectors where they are faster than LAPACK."""
        m, n = self._count, len(statistic)
        if m > n // 4 or n > _MAX_LANCZOS:
            return lowest_eigenvectors(statistic, m, current)
        vectors = current.copy()
        _core.lowest_eigenvectors(statistic, vectors)
        return vectors

    @property
    def _n_leading_zeros(self) -> NDArray[np.int32]:
        """The numbers of leading zeros of u_1 ... u_m."""
        m = self._count
        return np.arange(m - 1, -1, -1, dtype=np.int32) * np.int32(self.triangular)

    def _with_leading_zeros(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        if not self.triangular:
            return vectors
        columns = np.arange(vectors.shape[1])
        masked = np.where(columns >= self._n_leading_zeros[:, None], vectors, 0.0)
        if np.array_equal(masked, vectors):
            return vectors
        norms = np.linalg.norm(masked, axis=1, keepdims=True)
        return np.asarray(masked / np.where(norms == 0, 1.0, norms))


def lowest_eigenvectors(
    statistic: NDArray[np.float64], m: int, current: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Step 2 of Algorithm 1 by LAPACK: u_1 ... u_m (rows) from Z = X Y^T + Y X^T.

    The eigenvectors of the m lowest eigenvalues, the lowest for u_m, and zeros for nonnegative
    eigenvalues. If eigenvalues m and m + 1 are equal there are many solutions. fost then picks the
    one closest to the `current` vectors. Lanczos iterations do so by themselves: they converge to
    the eigenvector closest to their start.
    """
    Z = statistic + statistic.T
    last = min(m, len(Z) - 1)
    values, vectors = scipy.linalg.eigh(Z, subset_by_index=[0, last], check_finite=False)
    # Eigenvalues that differ from zero, or from each other, by rounding only are equal.
    slack = 1e-15 * len(Z) * np.abs(Z).max()
    if current is not None and last == m and values[m] - values[m - 1] <= slack:
        values, vectors = _closest_of_tied(Z, m, slack, current)
    negative = values[:m] < -slack
    return np.ascontiguousarray((initialise.fixed_signs(vectors[:, :m]) * negative).T[::-1])


def _closest_of_tied(
    Z: NDArray[np.float64], m: int, slack: float, current: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The m lowest eigenpairs; a tied eigenspace contributes vectors close to `current`."""
    values, vectors = scipy.linalg.eigh(Z, check_finite=False)
    tied = np.abs(values - values[m - 1]) <= slack
    n_below = int(np.argmax(tied))
    space = vectors[:, tied]
    nearest, _, _ = scipy.linalg.svd(space.T @ current.T)
    chosen = space @ nearest[:, : m - n_below]
    return values[:m], np.hstack([vectors[:, :n_below], chosen])


def _learn_orthogonal(problem: Problem, m: int, max_iter: int) -> Householder:
    """QH_m-DLA from its SVD start."""
    structure = Reflectors(m, orthogonal=True)
    transform = alternate(replace(problem, max_iter=max_iter), structure, "svd").transform
    assert isinstance(transform, Householder)
    return transform


def _choose_n_reflectors(problem: Problem) -> int:
    """The number of reflectors that the spectrum of Z justifies (section IV.B)."""
    n = problem.n_features
    transform = _learn_orthogonal(problem, max(1, n // 2), _AUTO_ITERATIONS)
    M = problem.data.statistic(problem.base, transform, problem.rule).matrix
    values = scipy.linalg.eigvalsh(M + M.T, check_finite=False)
    return max(1, n_worthwhile(values, problem.signal_energy))


def n_worthwhile(
    eigenvalues: NDArray[np.float64], total: float, max_loss: float = _AUTO_LOSS
) -> int:
    """The fewest reflectors such that the others would gain at most `max_loss` of ||Y||_F^2.

    By equation (costDetailed2) the reflector of a negative eigenvalue -a of Z reduces the squared
    error by 2 a. The eigenvalues are sorted from the lowest; `total` is ||Y||_F^2.
    """
    losses = 2 * np.maximum(0.0, -eigenvalues) / (total or 1.0)
    # losses decreases along the spectrum; left[k] is the cost of omitting all but the first k.
    left = np.concatenate([np.cumsum(losses[::-1])[::-1], [0.0]])
    return int(np.argmax(left <= max_loss))
