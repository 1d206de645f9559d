"""Dictionaries that are learned with one structure."""

from __future__ import annotations

import os
from abc import abstractmethod
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from fost._random import RandomState
from fost.estimators.base import CoderEstimator
from fost.estimators.checks import checked
from fost.estimators.convergence import warn_unless_converged
from fost.estimators.defaults import default_entries
from fost.estimators.weighted import WeightedFit
from fost.learning import Structure
from fost.learning.learn import Callback, LearningOptions, learn
from fost.learning.online import Forgetting, OnlineLearner
from fost.learning.state import LearningResult
from fost.selection import Rule, check_rule
from fost.streams import Stream
from fost.transforms import Chain, Coder, Transform


class LearnedDictionary(WeightedFit, CoderEstimator):
    """A dictionary of one structure, which the parameters describe."""

    n_nonzero_coefs_: int | None
    base: Transform | None
    init: str | Coder | None
    max_iter: int
    tol: float
    random_state: RandomState
    callback: Callback | None
    verbose: bool
    checkpoint: str | os.PathLike[str] | None
    forgetting: Forgetting
    threshold: float | None
    transform_max_error: float | None
    _takes_gaps = True

    @abstractmethod
    def _structure(self, n_features: int) -> Structure:
        """The structure that the parameters describe, checked."""

    def _fit(self, signals: Stream) -> None:
        entries = self._learned_entries(signals.n_features)
        result = learn(
            signals,
            self._structure(signals.n_features),
            entries,
            threshold=self.threshold,
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
        self.n_nonzero_coefs_ = entries
        self._online: OnlineLearner | None = None
        warn_unless_converged(result, self.max_iter, self.tol)

    def _learned_entries(self, n_features: int) -> int | None:
        """Entries per code, by the parameters; None where a threshold alone decides."""
        if self.n_nonzero_coefs is not None or self.threshold is not None:
            return self.n_nonzero_coefs
        return default_entries(n_features)

    @property
    def _beyond_base(self) -> Coder:
        """What was learned, without the base under it."""
        whole = self.dictionary_
        return whole.stages[-1] if isinstance(whole, Chain) else whole

    @property
    def _rule(self) -> Rule:
        """What `transform` codes by."""
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

    def _take(self, result: LearningResult) -> None:
        """Keep what was learned."""
        self.dictionary_ = result.transform
        self.error_, self.errors_ = result.error, result.errors
        self.start_error_ = result.start_error
        self.n_iter_ = result.n_iter
        self.interrupted_ = result.interrupted

    def partial_fit(
        self, X: ArrayLike, y: None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
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
            Signals in rows; NaN for what is missing.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_signals,), optional
            How many times each signal counts.

        Returns
        -------
        self
            `errors_` has the relative error of each batch before its own update, of which
            `start_error_` is the first and `error_` the last, and `n_iter_` is the number of
            batches. `max_iter`, `tol`, `callback` and `checkpoint` are not used.
        """
        online: OnlineLearner | None = getattr(self, "_online", None)
        fitted = hasattr(self, "dictionary_")
        signals = checked(self, X, reset=not fitted, sample_weight=sample_weight)
        options = LearningOptions(
            structure=self._structure(self.n_features_in_),
            n_nonzero_coefs=self._learned_entries(self.n_features_in_),
            base=self.base,
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
        self.dictionary_ = online.transform
        self.errors_ = np.append(errors, error)
        self.start_error_, self.error_ = float(self.errors_[0]), error
        self.n_iter_, self.interrupted_ = online.n_batches, False
        return self
