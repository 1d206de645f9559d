"""Base classes of the scikit-learn estimators, validation of signals, default sizes."""

from __future__ import annotations

import re
import warnings
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from math import ceil, log2
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse, sparray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from fost._scaling import scale_to_safe_range
from fost._typing import Floats
from fost._validation import check_flag, has_masked
from fost._warnings import external_stacklevel
from fost.coding.selection import SelectionRule, check_rule
from fost.learning import as_training_data
from fost.learning.state import LearningResult
from fost.streams import Stream, as_stream, is_lazy
from fost.streams.arrays import ArrayStream
from fost.transforms import Coder

# Input that estimators accept as signals.
Signals = ArrayLike | Stream | Iterable[ArrayLike]


# Default sizes. For 64 features, patches of 8 x 8 pixels, they are those of the experiments in the
# paper: 4 entries per code and 12 reflectors. They are valid for any number of features.


def default_entries(n_features: int, n_atoms: int | None = None) -> int:
    """Entries per code: n / 16, but at least 4, and at most n_features and n_atoms."""
    most = n_features if n_atoms is None else min(n_features, n_atoms)
    return min(max(4, ceil(n_features / 16)), most)


def default_reflectors(n_features: int) -> int:
    """Number of reflectors, 2 log2(n): about the cost of a fast fixed transform."""
    return min(max(1, round(2 * log2(n_features))), n_features)


def default_rotations(n_features: int) -> int:
    """Number of rotations, n."""
    return n_features


# Validation


def check_estimator_signals(
    estimator: DictionaryEstimator,
    X: object,
    reset: bool = True,
    sample_weight: object = None,
) -> Stream:
    """Signals validated by scikit-learn; for lazy signals, only what needs no pass over them.

    `reset` is true in `fit`, as in scikit-learn. NaN is a missing entry if the estimator allows
    missing entries.
    """
    allow_missing = estimator._allows_missing
    if not is_lazy(X):
        rows = check_rows_in_memory(estimator, X, reset)
        missing = "nan" if allow_missing and np.isnan(rows).any() else None
        return as_stream(rows, "X", missing, sample_weight)
    check_flag(estimator.sparse_output, "sparse_output")
    stream = as_stream(X, "X", "nan" if allow_missing else None, sample_weight)
    n = stream.n_features
    if reset:
        estimator.n_features_in_ = n
        estimator.__dict__.pop("feature_names_in_", None)
    elif n != estimator.n_features_in_:
        raise ValueError(
            f"X has {n} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input"
        )
    return stream


def check_rows_in_memory(estimator: DictionaryEstimator, X: object, reset: bool) -> Floats:
    """Signals in memory, validated by scikit-learn."""
    check_flag(estimator.sparse_output, "sparse_output")
    with errors_naming_signals(estimator, X):
        X = validate_data(
            estimator,
            X,
            reset=reset,
            dtype=[np.float64, np.float32],
            ensure_min_samples=estimator._min_signals if reset else 1,
            ensure_all_finite="allow-nan" if estimator._allows_missing else True,
        )
    return np.asarray(X)


@contextmanager
def errors_naming_signals(estimator: BaseEstimator, X: object) -> Iterator[None]:
    """A context for `validate_data` in which all errors name X; masked arrays are refused."""
    if has_masked(X):
        raise ValueError("X has masked entries, which fost cannot leave out")
    dtype = getattr(X, "dtype", None)
    if getattr(dtype, "kind", "") in ("m", "M"):  # dates and durations
        raise TypeError(f"X must be real numbers, got dtype {dtype}")
    try:
        yield
    except (MemoryError, OSError):
        raise
    except Exception as error:  # also errors of NumPy, and of an object's __array__
        if isinstance(error, TypeError | ValueError) and re.search(r"\bX\b", str(error)):
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"X is not valid for {type(estimator).__name__}: {error}") from error


# Warnings


def warn_unless_converged(result: LearningResult, max_iter: int, tol: float) -> None:
    """Warn if `max_iter` ended the iteration before the error changed by less than `tol`.

    There is no warning after an interrupt or if a callback stopped the iteration.
    """
    if not (result.converged or result.interrupted or result.stopped) and result.n_iter >= max_iter:
        warn_not_converged(result.n_iter, tol)


