"""Givens rotations over a base as a scikit-learn estimator."""

from __future__ import annotations

import os
from typing import Literal

from fost._validation import RandomState
from fost.estimators.base import default_rotations
from fost.estimators.learned import LearnedDictionary
from fost.learning import Structure
from fost.learning.learn import Callback
from fost.learning.online import Forgetting
from fost.learning.rotations import Rotations, check_rotations
from fost.learning.structure import check_count
from fost.transforms import Coder, Givens, Transform


class GivensDictionary(LearnedDictionary):
    r"""A dictionary of Givens rotations, usually over a fast base.

    Minimises :math:`\|Y - B U X\|_F^2` over products :math:`U = G_g \cdots G_1` of rotations and
    2 x 2 reflections, and codes X with at most `n_nonzero_coefs` entries per signal. B is the base.

    Parameters
    ----------
    n_rotations : int, "auto" or None
        Number of rotations, g. ``"auto"`` selects it from the data (see `fost.Rotations`). None
        means n.
    n_nonzero_coefs : int or None
        Entries per code, s; with a threshold, the maximum. None means n / 16, but at least 4 if
        there are as many features; with a threshold, no limit.
    base : Transform, {"auto", "dct", "hadamard", "wavelet", "none"} or None
        A fixed transform that is applied before the learned one. ``"auto"`` compares no
        base, the DCT and, if PyWavelets is installed, a wavelet, by the error after a few
        iterations on a sample.
    signal_shape : int or tuple of int, optional
        Shape of a signal, such as (8, 8) for patches, for a base that is given by name. If None,
        signals have one axis; ``"auto"`` also tries squares.
    init : {"aligned", "base"}, Transform or None
        Initial transform; ``"aligned"`` if None.
    n_init : int
        Number of starts. All run for a few iterations on a sample, and the best one continues. A
        start without random choices is not repeated. The next one is then the result of the start
        before without the half of its rotations that matters least.
    max_iter : int
        Maximum number of iterations.
    tol : float
        Stop when the relative error changes by less than `tol`; 0 disables early stopping.
    random_state : int, Generator, RandomState or None
        Seed of samples, random starts and orders. None gives other numbers in each call.
    callback : callable, optional
        Called as ``callback(iteration, error, transform)``; returns True to stop.
    verbose : bool
        Show a progress bar on stderr.
    sparse_output : bool
        Whether `transform` returns a csr_array instead of an ndarray. The default is dense, as for
        `sklearn.decomposition.DictionaryLearning`, because later steps of a pipeline such as
        `StandardScaler`, and ``set_output(transform="pandas")``, refuse sparse codes. Sparse
        codes take less memory, about n / (2 s) times less.
    checkpoint : path, optional
        File to which `fit` writes its state and from which it resumes (see `fost.learn`).
    forgetting : float or "auto"
        Factor by which `partial_fit` multiplies the sums of earlier batches at each call, from 0
        (only the last batch) to 1 (all batches equally). ``"auto"`` gives weight to about the
        last tenth of all calls, so that codes in early dictionaries lose their influence.
    threshold : float, optional
        Keep all entries of magnitude above `threshold`, in `fit` and in `transform`. With
        ``n_nonzero_coefs=None`` this minimises
        :math:`\|Y - U X\|_F^2 + \mathrm{threshold}^2 \|X\|_0`.
    transform_max_error : float, optional
        `transform` keeps as few entries as give a squared error per signal of at most this value.

    Attributes
    ----------
    dictionary_ : Transform
        The learned transform, the base included.
    base_ : Transform or None
        The base, given or chosen.
    components_ : ndarray of shape (n_features, n_features)
        The atoms, in rows.
    n_rotations_ : int
        Number of learned rotations.
    n_nonzero_coefs_ : int or None
        Entries per code in `fit`; None if a threshold alone limits them.
    error_ : float
        Relative error of `dictionary_` on the training signals.
    errors_ : ndarray of shape (n_iter_,)
        Relative error after each iteration; it never increases.
    start_error_ : float
        Relative error of the initial transform, which need not have the learned structure.
    init_errors_ : ndarray of shape (n_starts,)
        Relative error of each start after a few iterations on a sample; empty if `n_init` is 1.
    n_iter_ : int
        Number of iterations.
    interrupted_ : bool
        Whether Ctrl-C interrupted `fit`.

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
        base: str | Transform | None = "auto",
        *,
        signal_shape: int | tuple[int, ...] | None = None,
        init: str | Coder | None = None,
        n_init: int = 4,
        max_iter: int = 1000,
        tol: float = 1e-6,
        random_state: RandomState = None,
        callback: Callback | None = None,
        verbose: bool = False,
        sparse_output: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
        forgetting: Forgetting = "auto",
        threshold: float | None = None,
        transform_max_error: float | None = None,
    ) -> None:
        self.n_rotations = n_rotations
        self.n_nonzero_coefs = n_nonzero_coefs
        self.base = base
        self.signal_shape = signal_shape
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
        self.threshold = threshold
        self.transform_max_error = transform_max_error

    @property
    def n_rotations_(self) -> int:
        """Number of learned rotations."""
        learned = self._without_base
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
