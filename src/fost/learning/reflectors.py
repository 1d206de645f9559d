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
from fost.learning.ladder import Ladder
from fost.learning.loop import alternate
from fost.learning.registry import register
from fost.learning.sources import Statistic
from fost.learning.structure import Problem, Structure, check_count, counted, store
from fost.transforms import Coder, Householder

# n_reflectors="auto": the reflectors that are left out may cost this much relative error together,
# by the prediction of equation (costDetailed2), and QH is given this many iterations first.
_AUTO_LOSS = 0.005
_AUTO_ITERATIONS = 10
# Features up to which a few eigenvectors of Z come from Lanczos iterations.
_MOST_LANCZOS = 256
# Numbers of reflectors that are worth trying.
_SIZES = (*range(1, 9), *range(10, 17, 2), *range(20, 33, 4), *range(48, 257, 16))


@register("householder", "reflectors")
@register("orthogonal-householder", "reflectors orthogonal to each other", orthogonal=True)
@dataclass(frozen=True)
class Reflectors(Structure):
    """Products of m Householder reflectors, applied in 4 n m operations.

    U = U_m ... U_1 with reflectors U_j = I - 2 u_j u_j^T.

    Parameters
    ----------
    n_reflectors : int or "auto"
        Number of reflectors, 1 to n. ``"auto"`` chooses it from the spectrum of
        Z = X Y^T + Y X^T: without the reflector of a negative eigenvalue -a the relative error
        would be 2 a / ||Y||_F^2 higher, and those that cost less than half a percentage point
        together are left out.
    orthogonal : bool
        QH_m-DLA (Algorithm 1) if true: the u_j are orthogonal to each other, U is symmetric,
        and one update finds them all, as the eigenvectors of the m lowest eigenvalues of Z.
        H_m-DLA (Algorithm 2) if false: one after the other becomes the best for the others,
        which costs more time and gives less error.
    order : {"cyclic", "random"}
        The order of Algorithm 2's updates; it hardly matters.
    triangular : bool
        Reflectors with leading zeros, as in a QR decomposition: u_m has none, u_(m-1) has one,
        and so on (end of section IV.B). Not with `orthogonal`.

    Notes
    -----
    Starts: ``"svd"`` (the default: the reflectors that triangularise the m + 1 leading principal
    components), ``"random"``, and for H also ``"orthogonal"`` (learn QH_m first).

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
        store(
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
        return counted(self.n_reflectors, self.parts)

    def flops(self, n_features: int) -> int:
        return 4 * n_features * self._count

    @classmethod
    def of_size(cls, size: int | None, n_features: int) -> Reflectors:
        return cls("auto" if size is None else size)

    @classmethod
    def ladder(cls, n_features: int, over_base: bool) -> Ladder:
        least = None if over_base else max(1, n_features // 32)
        return Ladder(cls, n_features, _SIZES, n_features, least, fixed_starts=True)

    def fit_to(self, problem: Problem) -> Reflectors:
        if self.n_reflectors == "auto":
            return replace(self, n_reflectors=_choose_n_reflectors(problem))
        check_integer(self.n_reflectors, "n_reflectors", 1, problem.n_features, "n_features")
        return self

    @property
    def _count(self) -> int:
        assert isinstance(self.n_reflectors, int), "n_reflectors is decided by fit_to"
        return int(self.n_reflectors)

    def initial(self, problem: Problem, init: str) -> Coder:
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

    def restart(self, problem: Problem, coder: Coder) -> Coder:
        """The same reflectors, fewer with zeros behind them, or zeros alone."""
        vectors = np.zeros((self._count, problem.n_features))
        if isinstance(coder, Householder) and coder.n_reflectors <= self._count:
            vectors[: coder.n_reflectors] = coder.vectors
        return Householder(self._with_leading_zeros(vectors))

    def update(self, problem: Problem, statistic: Statistic, current: Coder) -> Coder:
        if self.orthogonal:
            vectors = self._lowest_eigenvectors(statistic.scaled, current)
            return Householder.made(vectors)
        assert isinstance(current, Householder)
        vectors = current.vectors.copy()
        order = np.arange(len(vectors), dtype=np.int32)
        if self.order == "random":
            problem.random.shuffle(order)
        _core.sweep_reflectors(statistic.scaled, vectors, order, self._begins)
        return Householder.made(vectors)

    def _lowest_eigenvectors(
        self, statistic: NDArray[np.float64], current: Coder
    ) -> NDArray[np.float64]:
        """Step 2 of Algorithm 1: from the current vectors where that is faster than LAPACK."""
        m, n = self._count, len(statistic)
        assert isinstance(current, Householder)
        if m > n // 4 or n > _MOST_LANCZOS:
            return lowest_eigenvectors(statistic, m, current.vectors)
        vectors = current.vectors.copy()
        _core.lowest_eigenvectors(statistic, vectors)
        return vectors

    @property
    def _begins(self) -> NDArray[np.int32]:
        """Leading zeros of u_1 ... u_m."""
        m = self._count
        return np.arange(m - 1, -1, -1, dtype=np.int32) * np.int32(self.triangular)

    def _with_leading_zeros(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        places = np.arange(vectors.shape[1])
        masked = np.where(places >= self._begins[:, None], vectors, 0.0)
        if np.array_equal(masked, vectors):
            return vectors
        norms = np.linalg.norm(masked, axis=1, keepdims=True)
        return np.asarray(masked / np.where(norms == 0, 1.0, norms))


def lowest_eigenvectors(
    statistic: NDArray[np.float64], m: int, current: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Step 2 of Algorithm 1 by LAPACK: u_1 ... u_m (rows) from Z = X Y^T + Y X^T.

    The eigenvectors of the m lowest eigenvalues, the lowest for u_m; zeros for eigenvalues
    that are not negative. Where eigenvalue m + 1 is the same as eigenvalue m, many choices are
    best, and that nearest to the `current` vectors is made. Lanczos iterations need no such
    rule: those that begin at a vector find what is nearest to it.
    """
    Z = statistic + statistic.T
    last = min(m, len(Z) - 1)
    values, vectors = scipy.linalg.eigh(Z, subset_by_index=[0, last], check_finite=False)
    # Eigenvalues that differ from zero, or from each other, by rounding alone do not differ.
    slack = 1e-15 * len(Z) * np.abs(Z).max()
    if current is not None and last == m and values[m] - values[m - 1] <= slack:
        values, vectors = _nearest_of_tied(Z, m, slack, current)
    negative = values[:m] < -slack
    return np.ascontiguousarray((initialise.fixed_signs(vectors[:, :m]) * negative).T[::-1])


