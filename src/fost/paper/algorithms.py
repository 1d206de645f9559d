"""The paper's algorithms by the names that the paper gives them, exactly as printed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import fost
from fost._validation import check_choice, check_integer, check_parameters
from fost.baselines import GeneralDictionary
from fost.diagnostics import batch_omp_flops
from fost.learning import as_training_data

_ITERATIONS = 100
_STAGE_ITERATIONS = 15
_NAMES = "H6, QH12 (any number of reflectors), Q, DCT, 2-D DCT, SK-SVD"


@dataclass(frozen=True)
class Learned:
    """A dictionary that a method found for signals.

    Attributes
    ----------
    dictionary : Coder or GeneralDictionary
    errors : ndarray
        Relative errors of the start and after each iteration, so that ``errors[k]`` is that of
        K = k; for SK-SVD of each stage.
    operations : int
        Per signal, to code it, without the selection; for SK-SVD those of Batch-OMP.

    Examples
    --------
    >>> import numpy as np
    >>> from fost import paper
    >>> Y = np.cumsum(np.random.default_rng(0).standard_normal((100, 16)), axis=1)
    >>> found = paper.learn("H3", Y, s=2, K=5)
    >>> found.operations, len(found.errors)
    (192, 6)
    """

    dictionary: fost.Coder | GeneralDictionary
    errors: NDArray[np.float64]
    operations: int

    @classmethod
    def after(
        cls, start_error: float, errors: NDArray[np.float64], transform: fost.Coder
    ) -> Learned:
        """What `fost.learn` found."""
        return cls(transform, np.r_[start_error, errors], transform.flops)

    @property
    def error(self) -> float:
        """||Y - D X||_F^2 / ||Y||_F^2 in the end."""
        return float(self.errors[-1])

    def rmse(self, Y: NDArray[np.float64], k: int | None = None) -> float:
        """The root of the mean squared entry of Y - D X, in the end or after k iterations."""
        error = self.error if k is None else float(self.errors[k])
        return float(np.sqrt(error * np.mean(np.square(Y))))


def learn(
    name: str, Y: ArrayLike, s: int = 4, K: int | None = None, *, start: str = "paper"
) -> Learned:
    """Run an algorithm of the paper as it is printed, for K iterations, with no early stop.

    Parameters
    ----------
    name : str
        ``"H6"`` for H_6-DLA (Algorithm 2), ``"QH12"`` for QH_12-DLA (Algorithm 1), ``"Q"`` or
        ``"Q-DLA"``, ``"DCT"`` for the paper's, which is one-dimensional, ``"2-D DCT"`` for
        patches, ``"SK-SVD"`` as published, with as many atoms as features.
    Y : array-like of shape (n_signals, n_features)
        Signals in rows; the paper has them in columns. `fost.paper.signals` makes those of the
        paper of pictures.
    s : int
        Entries per code.
    K : int, optional
        Iterations, 100 if None; of SK-SVD those of K-SVD in each stage, 15 if None. The DCT
        learns nothing.
    start : {"paper", "matlab"}
        Of H and QH: "paper" triangularises the m + 1 leading singular vectors, as printed.
        "matlab" is the start of the first author's published code: reflectors that are zero, and
        the codes of the whole basis of singular vectors. Q starts from that basis in both.

    Returns
    -------
    Learned
        The dictionary, and the error after each iteration.

    Examples
    --------
    >>> import numpy as np
    >>> from fost import paper
    >>> Y = np.cumsum(np.random.default_rng(0).standard_normal((300, 16)), axis=1)
    >>> found = paper.learn("QH3", Y, s=2, K=20)
    >>> found.dictionary
    Householder(n_features=16, n_reflectors=3, flops=192)
    >>> len(found.errors), found.operations
    (21, 192)
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be a string, got {type(name).__name__}")
    check_choice(start, "start", ("paper", "matlab"))
    signals = check_parameters(Y, "Y", (None, None))
    n = signals.shape[1]
    s = check_integer(s, "s", 1, n, "n_features")
    if K is not None:
        K = check_integer(K, "K", 0, 2**31 - 1)
    if name in ("DCT", "1-D DCT", "2-D DCT"):
        _only_start(start, name)
        return _fixed(_cosines(name, n), signals, s)
    if name == "SK-SVD":
        _only_start(start, name)
        n_inner = _STAGE_ITERATIONS if K is None else K
        return stagewise(signals, s, n_inner=n_inner, n_final=0, drop_first=True)
    structure = _structure(name, n)
    init: fost.Coder | None = None
    if start == "matlab" and isinstance(structure, fost.Reflectors):
        init = fost.learn(signals, fost.Orthonormal(), s, max_iter=0).transform
    max_iter = _ITERATIONS if K is None else K
    found = fost.learn(signals, structure, s, init=init, max_iter=max_iter, tol=0, random_state=0)
    whole(found.interrupted)
    return Learned.after(found.start_error, found.errors, found.transform)


def stagewise(Y: NDArray[np.float64], s: int, **options: Any) -> Learned:
    """SK-SVD of as many atoms as features, by the options of the estimator."""
    n = Y.shape[1]
    # In float64: rounding to float32 decides which way its thousands of choices go.
    fitted = fost.baselines.StagewiseKSVD(n, s, **options, random_state=0).fit(Y)
    whole(fitted.interrupted_)
    errors = np.r_[fitted.start_error_, fitted.errors_, -fitted.score(Y)]
    return Learned(fitted.dictionary_, errors, batch_omp_flops(n, s))


def whole(interrupted: bool) -> None:
    """Ctrl-C ends the step: half a result must not be kept for a whole one."""
    if interrupted:
        raise KeyboardInterrupt


def _structure(name: str, n: int) -> fost.Structure:
    if name in ("Q", "Q-DLA"):
        return fost.Orthonormal()
    found = re.fullmatch(r"(Q?)H(\d{1,9})", name)
    if not found:
        raise ValueError(f"name must be one of {_NAMES}, got {name!r}")
    m = int(found[2])
    if not 1 <= m <= n:
        raise ValueError(f"name must have 1 to {n} reflectors, as many as features, got {name!r}")
    return fost.Reflectors(m, orthogonal=bool(found[1]))


def _cosines(name: str, n: int) -> fost.DCT:
    if name != "2-D DCT":
        return fost.DCT(n)
    side = isqrt(n)
    if side * side != n:
        raise ValueError(f"name must not be '2-D DCT' for {n} features, which are no square")
    return fost.DCT((side, side))


def _fixed(transform: fost.Transform, Y: NDArray[np.float64], s: int) -> Learned:
    error = as_training_data(Y).relative_error(transform, s)
    return Learned(transform, np.array([error]), transform.flops)


def _only_start(start: str, name: str) -> None:
    if start != "paper":
        raise ValueError(f"start must be 'paper' for {name}, got {start!r}")
