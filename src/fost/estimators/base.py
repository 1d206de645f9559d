"""What the estimators share."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fost._random import RandomState
from fost._scaling import within_reach
from fost.estimators.checks import checked
from fost.learning import LearningResult, Structure, as_source, learn
from fost.learning.loop import Callback
from fost.learning.online import Forgetting, OnlineLearner
from fost.learning.task import Task
from fost.streams import Stream
from fost.streams.local import Array
from fost.transforms import Coder, Transform

# What estimators take for signals.
Signals = ArrayLike | Stream | Iterable[ArrayLike]


class Dictionary(Protocol):
    """What a dictionary can do, learned transforms and free atoms alike."""

    @property
    def n_atoms(self) -> int: ...

    @property
    def matrix(self) -> NDArray[np.float64]: ...

    def encode(self, Y: Any, n_nonzero_coefs: int) -> csr_array: ...

    def decode(self, codes: Any) -> NDArray[Any]: ...


class DictionaryEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What can be done with a fitted dictionary, however it came about."""

    n_nonzero_coefs: int
    sparse_output: bool
    dictionary_: Dictionary
    errors_: NDArray[np.float64]
    n_iter_: int
    interrupted_: bool
    # Signals that it takes at least to learn from.
    _least_signals = 1

    @abstractmethod
    def _fit(self, signals: Stream) -> None:
        """Learn the dictionary from checked signals."""

    def fit(self, X: Signals, y: None = None) -> Self:
        """Learn the dictionary.

        Parameters
        ----------
        X : array-like of shape (n_signals, n_features)
            Signals in rows, or anything else that `fost.learning.as_source` takes: memory maps,
            arrays of Zarr, Dask arrays, iterables of blocks.
        y : None
            Ignored.

        Returns
        -------
        self
            Ctrl-C is answered by a warning and what has been learned so far, once there is
            something; `interrupted_` says so.
        """
        self._fit(checked(self, X, min_samples=self._least_signals))
        return self

    def fit_transform(self, X: Signals, y: None = None) -> csr_array | NDArray[Any]:
        """Learn the dictionary and code the same signals: `fit` and `transform` in one.

        Parameters
        ----------
        X : array-like of shape (n_signals, n_features)
            As for `fit`.
        y : None
            Ignored.

        Returns
        -------
        csr_array of shape (n_signals, n_atoms)
            As of `transform`.
        """
        signals = checked(self, X, min_samples=self._least_signals)
        self._fit(signals)
        return self._codes(signals)

    def transform(self, X: Signals) -> csr_array | NDArray[Any]:
        """Sparse codes of signals.

        Parameters
        ----------
        X : array-like of shape (n_signals, n_features)
            Or anything else that `fost.learning.as_source` takes.

        Returns
        -------
        csr_array of shape (n_signals, n_atoms)
            n_atoms is n_features, for a bank times its members.
            `n_nonzero_coefs` entries per row; an ndarray if `sparse_output` is false. For a Dask
            array, a lazy Dask array of such blocks.
        """
        check_is_fitted(self, "dictionary_")
        return self._codes(checked(self, X, reset=False))

    def _codes(self, signals: Stream) -> csr_array | NDArray[Any]:
        codes = self.dictionary_.encode(signals, self.n_nonzero_coefs)
        if self.sparse_output:
            return codes
        return codes.toarray() if issparse(codes) else codes.map_blocks(_dense, dtype=codes.dtype)

    def inverse_transform(self, X: Any) -> NDArray[Any]:
        """Signals that codes stand for.

        Parameters
        ----------
        X : sparse array or array-like of shape (n_signals, n_atoms)

        Returns
        -------
        ndarray of shape (n_signals, n_features)
        """
        check_is_fitted(self, "dictionary_")
        try:
            return self.dictionary_.decode(X)
        except (TypeError, ValueError) as error:
            raise type(error)(f"X: {error}") from error

    @property
    def components_(self) -> NDArray[np.float64]:
        """The atoms in rows, shape (n_atoms, n_features)."""
        return self.dictionary_.matrix.T

    @property
    def _n_features_out(self) -> int:
        return self.dictionary_.n_atoms

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class CoderEstimator(DictionaryEstimator):
    """An estimator whose dictionary is orthonormal, or a bank of such."""

    dictionary_: Coder

    def score(self, X: Signals, y: None = None) -> float:
        """Minus the relative error ||X - decoded codes||_F^2 / ||X||_F^2; higher is better.

        Parameters
        ----------
        X : array-like of shape (n_signals, n_features)
            Or anything else that `fost.learning.as_source` takes.
        y : None
            Ignored.
        """
        check_is_fitted(self, "dictionary_")
        signals = checked(self, X, reset=False)
        if isinstance(signals, Array):  # a power of two, which changes no relative error
            signals = Array(within_reach(signals.rows), signals.name)
        source = as_source(signals)
        return -source.relative_error(self.dictionary_, self.n_nonzero_coefs)


