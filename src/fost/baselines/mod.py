"""Method of optimal directions (MOD) as a scikit-learn estimator."""

from __future__ import annotations

import warnings

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from fost._typing import Float64Array, Floats, Mask
from fost._validation import RandomState
from fost.baselines.estimator import (
    DictionaryCallback,
    GeneralDictionaryEstimator,
    check_iterations,
    initial_atoms,
)
from fost.baselines.factorisation import Factorisation, normalised
from fost.coding.atoms import Atoms
from fost.coding.decode import decode_by_atoms
from fost.estimators.base import WeightedFit


class MOD(WeightedFit, GeneralDictionaryEstimator):
    r"""Method of optimal directions (MOD) for general dictionaries.

    Minimises :math:`\|Y - D X\|_F^2` like `KSVD`, but updates all atoms at once by least squares:
    :math:`D = Y X^T (X X^T)^{-1}` (Engan, Aase and Husoy, 1999).

    Parameters
    ----------
    n_components : int, optional
        Number of atoms, at most 32,768, since the inner products of all pairs are kept. If None,
        the number of features.
    n_nonzero_coefs : int or None
        Entries per code, s. If None, a sixteenth of the features, but at least 4 if possible.
    init : "signals", array-like of shape (n_components, n_features) or Atoms
        Initial atoms: random signals, or the given ones.
    max_iter : int
        Maximum number of iterations.
    tol : float
        Stop when the relative error changes by less than this; 0 never stops early.
    random_state : int, Generator, RandomState or None
        For the initial atoms, and for the random signals that replace unused atoms.
    callback : callable, optional
        Called as ``callback(iteration, error, dictionary)``; stops learning by returning True.
    verbose : bool
        Show progress on stderr.
    sparse_output : bool
        Whether `transform` returns a csr_array instead of an ndarray; dense by default, since
        many steps of a pipeline refuse sparse codes.

    Attributes
    ----------
    dictionary_ : GeneralDictionary
        The learned dictionary.
    components_ : ndarray of shape (n_components, n_features)
        Its atoms in rows, of norm one.
    n_nonzero_coefs_ : int
        Entries per code in `fit`.
    error_ : float
        Relative error after the last iteration, or of the initial atoms if there was none.
    errors_ : ndarray of shape (n_iter_,)
        Relative error after each iteration. It may rise.
    start_error_ : float
        Relative error of the initial atoms.
    n_iter_ : int
        Number of iterations.
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
        max_iter: int = 300,
        tol: float = 1e-6,
        random_state: RandomState = None,
        callback: DictionaryCallback | None = None,
        verbose: bool = False,
        sparse_output: bool = False,
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
        return check_iterations(self.max_iter, self.tol)

    def _start(
        self,
        Y: Floats,
        missing: Mask | None,
        n_components: int,
        s: int,
        random: np.random.Generator,
    ) -> Factorisation:
        return Factorisation(Y, initial_atoms(self.init, Y, n_components, random), s, missing)

    def _step(self, state: Factorisation, step: int, random: np.random.Generator) -> None:
        if step > 1:  # the start is encoded already
            state.encode()
        if state.replace_unused(random):
            state.encode()
        solution = least_squares_atoms(state)
        state.residual = state.Y - decode_by_atoms(solution.astype(state.Y.dtype), state.codes)
        usable = np.linalg.norm(solution, axis=1) > 0
        state.atoms[usable] = normalised(solution)[usable]


def least_squares_atoms(state: Factorisation) -> Float64Array:
    """The atoms D of any norm that minimise ||Y - X D||_F for the codes X."""
    codes = state.codes.astype(np.float64)
    inner = (codes.T @ codes).toarray()
    cross = codes.T @ state.Y
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", scipy.linalg.LinAlgWarning)  # an ill-conditioned system
            solution = scipy.linalg.solve(inner, cross, assume_a="pos")
    except (scipy.linalg.LinAlgError, scipy.linalg.LinAlgWarning):
        # Some atoms are never used, or always used together.
        solution = scipy.linalg.lstsq(inner, cross)[0]
    return np.ascontiguousarray(solution, dtype=np.float64)
