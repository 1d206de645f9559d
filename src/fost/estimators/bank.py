"""Banks of transforms as a scikit-learn estimator."""

from __future__ import annotations

import os

from fost._validation import RandomState
from fost.estimators.base import default_rotations
from fost.estimators.learned import LearnedDictionary
from fost.learning import Structure
from fost.learning.bank import BankOf, check_member
from fost.learning.learn import Callback
from fost.learning.online import Forgetting
from fost.learning.rotations import Rotations
from fost.learning.state import LearningResult
from fost.transforms import Bank, Coder, Transform


class BankDictionary(LearnedDictionary):
    r"""A bank of fast transforms; the code of each signal uses the best member.

    Minimises the sum over signals of :math:`\min_l \|y - U_l x\|^2` over the members
    :math:`U_1 \ldots U_B` and codes x with at most `n_nonzero_coefs` entries. For mixtures of
    different kinds of signals, the error is close to that of K-SVD with several times as many
    atoms, without matching pursuit.

    Parameters
    ----------
    n_members : int
        Number of members, B.
    n_nonzero_coefs : int or None
        Entries per code, s; with a threshold, the maximum. None means n / 16, but at least 4 if
        there are as many features; with a threshold, no limit.
    structure : Structure, optional
        The structure of the members: `fost.Orthonormal`, `fost.Reflectors` or
        `fost.Rotations`. None means n rotations.
    base : Transform, {"auto", "dct", "hadamard", "wavelet", "none"} or None
        A fixed transform that is applied once, before all members. ``"auto"`` compares no
        base, the DCT and, if PyWavelets is installed, a wavelet, by the error after a few
        iterations on a sample.
    signal_shape : int or tuple of int, optional
        Shape of a signal, such as (8, 8) for patches, for a base that is given by name. If None,
        signals have one axis; ``"auto"`` also tries squares.
    init : {"splitting", "farthest", "subsets"}, Bank or None
        Initial bank, or the method that learns it; ``"splitting"`` if None (see `fost.BankOf`).
    n_init : int
        Number of random starts. All run for a few iterations on a sample, and the best one
        continues. A start without random choices is not repeated.
    max_iter : int
        Maximum number of iterations.
    tol : float
        Stop when the relative error changes by less than `tol`; 0 disables early stopping.
    random_state : int, Generator, RandomState or None
        Seed of samples, random starts and orders. None gives other numbers in each call.
    callback : callable, optional
        Called as ``callback(iteration, error, bank)``; returns True to stop.
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
    threshold : float, optional
        Keep all entries of magnitude above `threshold`, in `fit` and in `transform`. With
        ``n_nonzero_coefs=None`` this minimises
        :math:`\|Y - U X\|_F^2 + \mathrm{threshold}^2 \|X\|_0`.
    transform_max_error : float, optional
        `transform` keeps as few entries as give a squared error per signal of at most this value.

    Attributes
    ----------
    dictionary_ : Bank
        The learned bank.
    base_ : Transform or None
        The base, given or chosen.
    components_ : ndarray of shape (n_members * n_features, n_features)
        The atoms of all members, in rows.
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
    reseeded_ : ndarray of shape (n_iter_,)
        Number of members that no signal used before each iteration of `fit`. `fit` replaced
        these members if there were enough signals.

    Examples
    --------
    >>> import fost, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> Y = np.cumsum(rng.standard_normal((1000, 16)), axis=1)
    >>> Y[::2] = 20 * rng.standard_normal((500, 16)) * (rng.random((500, 16)) < 0.15)
    >>> bank = fost.BankDictionary(2, n_nonzero_coefs=3, structure=fost.Orthonormal()).fit(Y)
    >>> bank.dictionary_
    Bank(n_features=16, n_members=2, flops=992)
    >>> single = fost.OrthonormalDictionary(n_nonzero_coefs=3).fit(Y)
    >>> bool(bank.score(Y) > single.score(Y) / 2)  # less than half of the error
    True
    """

    dictionary_: Bank

    def __init__(
        self,
        n_members: int = 8,
        n_nonzero_coefs: int | None = None,
        structure: Structure | None = None,
        base: str | Transform | None = "auto",
        *,
        signal_shape: int | tuple[int, ...] | None = None,
        init: str | Coder | None = None,
        n_init: int = 1,
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
        self.n_members = n_members
        self.n_nonzero_coefs = n_nonzero_coefs
        self.structure = structure
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

    def _structure(self, n_features: int) -> Structure:
        member = (
            Rotations(default_rotations(n_features)) if self.structure is None else self.structure
        )
        return BankOf(check_member(member, "structure"), self.n_members)

    def _store_result(self, result: LearningResult) -> None:
        super()._store_result(result)
        self.reseeded_ = result.reseeded
