"""What the estimators share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fost._scaling import within_reach
from fost._typing import Floats
from fost.estimators.checks import checked, makes_frames
from fost.estimators.defaults import default_entries
from fost.learning import as_training_data
from fost.selection import Rule, check_rule
from fost.streams import Stream
from fost.streams.arrays import ArrayStream
from fost.transforms import Coder

# What estimators take for signals.
Signals = ArrayLike | Stream | Iterable[ArrayLike]


class Dictionary(Protocol):
    """What a dictionary can do, learned transforms and free atoms alike."""

    @property
    def n_atoms(self) -> int: ...

    @property
    def matrix(self) -> NDArray[np.float64]: ...

    def encode(self, Y: Any, n_nonzero_coefs: int | None) -> csr_array: ...

    def decode(self, codes: Any) -> Floats: ...


class DictionaryEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What can be done with a fitted dictionary, however it came about."""

    n_nonzero_coefs: int | None
    sparse_output: bool
    dictionary_: Dictionary
    errors_: NDArray[np.float64]
    start_error_: float
    n_iter_: int
    interrupted_: bool
    # Signals that it takes at least to learn from.
    _least_signals = 1
    # Whether entries of signals may be missing, which are NaN.
    _takes_gaps = False

    @abstractmethod
    def _fit(self, signals: Stream) -> None:
        """Learn the dictionary from checked signals."""

    def fit(self, X: Signals, y: None = None) -> Self:
        """Learn the dictionary.

        Parameters
        ----------
        X : array-like of shape (n_signals, n_features)
            Signals in rows, in any form that `fost.learning.as_training_data` takes: memory
            maps, arrays of Zarr, Dask arrays, iterables of blocks.
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

    def fit_transform(self, X: Signals, y: None = None) -> csr_array | Floats:
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

    def transform(self, X: Signals) -> csr_array | Floats:
        """Sparse codes of signals.

        Parameters
        ----------
        X : array-like of shape (n_signals, n_features)
            Or anything else that `fost.learning.as_training_data` takes.

        Returns
        -------
        csr_array of shape (n_signals, n_atoms)
            n_atoms is n_features, for a bank times its members.
            `n_nonzero_coefs` entries per row; an ndarray if `sparse_output` is false. For a Dask
            array, a lazy Dask array of such blocks.
        """
        check_is_fitted(self, "dictionary_")
        return self._codes(checked(self, X, reset=False))

    def _encoded(self, signals: Stream) -> csr_array:
        return self.dictionary_.encode(signals, self._entries)

    @property
    def _entries(self) -> int:
        """Entries per code of `transform`, by the parameters as they are now."""
        if self.n_nonzero_coefs is not None:
            return self.n_nonzero_coefs
        return default_entries(self.n_features_in_, self.dictionary_.n_atoms)

    def _codes(self, signals: Stream) -> csr_array | Floats:
        if self.sparse_output and makes_frames(self):
            raise ValueError(
                "set_output(transform=...) makes tables of dense codes only: "
                f"{type(self).__name__} needs sparse_output=False"
            )
        codes = self._encoded(signals)
        if self.sparse_output:
            return codes
        return codes.toarray() if issparse(codes) else codes.map_blocks(_dense, dtype=codes.dtype)

    def inverse_transform(self, X: Any) -> Floats:
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

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._drawn()

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._drawn()
        return bundle

    def _drawn(self) -> str:
        """What notebooks show below scikit-learn's own: the dictionary, once there is one."""
        learned = getattr(self, "dictionary_", None)
        return learned._repr_html_() if isinstance(learned, Coder) else ""

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
        tags.input_tags.allow_nan = self._takes_gaps
        return tags


class CoderEstimator(DictionaryEstimator):
    """An estimator whose dictionary is orthonormal, or a bank of such."""

    dictionary_: Coder
    error_: float

    @property
    def _rule(self) -> Rule:
        """What `transform` codes by."""
        return check_rule(self._entries, None, None, self.n_features_in_)

    def score(self, X: Signals, y: None = None) -> float:
        """Minus the relative error ||X - decoded codes||_F^2 / ||X||_F^2; higher is better.

        Where entries are missing, that of the others.

        Parameters
        ----------
        X : array-like of shape (n_signals, n_features)
            Or anything else that `fost.learning.as_training_data` takes.
        y : None
            Ignored.
        """
        check_is_fitted(self, "dictionary_")
        signals, rule = checked(self, X, reset=False), self._rule
        if isinstance(signals, ArrayStream) and rule.is_fixed:
            # A power of two, which changes no relative error.
            signals = ArrayStream(within_reach(signals.rows), signals.name)
        return -as_training_data(signals).relative_error(self.dictionary_, rule)


def _dense(block: Any) -> Floats:
    return np.asarray(block.toarray())
