"""scikit-learn's warning where learning ended before it was done."""

from __future__ import annotations

import warnings

from sklearn.exceptions import ConvergenceWarning

from fost._warnings import external_stacklevel
from fost.learning.state import LearningResult


def warn_unless_converged(result: LearningResult, max_iter: int, tol: float) -> None:
    """Warns where `max_iter` ended the learning that was to go on until it changes by `tol`.

    Nobody needs to be told what they did themselves: no iterations, a callback, Ctrl-C.
    """
    if not (result.converged or result.interrupted or result.stopped) and result.n_iter >= max_iter:
        warn_of_change(result.n_iter, tol)


def warn_of_change(n_iter: int, tol: float) -> None:
    """Warns that so many iterations, all there were to be, did not end by `tol`."""
    if n_iter > 0 and tol > 0:
        warnings.warn(
            f"the relative error still changed by tol={tol:g} or more after max_iter={n_iter} "
            "iterations; more of them may lower it, and tol=0 is to do just as many",
            ConvergenceWarning,
            stacklevel=external_stacklevel(),
        )
