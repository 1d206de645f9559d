"""A bank of transforms as a scikit-learn estimator."""

from __future__ import annotations

import os

from fost._random import RandomState
from fost.estimators.defaults import default_rotations
from fost.estimators.learned import LearnedDictionary
from fost.learning import Structure
from fost.learning.bank import BankOf, check_member
from fost.learning.learn import Callback
from fost.learning.online import Forgetting
from fost.learning.rotations import Rotations
from fost.learning.state import LearningResult
from fost.transforms import Bank, Coder, Transform


class BankDictionary(LearnedDictionary):
    """Several fast transforms, of which each signal uses the one that suits it best.

    Minimises the sum of ||y - U_b x||^2 over signals, each with the best of the members
    U_1 ... U_B and a code x of at most `n_nonzero_coefs` entries. For signals of several kinds
    a bank comes close to K-SVD with several times as many atoms, without matching pursuit.

    Parameters
    ----------
    n_members : int
        Members, B.
    n_nonzero_coefs : int or None
        Entries per code, s; at most so many where there is a threshold. None is no limit where
        there is one, and otherwise a sixteenth of the features, at least 4 where there are 4.
    structure : Structure, optional
        The structure of the members: `fost.Orthonormal`, `fost.Reflectors`, `fost.Rotations`;
        as many rotations as features if None.
    base : Transform, optional
        A fixed transform under all members, such as ``fost.DCT((8, 8))``; applied once.
    init : {"splitting", "farthest", "subsets"}, Bank or None
        Where learning starts; ``"splitting"`` if None (see `fost.BankOf`).
    max_iter : int
        Iterations at most.
    tol : float
        Stop when the relative error changes by less than this; 0 never stops early.
    random_state : int, Generator, RandomState or None
        For starts that are random.
    callback : callable, optional
        Called as ``callback(iteration, error, bank)``; stops learning by returning True.
    verbose : bool
        Show progress on stderr.
    sparse_output : bool
        Whether `transform` returns a csr_array or an ndarray.
    checkpoint : path, optional
        A file that `fit` writes its state to and goes on from (see `fost.learn`).
    forgetting : float or "auto"
        How much of the sums of earlier batches `partial_fit` remembers at each call, from 0
        (the last batch alone) to 1 (all equally).
    threshold : float, optional
        Codes keep all entries of a magnitude above this, in learning as in `transform`, which
        minimises ||Y - U X||_F^2 + threshold^2 ||X||_0 (with ``n_nonzero_coefs=None``).
    transform_max_error : float, optional
        `transform` keeps as few entries as make the squared error of a signal at most this.

    Attributes
    ----------
    dictionary_ : Bank
        The learned bank.
    components_ : ndarray of shape (n_members * n_features, n_features)
        The atoms of all members, in rows.
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
    reseeded_ : ndarray of shape (n_iter_,)
        How many members no signal used before each iteration of `fit`, which replaced them as
        far as there were signals to learn others from.

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
        self.n_members = n_members
        self.n_nonzero_coefs = n_nonzero_coefs
        self.structure = structure
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
        member = (
            Rotations(default_rotations(n_features)) if self.structure is None else self.structure
        )
        return BankOf(check_member(member, "structure"), self.n_members)

    def _take(self, result: LearningResult) -> None:
        super()._take(result)
        self.reseeded_ = result.reseeded
