"""Q-DLA: any orthonormal transform (section II of the paper)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from fost import _core
from fost.learning import initialise
from fost.learning.registry import register
from fost.learning.statistics import Statistic
from fost.learning.structure import CandidateSizes, Problem, Structure
from fost.transforms import Coder, Dense
from fost.transforms.coder import dense_flops

# Up to so many features the Newton iteration of the core is faster than an SVD by LAPACK.
_MAX_NEWTON = 256


@register("orthonormal", "any orthonormal matrix")
@dataclass(frozen=True)
class Orthonormal(Structure):
    r"""All orthonormal matrices (Q-DLA): the smallest error and the slowest transform.

    The update solves the orthogonal Procrustes problem: with :math:`Y X^T = U S V^T`, the matrix
    :math:`Q = U V^T` minimises :math:`\|Y - Q X\|_F`. If :math:`Y X^T` is singular, for instance
    because no signal uses an atom, there are many solutions. fost then picks the one closest to the
    current matrix, so that unused atoms change as little as possible.

    The starts are ``"svd"`` (the default: all principal components), ``"approximate-svd"`` (a few
    principal components, completed at random; for large n) and ``"random"``.

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
    def candidate_sizes(cls, n_features: int, over_base: bool) -> CandidateSizes | None:
        # A base does not change the set of orthonormal matrices.
        if over_base:
            return None
        return CandidateSizes(cls, n_features, min_member_size=1, fixed_starts=True)

    def initialise(self, problem: Problem, init: str) -> Coder:
        """Principal components or a random basis."""
        if init == "svd":
            return Dense(initialise.principal_components(problem.gram, problem.n_features))
        if init == "approximate-svd":
            return Dense(initialise.approximate_basis(problem.gram, problem.random))
        return Dense(initialise.random_basis(problem.n_features, problem.random))

    def build(self, problem: Problem, coder: Coder) -> Coder:
        """The given transform: all transforms are orthonormal matrices."""
        return coder

    def update(self, problem: Problem, statistic: Statistic, current: Coder) -> Coder:
        """The Procrustes solution of section II, by a Newton iteration if M is regular."""
        M, Q = statistic.scaled, current.matrix
        if len(M) <= _MAX_NEWTON:
            found = np.empty_like(Q)
            if _core.solve_procrustes(M, Q, found):
                return Dense._unchecked(found)
        return Dense._unchecked(solve_procrustes(M, Q))


def solve_procrustes(
    statistic: NDArray[np.float64], current: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The best orthonormal matrix for any M = X Y^T by an SVD; among several, the closest."""
    u, values, vt = scipy.linalg.svd(statistic.T, check_finite=False)  # Y X^T = M^T
    free = values <= 4 * np.finfo(np.float64).eps * len(values) * values[0]
    if free.any():
        # All U_0 W V_0^T with orthonormal W are optimal on the null space; take the closest.
        p, _, qt = scipy.linalg.svd(u[:, free].T @ current @ vt[free].T)
        u[:, free] = u[:, free] @ (p @ qt)
    return np.asarray(u @ vt)
