"""K-SVD as a scikit-learn estimator."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fost._typing import Floats, Mask
from fost._validation import RandomState, check_flag
from fost.baselines.estimator import (
    DictionaryCallback,
    GeneralDictionaryEstimator,
    check_iterations,
    initial_atoms,
)
from fost.baselines.factorisation import BatchedFactorisation, Factorisation, check_batch_size
from fost.coding.atoms import Atoms
from fost.estimators.base import WeightedFit


class KSVD(WeightedFit, GeneralDictionaryEstimator):
    r"""K-SVD for general dictionaries.

    Minimises :math:`\|Y - D X\|_F^2` over atoms D of norm one and codes X with at most
    `n_nonzero_coefs` entries per signal, both in columns. Each iteration encodes all signals by
    orthogonal matching pursuit. Then it updates one atom after another, together with its
    coefficients, to the closest matrix of rank one.

    The first iterations divide the signals into batches and update the atoms after each batch.
    They are several times as fast as full batches, and reach lower errors.

    Parameters
    ----------
    n_components : int, optional
        Number of atoms, at most 32,768, since the inner products of all pairs are kept. If None,
        the number of features.
    n_nonzero_coefs : int or None
        Entries per code, s. If None, a sixteenth of the features, but at least 4 if possible.
    approximate : bool
        Update each atom by one step of the power method (Rubinstein, Zibulevsky and Elad, 2008)
        instead of a singular value decomposition (Aharon, Elad, Bruckstein, 2006). This is much
        faster and rarely worse.
    init : "signals", array-like of shape (n_components, n_features) or Atoms
        Initial atoms: random signals, or the given ones.
    batch_size : "auto", int or None
        Signals in each of the first batches. The batches double in size in every second iteration
        (in each one if `max_iter` is less than 20), up to all signals. "auto" means 48 uses of each
        atom per batch, and at most 64 batches. None always uses full batches, as published.
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
        Relative error after each iteration; during batches, that of each batch before its
        update. It may rise, unlike that of an orthonormal dictionary: matching pursuit is greedy.
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
    >>> ksvd = fost.baselines.KSVD(32, n_nonzero_coefs=3, max_iter=10, random_state=0).fit(Y)
    >>> ksvd.dictionary_
    GeneralDictionary(n_features=16, n_atoms=32)
    >>> ksvd.transform(Y).shape
    (500, 32)
    """

    def __init__(
        self,
        n_components: int | None = None,
        n_nonzero_coefs: int | None = None,
        *,
        approximate: bool = True,
        init: str | ArrayLike | Atoms = "signals",
        batch_size: str | int | None = "auto",
        max_iter: int = 300,
        tol: float = 1e-6,
        random_state: RandomState = None,
        callback: DictionaryCallback | None = None,
        verbose: bool = False,
        sparse_output: bool = False,
    ) -> None:
        self.n_components = n_components
        self.n_nonzero_coefs = n_nonzero_coefs
        self.approximate = approximate
        self.init = init
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose
        self.sparse_output = sparse_output

    def _n_steps(self, n_components: int, s: int) -> int:
        check_flag(self.approximate, "approximate")
        check_batch_size(self.batch_size)
        return check_iterations(self.max_iter, self.tol)

    def _start(
        self,
        Y: Floats,
        missing: Mask | None,
        n_components: int,
        s: int,
        random: np.random.Generator,
    ) -> Factorisation:
        atoms = initial_atoms(self.init, Y, n_components, random)
        return BatchedFactorisation(
            Y, atoms, s, missing, batch_size=self.batch_size, max_iter=int(self.max_iter)
        )

    def _step(self, state: Factorisation, step: int, random: np.random.Generator) -> None:
        assert isinstance(state, BatchedFactorisation), "_start returns one"
        if state.is_full_batch:
            # The start is encoded already.
            ksvd_iteration(state, random, approximate=self.approximate, encoded=step == 1)
        else:
            state.update_in_batches(self._update_batch, random)

    def _update_batch(self, batch: Factorisation) -> None:
        _update_atoms(batch, np.arange(len(batch.atoms), dtype=np.int32), self.approximate)


def ksvd_iteration(
    state: Factorisation,
    random: np.random.Generator,
    *,
    approximate: bool = True,
    encoded: bool = False,
    only: NDArray[np.int32] | None = None,
) -> None:
    """One iteration of K-SVD: encode, unless `encoded`, then update all atoms or `only` some.

    If all atoms are updated, random signals replace the unused ones first.
    """
    if not encoded:
        state.encode()
    if only is None and state.replace_unused(random):
        state.encode()
    order = np.arange(len(state.atoms), dtype=np.int32) if only is None else only
    _update_atoms(state, order, approximate)


def _update_atoms(state: Factorisation, order: NDArray[np.int32], approximate: bool) -> None:
    """Update the atoms of `order` one after another, with their coefficients."""
    if approximate:
        state.update_approximately(order)
    else:
        state.update_exactly(order)
