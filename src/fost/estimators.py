"""Learned transforms as scikit-learn estimators. The mathematics is in `fost.learning`."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fost._validation import check_integer
from fost.learning import Full, Reflectors, Structure, learn
from fost.learning.loop import Callback
from fost.transforms import Transform


class _LearnedDictionary(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Everything but the structure."""

    n_nonzero_coefs: int
    base: Transform | None
    init: str | Transform | None
    max_iter: int
    tol: float
    random_state: int | np.random.Generator | np.random.RandomState | None
    callback: Callback | None
    verbose: bool
    sparse_output: bool

    @abstractmethod
    def _structure(self, n_features: int) -> Structure:
        """The structure that the parameters describe, checked."""

    def fit(self, X: ArrayLike, y: None = None) -> _LearnedDictionary:
        """Learn the dictionary.

        Parameters
        ----------
        X : array-like of shape (n_signals, n_features)
            Signals in rows.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        result = learn(
            X,
            self._structure(self.n_features_in_),
            self.n_nonzero_coefs,
            base=self.base,
            init=self.init,
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=self.random_state,
            callback=self.callback,
            verbose=self.verbose,
        )
        self.dictionary_ = result.transform
        self.errors_ = result.errors
        self.n_iter_ = result.n_iter
        return self

    def transform(self, X: ArrayLike) -> csr_array | NDArray[Any]:
        """Sparse codes of signals.

        Parameters
        ----------
        X : array-like of shape (n_signals, n_features)

        Returns
        -------
        csr_array of shape (n_signals, n_features)
            `n_nonzero_coefs` entries per row; an ndarray if `sparse_output` is false.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        codes = self.dictionary_.encode(X, self.n_nonzero_coefs)
        return codes if self.sparse_output else codes.toarray()

    def inverse_transform(self, X: Any) -> NDArray[Any]:
        """Signals that codes stand for.

        Parameters
        ----------
        X : sparse array or array-like of shape (n_signals, n_features)

        Returns
        -------
        ndarray of shape (n_signals, n_features)
        """
        check_is_fitted(self)
        return self.dictionary_.decode(X)

    def score(self, X: ArrayLike, y: None = None) -> float:
        """Minus the relative error ||X - decoded codes||_F^2 / ||X||_F^2; higher is better.

        Parameters
        ----------
        X : array-like of shape (n_signals, n_features)
        y : None
            Ignored.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        codes = self.dictionary_.encode(X, self.n_nonzero_coefs)
        total = _energy(np.asarray(X))
        return min(0.0, _energy(codes.data) / total - 1) if total > 0 else 0.0

    @property
    def components_(self) -> NDArray[np.float64]:
        """The atoms in rows, shape (n_features, n_features)."""
        return self.dictionary_.matrix.T

    @property
    def _n_features_out(self) -> int:
        return int(self.n_features_in_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class OrthonormalDictionary(_LearnedDictionary):
    """A dense orthonormal dictionary, learned by Q-DLA.

    Minimises ||Y - Q X||_F^2 over orthonormal Q and codes X with at most `n_nonzero_coefs`
    entries per signal.

    Parameters
    ----------
    n_nonzero_coefs : int
        Entries per code, s.
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

    Attributes
    ----------
    dictionary_ : Transform
        The learned transform.
    components_ : ndarray of shape (n_features, n_features)
        Its atoms, in rows.
    errors_ : ndarray of shape (n_iter_ + 1,)
        Relative error of the start and after each iteration.
    n_iter_ : int
        Iterations done.

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
        n_nonzero_coefs: int = 4,
        *,
        base: Transform | None = None,
        init: str | Transform | None = None,
        max_iter: int = 100,
        tol: float = 1e-6,
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
        callback: Callback | None = None,
        verbose: bool = False,
        sparse_output: bool = True,
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

    def _structure(self, n_features: int) -> Structure:
        return Full()


class HouseholderDictionary(_LearnedDictionary):
    """A dictionary of a few Householder reflectors, learned by H_m-DLA or QH_m-DLA.

    Minimises ||Y - U X||_F^2 over products U = U_m ... U_1 of reflectors and codes X with at
    most `n_nonzero_coefs` entries per signal.

    Parameters
    ----------
    n_reflectors : int or "auto"
        Number of reflectors, m; ``"auto"`` chooses it from the data (see `fost.Reflectors`).
    n_nonzero_coefs : int
        Entries per code, s.
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

    Attributes
    ----------
    dictionary_ : Transform
        The learned transform.
    components_ : ndarray of shape (n_features, n_features)
        Its atoms, in rows.
    errors_ : ndarray of shape (n_iter_ + 1,)
        Relative error of the start and after each iteration.
    n_iter_ : int
        Iterations done.

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
        n_reflectors: int | Literal["auto"] = 12,
        n_nonzero_coefs: int = 4,
        orthogonal: bool = False,
        *,
        order: str = "cyclic",
        triangular: bool = False,
        base: Transform | None = None,
        init: str | Transform | None = None,
        max_iter: int = 100,
        tol: float = 1e-6,
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
        callback: Callback | None = None,
        verbose: bool = False,
        sparse_output: bool = True,
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

    def _structure(self, n_features: int) -> Structure:
        if self.n_reflectors != "auto":
            check_integer(self.n_reflectors, "n_reflectors", 1, n_features, "n_features")
        return Reflectors(self.n_reflectors, self.orthogonal, self.order, self.triangular)


def _energy(array: NDArray[Any]) -> float:
    """The sum of squares, in float64."""
    return float(np.sum(np.square(array, dtype=np.float64)))
