"""Rotations over a base as a scikit-learn estimator."""

from __future__ import annotations

import os
from typing import Literal

from fost._random import RandomState
from fost.estimators.defaults import default_rotations
from fost.estimators.learned import LearnedDictionary
from fost.learning import Structure
from fost.learning.learn import Callback
from fost.learning.online import Forgetting
from fost.learning.rotations import Rotations, check_rotations
from fost.learning.structure import check_count
from fost.transforms import Coder, Givens, Transform


class GivensDictionary(LearnedDictionary):
    """A dictionary of rotations of two features each, usually on top of a fast base.

    Minimises ||Y - B U X||_F^2 over products U = G_g ... G_1 of rotations and 2 x 2 reflections
    and codes X with at most `n_nonzero_coefs` entries per signal; B is the base.

    Parameters
    ----------
    n_rotations : int, "auto" or None
        Number of rotations, g; ``"auto"`` adds them while they pay (see `fost.Rotations`), and
        None takes as many as there are features.
    n_nonzero_coefs : int or None
        Entries per code, s; at most so many where there is a threshold. None is no limit where
        there is one, and otherwise a sixteenth of the features, at least 4 where there are 4.
    base : Transform, optional
        A fixed transform under the learned one, such as ``fost.DCT((8, 8))``. Without one,
        many rotations are needed.
    init : {"aligned", "base"}, Transform or None
        Where learning starts; ``"aligned"`` if None.
    max_iter : int
        Iterations at most.
    tol : float
        Stop when the relative error changes by less than this; 0 never stops early.
    random_state : int, Generator, RandomState or None
        For the signals that the aligned start looks at.
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
        The learned transform, the base included.
    components_ : ndarray of shape (n_features, n_features)
        Its atoms, in rows.
    n_rotations_ : int
        Number of rotations that were learned.
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
    >>> Y = np.cumsum(np.random.default_rng(0).standard_normal((500, 16)), axis=1)
    >>> dictionary = fost.GivensDictionary(8, n_nonzero_coefs=2, base=fost.DCT(16)).fit(Y)
    >>> dictionary.dictionary_
    Chain(n_features=16, stages=[DCT, Givens], flops=166)
    >>> codes = fost.DCT(16).encode(Y, 2)
    >>> bool(dictionary.score(Y) > np.sum(codes.data**2) / np.sum(Y**2) - 1)
    True
    """

    def __init__(
        self,
        n_rotations: int | Literal["auto"] | None = None,
        n_nonzero_coefs: int | None = None,
        base: Transform | None = None,
        *,
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
        self.n_rotations = n_rotations
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

    @property
    def n_rotations_(self) -> int:
        """Number of rotations that were learned."""
        learned = self._beyond_base
        assert isinstance(learned, Givens)
        return learned.n_rotations

    def _structure(self, n_features: int) -> Structure:
        count = self.n_rotations
        if count is None:
            count = default_rotations(n_features)
        count = check_count(count, "n_rotations")
        if count != "auto":
            check_rotations(count, "n_rotations", n_features)
        return Rotations(count)
