"""A general dictionary made ready for pursuit: atoms and their inner products."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from fost import _core
from fost._scaling import REACH, shifts
from fost._typing import DType, Floats
from fost._validation import check_real
from fost.coding import collect

# The least and the largest of some numbers.
Range = tuple[float, float]


class Atoms:
    """A dictionary that is used more than once: atoms in rows, and what pursuit needs of them.

    `omp` and everything else that takes atoms takes these. What does not depend on the signals,
    the checks and the inner products of all pairs of atoms, is then done once instead of in
    every call, which is most of the work where signals are few.

    Parameters
    ----------
    atoms : array-like of shape (n_atoms, n_features)
        None of them zero. They are copied.

    Examples
    --------
    >>> import fost
    >>> atoms = fost.Atoms([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    >>> atoms
    Atoms(n_atoms=3, n_features=2)
    >>> fost.omp([[3.0, 4.0]], atoms, 1).toarray()
    array([[0., 0., 5.]])
    """

    def __init__(self, atoms: ArrayLike | Atoms) -> None:
        self._atoms = np.array(check_atoms(atoms), order="C")
        self._atoms.flags.writeable = False
        # For each type of signals and way to compare correlations, when it is asked for.
        self._prepared: dict[tuple[DType, bool, bool], PreparedAtoms] = {}

    @property
    def atoms(self) -> Floats:
        """The atoms in rows, read-only."""
        return self._atoms

    @property
    def shape(self) -> tuple[int, int]:
        """(n_atoms, n_features)"""
        return self.n_atoms, self.n_features

    @property
    def n_atoms(self) -> int:
        return len(self._atoms)

    @property
    def n_features(self) -> int:
        return int(self._atoms.shape[1])

    def __len__(self) -> int:
        return self.n_atoms

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        if copy or (dtype is not None and np.dtype(dtype) != self._atoms.dtype):
            return np.array(self._atoms, dtype=dtype)
        return self._atoms

    def __reduce__(self) -> tuple[type[Atoms], tuple[Floats]]:
        return Atoms, (self._atoms,)

    def __repr__(self) -> str:
        return f"Atoms(n_atoms={self.n_atoms}, n_features={self.n_features})"

    def prepared(self, dtype: DType, normalize: bool, masked: bool) -> PreparedAtoms:
        """The atoms as the kernels take them for signals of this type."""
        key = dtype, normalize, masked
        if key not in self._prepared:
            made = PreparedAtoms(self._atoms, *key)
            if not masked:
                made.add_products()
            self._prepared[key] = made
        return self._prepared[key]


class PreparedAtoms:
    """Atoms as the kernels take them, within reach.

    Without `add_products` every pursuit computes the inner products that it needs.
    """

    def __init__(
        self,
        atoms: Floats,
        dtype: DType,
        normalize: bool,
        masked: bool,
        squares: Range | None = None,
    ) -> None:
        if squares is None:
            squares = _squares(atoms)
        # Exponents, one per atom; None where they are within reach as they are.
        self.taken_out = _exponents(atoms, squares, dtype)
        if self.taken_out is not None:
            atoms = np.ldexp(atoms.astype(np.float64), -self.taken_out[:, None])
        pitch = -(-len(atoms) // _core.PITCH) * _core.PITCH
        self._rows = np.ascontiguousarray(atoms, dtype=dtype)
        self._gram: Floats | None = None
        self._scales = self._squares = None
        if normalize and masked:
            self._squares = np.square(self._rows)
        elif normalize:
            norms = np.linalg.norm(atoms.astype(np.float64, copy=False), axis=1)
            self._scales = _padded(1 / norms, pitch, dtype)
        elif self.taken_out is not None and np.ptp(self.taken_out) > 0:
            # Correlations are compared as if nothing had been taken out, but for atoms so much
            # smaller than others that the type cannot tell: these count as equally small.
            least = -2 * REACH[dtype]
            apart = np.maximum(self.taken_out - self.taken_out.max(), least)
            self._scales = _padded(np.ldexp(1.0, apart), pitch, dtype)

    def add_products(self) -> None:
        """Keep the inner products of all pairs from now on."""
        n_atoms = len(self._rows)
        pitch = -(-n_atoms // _core.PITCH) * _core.PITCH
        gram = np.empty((n_atoms, pitch), self._rows.dtype)
        _core.inner_products(self._rows, gram)
        self._gram = gram

    def pursue(
        self, Y: Floats, missing: NDArray[np.bool_] | None, s: int, tol: float
    ) -> csr_array | None:
        """Codes in these atoms; None where signals are not finite or not within reach."""
        D, G, scales, squares = self._rows, self._gram, self._scales, self._squares
        return collect(
            lambda *out: _core.pursue(D, G, scales, squares, Y, missing, s, tol, *out),
            (len(Y), len(D)),
            s,
            Y.dtype,
        )


def check_atoms(atoms: ArrayLike | Atoms, name: str = "atoms") -> Floats:
    """Atoms in rows, finite and none of them zero."""
    return atoms.atoms if isinstance(atoms, Atoms) else examine(atoms, name)[0]


def examine(atoms: ArrayLike, name: str = "atoms") -> tuple[Floats, Range]:
    """Atoms in rows, finite and none of them zero, and the range of their squared norms.

    These may overflow or vanish; where they do not, they are all there is to look at.
    """
    D = check_real(atoms, name)
    if D.ndim != 2 or 0 in D.shape:
        raise ValueError(f"{name} must have shape (n_atoms, n_features), got {D.shape}")
    squares = _squares(D)
    if squares[0] > 0 and squares[1] < np.inf:
        return D, squares
    if not np.isfinite(D).all():
        raise ValueError(f"{name} contains NaN or infinity")
    zero = np.flatnonzero(~D.any(axis=1))
    if zero.size:
        raise ValueError(f"{name} must not be zero, but row {zero[0]} is")
    return D, squares


def _exponents(atoms: Floats, squares: Range, dtype: DType) -> NDArray[np.int64] | None:
    """`shifts` of the atoms, without a look at every entry where squared norms tell enough."""
    most = 4.0 ** (REACH[dtype] - 1)
    if squares[0] > atoms.shape[1] / most and squares[1] < most:
        return None
    return shifts(np.abs(atoms).max(axis=1).astype(np.float64), dtype)


def _squares(atoms: Floats) -> Range:
    """The range of squared norms, which may overflow or vanish."""
    return _core.squared_norms(np.ascontiguousarray(atoms))


def _padded(values: Floats, pitch: int, dtype: DType) -> Floats:
    return np.pad(values, (0, pitch - len(values))).astype(dtype)
