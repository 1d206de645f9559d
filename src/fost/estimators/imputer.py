"""Imputation by Gaussian mixtures as a scikit-learn transformer."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.impute import MissingIndicator
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from fost._typing import Float64Array, Floats, Mask
from fost._validation import RandomState, check_flag, check_integer
from fost.estimators.base import errors_naming_signals
from fost.imputation.conditioning import keep_observed, zero_missing
from fost.imputation.fit import fit_mixture
from fost.imputation.mixture import Mixture

# Features whose largest entries differ by a larger binary exponent are scaled separately.
_MAX_EXPONENT = 100


class Imputer(TransformerMixin, BaseEstimator):
    """Imputation of missing entries by their conditional mean given the observed entries.

    The prior is a Gaussian or a Gaussian mixture, fitted to the data with its missing entries (see
    `fost.imputation.fit_mixture`). The number of members and the shrinkage of their correlations
    are selected by the error of held-out entries.

    Imputed values are means. In a column of integers or categories they need not be one of its
    values. In a column of zeros and ones, they estimate the probability of a one. Round them, or
    take the largest of several columns of zeros and ones that encode one category.

    Parameters
    ----------
    n_members : int, optional
        Number of Gaussians. None selects the number with the smallest error of held-out entries.
    missing_values : number or NaN
        The value of missing entries.
    add_indicator : bool
        Whether `transform` appends a missing indicator for each feature with missing entries in
        `fit`, as `sklearn.impute.MissingIndicator` does.
    keep_empty_features : bool
        Whether features without observed entries in `fit` are filled with zeros or removed. `fit`
        warns if it removes features.
    min_value, max_value : float or array-like of shape (n_features,)
        Limits of imputed values, one for all features or one for each. Values beyond a limit are
        replaced by it, as in `sklearn.impute.IterativeImputer`.
    random_state : int, Generator, RandomState or None
        Seed of the held-out entries and of the initial mixtures.

    Attributes
    ----------
    mixture_ : Mixture
        The fitted mixture of the features with observed entries. Very large or small features are
        scaled by powers of two.
    indicator_ : MissingIndicator or None
        The fitted indicator if `add_indicator`.
    n_features_in_ : int
        Number of features in `fit`.
    feature_names_in_ : ndarray of str
        Names of the features in `fit`, if they are strings.

    Examples
    --------
    >>> import fost, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> Y = np.cumsum(rng.standard_normal((300, 12)), axis=1)
    >>> missing = rng.random(Y.shape) < 0.2
    >>> filled = fost.Imputer().fit_transform(np.where(missing, np.nan, Y))
    >>> bool(np.sqrt(np.mean((filled - Y)[missing] ** 2)) < 1)  # 2.5 for the mean of each feature
    True
    """

    def __init__(
        self,
        n_members: int | None = None,
        *,
        missing_values: float = np.nan,
        add_indicator: bool = False,
        keep_empty_features: bool = False,
        min_value: ArrayLike = -np.inf,
        max_value: ArrayLike = np.inf,
        random_state: RandomState = 0,
    ) -> None:
        self.n_members = n_members
        self.missing_values = missing_values
        self.add_indicator = add_indicator
        self.keep_empty_features = keep_empty_features
        self.min_value = min_value
        self.max_value = max_value
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: None = None) -> Self:
        """Fit the mixture.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data with missing entries.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        self._check_parameters()
        signals, missing = self._validated(X, reset=True)
        self._seen: NDArray[np.bool_] = np.asarray((~missing).any(axis=0))
        self._limits = self._checked_limits()
        if not (self.keep_empty_features or self._seen.all()):
            names = _check_feature_names_in(self, None)[~self._seen].tolist()
            warnings.warn(
                f"X has no observed entries in the features {names}, which are removed; "
                "keep_empty_features=True fills them with zeros",
                UserWarning,
                stacklevel=2,
            )
        self.indicator_ = None
        if self.add_indicator:
            self.indicator_ = MissingIndicator(error_on_new=False).fit(_with_nan(signals, missing))
        self._exponents = _exponents(signals, missing)[self._seen]
        self.mixture_: Mixture | None = None
        if self._seen.any():
            self.mixture_ = fit_mixture(
                self._scaled(signals, missing),
                None if self.n_members is None else min(self.n_members, len(signals)),
                random_state=self.random_state,
            )
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """Replace missing entries by their conditional means.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data with missing entries.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            Without the features that have no observed entries in `fit`, unless
            `keep_empty_features`.
        """
        check_is_fitted(self, "mixture_")
        signals, missing = self._validated(X, reset=False)
        filled = np.zeros((len(signals), 0), signals.dtype)
        if self.mixture_ is not None:
            known, mask = self._observed(signals), self._observed(missing)
            values, _ = self.mixture_._fill_unchecked(self._scaled(signals, missing), mask)
            with np.errstate(over="ignore"):
                back = self._rescaled(values, self._exponents)
                back = np.clip(back, *self._limits[:, self._seen]).astype(signals.dtype, copy=False)
            filled = keep_observed(back, known, mask)
        if self.keep_empty_features and not self._seen.all():
            whole = np.where(missing, signals.dtype.type(0), signals)
            whole[:, self._seen] = filled
            filled = whole
        if self.indicator_ is not None:
            filled = np.hstack([filled, self.indicator_.transform(_with_nan(signals, missing))])
        return np.asarray(filled, signals.dtype)

    def deviations(self, X: ArrayLike) -> Floats:
        """Standard deviations of the imputed entries; zero for observed entries.

        `fit` calibrates them by the errors of held-out entries: one and two standard deviations
        cover about 68 and 95 % of the errors. They do not depend on `min_value` and `max_value`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            NaN for missing entries of features without observed entries in `fit`.
        """
        check_is_fitted(self, "mixture_")
        signals, missing = self._validated(X, reset=False)
        out = np.where(missing, signals.dtype.type(np.nan), signals.dtype.type(0))
        if self.mixture_ is not None:
            scaled = self._scaled(signals, missing)
            _, std = self.mixture_._fill_unchecked(scaled, self._observed(missing), std=True)
            out[:, self._seen] = self._rescaled(std, self._exponents)
        return out

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Names of the columns of the result of `transform`.

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

    def _checked_limits(self) -> Float64Array:
        """The least and the largest value of each feature, of shape (2, n_features)."""
        limits = np.empty((2, self.n_features_in_))
        for row, name in zip(limits, ("min_value", "max_value"), strict=True):
            try:
                value = np.asarray(getattr(self, name), np.float64)
            except (TypeError, ValueError) as error:
                raise TypeError(f"{name} must be a number or an array of numbers") from error
            if value.shape not in ((), row.shape):
                raise ValueError(
                    f"{name} must be a number or of shape {row.shape}, got shape {value.shape}"
                )
            row[:] = value
        wrong = np.flatnonzero(~(limits[0] <= limits[1]))  # also for NaN
        if wrong.size:
            low, high = limits[:, wrong[0]]
            raise ValueError(
                f"min_value must be at most max_value, got {low:g} and {high:g} "
                f"for feature {wrong[0]}"
            )
        return limits

    def _validated(self, X: ArrayLike, reset: bool) -> tuple[Floats, Mask]:
        """Signals validated by scikit-learn, and the mask of missing entries."""
        nan_is_missing = np.isnan(self.missing_values)
        finite = "allow-nan" if nan_is_missing else True
        types = [np.float64, np.float32]
        with errors_naming_signals(self, X):
            signals = np.asarray(
                validate_data(self, X, dtype=types, reset=reset, ensure_all_finite=finite)
            )
        missing = np.isnan(signals) if nan_is_missing else signals == self.missing_values
        return signals, missing

    def _scaled(self, signals: Floats, missing: Mask) -> NDArray[np.float64]:
        """Features with observed entries, scaled so that squares are finite; NaN if missing."""
        marked = signals if np.isnan(self.missing_values) else _with_nan(signals, missing)
        seen = self._observed(marked).astype(np.float64, copy=False)
        return np.asarray(self._rescaled(seen, -self._exponents), np.float64)

    def _observed(self, columns: NDArray[Any]) -> NDArray[Any]:
        """The columns of features with observed entries in `fit`."""
        return columns if self._seen.all() else columns[:, self._seen]

    def _rescaled(self, values: Floats, exponents: NDArray[np.int64]) -> Floats:
        """Values times powers of two."""
        return np.asarray(np.ldexp(values, exponents)) if exponents.any() else values

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = bool(np.isnan(self.missing_values))
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _exponents(signals: Floats, missing: Mask) -> NDArray[np.int64]:
    """Binary exponents of the features, for exact scaling that keeps squares finite.

    Zero if no scaling is needed. Otherwise one exponent for all features, except for features that
    are much smaller than the largest.
    """
    largest = np.abs(zero_missing(signals, missing)).max(axis=0, initial=0).astype(np.float64)
    own = np.frexp(largest)[1].astype(np.int64)
    if np.abs(own).max(initial=0) <= _MAX_EXPONENT:
        return np.zeros_like(own)
    return np.asarray(np.where(own < own.max() - _MAX_EXPONENT, own, own.max()))


def _with_nan(signals: Floats, missing: Mask) -> Floats:
    """Signals with NaN for missing entries."""
    return np.where(missing, signals.dtype.type(np.nan), signals)
