"""What the estimators share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fost.learning import Structure, learn
from fost.learning.frontier import relative_error
from fost.learning.loop import Callback
from fost.transforms import Transform


class DictionaryEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What can be done with a fitted dictionary, however it came about."""

    n_nonzero_coefs: int
    sparse_output: bool
    dictionary_: Transform
    errors_: NDArray[np.float64]
    n_iter_: int

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
        check_is_fitted(self, "dictionary_")
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
        check_is_fitted(self, "dictionary_")
        return self.dictionary_.decode(X)

    def score(self, X: ArrayLike, y: None = None) -> float:
        """Minus the relative error ||X - decoded codes||_F^2 / ||X||_F^2; higher is better.

        Parameters
        ----------
        X : array-like of shape (n_signals, n_features)
        y : None
            Ignored.
        """
        check_is_fitted(self, "dictionary_")
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return -relative_error(np.asarray(X), self.dictionary_, self.n_nonzero_coefs)

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


class LearnedDictionary(DictionaryEstimator):
    """A dictionary of one structure, which the parameters describe."""

    base: Transform | None
    init: str | Transform | None
    max_iter: int
    tol: float
    random_state: int | np.random.Generator | np.random.RandomState | None
    callback: Callback | None
    verbose: bool

    @abstractmethod
    def _structure(self, n_features: int) -> Structure:
        """The structure that the parameters describe, checked."""

    def fit(self, X: ArrayLike, y: None = None) -> LearnedDictionary:
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