def warn_not_converged(n_iter: int, tol: float) -> None:
    """Warn that `n_iter` iterations, the maximum, did not converge to `tol`."""
    if n_iter > 0 and tol > 0:
        warnings.warn(
            f"the relative error still changed by tol={tol:g} or more after max_iter={n_iter} "
            "iterations; increase max_iter or tol, or set tol=0 for a fixed number of iterations",
            ConvergenceWarning,
            stacklevel=external_stacklevel(),
        )


# Base classes


class FittedDictionary(Protocol):
    """The methods of a dictionary that estimators use: of a `Coder` or a general dictionary."""

    @property
    def n_atoms(self) -> int: ...

    @property
    def matrix(self) -> NDArray[np.float64]: ...

    def encode(self, Y: Any, n_nonzero_coefs: int | None) -> csr_array: ...

    def decode(self, codes: sparray | ArrayLike) -> Floats: ...


class DictionaryEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base class of all dictionary learning estimators."""

    n_nonzero_coefs: int | None
    sparse_output: bool
    dictionary_: FittedDictionary
    errors_: NDArray[np.float64]
    start_error_: float
    n_iter_: int
    interrupted_: bool
    # Minimum number of signals in `fit`.
    _min_signals = 1
    # Whether entries of signals may be missing (NaN).
    _allows_missing = False

    @abstractmethod
    def _fit(self, signals: Stream) -> None:
        """Learn the dictionary from valid signals."""

    def fit(self, X: Signals, y: None = None) -> Self:
        """Learn the dictionary.

        Parameters
        ----------
        X : array-like of shape (n_signals, n_features)
            Signals in rows, or any other input of `fost.learning.as_training_data`: memory maps,
            Zarr arrays, Dask arrays, iterables of blocks.
        y : None
            Ignored.

        Returns
        -------
        self
            After Ctrl-C, a warning is issued and the estimator keeps the best dictionary so far;
            `interrupted_` is then true.
        """
        self._fit(check_estimator_signals(self, X))
        return self

    def fit_transform(self, X: Signals, y: None = None) -> csr_array | Floats:
        """Learn the dictionary and encode the same signals.

        Parameters
        ----------
        X : array-like of shape (n_signals, n_features)
            Signals, as for `fit`.
        y : None
            Ignored.

        Returns
        -------
        ndarray or csr_array of shape (n_signals, n_atoms)
            Codes, as from `transform`.
        """
        signals = check_estimator_signals(self, X)
        self._fit(signals)
        return self._codes(signals)

    def transform(self, X: Signals) -> csr_array | Floats:
        """Sparse codes of signals.

        Parameters
        ----------
        X : array-like of shape (n_signals, n_features)
            Signals in rows, or any other input of `fost.learning.as_training_data`.

        Returns
        -------
        ndarray or csr_array of shape (n_signals, n_atoms)
            Codes with `n_nonzero_coefs` entries per row; a csr_array if `sparse_output` is true.
            n_atoms is n_features, times the number of members of a bank or union. For a Dask
            array, a lazy Dask array of such blocks.
        """
        check_is_fitted(self, "dictionary_")
        return self._codes(check_estimator_signals(self, X, reset=False))

    def _encoded(self, signals: Stream) -> csr_array:
        return self.dictionary_.encode(signals, self._entries)

    @property
    def _entries(self) -> int:
        """Entries per code of `transform`, from the current parameters."""
        if self.n_nonzero_coefs is not None:
            return self.n_nonzero_coefs
        return default_entries(self.n_features_in_, self.dictionary_.n_atoms)

    def _codes(self, signals: Stream) -> csr_array | Floats:
        own_output = getattr(self, "_sklearn_output_config", {})
        output = own_output.get("transform", get_config()["transform_output"])
        if self.sparse_output and output != "default":
            raise ValueError(
                "set_output(transform=...) supports dense codes only: "
                f"{type(self).__name__} needs sparse_output=False"
            )
        codes = self._encoded(signals)
        if self.sparse_output:
            return codes
        if issparse(codes):
            return codes.toarray()
        return codes.map_blocks(csr_array.toarray, dtype=codes.dtype)

    def inverse_transform(self, X: sparray | ArrayLike) -> Floats:
        """Signals with given codes.

        Parameters
        ----------
        X : sparse array or array-like of shape (n_signals, n_atoms)
            Codes in rows.

        Returns
        -------
        ndarray of shape (n_signals, n_features)
        """
        check_is_fitted(self, "dictionary_")
        try:
            return self.dictionary_.decode(X)
        except (TypeError, ValueError) as error:
            raise type(error)(f"X: {error}") from error

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._dictionary_html()

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._dictionary_html()
        return bundle

    def _dictionary_html(self) -> str:
        """The fitted dictionary, below the representation of scikit-learn in notebooks."""
        learned = getattr(self, "dictionary_", None)
        return learned._repr_html_() if isinstance(learned, Coder) else ""

    @property
    def components_(self) -> NDArray[np.float64]:
        """The atoms in rows, shape (n_atoms, n_features)."""
        return self.dictionary_.matrix.T

    @property
    def _n_features_out(self) -> int:
        return self.dictionary_.n_atoms

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.allow_nan = self._allows_missing
        return tags


class WeightedFit(DictionaryEstimator):
    """Base class of estimators whose `fit` takes `sample_weight`."""

    def fit(self, X: Signals, y: None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the dictionary.

        Parameters
        ----------
        X : array-like of shape (n_signals, n_features)
            Signals in rows, or any other input of `fost.learning.as_training_data`: memory maps,
            Zarr arrays, Dask arrays, iterables of blocks. NaN entries are missing, and the error on
            the observed entries is minimised.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_signals,), optional
            Weights of the signals. Integer weights are equivalent to copies of signals.

        Returns
        -------
        self
            After Ctrl-C, a warning is issued and the estimator keeps the best dictionary so far;
            `interrupted_` is then true.
        """
        self._fit(check_estimator_signals(self, X, sample_weight=sample_weight))
        return self

    def fit_transform(
        self, X: Signals, y: None = None, sample_weight: ArrayLike | None = None
    ) -> csr_array | Floats:
        """Learn the dictionary and encode the same signals.

        Parameters
        ----------
        X : array-like of shape (n_signals, n_features)
            Signals, as for `fit`.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_signals,), optional
            Weights, as for `fit`.

        Returns
        -------
        ndarray or csr_array of shape (n_signals, n_atoms)
            Codes, as from `transform`.
        """
        signals = check_estimator_signals(self, X, sample_weight=sample_weight)
        self._fit(signals)
        return self._codes(signals)


class CoderEstimator(DictionaryEstimator):
    """Base class of estimators whose dictionary is a transform, bank or union."""

    dictionary_: Coder
    error_: float

    @property
    def _rule(self) -> SelectionRule:
        """The selection rule of `transform`."""
        return check_rule(self._entries, None, None, self.n_features_in_)

    def score(self, X: Signals, y: None = None, sample_weight: ArrayLike | None = None) -> float:
        r"""Negative relative error, :math:`-\|X - \hat X\|_F^2 / \|X\|_F^2`; higher is better.

        :math:`\hat X` are the decoded codes. Missing entries do not count.

        Parameters
        ----------
        X : array-like of shape (n_signals, n_features)
            Signals in rows, or any other input of `fost.learning.as_training_data`.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_signals,), optional
            Weights of the signals, by which their squared norms are multiplied.

        Returns
        -------
        float
        """
        check_is_fitted(self, "dictionary_")
        signals, rule = check_estimator_signals(self, X, False, sample_weight), self._rule
        if isinstance(signals, ArrayStream) and rule.is_fixed:
            # Scaling by a power of two does not change a relative error.
            signals = ArrayStream(scale_to_safe_range(signals.rows), signals.name)
        return -as_training_data(signals).relative_error(self.dictionary_, rule)