def _nearest_of_tied(
    Z: NDArray[np.float64], m: int, slack: float, current: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The m lowest eigenpairs; of an eigenspace that is needed in part, the part near `current`."""
    values, vectors = scipy.linalg.eigh(Z, check_finite=False)
    tied = np.abs(values - values[m - 1]) <= slack
    n_below = int(np.argmax(tied))
    space = vectors[:, tied]
    nearest, _, _ = scipy.linalg.svd(space.T @ current.T)
    chosen = space @ nearest[:, : m - n_below]
    return values[:m], np.hstack([vectors[:, :n_below], chosen])


def _learn_orthogonal(problem: Problem, m: int, max_iter: int) -> Householder:
    """The transform of QH_m-DLA from its SVD start."""
    structure = Reflectors(m, orthogonal=True)
    transform = alternate(problem.but(max_iter=max_iter), structure, "svd").transform
    assert isinstance(transform, Householder)
    return transform


def _choose_n_reflectors(problem: Problem) -> int:
    """How many reflectors the spectrum of Z makes worthwhile (section IV.B)."""
    n = problem.n_features
    transform = _learn_orthogonal(problem, max(1, n // 2), _AUTO_ITERATIONS)
    M = problem.code(transform).matrix
    values = scipy.linalg.eigvalsh(M + M.T, check_finite=False)
    return max(1, n_worthwhile(values, problem.total))


def n_worthwhile(
    eigenvalues: NDArray[np.float64], total: float, max_loss: float = _AUTO_LOSS
) -> int:
    """The fewest reflectors whose missing fellows cost at most `max_loss` of ||Y||_F^2 = total.

    By equation (costDetailed2) the reflector of a negative eigenvalue -a of Z, sorted from the
    lowest, is worth 2 a.
    """
    losses = 2 * np.maximum(0.0, -eigenvalues) / (total or 1.0)
    # losses falls along the spectrum; left[k] is what leaving out all but the first k costs.
    left = np.concatenate([np.cumsum(losses[::-1])[::-1], [0.0]])
    return int(np.argmax(left <= max_loss))
