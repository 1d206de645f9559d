"""General dictionaries prepared for orthogonal matching pursuit."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy.sparse import csr_array

from fost import _core
from fost._scaling import SAFE_EXPONENT, scaling_exponents
from fost._typing import DType, Floats
from fost._validation import check_real
from fost.coding.encode import collect_codes

# Smallest and largest squared norm of some atoms.
Range = tuple[float, float]


class Atoms:
    """A general dictionary with precomputed inner products, for repeated calls of `omp`.

    `omp` and all other functions that take atoms accept an `Atoms` object. The checks and the inner
    products of all pairs of atoms are then computed once instead of in every call. They dominate
    the time for few signals.

    Parameters
    ----------
    atoms : array-like of shape (n_atoms, n_features)
        The atoms in rows, none of them zero. They are copied.

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
        self._atoms = np.array(check_atom_rows(atoms), order="C")
        self._atoms.flags.writeable = False
        # By type of the signals, normalize and masked; filled on first use.
        self._prepared: dict[tuple[DType, bool, bool], PreparedAtoms] = {}

    @property
    def atoms(self) -> Floats:
        """The atoms in rows, read-only."""
        return self._atoms

    @property
    def shape(self) -> tuple[int, int]:
        """The pair (n_atoms, n_features)."""
        return self.n_atoms, self.n_features

    @property
    def n_atoms(self) -> int:
        """Number of atoms."""
        return len(self._atoms)

    @property
    def n_features(self) -> int:
        """Number of entries per atom."""
        return int(self._atoms.shape[1])

    def __len__(self) -> int:
        return self.n_atoms

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Floats:
        if copy or (dtype is not None and np.dtype(dtype) != self._atoms.dtype):
            return np.array(self._atoms, dtype=dtype)
        return self._atoms

    def __reduce__(self) -> tuple[type[Atoms], tuple[Floats]]:
        return Atoms, (self._atoms,)

    def __repr__(self) -> str:
        return f"Atoms(n_atoms={self.n_atoms}, n_features={self.n_features})"

    def prepared(self, dtype: DType, normalize: bool, masked: bool) -> PreparedAtoms:
        """The atoms in the form that the kernels take for signals of this type."""
        key = dtype, normalize, masked
        if key not in self._prepared:
            prepared = PreparedAtoms(self._atoms, *key)
            if not masked:
                prepared.add_inner_products()
            self._prepared[key] = prepared
        return self._prepared[key]


class PreparedAtoms:
    """Atoms in the form that the kernels take, scaled to a safe range.

    Without `add_inner_products`, every pursuit computes the inner products that it needs.
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
        # Atom k is stored times 2**-exponents[k]; None for no scaling.
        self.exponents = _exponents(atoms, squares, dtype)
        if self.exponents is not None:
            atoms = np.ldexp(atoms.astype(np.float64), -self.exponents[:, None])
        pitch = -(-len(atoms) // _core.PITCH) * _core.PITCH
        self._rows = np.ascontiguousarray(atoms, dtype=dtype)
        self._gram: Floats | None = None
        self._scales = self._squares = None
        if normalize and masked:
            self._squares = np.square(self._rows)
        elif normalize:
            norms = np.linalg.norm(atoms.astype(np.float64, copy=False), axis=1)
            self._scales = _padded(1 / norms, pitch, dtype)
        elif self.exponents is not None and np.ptp(self.exponents) > 0:
            # Correlations are compared as those of the original atoms. Differences of exponents
            # are limited, so that the scales do not underflow.
            least = -2 * SAFE_EXPONENT[dtype]
            relative = np.maximum(self.exponents - self.exponents.max(), least)
            self._scales = _padded(np.ldexp(1.0, relative), pitch, dtype)

    def add_inner_products(self) -> None:
        """Compute the inner products of all pairs of atoms and keep them."""
        n_atoms = len(self._rows)
        pitch = -(-n_atoms // _core.PITCH) * _core.PITCH
        gram = np.empty((n_atoms, pitch), self._rows.dtype)
        _core.inner_products(self._rows, gram)
        self._gram = gram

    def set_inner_products(self, products: Floats) -> None:
        """Keep the inner products of all pairs of atoms, computed by the caller."""
        padding = -len(products) % _core.PITCH
        padded = np.pad(products, ((0, 0), (0, padding)))
        self._gram = np.ascontiguousarray(padded, dtype=self._rows.dtype)

    def pursue(
        self, Y: Floats, missing: NDArray[np.bool_] | None, s: int, max_error: float
    ) -> csr_array | None:
        """Codes in these atoms; None if signals are not finite or not in the safe range."""
        D, G, scales, squares = self._rows, self._gram, self._scales, self._squares
        return collect_codes(
            lambda *out: _core.pursue(D, G, scales, squares, Y, missing, s, max_error, *out),
            (len(Y), len(D)),
            s,
            Y.dtype,
        )


def check_atom_rows(atoms: ArrayLike | Atoms, name: str = "atoms") -> Floats:
    """Finite nonzero atoms in rows."""
    return atoms.atoms if isinstance(atoms, Atoms) else check_atoms_and_norms(atoms, name)[0]


def check_atoms_and_norms(atoms: ArrayLike, name: str = "atoms") -> tuple[Floats, Range]:
    """Finite nonzero atoms in rows, and the range of their squared norms.

    The squared norms may overflow or underflow. If they do not, the atoms are finite and nonzero,
    and no other check is needed.
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
    """`scaling_exponents` of the atoms; the squared norms often show that none are needed."""
    most = 4.0 ** (SAFE_EXPONENT[dtype] - 1)
    if squares[0] > atoms.shape[1] / most and squares[1] < most:
        return None
    return scaling_exponents(np.abs(atoms).max(axis=1).astype(np.float64), dtype)


def _squares(atoms: Floats) -> Range:
    """The range of squared norms, which may overflow or underflow."""
    return _core.squared_norms(np.ascontiguousarray(atoms))


def _padded(values: Floats, pitch: int, dtype: DType) -> Floats:
    return np.pad(values, (0, pitch - len(values))).astype(dtype)
