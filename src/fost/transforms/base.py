"""Orthonormal transforms, their transposes and their products."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from itertools import chain

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy.sparse import csr_array, issparse, sparray
from scipy.sparse.linalg import LinearOperator

from fost import _core
from fost._cache import lazy_property
from fost._typing import Floats
from fost._validation import ORTHONORMALITY_TOLERANCE, check_orthonormal, check_vectors
from fost.coding.decode import DecodingCost, decode_by_stages
from fost.coding.encode import apply_plan
from fost.transforms.coder import MAX_MATRIX_ENTRIES, Coder, check_transforms, dense_flops

# Parameters with errors up to this size may have been rounded to a few bits.
_QUANTISATION_GAP = 0.05


class Transform(Coder):
    r"""An orthonormal transform U of signals with `n_features` entries; immutable.

    Signals are rows: `forward` maps Y to ``Y @ U`` (the correlations :math:`U^T y` of the paper)
    and `inverse` maps X to ``X @ U.T`` (the reconstruction :math:`U x`). The columns of U are the
    atoms. Types whose values float32 represents exactly are computed in float32, all others in
    float64. The operators ``Y @ U``, ``X @ U.T`` and ``U @ V``, which is a `Chain`, work without
    a matrix.

    Notes
    -----
    To define a transform, derive a class with a `kind` and the property `n_features`. Implement
    either `matrix`, or both `forward` and `inverse` for signals in rows. Each argument of
    ``__init__`` must be an attribute. Such a transform works wherever transforms do, also as a base
    for learning and in files, at the speed of a dense matrix. To load such a file, import the class
    first, or install a package that declares it. The package declares an entry point of the group
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
        """The transform itself, its only member."""
        return (self,)

    @property
    def n_atoms(self) -> int:
        """Number of columns of codes, n_features."""
        return self.n_features

    @property
    def flops(self) -> int:
        """Operations per signal; (2 n - 1) n unless a class defines fewer."""
        return dense_flops(self.n_features)

    @property
    def _additions(self) -> int:
        return self.flops // 2 - self.n_features // 2

    @property
    def n_parameters(self) -> int:
        """Number of entries of its arrays; `storage_bits` distinguishes values and indices."""
        arrays = (v for v in self.arguments().values() if isinstance(v, np.ndarray))
        return sum(array.size for array in arrays)

    @lazy_property
    def matrix(self) -> NDArray[np.float64]:
        """U as a read-only array of shape (n_features, n_features); columns are atoms."""
        identity = np.eye(self.n_features)
        if self._overrides("inverse"):
            found = self.inverse(identity).T
        elif self._overrides("_add_to"):
            found = apply_plan(self._plan, identity, inverse=True, name="matrix").T
        else:
            found = self.forward(identity)
        matrix = np.array(found, dtype=np.float64, order="C")
        matrix.flags.writeable = False
        return matrix

    def forward(self, Y: ArrayLike, out: Floats | None = None) -> Floats:
        """Coefficients of signals, ``Y @ U``.

        Parameters
        ----------
        Y : array-like of shape (..., n_features)
            Signals along the last axis.
        out : ndarray of the shape of Y, optional
            Array for the result: writable, C-contiguous, float32 or float64 like the result.
            It may be Y itself, at the cost of a temporary copy of Y. Its contents are undefined
            after an error.

        Returns
        -------
        ndarray of the shape of Y
            `out` if it was given.

        Examples
        --------
        >>> import fost, numpy as np
        >>> Y = np.ones((2, 4))
        >>> coefficients = np.empty_like(Y)
        >>> fost.DCT(4).forward(Y, out=coefficients) is coefficients
        True
        >>> coefficients.round(12) + 0.0
        array([[2., 0., 0., 0.],
               [2., 0., 0., 0.]])
        """
        stored = check_vectors(Y, "Y", self.n_features, self._owner)
        return apply_plan(self._plan, stored, inverse=False, name="Y", out=out)

    def inverse(self, X: ArrayLike, out: Floats | None = None) -> Floats:
        """Signals with given coefficients, ``X @ U.T``; the inverse of `forward`.

        Parameters
        ----------
        X : array-like of shape (..., n_features)
            Coefficients along the last axis.
        out : ndarray of the shape of X, optional
            Array for the result, as in `forward`.

        Returns
        -------
        ndarray of the shape of X
            `out` if it was given.

        Examples
        --------
        >>> import fost, numpy as np
        >>> X = np.array([2.0, 0.0, 0.0, 0.0])
        >>> fost.DCT(4).inverse(X, out=X).round(12)
        array([1., 1., 1., 1.])
        """
        stored = check_vectors(X, "X", self.n_features, self._owner)
        return apply_plan(self._plan, stored, inverse=True, name="X", out=out)

    @property
    def T(self) -> Transform:
        """The transpose, which is the inverse: ``X @ U.T`` equals ``U.inverse(X)``."""
        return Transposed(self)

    def as_linear_operator(self, dtype: DTypeLike = np.float64) -> LinearOperator:
        """U as a SciPy LinearOperator: ``op @ x`` is U x, ``op.T @ y`` is U^T y.

        Parameters
        ----------
        dtype : float32 or float64
            The `dtype` attribute of the operator, which some solvers read. The result of a
            product has the type of the operand.

        Examples
        --------
        >>> import fost, numpy as np
        >>> operator = fost.DCT((8, 8)).as_linear_operator()
        >>> y = np.ones(64)
        >>> np.allclose(operator @ (operator.T @ y), y)
        True
        """
        if np.dtype(dtype) not in (np.float32, np.float64):
            raise ValueError(f"dtype must be float32 or float64, got {np.dtype(dtype)}")
        synthesis, analysis = self._on_columns(self.inverse), self._on_columns(self.forward)
        return LinearOperator(
            dtype=np.dtype(dtype),
            shape=(self.n_features, self.n_features),
            matvec=synthesis,
            rmatvec=analysis,
            matmat=synthesis,
            rmatmat=analysis,
        )

    def _on_columns(self, on_rows: Callable[[Floats], Floats]) -> Callable[[ArrayLike], Floats]:
        """A function of signals in columns, or of one signal, from a function of rows."""

        def on_columns(x: ArrayLike) -> Floats:
            x = np.asarray(x)
            return on_rows(x.reshape(self.n_features, -1).T).T.reshape(x.shape)

        return on_columns

    # NumPy arrays leave @ to `__rmatmul__`.
    __array_ufunc__ = None

    def __matmul__(self, other: Transform) -> Chain:
        return Chain([self, other]) if isinstance(other, Transform) else NotImplemented

    def __rmatmul__(self, other: sparray | ArrayLike) -> Floats:
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(other, torch.Tensor):
            from fost.torch import forward

            product: Floats = forward(other, self)  # a tensor
            return product
        # By the plan, also if a class defines its own `forward`.
        return self.T.decode(other) if issparse(other) else Transform.forward(self, other)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Floats:
        """The matrix."""
        if _called_by_scipy_sparse():
            return np.array(None)
        return np.array(self.matrix, dtype=dtype) if copy else np.asarray(self.matrix, dtype=dtype)

    @lazy_property
    def _plan(self) -> _core.Plan:
        plan = _core.Plan(self.n_features)
        self._add_to(plan)
        return plan

    @classmethod
    def _overrides(cls, name: str) -> bool:
        return getattr(cls, name) is not getattr(Transform, name)

    def _add_to(self, plan: _core.Plan) -> None:
        """Append the stages of this transform to a plan; without a kernel, a dense stage."""
        if not any(map(self._overrides, ("matrix", "forward", "inverse"))):
            raise TypeError(f"{type(self).__name__} must define matrix, or forward and inverse")
        name = f"the matrix of {self._owner}"
        matrix, _ = check_orthonormal(self.matrix, name, self.n_features)
        if self._overrides("forward"):
            forward = self.forward(np.eye(self.n_features))
            if np.shape(forward) != matrix.shape:
                raise ValueError(
                    f"{name} must equal forward(identity), which has shape {np.shape(forward)}"
                )
            gap = np.abs(forward - matrix).max()
            if not gap <= ORTHONORMALITY_TOLERANCE:
                raise ValueError(
                    f"{name} must equal forward(identity), got entries that differ by {gap:.3g}"
                )
        plan.add_dense(matrix)

    @property
    def _owner(self) -> str:
        return f"this {type(self).__name__} transform"

    def _sums_atoms(self, codes: csr_array) -> bool:
        n, has_matrix = self.n_features, self._has_matrix
        cost = DecodingCost(n, codes.data.itemsize, self._plan.operations)
        affordable = has_matrix or n * n <= MAX_MATRIX_ENTRIES
        return affordable and cost.prefer_atoms(codes.shape[0], len(codes.data), has_matrix)

    def _decode_by_transforms(self, codes: csr_array, out: Floats | None = None) -> Floats:
        return decode_by_stages(self._plan, codes, self.n_features, out)

    def _decode_dense(self, codes: Floats, out: Floats | None = None) -> Floats:
        return apply_plan(self._plan, codes, inverse=True, name="codes", out=out)


