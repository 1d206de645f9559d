"""Unions of transforms: the atoms of all members form one dictionary."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fost import _core
from fost._cache import lazy_property
from fost._typing import DType, Floats
from fost.coding.atoms import PreparedAtoms
from fost.coding.encode import blas_threads, collect_codes
from fost.coding.omp import PursuitAtoms
from fost.transforms.bank import TransformCollection
from fost.transforms.base import Chain, Transform
from fost.transforms.pursuit_coder import PursuitCoder, padded_gram

# Atoms are equal if they agree to this many decimal digits.
_DIGITS = 10


class Union(PursuitCoder, TransformCollection):
    """A collection of L orthonormal transforms; the code of a signal may use atoms of all members.

    Codes are found by orthogonal matching pursuit, as by `omp` in the concatenated atoms. They have
    at most `n_nonzero_coefs` entries, or as many as `max_error` requires. There is no `threshold`.
    The correlations with the atoms are computed by the fast transforms, and a base that all members
    share is applied once. An atom that several members share counts as that of the first. Codes
    have n_members * n_features columns: atom i of member l is column l * n_features + i.

    Parameters
    ----------
    members : iterable of transforms
        At least one, all with the same n_features.

    Examples
    --------
    A constant plus a spike, which neither member alone represents by two atoms:

    >>> import fost, numpy as np
    >>> union = fost.Union([fost.DCT(4), fost.Dense(np.eye(4))])
    >>> union
    Union(n_features=4, n_members=2, flops=42)
    >>> codes = union.encode([[1.0, 1.0, 9.0, 1.0]], n_nonzero_coefs=2)
    >>> codes.toarray().round(12)
    array([[2., 0., 0., 0., 0., 0., 8., 0.]])
    >>> union.decode(codes).round(12)
    array([[1., 1., 9., 1.]])
    """

    kind = "union"

    @property
    def n_distinct_atoms(self) -> int:
        """Number of distinct atoms; an atom that several members share counts once."""
        return len(self._distinct)

    @lazy_property
    def _atoms_without_base(self) -> NDArray[np.float64]:
        """The atoms in rows, without the shared base; often sparse."""
        n = self.n_features
        rests = self._split[1]
        if len(rests) == 1:  # all stages are the base, as in `_plans`
            return np.eye(n)

        def atoms(rest: tuple[Transform, ...]) -> NDArray[np.float64]:
            if not rest:
                return np.eye(n)
            # A single transform may have its matrix already.
            return (rest[0] if len(rest) == 1 else Chain(rest)).matrix.T

        return np.concatenate([atoms(rest) for rest in rests])

    @lazy_property
    def _distinct(self) -> NDArray[np.int32]:
        """The atoms that no earlier member has, up to their signs."""
        atoms = self._atoms_without_base
        first = np.argmax(np.abs(atoms) > 0.5 / np.sqrt(self.n_features), axis=1)
        signs = np.sign(atoms[np.arange(len(atoms)), first])
        rounded = np.round(atoms * signs[:, None], _DIGITS) + 0.0
        first_of: dict[bytes, int] = {}
        for k, atom in enumerate(rounded):
            first_of.setdefault(atom.tobytes(), k)
        return np.fromiter(first_of.values(), np.int32, len(first_of))

    @lazy_property
    def _plan(self) -> _core.Union:  # type: ignore[override]
        return _core.Union(*self._plans, self._distinct, self._atoms_without_base[self._distinct])

    def _make_pursuit_atoms(self, dtype: DType, masked: bool) -> PursuitAtoms:
        if masked:
            atoms = self.matrix.T[self._distinct]
            return ExplicitAtoms(atoms, self._distinct, self.n_atoms, dtype)
        # Atoms without the base, so that inner products of disjoint atoms are exactly zero.
        gram = padded_gram(self._atoms_without_base[self._distinct], dtype)
        return UnionAtoms(self._plan, gram, self.n_atoms)


class UnionAtoms:
    """The atoms of a union as fast transforms, with their inner products, for the core."""

    exponents = None
    residuals: bool | None = None  # whether to pursue by residuals; None chooses the faster way

    def __init__(self, plan: _core.Union, gram: Floats, n_atoms: int) -> None:
        self._plan, self._gram, self._n_atoms = plan, gram, n_atoms

    def pursue(
        self, Y: Floats, missing: NDArray[np.bool_] | None, s: int, max_error: float
    ) -> csr_array | None:
        """Codes; None if signals are not finite or not in the safe range."""
        assert missing is None
        shape = (len(Y), self._n_atoms)
        residuals = self.residuals
        if residuals is None:
            residuals = self._plan.by_residuals(len(Y), s, max_error >= 0)
        with blas_threads(self._plan):
            return collect_codes(
                lambda *out: self._plan.pursue(self._gram, Y, s, max_error, residuals, *out),
                shape,
                s,
                Y.dtype,
            )


class ExplicitAtoms:
    """The distinct atoms of a union as a matrix, for signals with missing entries."""

    def __init__(
        self, atoms: NDArray[np.float64], columns: NDArray[np.int32], n_atoms: int, dtype: DType
    ) -> None:
        self._atoms = PreparedAtoms(atoms, dtype, normalize=False, masked=True)
        self._columns, self._n_atoms = columns, n_atoms
        self.exponents = self._atoms.exponents

    def pursue(
        self, Y: Floats, missing: NDArray[np.bool_] | None, s: int, max_error: float
    ) -> csr_array | None:
        """Codes; None if signals are not finite or not in the safe range."""
        codes = self._atoms.pursue(Y, missing, s, max_error)
        if codes is None:
            return None
        indices = self._columns[codes.indices].astype(codes.indices.dtype)
        shape = (len(Y), self._n_atoms)
        return csr_array((codes.data, indices, codes.indptr), shape=shape)
