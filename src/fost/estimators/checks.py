"""What estimators take for signals, by scikit-learn's checks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from fost._typing import Floats
from fost._validation import check_flag, has_masked
from fost.streams import Stream, as_stream, is_lazy


def checked(
    estimator: BaseEstimator,
    X: object,
    reset: bool = True,
    min_samples: int = 1,
    sample_weight: object = None,
) -> Stream:
    """Signals by scikit-learn's checks; of lazy ones only what needs no pass over them.

    Where the estimator takes gaps, NaN is one.
    """
    gaps = bool(estimator._takes_gaps)
    if not is_lazy(X):
        rows = validated(estimator, X, reset, min_samples)
        missing = "nan" if gaps and np.isnan(rows).any() else None
        return as_stream(rows, "X", missing, sample_weight)
    check_flag(estimator.sparse_output, "sparse_output")
    stream = as_stream(X, "X", "nan" if gaps else None, sample_weight)
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


def makes_frames(estimator: BaseEstimator) -> bool:
    """Whether `set_output`, or scikit-learn's settings, ask for tables."""
    own = getattr(estimator, "_sklearn_output_config", {})
    return bool(own.get("transform", get_config()["transform_output"]) != "default")


def validated(estimator: BaseEstimator, X: Any, reset: bool = True, min_samples: int = 1) -> Floats:
    """Signals in memory, by scikit-learn's checks."""
    check_flag(estimator.sparse_output, "sparse_output")
    rules = {
        "dtype": [np.float64, np.float32],
        "ensure_min_samples": min_samples,
        "ensure_all_finite": "allow-nan" if estimator._takes_gaps else True,
    }
    with naming_signals(estimator, X):
        X = validate_data(estimator, X, reset=reset, **rules)
    return np.asarray(X)


@contextmanager
def naming_signals(estimator: BaseEstimator, X: Any) -> Iterator[None]:
    """Around scikit-learn's checks of X, which do not look for masks: errors name X, which not all
    of theirs do."""
    if has_masked(X):
        raise ValueError("X has masked entries, which fost cannot leave out")
    if getattr(getattr(X, "dtype", None), "kind", "") in ("m", "M"):  # dates are no numbers
        raise TypeError(f"X must be real numbers, got dtype {X.dtype}")
    try:
        yield
    except (MemoryError, OSError):
        raise
    except Exception as error:  # NumPy's, and what objects that are no arrays raise
        if isinstance(error, TypeError | ValueError) and re.search(r"\bX\b", str(error)):
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"X is not what {type(estimator).__name__} takes: {error}") from error
