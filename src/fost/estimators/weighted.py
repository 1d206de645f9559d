"""Dictionaries that are learned from signals with weights."""

from __future__ import annotations

from typing import Self

from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from fost._typing import Floats
from fost.estimators.base import DictionaryEstimator, Signals
from fost.estimators.checks import checked


class WeightedFit(DictionaryEstimator):
    """`fit` and `fit_transform` with `sample_weight`."""

    def fit(self, X: Signals, y: None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the dictionary.

        Parameters
        ----------
        X : array-like of shape (n_signals, n_features)
            Signals in rows, in any form that `fost.learning.as_training_data` takes: memory
            maps, arrays of Zarr, Dask arrays, iterables of blocks. Entries that are NaN are
            missing, and the error on the others is minimised.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_signals,), optional
            How many times each signal counts; whole numbers are equal to copies of signals, in any
            order.

        Returns
        -------
        self
            Ctrl-C is answered by a warning and what has been learned so far, once there is
            something; `interrupted_` says so.
        """
        self._fit(checked(self, X, True, self._least_signals, sample_weight))
        return self

    def fit_transform(
        self, X: Signals, y: None = None, sample_weight: ArrayLike | None = None
    ) -> csr_array | Floats:
        """Learn the dictionary and code the same signals: `fit` and `transform` in one.

        Parameters
        ----------
        X : array-like of shape (n_signals, n_features)
            As for `fit`.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_signals,), optional
            As for `fit`.

        Returns
        -------
        csr_array of shape (n_signals, n_atoms)
            As of `transform`.
        """
        signals = checked(self, X, True, self._least_signals, sample_weight)
        self._fit(signals)
        return self._codes(signals)
