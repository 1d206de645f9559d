"""The methods that are compared, by the names that the tables give them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fost
from fost.diagnostics import batch_omp_flops
from fost.paper.pictures import SIDE
from fost.paper.settings import Settings

PAPER_METHODS = ("1-D DCT", "H6", "H12", "QH6", "QH12", "H32", "QH32", "Q-DLA", "SK-SVD")
OUR_METHODS = ("2-D DCT", "DCT + 64 rotations", "DCT + 256 rotations", "AutoDictionary")
# AutoDictionary may cost what twelve reflectors do, and is one transform as all the others.
AUTO_BUDGET = fost.diagnostics.reflector_flops(SIDE * SIDE, 12)


@dataclass(frozen=True)
class Learned:
    """A dictionary that a method found for signals.

    Attributes
    ----------
    dictionary : Transform or GeneralDictionary
    errors : ndarray
        Relative errors of the start and of each iteration.
    operations : int
        Per signal, to code it, without the selection; for SK-SVD those of Batch-OMP.
    """

    dictionary: Any
    errors: NDArray[np.float64]
    operations: int

    @property
    def error(self) -> float:
        """||Y - D X||_F^2 / ||Y||_F^2 in the end."""
        return float(self.errors[-1])

    def rmse(self, Y: NDArray[np.float64]) -> float:
        """The root of the mean squared entry of Y - D X."""
        return float(np.sqrt(self.error * np.mean(np.square(Y))))


def learn(
    method: str, Y: NDArray[np.float64], settings: Settings, sparsity: int | None = None
) -> Learned:
    """What a method finds for signals in rows.

    Parameters
    ----------
    method : str
        As in the tables: ``1-D DCT``, ``2-D DCT``, ``H12``, ``QH12``, ``Q-DLA``, ``SK-SVD``,
        ``DCT + 64 rotations``, ``AutoDictionary``.
    Y : ndarray of shape (n_signals, 64)
    settings : Settings
    sparsity : int, optional
        Entries per code; those of the settings if None.

    Examples
    --------
    >>> import numpy as np
    >>> from fost.paper.settings import Settings
    >>> from fost.paper.methods import learn
    >>> Y = np.cumsum(np.random.default_rng(0).standard_normal((300, 64)), axis=1)
    >>> found = learn("QH3", Y, Settings.quick())
    >>> found.operations
    768
    """
    s = sparsity or settings.sparsity
    square = fost.DCT((SIDE, SIDE))
    if method == "SK-SVD":
        return _stagewise(Y, settings, s)
    if method == "AutoDictionary":
        auto = fost.AutoDictionary(
            s,
            (SIDE, SIDE),
            max_flops=AUTO_BUDGET,
            max_transforms=1,
            max_iter=settings.auto_iterations,
            random_state=0,
            verbose=False,
        ).fit(Y)
        whole(auto.interrupted_)
        return Learned(auto.dictionary_, auto.errors_, auto.dictionary_.flops)
    if method.endswith("-D DCT"):
        fixed = square if method.startswith("2") else fost.DCT(SIDE * SIDE)
        return Learned(fixed, np.array([_fixed_error(fixed, Y, s)]), fixed.flops)
    options: dict[str, Any] = {"max_iter": settings.iterations, "random_state": 0}
    if rotations := re.fullmatch(r"DCT \+ (\d+) rotations", method):
        structure: fost.Structure = fost.Rotations(int(rotations[1]))
        options["base"] = square
    else:
        structure, options["tol"] = _structure(method), 0
    result = fost.learn(Y, structure, s, **options)
    whole(result.interrupted)
    return Learned(result.transform, result.errors, result.transform.flops)


def whole(interrupted: bool) -> None:
    """Ctrl-C ends the step: half a result must not be kept for a whole one."""
    if interrupted:
        raise KeyboardInterrupt


def _structure(method: str) -> fost.Structure:
    if method == "Q-DLA":
        return fost.Full()
    if found := re.fullmatch(r"(Q?)H(\d+)", method):
        return fost.Reflectors(int(found[2]), orthogonal=bool(found[1]))
    raise ValueError(f"there is no method {method!r}")


def _stagewise(Y: NDArray[np.float64], settings: Settings, s: int) -> Learned:
    n = Y.shape[1]
    fitted = fost.baselines.StagewiseKSVD(
        n,
        s,
        n_inner=settings.stagewise_inner,
        n_final=settings.stagewise_final,
        random_state=0,
    ).fit(Y.astype(np.float32))
    whole(fitted.interrupted_)
    errors = np.append(fitted.errors_, -fitted.score(Y))
    return Learned(fitted.dictionary_, errors, batch_omp_flops(n, s))


def _fixed_error(transform: fost.Transform, Y: NDArray[np.float64], s: int) -> float:
    kept = np.square(transform.encode(Y, s).data).sum()
    return float(1 - kept / np.square(Y).sum())
