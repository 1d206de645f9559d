"""K-SVD as a scikit-learn estimator."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fost._typing import Floats
from fost._validation import RandomState, check_flag
from fost.baselines.base import Callback, GeneralEstimator, check_steps, initial_atoms
from fost.baselines.batches import BatchedFactorisation, check_batch_size
from fost.baselines.factorisation import Factorisation, Gaps
from fost.coding.atoms import Atoms
from fost.estimators.base import WeightedFit


class KSVD(WeightedFit, GeneralEstimator):
    """A general dictionary, learned by K-SVD.

    Minimises ||Y - X D||_F^2 over atoms D of norm one and codes X with at most
    `n_nonzero_coefs` entries per signal. Each iteration codes all signals by orthogonal matching
    pursuit, and then updates one atom after another, together with the coefficients of the
    signals that use it, to the closest matrix of rank one.

    The first iterations take the signals in batches, and update the atoms after each: they are
    several times as fast, and end in lower errors than those of all signals at once.

    Parameters
    ----------
    n_components : int, optional
        Atoms, at most 32,768: the inner products of all pairs are kept. As many as there are
        features if None.
    n_nonzero_coefs : int or None
        Entries per code, s; if None a sixteenth of the features, at least 4 where there are 4.
    approximate : bool
        One step of the power method per atom (Rubinstein, Zibulevsky and Elad, 2008) instead of
        a singular value decomposition (Aharon, Elad and Bruckstein, 2006): much faster, and
        hardly ever worse.
    init : "signals", array-like of shape (n_components, n_features) or Atoms
        Where learning starts: random signals, or given atoms.
    batch_size : "auto", int or None
        Signals in each of the first batches. Every other iteration they become twice as many
        (in each where `max_iter` is less than 20), until they are all. 48 uses of each atom,
        and at most 64 batches, if "auto"; None always takes all signals at once, as published.
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
        Relative error after each iteration; while there are batches, that of each before its
        update. Unlike that of an orthonormal dictionary it may rise: matching pursuit is not
        exact.
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
        max_iter: int = 50,
        tol: float = 1e-6,
        random_state: RandomState = None,
        callback: Callback | None = None,
        verbose: bool = False,
        sparse_output: bool = True,
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
        return check_steps(self.max_iter, self.tol)

    def _start(
        self,
        Y: Floats,
        missing: Gaps | None,
        n_components: int,
        s: int,
        random: np.random.Generator,
    ) -> Factorisation:
        atoms = initial_atoms(self.init, Y, n_components, random)
        return BatchedFactorisation(Y, atoms, s, missing, self.batch_size, int(self.max_iter))

    def _step(self, state: Factorisation, step: int, random: np.random.Generator) -> None:
        assert isinstance(state, BatchedFactorisation), "as _start made it"
        if state.is_whole:
            # The start has been coded already.
            improve(state, random, approximate=self.approximate, coded=step == 1)
        else:
            state.improve_in_batches(self._improve_batch, random)

    def _improve_batch(self, batch: Factorisation) -> None:
        update(batch, np.arange(len(batch.atoms), dtype=np.int32), self.approximate)


def improve(
    state: Factorisation,
    random: np.random.Generator,
    *,
    approximate: bool = True,
    coded: bool = False,
    only: NDArray[np.int32] | None = None,
) -> None:
    """One iteration of K-SVD: codes, unless they are there already, then atoms (or `only` some).

    Atoms that turn out to be of no use give their place to random signals first.
    """
    if not coded:
        state.code()
    if only is None and state.replace_useless(random):
        state.code()
    order = np.arange(len(state.atoms), dtype=np.int32) if only is None else only
    update(state, order, approximate)


def update(state: Factorisation, order: NDArray[np.int32], approximate: bool) -> None:
    """The atoms of `order`, one after another, with the coefficients of the codes at hand."""
    if approximate:
        state.update_approximately(order)
    else:
        state.update_exactly(order)
