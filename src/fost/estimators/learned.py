"""Base class of the estimators that learn one structure."""

from __future__ import annotations

import os
from abc import abstractmethod
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from fost._validation import RandomState
from fost.coding.selection import SelectionRule, check_rule
from fost.estimators.base import (
    CoderEstimator,
    WeightedFit,
    check_estimator_signals,
    default_entries,
    warn_unless_converged,
)
from fost.learning import Structure
from fost.learning.learn import Callback, LearningOptions, learn
from fost.learning.online import Forgetting, OnlineLearner
from fost.learning.state import LearningResult
from fost.streams import Stream
from fost.transforms import Chain, Coder, Transform


class LearnedDictionary(WeightedFit, CoderEstimator):
    """A dictionary of the structure that the parameters describe."""

    n_nonzero_coefs_: int | None
    base: str | Transform | None
    signal_shape: int | tuple[int, ...] | None
    base_: Transform | None
    init: str | Coder | None
    n_init: int
    init_errors_: NDArray[np.float64]
    max_iter: int
    tol: float
    random_state: RandomState
    callback: Callback | None
    verbose: bool
    checkpoint: str | os.PathLike[str] | None
    forgetting: Forgetting
    threshold: float | None
    transform_max_error: float | None
    _allows_missing = True

    @abstractmethod
    def _structure(self, n_features: int) -> Structure:
        """The structure that the parameters describe, validated."""

    def _fit(self, signals: Stream) -> None:
        entries = self._learned_entries(signals.n_features)
        result = learn(
            signals,
            self._structure(signals.n_features),
            entries,
            threshold=self.threshold,
            base=self.base,
            signal_shape=self.signal_shape,
            init=self.init,
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=self.random_state,
            callback=self.callback,
            verbose=self.verbose,
            checkpoint=self.checkpoint,
        )
        self._store_result(result)
        self.n_nonzero_coefs_ = entries
        self._online: OnlineLearner | None = None
        warn_unless_converged(result, self.max_iter, self.tol)

    def _learned_entries(self, n_features: int) -> int | None:
        """Entries per code in `fit`; None if a threshold alone limits them."""
        if self.n_nonzero_coefs is not None or self.threshold is not None:
            return self.n_nonzero_coefs
        return default_entries(n_features)

    @property
    def _without_base(self) -> Coder:
        """The learned transform without the base."""
        dictionary = self.dictionary_
        return dictionary.stages[-1] if isinstance(dictionary, Chain) else dictionary

    @property
    def _rule(self) -> SelectionRule:
        """The selection rule of `transform`."""
        n = self.n_features_in_
        if self.transform_max_error is None:
            return check_rule(self._learned_entries(n), None, self.threshold, n)
        try:
            return check_rule(None, self.transform_max_error, None, n)
        except (TypeError, ValueError) as error:
            raise type(error)(f"transform_{error}") from error

    def _encoded(self, signals: Stream) -> csr_array:
        rule = self._rule
        return self.dictionary_.encode(
            signals, rule.s, max_error=rule.max_error, threshold=rule.threshold
        )

    def _store_result(self, result: LearningResult) -> None:
        """Set the fitted attributes."""
        self.dictionary_, self.base_ = result.transform, result.base
        self.init_errors_ = result.init_errors
        self.error_, self.errors_ = result.error, result.errors
        self.start_error_ = result.start_error
        self.n_iter_ = result.n_iter
        self.interrupted_ = result.interrupted

    def partial_fit(
        self, X: ArrayLike, y: None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Update the dictionary with one more batch of signals.

        Each call encodes its batch with the current dictionary, adds X Y^T to a running sum that
        decays by `forgetting`, and updates the dictionary once. The batch is not kept. The first
        call starts from its batch, or from the dictionary of an earlier `fit`; its batch should
        have several signals per feature. Batches should come in random order.

        Changed parameters take effect at the next call. If they describe another structure or
        base, learning continues from the current dictionary and drops the sums of earlier batches.

        Parameters
        ----------
        X : array-like of shape (n_signals, n_features)
            Signals in rows; NaN for missing entries.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_signals,), optional
            Weights of the signals.

        Returns
        -------
        self
            `errors_` has the relative error of each batch before its update, `start_error_` the
            first and `error_` the last of them. `n_iter_` is the number of batches. `max_iter`,
            `tol`, `callback` and `checkpoint` are not used.

        Notes
        -----
        After a few epochs the error is usually within 1 % of that of `fit`, if `fit` itself
        comes that close within about ten iterations.
        """
        online: OnlineLearner | None = getattr(self, "_online", None)
        fitted = hasattr(self, "dictionary_")
        signals = check_estimator_signals(self, X, reset=not fitted, sample_weight=sample_weight)
        options = LearningOptions(
            structure=self._structure(self.n_features_in_),
            n_nonzero_coefs=self._learned_entries(self.n_features_in_),
            base=self.base,
            signal_shape=self.signal_shape,
            init=self.dictionary_ if fitted else self.init,
            random_state=self.random_state,
            threshold=self.threshold,
        )
        if online is None:
            online, errors = OnlineLearner(options), np.empty(0)
        else:
            errors = self.errors_
        error = online.learn_batch(signals, options, self.forgetting)
        self._online, self.n_nonzero_coefs_ = online, options.n_nonzero_coefs
        self.dictionary_, self.base_ = online.transform, online.base
        self.init_errors_ = np.empty(0)
        self.errors_ = np.append(errors, error)
        self.start_error_, self.error_ = float(self.errors_[0]), error
        self.n_iter_, self.interrupted_ = online.n_batches, False
        return self
