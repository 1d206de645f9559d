"""Q-DLA as a scikit-learn estimator."""

from __future__ import annotations

import os

from fost._random import RandomState
from fost.estimators.learned import LearnedDictionary
from fost.learning import Structure
from fost.learning.learn import Callback
from fost.learning.online import Forgetting
from fost.learning.orthonormal import Orthonormal
from fost.transforms import Coder, Transform


class OrthonormalDictionary(LearnedDictionary):
    """A dense orthonormal dictionary, learned by Q-DLA.

    Minimises ||Y - Q X||_F^2 over orthonormal Q and codes X with at most `n_nonzero_coefs`
    entries per signal.

    Parameters
    ----------
    n_nonzero_coefs : int or None
        Entries per code, s; at most so many where there is a threshold. None is no limit where
        there is one, and otherwise a sixteenth of the features, at least 4 where there are 4.
    base : Transform, optional
        A fixed transform under the learned one.
    init : {"svd", "approximate-svd", "random"}, Transform or None
        Where learning starts; ``"svd"`` if None.
    max_iter : int
        Iterations at most.
    tol : float
        Stop when the relative error changes by less than this; 0 never stops early.
    random_state : int, Generator, RandomState or None
        For starts that are random.
    callback : callable, optional
        Called as ``callback(iteration, error, transform)``; stops learning by returning True.
    verbose : bool
        Show progress on stderr.
    sparse_output : bool
        Whether `transform` returns a csr_array or an ndarray.
    checkpoint : path, optional
        A file that `fit` writes its state to and goes on from (see `fost.learn`).
    forgetting : float or "auto"
        How much of the sums of earlier batches `partial_fit` remembers at each call, from 0
        (the last batch alone) to 1 (all equally). ``"auto"`` remembers about the last tenth of
        all calls, so that codes of the first, bad dictionaries are soon forgotten.
    threshold : float, optional
        Codes keep all entries of a magnitude above this, in learning as in `transform`, which
        minimises ||Y - U X||_F^2 + threshold^2 ||X||_0 (with ``n_nonzero_coefs=None``).
    transform_max_error : float, optional
        `transform` keeps as few entries as make the squared error of a signal at most this.

    Attributes
    ----------
    dictionary_ : Transform
        The learned transform.
    components_ : ndarray of shape (n_features, n_features)
        Its atoms, in rows.
    n_nonzero_coefs_ : int or None
        Entries per code in `fit`; None where a threshold alone decides.
    error_ : float
        Relative error of `dictionary_` on the signals of `fit`.
    errors_ : ndarray of shape (n_iter_,)
        Relative error after each iteration, which never rises.
    start_error_ : float
        Relative error of the start, which need not be of the structure.
    n_iter_ : int
        Iterations done.
    interrupted_ : bool
        Whether Ctrl-C ended the learning.

    Examples
    --------
    >>> import fost, numpy as np
    >>> Y = np.random.default_rng(0).standard_normal((500, 16))
    >>> dictionary = fost.OrthonormalDictionary(n_nonzero_coefs=2).fit(Y)
    >>> dictionary.dictionary_
    Dense(n_features=16, flops=496)
    >>> dictionary.transform(Y).nnz
    1000
    """

    def __init__(
        self,
        n_nonzero_coefs: int | None = None,
        *,
        base: Transform | None = None,
        init: str | Coder | None = None,
        max_iter: int = 100,
        tol: float = 1e-6,
        random_state: RandomState = None,
        callback: Callback | None = None,
        verbose: bool = False,
        sparse_output: bool = True,
        checkpoint: str | os.PathLike[str] | None = None,
        forgetting: Forgetting = "auto",
        threshold: float | None = None,
        transform_max_error: float | None = None,
    ) -> None:
        self.n_nonzero_coefs = n_nonzero_coefs
        self.base = base
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose
        self.sparse_output = sparse_output
        self.checkpoint = checkpoint
        self.forgetting = forgetting
        self.threshold = threshold
        self.transform_max_error = transform_max_error

    def _structure(self, n_features: int) -> Structure:
        return Orthonormal()
