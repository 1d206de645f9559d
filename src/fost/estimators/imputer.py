"""Mask of tables and signals, filled, as a scikit-learn transformer."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.impute import MissingIndicator
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from fost._random import RandomState
from fost._typing import Floats, Mask
from fost._validation import check_flag, check_integer
from fost.estimators.checks import naming_signals
from fost.imputation import Mixture, fit_mixture
from fost.imputation.conditioning import keep_observed, zero_missing

# Features whose largest entries differ by more than this power of two are scaled differently.
_REACH = 100


class Imputer(TransformerMixin, BaseEstimator):
    """Fill what is missing by its mean given what is observed of the same signal.

    The prior is a Gaussian or a Gaussian mixture, fitted to the data with its missing entries (see
    `fost.imputation.fit_mixture`). The number of members and the shrinkage of their correlations
    are selected by the error of held-out entries.

    Parameters
    ----------
    n_members : int, optional
        Gaussians of the mixture. If None, one or several, whichever fills hidden entries better.
    missing_values : number or NaN
        What stands for a missing entry.
    add_indicator : bool
        Whether `transform` appends columns that say what was missing, for the features that had
        gaps in `fit`, as `sklearn.impute.MissingIndicator` does.
    keep_empty_features : bool
        Whether features that `fit` never saw observed are filled with zeros or left out.
    random_state : int, Generator, RandomState or None
        For what is hidden, and where mixtures start.

    Attributes
    ----------
    mixture_ : Mixture
        What is usual, of the features that were observed; in powers of two where they are huge or
        tiny.
    indicator_ : MissingIndicator or None
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Examples
    --------
    >>> import fost, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> Y = np.cumsum(rng.standard_normal((300, 12)), axis=1)
    >>> gaps = rng.random(Y.shape) < 0.2
    >>> filled = fost.Imputer().fit_transform(np.where(gaps, np.nan, Y))
    >>> bool(np.sqrt(np.mean((filled - Y)[gaps] ** 2)) < 1)  # the mean is wrong by 2.5
    True
    """

    def __init__(
        self,
        n_members: int | None = None,
        *,
        missing_values: float = np.nan,
        add_indicator: bool = False,
        keep_empty_features: bool = False,
        random_state: RandomState = 0,
    ) -> None:
        self.n_members = n_members
        self.missing_values = missing_values
        self.add_indicator = add_indicator
        self.keep_empty_features = keep_empty_features
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: None = None) -> Self:
        """Learn what is usual.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            With gaps.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        self._check_parameters()
        signals, gaps = self._validated(X, reset=True)
        self._seen: NDArray[np.bool_] = np.asarray((~gaps).any(axis=0))
        self.indicator_ = None
        if self.add_indicator:
            self.indicator_ = MissingIndicator(error_on_new=False).fit(_marked(signals, gaps))
        self._exponents = _exponents(signals, gaps)[self._seen]
        self.mixture_: Mixture | None = None
        if self._seen.any():
            self.mixture_ = fit_mixture(
                self._scaled(signals, gaps),
                None if self.n_members is None else min(self.n_members, len(signals)),
                random_state=self.random_state,
            )
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """Fill gaps.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            Without the features that were never observed in `fit`, unless `keep_empty_features`.
        """
        check_is_fitted(self, "mixture_")
        signals, gaps = self._validated(X, reset=False)
        filled = np.zeros((len(signals), 0), signals.dtype)
        if self.mixture_ is not None:
            known, holes = self._observed(signals), self._observed(gaps)
            values, _ = self.mixture_._fill_unchecked(self._scaled(signals, gaps), holes)
            with np.errstate(over="ignore"):
                back = self._rescaled(values, self._exponents).astype(signals.dtype, copy=False)
            filled = keep_observed(back, known, holes)
        if self.keep_empty_features and not self._seen.all():
            whole = np.where(gaps, signals.dtype.type(0), signals)
            whole[:, self._seen] = filled
            filled = whole
        if self.indicator_ is not None:
            filled = np.hstack([filled, self.indicator_.transform(_marked(signals, gaps))])
        return np.asarray(filled, signals.dtype)

    def deviations(self, X: ArrayLike) -> Floats:
        """The standard deviations of what `transform` fills in; zero where X is observed.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            NaN for gaps of features that were never observed in `fit`.
        """
        check_is_fitted(self, "mixture_")
        signals, gaps = self._validated(X, reset=False)
        out = np.where(gaps, signals.dtype.type(np.nan), signals.dtype.type(0))
        if self.mixture_ is not None:
            scaled = self._scaled(signals, gaps)
            _, std = self.mixture_._fill_unchecked(scaled, self._observed(gaps), std=True)
            out[:, self._seen] = self._rescaled(std, self._exponents)
        return out

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Names of what `transform` returns.

        Parameters
        ----------
        input_features : array-like of str, optional
            Those of X; if None, as in `fit`, or x0, x1, ...

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self, "mixture_")
        names = _check_feature_names_in(self, input_features)
        kept = names if self.keep_empty_features else names[self._seen]
        if self.indicator_ is None:
            return np.asarray(kept)
        return np.concatenate([kept, self.indicator_.get_feature_names_out(names)])

    def _check_parameters(self) -> None:
        if self.n_members is not None:
            check_integer(self.n_members, "n_members", 1, 2**31 - 1)
        check_flag(self.add_indicator, "add_indicator")
        check_flag(self.keep_empty_features, "keep_empty_features")
        if not isinstance(self.missing_values, Real) or isinstance(self.missing_values, bool):
            raise TypeError(f"missing_values must be a number, got {self.missing_values!r}")

    def _validated(self, X: ArrayLike, reset: bool) -> tuple[Floats, Mask]:
        """Signals by scikit-learn's checks, and where they have gaps."""
        marks_nan = np.isnan(self.missing_values)
        finite = "allow-nan" if marks_nan else True
        types = [np.float64, np.float32]
        with naming_signals(self, X):
            signals = np.asarray(
                validate_data(self, X, dtype=types, reset=reset, ensure_all_finite=finite)
            )
        gaps = np.isnan(signals) if marks_nan else signals == self.missing_values
        return signals, gaps

    def _scaled(self, signals: Floats, gaps: Mask) -> NDArray[np.float64]:
        """Observed features in units that keep their squares within reach; gaps are NaN."""
        marked = signals if np.isnan(self.missing_values) else _marked(signals, gaps)
        seen = self._observed(marked).astype(np.float64, copy=False)
        return np.asarray(self._rescaled(seen, -self._exponents), np.float64)

    def _observed(self, columns: NDArray[Any]) -> NDArray[Any]:
        """Those columns that were observed in `fit`."""
        return columns if self._seen.all() else columns[:, self._seen]

    def _rescaled(self, values: Floats, exponents: NDArray[np.int64]) -> Floats:
        """Values times powers of two."""
        return np.asarray(np.ldexp(values, exponents)) if exponents.any() else values

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = bool(np.isnan(self.missing_values))
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _exponents(signals: Floats, gaps: Mask) -> NDArray[np.int64]:
    """Powers of two, which change no digit, to keep squares of features within their type.

    The same for all features but those that are beyond comparison; none at all where
    squares are within it anyway.
    """
    largest = np.abs(zero_missing(signals, gaps)).max(axis=0, initial=0).astype(np.float64)
    own = np.frexp(largest)[1].astype(np.int64)
    if np.abs(own).max(initial=0) <= _REACH:
        return np.zeros_like(own)
    return np.asarray(np.where(own < own.max() - _REACH, own, own.max()))


def _marked(signals: Floats, gaps: Mask) -> Floats:
    """Signals with NaN for gaps, whatever stood for them."""
    return np.where(gaps, signals.dtype.type(np.nan), signals)
