"""Several transforms whose atoms are one dictionary."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fost import _core
from fost._threads import single_threaded_blas
from fost._typing import DType, Floats, Numbers
from fost._validation import check_integer, float_type, hint_at_missing, not_finite
from fost.atoms import PreparedAtoms
from fost.coding import blas_threads, collect
from fost.pursuit import pursue_in
from fost.selection import Rule
from fost.transforms.bank import Several
from fost.transforms.base import Chain, Transform

# Atoms that agree to so many digits are the same.
_DIGITS = 10


class Union(Several):
    """B orthonormal transforms of the same size; the code of a signal may use atoms of all.

    Codes are found by orthogonal matching pursuit, as `omp` finds them in the concatenated atoms:
    with at most `n_nonzero_coefs` entries, or as many as it takes to come within `max_error`;
    there is no `threshold`.
    The correlations with all atoms are computed by the fast transforms themselves, a base that all
    members begin with is applied once, and atoms that several members have in common (of features
    that they leave alone) are those of the first. Codes have n_members * n_features columns, in
    which atom i of member b has the number b * n_features + i.

    Parameters
    ----------
    members : iterable of transforms
        At least one, all of the same n_features.

    Examples
    --------
    A step and a spike, in two transforms of which neither is good at both:

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
        """Atoms that pursuit chooses from: those that several members have count once."""
        return len(self._distinct)

    def encode_flops(self, n_nonzero_coefs: int) -> int:
        """Operations to code one signal: those of the correlations, `flops`, and of the pursuit.

        Of that s^2 K + 3 s K + s^3 in K distinct atoms, by the count of Batch-OMP, though where
        that takes less time the members' rotations are applied to residuals instead.

        Examples
        --------
        >>> import fost, numpy as np
        >>> union = fost.Union([fost.DCT(4), fost.Dense(np.eye(4))])
        >>> union.flops, union.encode_flops(2)
        (42, 130)
        """
        s = check_integer(n_nonzero_coefs, "n_nonzero_coefs", 1, self.n_features, "n_features")
        return self.flops + pursuit_flops(s, self.n_distinct_atoms)

    def _encode_block(self, rule: Rule, gaps: bool, name: str, block: Numbers) -> csr_array:
        if rule.threshold is not None:
            raise ValueError("threshold must be None for a Union, whose codes are found by pursuit")
        signals = block.astype(float_type(block.dtype), copy=False)
        missing = np.isnan(signals) if gaps else None
        dictionary = self._dictionary(signals.dtype, masked=missing is not None)
        codes = pursue_in(dictionary, signals, rule.s, missing, rule.max_error)
        if codes is None:
            error = not_finite(block, name)
            raise error if gaps else hint_at_missing(error)
        return codes

    def energy_kept(self, Y: Floats, codes: csr_array) -> float:
        left = Y - self.decode(codes)
        with np.errstate(over="ignore", invalid="ignore"):
            whole, lost = (np.sum(np.square(part, dtype=np.float64)) for part in (Y, left))
            return float(whole - lost)

    @cached_property
    def _beyond(self) -> NDArray[np.float64]:
        """The atoms in rows, as the members beyond the base have them: often mostly zeros."""
        n = self.n_features
        rests = self._split[1]
        if len(rests) == 1:  # then all of it is the base, as in `_plans`
            return np.eye(n)

        def atoms(rest: tuple[Transform, ...]) -> NDArray[np.float64]:
            if not rest:
                return np.eye(n)
            # One transform alone may know its matrix already.
            return (rest[0] if len(rest) == 1 else Chain(rest)).matrix.T

        return np.concatenate([atoms(rest) for rest in rests])

    @cached_property
    def _distinct(self) -> NDArray[np.int32]:
        """The atoms that no member before has, up to their signs."""
        atoms = self._beyond
        first = np.argmax(np.abs(atoms) > 0.5 / np.sqrt(self.n_features), axis=1)
        signs = np.sign(atoms[np.arange(len(atoms)), first])
        rounded = np.round(atoms * signs[:, None], _DIGITS) + 0.0
        first_of: dict[bytes, int] = {}
        for k, atom in enumerate(rounded):
            first_of.setdefault(atom.tobytes(), k)
        return np.fromiter(first_of.values(), np.int32, len(first_of))

    @cached_property
    def _plan(self) -> _core.Union:  # type: ignore[override]
        return _core.Union(*self._plans, self._distinct, self._beyond[self._distinct])

    @cached_property
    def _dictionaries(self) -> dict[tuple[DType, bool], UnionAtoms | ExplicitAtoms]:
        return {}

    def _dictionary(self, dtype: DType, masked: bool) -> UnionAtoms | ExplicitAtoms:
        """What pursuit works with for signals of a type, kept for the next call."""
        key = dtype, masked
        if key not in self._dictionaries:
            self._dictionaries[key] = (
                ExplicitAtoms(self.matrix.T[self._distinct], self._distinct, self.n_atoms, dtype)
                if masked
                else UnionAtoms(self._plan, self._beyond[self._distinct], self.n_atoms, dtype)
            )
        return self._dictionaries[key]


def pursuit_flops(s: int, n_atoms: int) -> int:
    """What Batch-OMP takes besides the correlations with the signal."""
    return s * s * n_atoms + 3 * s * n_atoms + s**3


class UnionAtoms:
    """The atoms of a union as the kernels take them: transforms, and inner products."""

    taken_out = None
    residuals: bool | None = None  # the way of pursuit; None is the one that takes less time

    def __init__(
        self, plan: _core.Union, atoms: NDArray[np.float64], n_atoms: int, dtype: DType
    ) -> None:
        self._plan, self._n_atoms = plan, n_atoms
        pitch = -(-len(atoms) // _core.PITCH) * _core.PITCH
        self._gram = np.zeros((len(atoms), pitch), dtype)
        # Of what lies beyond the base, so that inner products of atoms apart are exactly zero.
        with single_threaded_blas:
            self._gram[:, : len(atoms)] = atoms @ atoms.T

    def pursue(
        self, Y: Floats, missing: NDArray[np.bool_] | None, s: int, max_error: float
    ) -> csr_array | None:
        assert missing is None
        shape = (len(Y), self._n_atoms)
        residuals = self.residuals
        if residuals is None:
            residuals = self._plan.by_residuals(len(Y), s, max_error >= 0)
        with blas_threads(self._plan):
            return collect(
                lambda *out: self._plan.pursue(self._gram, Y, s, max_error, residuals, *out),
                shape,
                s,
                Y.dtype,
            )


class ExplicitAtoms:
    """The same atoms one by one, for signals with missing entries."""

    def __init__(
        self, atoms: NDArray[np.float64], places: NDArray[np.int32], n_atoms: int, dtype: DType
    ) -> None:
        self._atoms = PreparedAtoms(atoms, dtype, normalize=False, masked=True)
        self._places, self._n_atoms = places, n_atoms
        self.taken_out = self._atoms.taken_out

    def pursue(
        self, Y: Floats, missing: NDArray[np.bool_] | None, s: int, max_error: float
    ) -> csr_array | None:
        codes = self._atoms.pursue(Y, missing, s, max_error)
        if codes is None:
            return None
        indices = self._places[codes.indices].astype(codes.indices.dtype)
        shape = (len(Y), self._n_atoms)
        return csr_array((codes.data, indices, codes.indptr), shape=shape)
