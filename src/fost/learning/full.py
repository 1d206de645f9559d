"""Q-DLA: any orthonormal transform (section II of the paper)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from fost.learning import initialise
from fost.learning.sources import Statistic
from fost.learning.structure import Problem, Structure, unknown_init
from fost.transforms import Dense, Transform


@dataclass(frozen=True)
class Full(Structure):
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
    >>> fost.learn(Y, fost.Full(), n_nonzero_coefs=2).transform
    Dense(n_features=16, flops=496)
    """

    default_init = "svd"

    def fit_to(self, problem: Problem) -> Full:
        return self

    def initial(self, problem: Problem, init: str) -> Transform:
        n = problem.n_features
        if init == "svd":
            return Dense(initialise.principal_components(problem.gram, n))
        if init == "approximate-svd":
            return Dense(initialise.approximate_basis(problem.gram, problem.random))
        if init == "random":
            return Dense(initialise.random_basis(n, problem.random))
        raise unknown_init(init, ("svd", "approximate-svd", "random"), "Full")

    def restart(self, problem: Problem, transform: Transform) -> Transform:
        return transform

    def update(self, problem: Problem, statistic: Statistic, current: Transform) -> Transform:
        # M = X Y^T, so that Y X^T = M^T.
        u, values, vt = scipy.linalg.svd(statistic.matrix.T, check_finite=False)
        free = values <= 4 * np.finfo(np.float64).eps * len(values) * values[0]
        if free.any():
            # Any U_0 W V_0^T with orthonormal W goes with the null space: its nearest is taken.
            p, _, qt = scipy.linalg.svd(u[:, free].T @ current.matrix @ vt[free].T)
            u[:, free] = u[:, free] @ (p @ qt)
        return Dense.exactly(u @ vt)
