"""Sparse dictionaries: atoms that combine a few atoms of a fast base."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from fost import _core
from fost._cache import lazy_property
from fost._typing import DType, Float64Array, Floats
from fost._validation import check_array, check_parameters, check_shape
from fost.coding.atoms import PreparedAtoms
from fost.coding.decode import check_codes
from fost.coding.encode import blas_threads, collect_codes
from fost.coding.omp import PursuitAtoms
from fost.transforms.base import Transform
from fost.transforms.coder import MAX_MATRIX_ENTRIES, index_bits
from fost.transforms.pursuit_coder import PursuitCoder, padded_gram

# Pursuit keeps the inner products of all pairs of atoms: 8 GiB in float64 for this many.
MAX_ATOMS = 2**15
# Norms are one up to rounding of a sum of squares; such atoms are kept bit for bit.
_NORM_TOLERANCE = 1e-13


class SparseDictionary(PursuitCoder):
    r"""A dictionary D = B A: each atom combines p atoms of a fast orthonormal base B.

    The columns of A have p entries and norm one (Rubinstein, Zibulevsky and Elad, 2010). Codes are
    found by orthogonal matching pursuit, as by `fost.omp` in the atoms. The correlations
    :math:`A^T (B^T y)` take one fast transform and p products per atom. `fost.SparseKSVD` learns
    such dictionaries.

    Parameters
    ----------
    base : Transform
        B, such as a `fost.DCT`.
    indices : array-like of int of shape (n_atoms, n_entries)
        The atoms of the base that each atom combines, all different. At most 32,768 atoms.
    values : array-like of shape (n_atoms, n_entries)
        The coefficients of these. Atoms are scaled to norm one.

    Examples
    --------
    >>> import fost
    >>> dictionary = fost.SparseDictionary(fost.DCT(4), [[0, 1], [0, 2], [1, 3]], [[3, 4]] * 3)
    >>> dictionary
    SparseDictionary(n_features=4, n_atoms=3, n_entries=2, flops=26)
    >>> Y = 5 * dictionary.matrix.T[1:]
    >>> dictionary.encode(Y, n_nonzero_coefs=1).toarray().round(12)
    array([[0., 5., 0.],
           [0., 0., 5.]])
    """

    kind = "sparse_dictionary"

    def __init__(self, base: Transform, indices: ArrayLike, values: ArrayLike) -> None:
        if not isinstance(base, Transform):
            raise TypeError(f"base must be a transform, got {type(base).__name__}")
        self._base = base
        places = _checked_indices(indices, base.n_features)
        numbers = check_parameters(values, "values", places.shape)
        order = np.argsort(places, axis=1, kind="stable")
        self._indices = np.take_along_axis(places, order, axis=1)
        self._values = unit_rows(np.take_along_axis(numbers, order, axis=1), "values")
        self._indices.flags.writeable = self._values.flags.writeable = False

    @property
    def base(self) -> Transform:
        """The base B."""
        return self._base

    @property
    def indices(self) -> NDArray[np.int32]:
        """The atoms of the base that each atom combines, ascending; read-only."""
        return self._indices

    @property
    def values(self) -> Float64Array:
        """The entries of A for these, of norm one in each row; read-only."""
        return self._values

    @property
    def n_features(self) -> int:
        return self._base.n_features

    @property
    def members(self) -> tuple[Transform, ...]:
        """The base, from whose coefficients all correlations are computed."""
        return (self._base,)

    @property
    def n_atoms(self) -> int:
        """Number of atoms, the columns of codes."""
        return len(self._indices)

    @property
    def n_distinct_atoms(self) -> int:
        return self.n_atoms

    @property
    def n_entries(self) -> int:
        """Entries per atom, p."""
        return int(self._indices.shape[1])

    @property
    def flops(self) -> int:
        """Operations for the correlations of one signal: those of the base, and 2 p per atom."""
        return self._base.flops + 2 * self._values.size

    @property
    def _additions(self) -> int:
        return self._base._additions + self._values.size

    @property
    def n_parameters(self) -> int:
        """Number of entries of all atoms, without positions, and the parameters of the base."""
        return self._base.n_parameters + self._values.size

    def _storage_bits(self, bits_per_value: int) -> int:
        is_dense = self.n_entries == self.n_features  # needs no indices
        bits = bits_per_value + (0 if is_dense else index_bits(self.n_features))
        return self._base._storage_bits(bits_per_value) + self._values.size * bits

    @lazy_property
    def matrix(self) -> Float64Array:
        """The atoms in columns, shape (n_features, n_atoms)."""
        atoms = self._base.inverse(self._sparse_rows().toarray())
        matrix = np.ascontiguousarray(atoms.T, dtype=np.float64)
        matrix.flags.writeable = False
        return matrix

    def _sparse_rows(self) -> csr_array:
        """A with its columns as rows, of shape (n_atoms, n_features)."""
        starts = np.arange(self.n_atoms + 1) * self.n_entries
        parts = self._values.ravel(), self._indices.ravel(), starts
        return csr_array(parts, shape=(self.n_atoms, self.n_features))

    @property
    def _plan(self) -> _core.Plan:
        return self._base._plan

    @property
    def _owner(self) -> str:
        return "this SparseDictionary"

    def _described(self) -> dict[str, object]:
        return {"n_atoms": self.n_atoms, "n_entries": self.n_entries}

    def _sums_atoms(self, codes: csr_array) -> bool:
        return self._has_matrix or self.n_features * self.n_atoms <= MAX_MATRIX_ENTRIES

    def _decode_by_transforms(self, codes: csr_array, out: Floats | None = None) -> Floats:
        codes = check_codes(codes, self.n_atoms, self._owner)
        coefficients = csr_array(codes @ self._sparse_rows().astype(codes.dtype))
        return self._base.decode(coefficients, out)

    def _decode_dense(self, codes: Floats, out: Floats | None = None) -> Floats:
        return self.decode(csr_array(codes), out)

    def _make_pursuit_atoms(self, dtype: DType, masked: bool) -> PursuitAtoms:
        if masked or self.n_entries == self.n_features:
            return PreparedAtoms(self.matrix.T, dtype, normalize=False, masked=masked)
        return CombinedAtoms(self, dtype)


class CombinedAtoms:
    """The atoms of a sparse dictionary with their inner products A^T A, for the core."""

    exponents = None

    def __init__(self, dictionary: SparseDictionary, dtype: DType) -> None:
        self._plan = dictionary._plan
        self._places = dictionary.indices
        self._entries = dictionary.values.astype(dtype)
        self._gram = padded_gram(dictionary._sparse_rows().toarray(), dtype)

    def pursue(
        self, Y: Floats, missing: NDArray[np.bool_] | None, s: int, max_error: float
    ) -> csr_array | None:
        """Codes; None if signals are not finite or not in the safe range."""
        assert missing is None
        atoms = self._plan, self._entries, self._places, self._gram
        with blas_threads(self._plan):
            return collect_codes(
                lambda *out: _core.pursue_sparse(*atoms, Y, s, max_error, *out),
                (len(Y), len(self._entries)),
                s,
                Y.dtype,
            )


def largest_entries(rows: Floats, count: int) -> tuple[NDArray[np.int32], Floats]:
    """Indices and values of the `count` entries of largest magnitude in each row."""
    order = np.argsort(-np.abs(rows), axis=1, kind="stable")[:, :count]
    indices = np.sort(order, axis=1).astype(np.int32)
    return indices, np.take_along_axis(rows, indices, axis=1)


def _checked_indices(indices: ArrayLike, n_features: int) -> NDArray[np.int32]:
    array = check_array(indices, "indices")
    if array.dtype.kind not in "iu":
        raise TypeError(f"indices must be integers, got dtype {array.dtype}")
    check_shape(array, "indices", (None, None))
    if 0 in array.shape or len(array) > MAX_ATOMS:
        raise ValueError(
            f"indices must have 1 to {MAX_ATOMS} rows of at least one index, got shape "
            f"{array.shape}"
        )
    if not 0 <= array.min() <= array.max() < n_features:
        raise ValueError(
            f"indices must be between 0 and n_features-1={n_features - 1}, "
            f"got {array.min()} to {array.max()}"
        )
    same = np.flatnonzero((np.diff(np.sort(array, axis=1)) == 0).any(axis=1))
    if same.size:
        raise ValueError(f"indices must be different in each row, but row {same[0]} repeats one")
    return np.array(array, dtype=np.int32, order="C")


def unit_rows(values: Float64Array, name: str) -> Float64Array:
    """Rows of norm one; rows that have it up to rounding are kept bit for bit."""
    largest = np.abs(values).max(axis=1, keepdims=True)
    zero = np.flatnonzero(largest == 0)
    if zero.size:
        raise ValueError(f"{name} must not be zero in a whole row, but row {zero[0]} is")
    # Dividing by powers of two first keeps squares from overflowing and underflowing.
    exponents = np.frexp(largest)[1]
    scaled = np.ldexp(values, -exponents)
    norms = np.linalg.norm(scaled, axis=1, keepdims=True)
    with np.errstate(over="ignore"):
        off = np.abs(np.ldexp(norms, exponents) - 1) > _NORM_TOLERANCE
    return np.where(off, scaled / norms, values)
