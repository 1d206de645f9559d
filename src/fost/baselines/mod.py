"""The method of optimal directions as a scikit-learn estimator."""

from __future__ import annotations

import warnings

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from fost._typing import Floats
from fost._validation import RandomState
from fost.baselines.base import Callback, GeneralEstimator, check_steps, initial_atoms
from fost.baselines.factorisation import Factorisation, Gaps, normalised
from fost.coding.atoms import Atoms
from fost.coding.decode import decode_by_atoms
from fost.estimators.base import WeightedFit


class MOD(WeightedFit, GeneralEstimator):
    """A general dictionary, learned by the method of optimal directions.

    Minimises ||Y - X D||_F^2 like `KSVD`, but updates all atoms at once, by least squares:
    D = (X^T X)^-1 X^T Y (Engan, Aase and Husoy, 1999).

    Parameters
    ----------
    n_components : int, optional
        Atoms, at most 32,768: the inner products of all pairs are kept. As many as there are
        features if None.
    n_nonzero_coefs : int or None
        Entries per code, s; if None a sixteenth of the features, at least 4 where there are 4.
    init : "signals", array-like of shape (n_components, n_features) or Atoms
        Where learning starts: random signals, or given atoms.
    max_iter : int
        Iterations at most.
    tol : float
        Stop when the relative error changes by less than this; 0 never stops early.
    random_state : int, Generator, RandomState or None
        For the start, and for the random signals in the place of atoms that are of no use.
    callback : callable, optional
        Called as ``callback(iteration, error, dictionary)``; stops learning by returning True.
    verbose : bool
        Show progress on stderr.
    sparse_output : bool
        Whether `transform` returns a csr_array or an ndarray.

    Attributes
    ----------
    dictionary_ : GeneralDictionary
        The learned dictionary.
    components_ : ndarray of shape (n_components, n_features)
        Its atoms, in rows, of norm one.
    n_nonzero_coefs_ : int
        Entries per code in `fit`.
    errors_ : ndarray of shape (n_iter_,)
        Relative error after each iteration. It may rise.
    start_error_ : float
        Relative error of the start.
    n_iter_ : int
        Iterations done.
    interrupted_ : bool
        Whether Ctrl-C ended the learning.

    Examples
    --------
    >>> import fost, numpy as np
    >>> Y = np.random.default_rng(0).standard_normal((500, 16))
    >>> mod = fost.baselines.MOD(32, n_nonzero_coefs=3, max_iter=10, random_state=0).fit(Y)
    >>> mod.components_.shape
    (32, 16)
    """

    def __init__(
        self,
        n_components: int | None = None,
        n_nonzero_coefs: int | None = None,
        *,
        init: str | ArrayLike | Atoms = "signals",
        max_iter: int = 50,
        tol: float = 1e-6,
        random_state: RandomState = None,
        callback: Callback | None = None,
        verbose: bool = False,
        sparse_output: bool = True,
    ) -> None:
        self.n_components = n_components
        self.n_nonzero_coefs = n_nonzero_coefs
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose
        self.sparse_output = sparse_output

    def _n_steps(self, n_components: int, s: int) -> int:
        return check_steps(self.max_iter, self.tol)

    def _start(
        self,
        Y: Floats,
        missing: Gaps | None,
        n_components: int,
        s: int,
        random: np.random.Generator,
    ) -> Factorisation:
        return Factorisation(Y, initial_atoms(self.init, Y, n_components, random), s, missing)

    def _step(self, state: Factorisation, step: int, random: np.random.Generator) -> None:
        if step > 1:  # the start has been coded already
            state.code()
        if state.replace_useless(random):
            state.code()
        solution = least_squares_atoms(state)
        state.residual = state.Y - decode_by_atoms(solution.astype(state.Y.dtype), state.codes)
        usable = np.linalg.norm(solution, axis=1) > 0
        state.atoms[usable] = normalised(solution)[usable]


def least_squares_atoms(state: Factorisation) -> NDArray[np.float64]:
    """The atoms D, of any norm, that minimise ||Y - X D||_F for the codes X."""
    codes = state.codes.astype(np.float64)
    inner = (codes.T @ codes).toarray()
    cross = codes.T @ state.Y
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", scipy.linalg.LinAlgWarning)  # it is an answer here
            solution = scipy.linalg.solve(inner, cross, assume_a="pos")
    except (scipy.linalg.LinAlgError, scipy.linalg.LinAlgWarning):
        # Atoms that are not used, or always used together.
        solution = scipy.linalg.lstsq(inner, cross)[0]
    return np.ascontiguousarray(solution, dtype=np.float64)