def hint_at_quantised(gap: float) -> str:
    """The end of an error message for parameters that may have been quantised, by their gap."""
    if gap > _QUANTISATION_GAP:
        return ""
    return (
        f"; if they were rounded to few bits, which leaves them {gap:.1e} from orthogonal, pass "
        "the exact ones, and see fost.export.Quantised for integer arithmetic"
    )


def _called_by_scipy_sparse() -> bool:
    """Whether `__array__` was called, through NumPy, by a module of scipy.sparse.

    ``codes @ U`` of a sparse array calls ``np.asanyarray(U)``. SciPy returns NotImplemented, so
    that Python calls ``U.__rmatmul__``, only if the result is a zero-dimensional object array.
    pandas, in contrast, needs the matrix from the same call in ``frame @ U``. Neither library
    looks at `__array_ufunc__` or `__array_priority__` for @, so the caller is all that differs.
    """
    caller: str = sys._getframe(2).f_globals.get("__name__", "")
    return caller == "scipy.sparse" or caller.startswith("scipy.sparse.")


class Transposed(Transform):
    """The transpose U^T of a transform U, with the stages of U in reverse order.

    Parameters
    ----------
    transform : Transform
        U.
    """

    kind = "transposed"

    def __init__(self, transform: Transform) -> None:
        if not isinstance(transform, Transform):
            raise TypeError(f"transform must be a transform, got {type(transform).__name__}")
        self._transform = transform

    @property
    def transform(self) -> Transform:
        """U."""
        return self._transform

    @property
    def T(self) -> Transform:
        """U."""
        return self._transform

    @property
    def n_features(self) -> int:
        return self._transform.n_features

    @property
    def flops(self) -> int:
        """Equal to that of U."""
        return self._transform.flops

    @property
    def _additions(self) -> int:
        return self._transform._additions

    @property
    def n_parameters(self) -> int:
        """Equal to that of U."""
        return self._transform.n_parameters

    def _storage_bits(self, bits_per_value: int) -> int:
        return self._transform._storage_bits(bits_per_value)

    def _add_to(self, plan: _core.Plan) -> None:
        plan.add_plan(self._transform._plan, transposed=True)

    def _described(self) -> dict[str, object]:
        return {"transform": type(self._transform).__name__}


