"""The methods that are compared, by the names that the tables give them."""

from __future__ import annotations

import re
import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

import fost
from fost.paper.algorithms import Learned, learn, stagewise, whole
from fost.paper.pictures import SIDE
from fost.paper.settings import Settings

LEARNED = ("H6", "H12", "QH6", "QH12", "H32", "QH32", "Q-DLA")
PAPER_METHODS = ("1-D DCT", *LEARNED, "SK-SVD")
CONTINUED = "SK-SVD, continued"
OUR_METHODS = (
    CONTINUED,
    "2-D DCT",
    "DCT + 64 rotations",
    "DCT + 256 rotations",
    "AutoDictionary",
)
# AutoDictionary may cost what twelve reflectors do, and is one transform as all the others.
AUTO_BUDGET = fost.diagnostics.reflector_flops(SIDE * SIDE, 12)


def run(
    method: str,
    Y: NDArray[np.float64],
    settings: Settings,
    sparsity: int | None = None,
    iterations: int | None = None,
) -> Learned:
    """What a method finds for signals in rows.

    Parameters
    ----------
    method : str
        As in the tables: those of `fost.paper.learn`, ``DCT + 64 rotations``,
        ``AutoDictionary``, and ``SK-SVD, continued`` by K-SVD.
    Y : ndarray of shape (n_signals, 64)
    settings : Settings
    sparsity, iterations : int, optional
        Entries per code and K; those of the settings if None.

    Examples
    --------
    >>> import numpy as np
    >>> from fost.paper.settings import Settings
    >>> from fost.paper.methods import run
    >>> Y = np.cumsum(np.random.default_rng(0).standard_normal((300, 64)), axis=1)
    >>> run("DCT + 16 rotations", Y, Settings.quick()).operations
    768
    """
    s = settings.sparsity if sparsity is None else sparsity
    K = settings.iterations if iterations is None else iterations
    if method == CONTINUED:
        inner, final = settings.stagewise_inner, settings.stagewise_final
        return stagewise(Y, s, n_inner=inner, n_final=final)
    if method == "AutoDictionary":
        auto = fost.AutoDictionary(
            s,
            (SIDE, SIDE),
            max_flops=AUTO_BUDGET,
            max_members=1,
            max_iter=settings.auto_iterations,
            random_state=0,
            verbose=False,
        )
        with warnings.catch_warnings():  # as many iterations as were asked for
            warnings.simplefilter("ignore", ConvergenceWarning)
            auto.fit(Y)
        whole(auto.interrupted_)
        return Learned.after(auto.start_error_, auto.errors_, auto.dictionary_)
    if rotations := re.fullmatch(r"DCT \+ (\d+) rotations", method):
        structure, base = fost.Rotations(int(rotations[1])), fost.DCT((SIDE, SIDE))
        result = fost.learn(Y, structure, s, base=base, max_iter=K, random_state=0)
        whole(result.interrupted)
        return Learned.after(result.start_error, result.errors, result.transform)
    return learn(method, Y, s, settings.stagewise_inner if method == "SK-SVD" else K)
