"""H-DLA and QH-DLA as a scikit-learn estimator."""

from __future__ import annotations

import os
from typing import Literal

from fost._random import RandomState
from fost._validation import check_integer
from fost.estimators.defaults import default_reflectors
from fost.estimators.learned import LearnedDictionary
from fost.learning import Structure
from fost.learning.learn import Callback
from fost.learning.online import Forgetting
from fost.learning.reflectors import Reflectors
from fost.learning.structure import check_count
from fost.transforms import Coder, Householder, Transform


class HouseholderDictionary(LearnedDictionary):
    """A dictionary of a few Householder reflectors, learned by H_m-DLA or QH_m-DLA.

    Minimises ||Y - U X||_F^2 over products U = U_m ... U_1 of reflectors and codes X with at
    most `n_nonzero_coefs` entries per signal.

    Parameters
    ----------
    n_reflectors : int, "auto" or None
        Number of reflectors, m; ``"auto"`` chooses it from the data (see `fost.Reflectors`), and
        None takes 2 log2(n) of them: 12 for 64 features.
    n_nonzero_coefs : int or None
        Entries per code, s; at most so many where there is a threshold. None is no limit where
        there is one, and otherwise a sixteenth of the features, at least 4 where there are 4.
    orthogonal : bool
        Reflectors orthogonal to each other: QH_m-DLA, which learns faster and a little worse.
    order : {"cyclic", "random"}
        The order in which H_m-DLA updates the reflectors.
    triangular : bool
        Reflectors with leading zeros.
    base : Transform, optional
        A fixed transform under the learned one.
    init : {"svd", "random", "orthogonal"}, Transform or None
        Where learning starts; ``"svd"`` if None. For `orthogonal` dictionaries of pictures
        the codes of the two-dimensional DCT are the best start.
    max_iter : int
        Iterations at most.
    tol : float
        Stop when the relative error changes by less than this; 0 never stops early.
    random_state : int, Generator, RandomState or None
        For starts and orders that are random.
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
    n_reflectors_ : int
        Number of reflectors that were learned.
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
    >>> dictionary = fost.HouseholderDictionary(n_reflectors=3, n_nonzero_coefs=2).fit(Y)
    >>> dictionary.dictionary_
    Householder(n_features=16, n_reflectors=3, flops=192)
    >>> codes = dictionary.transform(Y)
    >>> error = np.sum((Y - dictionary.inverse_transform(codes)) ** 2) / np.sum(Y**2)
    >>> bool(np.isclose(dictionary.score(Y), -error))
    True
    """

    def __init__(
        self,
        n_reflectors: int | Literal["auto"] | None = None,
        n_nonzero_coefs: int | None = None,
        orthogonal: bool = False,
        *,
        order: str = "cyclic",
        triangular: bool = False,
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
        self.n_reflectors = n_reflectors
        self.n_nonzero_coefs = n_nonzero_coefs
        self.orthogonal = orthogonal
        self.order = order
        self.triangular = triangular
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

    @property
    def n_reflectors_(self) -> int:
        """Number of reflectors that were learned."""
        learned = self._beyond_base
        assert isinstance(learned, Householder)
        return learned.n_reflectors

    def _structure(self, n_features: int) -> Structure:
        count = self.n_reflectors
        if count is None:
            count = default_reflectors(n_features)
        count = check_count(count, "n_reflectors")
        if count != "auto":
            check_integer(count, "n_reflectors", 1, n_features, "n_features")
        return Reflectors(count, self.orthogonal, self.order, self.triangular)
