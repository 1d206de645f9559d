"""Q-DLA: any orthonormal transform (section II of the paper)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from fost import _core
from fost.learning import initialise
from fost.learning.ladder import Ladder
from fost.learning.registry import register
from fost.learning.sources import Statistic
from fost.learning.structure import Problem, Structure
from fost.transforms import Coder, Dense
from fost.transforms.orthonormal import dense_flops

# Features up to which the core's own inverses are faster than an SVD by LAPACK.
_MOST_NEWTON = 256


@register("orthonormal", "any orthonormal matrix")
@dataclass(frozen=True)
class Orthonormal(Structure):
    """Any orthonormal matrix: the best error that fost can learn, and the slowest transform.

    The update solves the orthogonal Procrustes problem: with Y X^T = U S V^T, the matrix
    Q = U V^T minimises ||Y - Q X||_F. Where Y X^T is singular, as it is when an atom is used by
    no signal, many matrices do; the one nearest to the current Q is taken, so that unused atoms
    stay as they are, as far as that is possible, and chance has no say.

    Starts: ``"svd"`` (the default: all principal components), ``"approximate-svd"`` (a few of them,
    completed at random; for large n), ``"random"``.

    Examples
    --------
    >>> import fost, numpy as np
    >>> Y = np.random.default_rng(0).standard_normal((500, 16))
    >>> fost.learn(Y, fost.Orthonormal(), n_nonzero_coefs=2).transform
    Dense(n_features=16, flops=496)
    """

    starts = ("svd", "approximate-svd", "random")

    @property
    def family(self) -> str:
        return "dense"

    def flops(self, n_features: int) -> int:
        return dense_flops(n_features)

    @classmethod
    def of_size(cls, size: int | None, n_features: int) -> Orthonormal:
        return cls()

    @classmethod
    def ladder(cls, n_features: int, over_base: bool) -> Ladder | None:
        # Over a base there are no others than without.
        return None if over_base else Ladder(cls, n_features, least_member=1, fixed_starts=True)

    def initial(self, problem: Problem, init: str) -> Coder:
        if init == "svd":
            return Dense(initialise.principal_components(problem.gram, problem.n_features))
        if init == "approximate-svd":
            return Dense(initialise.approximate_basis(problem.gram, problem.random))
        return Dense(initialise.random_basis(problem.n_features, problem.random))

    def restart(self, problem: Problem, coder: Coder) -> Coder:
        return coder

    def update(self, problem: Problem, statistic: Statistic, current: Coder) -> Coder:
        M, Q = statistic.scaled, current.matrix
        if len(M) <= _MOST_NEWTON:
            found = np.empty_like(Q)
            if _core.solve_procrustes(M, Q, found):
                return Dense.made(found)
        return Dense.made(solve_procrustes(M, Q))


def solve_procrustes(
    statistic: NDArray[np.float64], current: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The best orthonormal matrix by an SVD, for any M = X Y^T; of several the nearest."""
    # Y X^T = M^T.
    u, values, vt = scipy.linalg.svd(statistic.T, check_finite=False)
    free = values <= 4 * np.finfo(np.float64).eps * len(values) * values[0]
    if free.any():
        # Any U_0 W V_0^T with orthonormal W goes with the null space: its nearest is taken.
        p, _, qt = scipy.linalg.svd(u[:, free].T @ current @ vt[free].T)
        u[:, free] = u[:, free] @ (p @ qt)
    return np.asarray(u @ vt)
