"""A union of transforms as a scikit-learn estimator."""

from __future__ import annotations

import os

from fost._random import RandomState
from fost.estimators.defaults import default_rotations
from fost.estimators.learned import LearnedDictionary
from fost.learning import Structure
from fost.learning.bank import check_member
from fost.learning.learn import Callback
from fost.learning.online import Forgetting
from fost.learning.rotations import Rotations
from fost.learning.union import UnionOf
from fost.transforms import Coder, Transform, Union


class UnionDictionary(LearnedDictionary):
    """Several fast transforms whose atoms are one dictionary; codes are found by pursuit.

    Minimises ||Y - D X||_F^2 over codes X of at most `n_nonzero_coefs` entries, in the atoms
    D = [U_1 ... U_B] of all members. A union of rotations over the DCT reaches lower errors than
    K-SVD from a fraction of its parameters.

    Parameters
    ----------
    n_members : int
        Members, B.
    n_nonzero_coefs : int or None
        Entries per code at most, s; if None a sixteenth of the features, at least 4 where there
        are 4.
    structure : Structure, optional
        The structure of the members: `fost.Orthonormal`, `fost.Reflectors`, `fost.Rotations`;
        as many rotations as features if None.
    base : Transform, optional
        A fixed transform under all members, such as ``fost.DCT((8, 8))``; applied once.
    init : {"splitting", "farthest", "subsets"}, Bank, Union or None
        Where learning starts: a bank or union of as many members, or how a bank to start from is
        learned (see `fost.BankOf`); ``"splitting"`` if None.
    max_iter : int
        Iterations at most.
    tol : float
        Stop when the relative error changes by less than this; 0 never stops early.
    random_state : int, Generator, RandomState or None
        For starts that are random.
    callback : callable, optional
        Called as ``callback(iteration, error, union)``; stops learning by returning True.
    verbose : bool
        Show progress on stderr.
    sparse_output : bool
        Whether `transform` returns a csr_array or an ndarray.
    checkpoint : path, optional
        A file that `fit` writes its state to and goes on from (see `fost.learn`).
    forgetting : float or "auto"
        How much of the sums of earlier batches `partial_fit` remembers at each call, from 0
        (the last batch alone) to 1 (all equally).
    transform_max_error : float, optional
        `transform` takes only as many entries as make the squared error of a signal at most this.

    Attributes
    ----------
    dictionary_ : Union
        The learned union.
    components_ : ndarray of shape (n_members * n_features, n_features)
        The atoms of all members, in rows.
    n_nonzero_coefs_ : int
        Entries per code in `fit`.
    error_ : float
        Relative error of `dictionary_` on the signals of `fit`.
    errors_ : ndarray of shape (n_iter_,)
        Relative error after each iteration; it may rise a little now and then, and `dictionary_`
        is the best of all.
    start_error_ : float
        Relative error of the start.
    n_iter_ : int
        Iterations done.
    interrupted_ : bool
        Whether Ctrl-C ended the learning.

    Examples
    --------
    >>> import fost, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> Y = np.cumsum(rng.standard_normal((1000, 16)), axis=1)
    >>> Y[np.arange(1000), rng.integers(16, size=1000)] += 20
    >>> structure = fost.Orthonormal()
    >>> union = fost.UnionDictionary(2, 3, structure, random_state=0)
    >>> union.fit(Y).dictionary_
    Union(n_features=16, n_members=2, flops=992)
    >>> single = fost.OrthonormalDictionary(n_nonzero_coefs=3).fit(Y)
    >>> bool(union.score(Y) > single.score(Y) / 1.5)
    True
    """

    dictionary_: Union
    threshold = None  # learning takes none, see `fost.UnionOf`

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
        self.transform_max_error = transform_max_error

    def _structure(self, n_features: int) -> Structure:
        member = (
            Rotations(default_rotations(n_features)) if self.structure is None else self.structure
        )
        return UnionOf(check_member(member, "structure"), self.n_members)
