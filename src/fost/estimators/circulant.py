"""Circulant dictionaries as a scikit-learn estimator."""

from __future__ import annotations

import os

from fost._validation import RandomState
from fost.estimators.learned import LearnedDictionary
from fost.learning.circulant import N_STARTS, Circulants
from fost.learning.learn import Callback
from fost.learning.online import Forgetting
from fost.transforms import Circulant


class CirculantDictionary(LearnedDictionary):
    r"""A union of circulant matrices, whose atoms are all circular shifts of a few kernels.

    Minimises :math:`\|Y - \sum_l C_l X_l\|_F^2` over circulant matrices :math:`C_l` and codes with
    at most `n_nonzero_coefs` entries per signal (UC-DLA; Rusu, Dumitrescu and Tsaftaris, 2014). It
    suits recordings of sensors, where the same shapes appear at any time.

    Parameters
    ----------
    n_members : int
        Number of kernels, L.
    n_nonzero_coefs : int or None
        Maximum number of entries per code, s. None means n / 16, but at least 4 if there are as
        many features.
    init : "signals", Circulant or None
        Initial kernels: random signals, or those of a given dictionary. None means ``"signals"``.
    n_init : int
        Number of random starts. The best one after a few iterations on a sample is continued. A
        start without random choices is not repeated.
    max_iter : int
        Maximum number of iterations.
    tol : float
        Stop when the relative error changes by less than `tol`; 0 disables early stopping.
    random_state : int, Generator, RandomState or None
        Seed of samples, random starts and orders. None gives other numbers in each call.
    callback : callable, optional
        Called as ``callback(iteration, error, dictionary)``; returns True to stop.
    verbose : bool
        Show a progress bar on stderr.
    sparse_output : bool
        Whether `transform` returns a csr_array instead of an ndarray. The default is dense, as for
        `sklearn.decomposition.DictionaryLearning`, because later steps of a pipeline such as
        `StandardScaler`, and ``set_output(transform="pandas")``, refuse sparse codes. Sparse
        codes take less memory, about L n / (2 s) times less.
    checkpoint : path, optional
        File to which `fit` writes its state and from which it resumes (see `fost.learn`).
    forgetting : float or "auto"
        Factor by which `partial_fit` multiplies the sums of earlier batches at each call, from 0
        (only the last batch) to 1 (all batches equally). ``"auto"`` gives weight to about the
        last tenth of all calls.
    transform_max_error : float, optional
        `transform` keeps as few entries as give a squared error per signal of at most this value.

    Attributes
    ----------
    dictionary_ : Circulant
        The learned dictionary.
    components_ : ndarray of shape (n_members * n_features, n_features)
        All atoms, in rows.
    n_nonzero_coefs_ : int
        Entries per code in `fit`.
    error_ : float
        Relative error of `dictionary_` on the training signals.
    errors_ : ndarray of shape (n_iter_,)
        Relative error after each iteration. It may increase slightly; `dictionary_` is the best
        of all iterations.
    start_error_ : float
        Relative error of the initial dictionary.
    init_errors_ : ndarray of shape (n_starts,)
        Relative error of each start after a few iterations on a sample; empty if `n_init` is 1.
    n_iter_ : int
        Number of iterations.
    interrupted_ : bool
        Whether Ctrl-C interrupted `fit`.

    Examples
    --------
    Two pulses, at any time:

    >>> import fost, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> pulses = np.exp(-np.outer([0.5, 0.1], np.arange(32)))
    >>> Y = np.array([sum(np.roll(p, rng.integers(32)) for p in pulses) for _ in range(300)])
    >>> estimator = fost.CirculantDictionary(2, 2, random_state=0).fit(Y)
    >>> estimator.dictionary_
    Circulant(n_features=32, n_members=2, flops=1404)
    >>> bool(estimator.score(Y) > -0.01)
    True
    """

    dictionary_: Circulant
    threshold = None  # codes are found by pursuit
    base = None
    signal_shape = None

    def __init__(
        self,
        n_members: int = 4,
        n_nonzero_coefs: int | None = None,
        *,
        init: str | Circulant | None = None,
        n_init: int = N_STARTS,
        max_iter: int = 1000,
        tol: float = 1e-6,
        random_state: RandomState = None,
        callback: Callback | None = None,
        verbose: bool = False,
        sparse_output: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
        forgetting: Forgetting = "auto",
        transform_max_error: float | None = None,
    ) -> None:
        self.n_members = n_members
        self.n_nonzero_coefs = n_nonzero_coefs
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose
        self.sparse_output = sparse_output
        self.checkpoint = checkpoint
        self.forgetting = forgetting
        self.transform_max_error = transform_max_error

    def _structure(self, n_features: int) -> Circulants:
        return Circulants(self.n_members)