class Chain(Transform):
    """A product of transforms: `forward` applies the first stage first.

    A typical chain is a fast fixed base followed by a learned transform of its coefficients. All
    stages run in one pass over the data.

    Parameters
    ----------
    stages : iterable of transforms
        At least one, all with the same n_features. Chains among them are replaced by their
        stages.

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
        parts = check_transforms(stages, "stages")
        flat = (part.stages if isinstance(part, Chain) else (part,) for part in parts)
        self._stages = tuple(chain.from_iterable(flat))

    @property
    def stages(self) -> tuple[Transform, ...]:
        """The transforms in the order in which `forward` applies them."""
        return self._stages

    @property
    def T(self) -> Transform:
        """The chain of the transposed stages in reverse order."""
        return Chain(stage.T for stage in reversed(self._stages))

    @property
    def n_features(self) -> int:
        return self._stages[0].n_features

    @property
    def flops(self) -> int:
        """The sum over the stages."""
        return sum(stage.flops for stage in self._stages)

    @property
    def _additions(self) -> int:
        return sum(stage._additions for stage in self._stages)

    @property
    def n_parameters(self) -> int:
        """The sum over the stages."""
        return sum(stage.n_parameters for stage in self._stages)

    def _storage_bits(self, bits_per_value: int) -> int:
        return sum(stage._storage_bits(bits_per_value) for stage in self._stages)

    def _add_to(self, plan: _core.Plan) -> None:
        for stage in self._stages:
            plan.add_plan(stage._plan)

    def _described(self) -> dict[str, object]:
        return {"stages": f"[{', '.join(type(stage).__name__ for stage in self._stages)}]"}
