"""Transforms as SciPy's linear operators, which PyLops and SciPy's solvers take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy.sparse.linalg import LinearOperator


class Invertible(Protocol):
    """What is needed of a transform."""

    @property
    def n_features(self) -> int: ...
    def forward(self, Y: ArrayLike) -> NDArray[Any]: ...
    def inverse(self, X: ArrayLike) -> NDArray[Any]: ...


def as_linear_operator(transform: Invertible, dtype: DTypeLike) -> LinearOperator:
    """See `Transform.as_linear_operator`."""
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {np.dtype(dtype)}")
    n = transform.n_features
    synthesis, analysis = _on_columns(transform.inverse, n), _on_columns(transform.forward, n)
    return LinearOperator(
        dtype=np.dtype(dtype),
        shape=(n, n),
        matvec=synthesis,
        rmatvec=analysis,
        matmat=synthesis,
        rmatmat=analysis,
    )


def _on_columns(
    apply: Callable[[NDArray[Any]], NDArray[Any]], n: int
) -> Callable[[ArrayLike], NDArray[Any]]:
    """The same for signals in columns, or a single one."""

    def on_columns(x: ArrayLike) -> NDArray[Any]:
        x = np.asarray(x)
        return apply(x.reshape(n, -1).T).T.reshape(x.shape)

    return on_columns
