"""What every transform can do, whatever it is made of."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from scipy.sparse.linalg import LinearOperator

from fost import _core, coding
from fost._validation import check_signals
from fost.transforms.coder import Coder

# Entries of a matrix that is made to decode faster: 128 MiB in float64.
MOST_ENTRIES = 2**24


class Transform(Coder):
    """An orthonormal transform U of signals of `n_features` entries; immutable.

    Signals are rows: `forward` maps Y to ``Y @ U`` (the correlations U^T y of the paper) and
    `inverse` maps X to ``X @ U.T`` (the reconstruction U x). The columns of U are the atoms.
    float32 data stay float32, everything else is computed in float64.
    """

    @classmethod
    def _trusted(cls, **attributes: Any) -> Self:
        """A transform with these attributes, for learning, which makes them right itself."""
        transform = cls.__new__(cls)
        for name, value in attributes.items():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            transform.__dict__[name] = value
        return transform

    @classmethod
    def _exactly(cls, **arguments: Any) -> Self:
        """The transform with these `_arguments` to the last bit, where __init__ would polish.

        They are checked as __init__ does: files and pickles are what others wrote.
        """
        return cls(**arguments)

    @property
    def transforms(self) -> tuple[Transform, ...]:
        """This transform, the only one."""
        return (self,)

    @abstractmethod
    def _add_to(self, plan: _core.Plan) -> None:
        """Append the stages of this transform to a plan."""

    @abstractmethod
    def _arguments(self) -> dict[str, Any]:
        """The arguments that make an equal transform: arrays, tuples of integers, transforms."""

    def forward(self, Y: ArrayLike) -> NDArray[Any]:
        """Coefficients of signals, ``Y @ U``.

        Parameters
        ----------
        Y : array-like of shape (n_signals, n_features)

        Returns
        -------
        ndarray of shape (n_signals, n_features)
        """
        Y = check_signals(Y, "Y", self.n_features, self._owner)
        return coding.apply(self._plan, Y, inverse=False, name="Y")

    def inverse(self, X: ArrayLike) -> NDArray[Any]:
        """Signals with given coefficients, ``X @ U.T``: undoes `forward`.

        Parameters
        ----------
        X : array-like of shape (n_signals, n_features)

        Returns
        -------
        ndarray of shape (n_signals, n_features)
        """
        X = check_signals(X, "X", self.n_features, self._owner)
        return coding.apply(self._plan, X, inverse=True, name="X")

    def decode(self, codes: Any) -> NDArray[Any]:
        """Signals with given codes, sparse (from `encode`) or dense.

        A sparse code is decoded as a sum of atoms or by running the transform backwards,
        whichever takes fewer operations.

        Parameters
        ----------
        codes : sparse array or array-like of shape (n_signals, n_features)

        Returns
        -------
        ndarray of shape (n_signals, n_features)
        """
        if not issparse(codes):
            codes = check_signals(codes, "codes", self.n_features, self._owner)
            return coding.apply(self._plan, codes, inverse=True, name="codes")
        codes = coding.check_codes(codes, self.n_features, self._owner)
        if self._sums_atoms(codes.nnz, codes.shape[0]):
            return coding.decode_by_atoms(self._atoms(codes.dtype), codes)
        return coding.decode_by_stages(self._plan, codes, self.n_features)

    @cached_property
    def matrix(self) -> NDArray[np.float64]:
        """U as a read-only array of shape (n_features, n_features); columns are atoms."""
        matrix = np.ascontiguousarray(self.inverse(np.eye(self.n_features)).T)
        matrix.flags.writeable = False
        return matrix

    def as_linear_operator(self) -> LinearOperator:
        """U as a SciPy LinearOperator: ``op @ x`` is U x, ``op.T @ y`` is U^T y.

        Examples
        --------
        >>> import fost, numpy as np
        >>> operator = fost.DCT((8, 8)).as_linear_operator()
        >>> y = np.ones(64)
        >>> np.allclose(operator @ (operator.T @ y), y)
        True
        """

        def columns(apply: Any) -> Any:
            return lambda x: apply(np.reshape(x, (self.n_features, -1)).T).T.reshape(np.shape(x))

        synthesis, analysis = columns(self.inverse), columns(self.forward)
        return LinearOperator(
            dtype=np.dtype(np.float64),
            shape=(self.n_features, self.n_features),
            matvec=synthesis,
            rmatvec=analysis,
            matmat=synthesis,
            rmatmat=analysis,
        )

    @cached_property
    def _plan(self) -> _core.Plan:
        plan = _core.Plan(self.n_features)
        self._add_to(plan)
        return plan

    @property
    def _owner(self) -> str:
        return f"this {type(self).__name__} transform"

    def _atoms(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        """The atoms as contiguous rows of the given type, kept for the next call."""
        cached: dict[np.dtype[Any], NDArray[Any]] = self.__dict__.setdefault("_atoms_of", {})
        if dtype not in cached:
            cached[dtype] = np.ascontiguousarray(self.matrix.T, dtype=dtype)
        return cached[dtype]

    def _sums_atoms(self, n_entries: int, n_signals: int) -> bool:
        """Whether a sum of atoms is cheaper than the transform backwards, by operations.

        Never where the matrix of all atoms would have to be made and is large.
        """
        n = self.n_features
        if "matrix" not in self.__dict__ and n * n > MOST_ENTRIES:
            return False
        prepare = 0 if "matrix" in self.__dict__ else n * self.flops
        return prepare + 2 * n_entries * n < n_signals * self.flops

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_"):
            raise AttributeError(f"cannot set {name!r}: transforms are immutable")
        super().__setattr__(name, value)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented if not isinstance(other, Transform) else False
        return _equal(self._arguments(), other._arguments())

    def __hash__(self) -> int:
        return hash((type(self), _hashable(tuple(self._arguments().values()))))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), self._arguments())

    def _described(self) -> dict[str, Any]:
        """What `repr` says between n_features and flops."""
        return {}

    def __repr__(self) -> str:
        items = {"n_features": self.n_features, **self._described(), "flops": self.flops}
        return f"{type(self).__name__}({', '.join(f'{k}={v}' for k, v in items.items())})"


def _rebuilt(kind: type[Transform], arguments: dict[str, Any]) -> Transform:
    """A transform from a pickle, to the last bit: other processes must find the same sums."""
    return kind._exactly(**arguments)


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return all(_equal(a[key], b[key]) for key in a)
    return np.array_equal(a, b) if isinstance(a, np.ndarray) else bool(a == b)


def _hashable(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_hashable(entry) for entry in value)
    # + 0.0 makes equal arrays equal bytes: it turns -0.0 into 0.0.
    return (value + 0.0).tobytes() if isinstance(value, np.ndarray) else value