class LearnedDictionary(CoderEstimator):
    """A dictionary of one structure, which the parameters describe."""

    base: Transform | None
    init: str | Coder | None
    max_iter: int
    tol: float
    random_state: RandomState
    callback: Callback | None
    verbose: bool
    checkpoint: str | os.PathLike[str] | None
    forgetting: Forgetting

    @abstractmethod
    def _structure(self, n_features: int) -> Structure:
        """The structure that the parameters describe, checked."""

    def _fit(self, signals: Stream) -> None:
        result = learn(
            signals,
            self._structure(signals.n_features),
            self.n_nonzero_coefs,
            base=self.base,
            init=self.init,
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=self.random_state,
            callback=self.callback,
            verbose=self.verbose,
            checkpoint=self.checkpoint,
        )
        self._take(result)
        self._online: OnlineLearner | None = None

    def _take(self, result: LearningResult) -> None:
        """Keep what was learned."""
        self.dictionary_ = result.transform
        self.errors_ = result.errors
        self.n_iter_ = result.n_iter
        self.interrupted_ = result.interrupted

    def partial_fit(self, X: ArrayLike, y: None = None) -> Self:
        """Learn from one more batch of signals, which is not kept: one pass and one update.

        The first call starts from its batch, or from the dictionary of an earlier `fit`, so that
        batch should have some signals per feature. Each call codes its batch with the
        dictionary so far, adds X Y^T to a running sum, of which `forgetting` says how much is
        remembered, and updates the dictionary. Batches should come in random order; after a
        few epochs the error is that of `fit` within about 1 %, where `fit` itself needs no more
        than some ten iterations to come that close, and after more epochs elsewhere.

        Parameters that were set since the last call count from now on. Where they ask for
        another structure or another base, learning goes on from the dictionary so far, without
        the sums of earlier batches.

        Parameters
        ----------
        X : array-like of shape (n_signals, n_features)
            Signals in rows.
        y : None
            Ignored.

        Returns
        -------
        self
            `errors_` has the relative error of each batch before its own update, and `n_iter_`
            the number of batches. `max_iter`, `tol`, `callback` and `checkpoint` are not used.
        """
        online: OnlineLearner | None = getattr(self, "_online", None)
        fitted = hasattr(self, "dictionary_")
        signals = checked(self, X, reset=not fitted)
        task = Task(
            self._structure(self.n_features_in_),
            self.n_nonzero_coefs,
            self.base,
            self.dictionary_ if fitted else self.init,
            random_state=self.random_state,
        )
        if online is None:
            online, errors = OnlineLearner(task), np.empty(0)
        else:
            errors = self.errors_
        error = online.learn(signals, task, self.forgetting)
        self._online = online
        self.dictionary_ = online.transform
        self.errors_ = np.append(errors, error)
        self.n_iter_, self.interrupted_ = online.n_batches, False
        return self


def _dense(block: Any) -> NDArray[Any]:
    return np.asarray(block.toarray())
