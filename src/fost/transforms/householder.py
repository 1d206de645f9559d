"""Products of Householder reflectors."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fost import _core
from fost._validation import check_parameters
from fost.transforms.base import Transform, hint_at_quantised

# Largest error of the norm of a unit vector: more than rounding to float32 causes.
_TOLERANCE = 1e-5


class Householder(Transform):
    r"""A product of Householder reflectors.

    :math:`U = U_m \cdots U_1` with reflectors :math:`U_j = I - 2 u_j u_j^T`.

    Parameters
    ----------
    vectors : array-like of shape (n_reflectors, n_features)
        The unit vectors u_1 ... u_m in rows, at most n_features of them. A zero row stands for
        the identity. Rounding errors of up to 1e-5 in the norms are corrected.

    Examples
    --------
    >>> import fost, numpy as np
    >>> swap = fost.Householder(np.array([[1.0, -1.0]]) / np.sqrt(2))
    >>> swap
    Householder(n_features=2, n_reflectors=1, flops=8)
    >>> swap.forward([[3.0, 5.0]]).round(12)
    array([[5., 3.]])
    """

    kind = "householder"

    def __init__(self, vectors: ArrayLike) -> None:
        checked = _checked(vectors)
        self._vectors = _normalised(checked, np.linalg.norm(checked, axis=1))

    @classmethod
    def _exact(cls, vectors: ArrayLike) -> Self:  # type: ignore[override]
        householder = cls.__new__(cls)
        householder._vectors = _checked(vectors)
        return householder

    @classmethod
    def _unchecked(cls, vectors: NDArray[np.float64]) -> Self:
        """A transform that keeps these vectors, neither checked nor copied."""
        householder = cls.__new__(cls)
        householder._vectors = vectors
        vectors.flags.writeable = False
        return householder

    @property
    def vectors(self) -> NDArray[np.float64]:
        """The vectors of all reflectors in rows, u_1 first; read-only."""
        return self._vectors

    @property
    def n_features(self) -> int:
        return int(self._vectors.shape[1])

    @property
    def n_reflectors(self) -> int:
        """Number of reflectors, m; zero rows included."""
        return int(self._vectors.shape[0])

    @property
    def flops(self) -> int:
        """4 n m."""
        return int(4 * self._vectors.size)

    @property
    def _additions(self) -> int:
        """n - 1 of the inner product and n of the update, for each reflector."""
        return 2 * int(self._vectors.size) - self.n_reflectors

    def _packed(self, compact: bool) -> dict[str, object]:
        return {"vectors": self._vectors.astype(np.float16) if compact else self._vectors}

    @classmethod
    def _unpacked(cls, packed: dict[str, Any]) -> dict[str, Any]:
        vectors = packed["vectors"]
        if vectors.dtype != np.float16:
            return packed
        vectors = vectors.astype(np.float64)
        norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
        return {"vectors": vectors / np.where(norms > 0, norms, 1.0)}

    def _add_to(self, plan: _core.Plan) -> None:
        plan.add_reflectors(self._vectors)

    def _described(self) -> dict[str, object]:
        return {"n_reflectors": self.n_reflectors}


def _checked(vectors: ArrayLike) -> NDArray[np.float64]:
    """A bit-exact copy of rows that are zero or have unit norm within the tolerance."""
    checked = check_parameters(vectors, "vectors", (None, None))
    m, n = checked.shape
    if n < 1:
        raise ValueError(f"vectors must have at least one feature, got shape {checked.shape}")
    if m > n:
        raise ValueError(f"vectors must be at most n_features={n} reflectors, got {m}")
    with np.errstate(over="ignore"):
        norms = np.linalg.norm(checked, axis=1)
    wrong = np.flatnonzero((np.abs(norms - 1) > _TOLERANCE) & checked.any(axis=1))
    if wrong.size:
        raise ValueError(
            f"vectors must have unit rows (or zero rows), got norm {norms[wrong[0]]:.6g} "
            f"in row {wrong[0]}{hint_at_quantised(float(np.abs(norms[wrong] - 1).max()))}"
        )
    return checked


def _normalised(vectors: NDArray[np.float64], norms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Unit rows; rows of unit norm up to rounding are kept bit for bit."""
    off = np.abs(norms - 1) > 8 * np.finfo(np.float64).eps
    off &= norms > 0
    if off.any():
        vectors = np.where(off[:, None], vectors / np.where(off, norms, 1)[:, None], vectors)
        vectors.flags.writeable = False
    return vectors
