"""Transforms, and what is made of them: their transposes and their products."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy.sparse import csr_array, issparse, sparray
from scipy.sparse.linalg import LinearOperator

from fost import _core, coding, decoding
from fost._typing import Floats
from fost._validation import check_vectors
from fost.decoding import DecodingTimes
from fost.transforms.coder import MOST_ENTRIES, Coder, check_parts
from fost.transforms.operators import as_linear_operator
from fost.transforms.orthonormal import check_equal, check_orthonormal, dense_flops


class Transform(Coder):
    """An orthonormal transform U of signals of `n_features` entries; immutable.

    Signals are rows: `forward` maps Y to ``Y @ U`` (the correlations U^T y of the paper) and
    `inverse` maps X to ``X @ U.T`` (the reconstruction U x). The columns of U are the atoms.
    What float32 holds exactly is computed in float32, everything else in float64. ``Y @ U`` and
    ``X @ U.T`` may be written like that, ``U @ V`` is a `Chain`, and none of them makes a matrix.

    Notes
    -----
    A transform of your own is a subclass that has a `kind`, the property `n_features`, and
    either `matrix` or both of `forward` and `inverse`, for signals in the rows of an array. Each
    argument of its ``__init__`` is an attribute. It works wherever transforms do, also as a base
    to learn over and in files, at the speed of a dense one. Whoever loads such a file has
    imported the class, or has a package installed that announces it: an entry point of the group
    ``fost.transforms`` whose name is the kind.

    Examples
    --------
    >>> import fost, numpy as np
    >>> class Reversal(fost.Transform):
    ...     kind = "example.reversal"
    ...
    ...     def __init__(self, n_features):
    ...         self._n_features = n_features
    ...
    ...     @property
    ...     def n_features(self):
    ...         return self._n_features
    ...
    ...     @property
    ...     def matrix(self):
    ...         return np.eye(self.n_features)[::-1]
    >>> chain = fost.DCT(4) @ Reversal(4)
    >>> chain
    Chain(n_features=4, stages=[DCT, Reversal], flops=42)
    >>> (np.ones(4) @ chain).round(12) + 0.0
    array([0., 0., 0., 2.])
    """

    @property
    def members(self) -> tuple[Transform, ...]:
        return (self,)

    @property
    def n_atoms(self) -> int:
        """Columns of codes: the coefficients, n_features."""
        return self.n_features

    @property
    def flops(self) -> int:
        """(2 n - 1) n, as of any matrix."""
        return dense_flops(self.n_features)

    @property
    def n_parameters(self) -> int:
        """The numbers in its arrays."""
        arrays = (v for v in self.arguments().values() if isinstance(v, np.ndarray))
        return sum(array.size for array in arrays)

    @cached_property
    def matrix(self) -> NDArray[np.float64]:
        """U as a read-only array of shape (n_features, n_features); columns are atoms."""
        identity = np.eye(self.n_features)
        by_inverse = self._defines("inverse") or self._defines("_add_to")
        found = self.inverse(identity).T if by_inverse else self.forward(identity)
        matrix = np.array(found, dtype=np.float64, order="C")
        matrix.flags.writeable = False
        return matrix

    def forward(self, Y: ArrayLike) -> Floats:
        """Coefficients of signals, ``Y @ U``.

        Parameters
        ----------
        Y : array-like of shape (..., n_features)
            Signals along the last axis: rows, or a single one, or any number of axes.

        Returns
        -------
        ndarray of the same shape
        """
        stored = check_vectors(Y, "Y", self.n_features, self._owner)
        return coding.apply(self._plan, stored, inverse=False, name="Y")

    def inverse(self, X: ArrayLike) -> Floats:
        """Signals with given coefficients, ``X @ U.T``: undoes `forward`.

        Parameters
        ----------
        X : array-like of shape (..., n_features)

        Returns
        -------
        ndarray of the same shape
        """
        stored = check_vectors(X, "X", self.n_features, self._owner)
        return coding.apply(self._plan, stored, inverse=True, name="X")

    @property
    def T(self) -> Transform:
        """The transpose, which is the inverse: ``X @ U.T`` equals ``U.inverse(X)``."""
        return Transposed(self)

    def as_linear_operator(self, dtype: DTypeLike = np.float64) -> LinearOperator:
        """U as a SciPy LinearOperator: ``op @ x`` is U x, ``op.T @ y`` is U^T y.

        Parameters
        ----------
        dtype : float32 or float64
            The type that it says it has, for programs that ask for it. What it is applied to, one
            column or several, keeps its own.

        Examples
        --------
        >>> import fost, numpy as np
        >>> operator = fost.DCT((8, 8)).as_linear_operator()
        >>> y = np.ones(64)
        >>> np.allclose(operator @ (operator.T @ y), y)
        True
        """
        return as_linear_operator(self, dtype)

    # NumPy's arrays leave @ to `__rmatmul__`.
    __array_ufunc__ = None

    def __matmul__(self, other: Transform) -> Chain:
        return Chain([self, other]) if isinstance(other, Transform) else NotImplemented

    def __rmatmul__(self, other: sparray | ArrayLike) -> Floats:
        # By the plan, also where a class has a `forward` of its own.
        return self.T.decode(other) if issparse(other) else Transform.forward(self, other)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Floats:
        """The matrix, by which frames of pandas multiply."""
        # SciPy's sparse arrays leave @ to `__rmatmul__` only where there is no array.
        if sys._getframe(1).f_globals.get("__name__", "").startswith("scipy.sparse"):
            return np.array(None)
        return np.array(self.matrix, dtype=dtype) if copy else np.asarray(self.matrix, dtype=dtype)

    @cached_property
    def _plan(self) -> _core.Plan:
        plan = _core.Plan(self.n_features)
        self._add_to(plan)
        return plan

    @classmethod
    def _defines(cls, name: str) -> bool:
        return getattr(cls, name) is not getattr(Transform, name)

    def _add_to(self, plan: _core.Plan) -> None:
        """Append the stages of this transform to a plan; those without a kernel are dense."""
        if not any(map(self._defines, ("matrix", "forward", "inverse"))):
            raise TypeError(f"{type(self).__name__} must define matrix, or forward and inverse")
        name = f"the matrix of {self._owner}"
        matrix, _ = check_orthonormal(self.matrix, name, self.n_features)
        if self._defines("forward"):
            check_equal(matrix, self.forward(np.eye(self.n_features)), name)
        plan.add_dense(matrix)

    @property
    def _owner(self) -> str:
        return f"this {type(self).__name__} transform"

    def _sums_atoms(self, codes: csr_array) -> bool:
        n, made = self.n_features, self._has_matrix
        times = DecodingTimes(n, codes.data.itemsize, self._plan.operations)
        affordable = made or n * n <= MOST_ENTRIES
        return affordable and times.prefer_atoms(codes.shape[0], len(codes.data), made)

    def _decode_backwards(self, codes: csr_array) -> Floats:
        return decoding.decode_by_stages(self._plan, codes, self.n_features)

    def _decode_dense(self, codes: Floats) -> Floats:
        return coding.apply(self._plan, codes, inverse=True, name="codes")


class Transposed(Transform):
    """U^T of a transform U, which runs the same stages the other way round.

    Parameters
    ----------
    transform : Transform
    """

    kind = "transposed"

    def __init__(self, transform: Transform) -> None:
        if not isinstance(transform, Transform):
            raise TypeError(f"transform must be a transform, got {type(transform).__name__}")
        self._transform = transform

    @property
    def transform(self) -> Transform:
        """U, of which this is the transpose."""
        return self._transform

    @property
    def T(self) -> Transform:
        return self._transform

    @property
    def n_features(self) -> int:
        return self._transform.n_features

    @property
    def flops(self) -> int:
        """Those of U."""
        return self._transform.flops

    @property
    def n_parameters(self) -> int:
        """Those of U."""
        return self._transform.n_parameters

    def _add_to(self, plan: _core.Plan) -> None:
        plan.add_plan(self._transform._plan, transposed=True)

    def _described(self) -> dict[str, Any]:
        return {"transform": type(self._transform).__name__}


class Chain(Transform):
    """A product of transforms: `forward` applies that of the first stage first.

    The usual chain is a fast fixed base and a learned transform of its coefficients. All
    stages run in one pass over the data.

    Parameters
    ----------
    stages : iterable of transforms
        At least one, all of the same n_features. Chains among them are taken apart.

    Examples
    --------
    >>> import fost, numpy as np
    >>> base = fost.DCT((8, 8))
    >>> chain = fost.Chain([base, fost.Householder(np.eye(64)[:2])])
    >>> chain
    Chain(n_features=64, stages=[DCT, Householder], flops=1184)
    >>> Y = np.random.default_rng(0).standard_normal((3, 64))
    >>> np.allclose(chain.forward(Y), chain.stages[1].forward(base.forward(Y)))
    True
    """

    kind = "chain"

    def __init__(self, stages: Iterable[Transform]) -> None:
        parts = check_parts(stages, "stages")
        flat = (part.stages if isinstance(part, Chain) else (part,) for part in parts)
        self._stages = tuple(chain.from_iterable(flat))

    @property
    def stages(self) -> tuple[Transform, ...]:
        """The transforms in the order in which `forward` applies them."""
        return self._stages

    @property
    def T(self) -> Transform:
        return Chain(stage.T for stage in reversed(self._stages))

    @property
    def n_features(self) -> int:
        return self._stages[0].n_features

    @property
    def flops(self) -> int:
        """The sum over the stages."""
        return sum(stage.flops for stage in self._stages)

    @property
    def n_parameters(self) -> int:
        """The sum over the stages."""
        return sum(stage.n_parameters for stage in self._stages)

    def _add_to(self, plan: _core.Plan) -> None:
        for stage in self._stages:
            plan.add_plan(stage._plan)

    def _described(self) -> dict[str, Any]:
        return {"stages": f"[{', '.join(type(stage).__name__ for stage in self._stages)}]"}
