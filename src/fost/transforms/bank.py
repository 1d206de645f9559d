"""Collections of transforms, and banks: each signal uses the best member."""

from __future__ import annotations

from collections.abc import Iterable
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy.sparse import csr_array, issparse, sparray

from fost import _core
from fost._cache import lazy_property
from fost._typing import Floats
from fost._validation import check_signals
from fost.coding.decode import check_codes, check_decode_out
from fost.transforms.base import Chain, Transform
from fost.transforms.coder import MAX_MATRIX_ENTRIES, Coder, check_transforms
from fost.transforms.dense import Dense

_MAX_ATOMS = 2**31 - 1
# Matrices of at most this many entries are computed for decoding without a comparison of costs.
_SMALL_MATRIX_ENTRIES = 2**16


class TransformCollection(Coder):
    """Orthonormal transforms of the same size; codes have a column for each atom of each member.

    Atom i of member l is column b * n_features + i.
    """

    def __init__(self, members: Iterable[Transform]) -> None:
        self._members = check_transforms(members, "members")
        if self.n_atoms > _MAX_ATOMS:
            raise ValueError(
                "members must have fewer than 2**31 atoms in total, because codes have 32-bit "
                f"indices, got {self.n_members} transforms of {self.n_features} features"
            )

    @property
    def members(self) -> tuple[Transform, ...]:
        """The members."""
        return self._members

    @property
    def n_features(self) -> int:
        return self._members[0].n_features

    @property
    def base(self) -> Transform | None:
        """The chain of stages with which all members begin, or None."""
        shared = self._split[0]
        return Chain(shared) if shared else None

    @property
    def flops(self) -> int:
        """Operations to transform one signal by all members; a shared base counts once."""
        shared, rests = self._split
        return sum(stage.flops for rest in (shared, *rests) for stage in rest)

    @property
    def _additions(self) -> int:
        shared, rests = self._split
        return sum(stage._additions for rest in (shared, *rests) for stage in rest)

    @property
    def n_parameters(self) -> int:
        """Number of stored parameters of all members; a shared base counts once."""
        shared, rests = self._split
        return sum(stage.n_parameters for rest in (shared, *rests) for stage in rest)

    def _storage_bits(self, bits_per_value: int) -> int:
        """The sum over the members; a shared base counts once."""
        shared, rests = self._split
        return sum(
            stage._storage_bits(bits_per_value) for rest in (shared, *rests) for stage in rest
        )

    def _members_and_rows(self, codes: csr_array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The member and the row of each entry of the codes."""
        rows = np.repeat(np.arange(codes.shape[0]), np.diff(codes.indptr))
        return (codes.indices // self.n_features).astype(np.intp, copy=False), rows

    def _sums_atoms(self, codes: csr_array) -> bool:
        """Whether a sum of atoms takes no more operations than the inverse transforms."""
        n = self.n_features
        if self._has_matrix or n * self.n_atoms <= _SMALL_MATRIX_ENTRIES:
            return True
        if n * self.n_atoms > MAX_MATRIX_ENTRIES:
            return False
        used, rows = self._members_and_rows(check_codes(codes, self.n_atoms, self._owner))
        first = np.append(True, (np.diff(used) != 0) | (np.diff(rows) != 0))[: len(used)]
        n_entries, n_signals = (
            np.bincount(members, minlength=self.n_members).tolist()
            for members in (used, used[first])
        )
        of_sums = of_members = 0
        for member, entries, signals in zip(self._members, n_entries, n_signals, strict=True):
            by_atoms = n * member.flops + 2 * entries * n
            of_sums += by_atoms
            of_members += min(by_atoms, signals * member.flops)
        return bool(of_sums <= of_members)

    def _decode_by_transforms(self, codes: csr_array, out: Floats | None = None) -> Floats:
        """The sum of the decoded entries of each member, from the first member to the last.

        A code of a bank has entries of one member only, so no sum is computed for it.
        """
        n = self.n_features
        codes = check_codes(codes, self.n_atoms, self._owner)
        if out is None:
            out = np.zeros((codes.shape[0], n), codes.dtype)
        else:
            codes = check_decode_out(codes, n, out)
            out[...] = 0
        used, rows = self._members_and_rows(codes)
        order = np.argsort(used, kind="stable")
        begins = np.searchsorted(used[order], np.arange(self.n_members + 1))
        for b in np.flatnonzero(np.diff(begins)).tolist():
            own = order[begins[b] : begins[b + 1]]
            present, starts = np.unique(rows[own], return_index=True)
            indptr = np.append(starts, len(own))
            entries = codes.data[own], codes.indices[own] - b * n, indptr
            decoded = self._members[b].decode(csr_array(entries, shape=(len(present), n)))
            with np.errstate(over="ignore"):
                out[present] += decoded
        if not np.isfinite(out).all():
            raise ValueError(f"codes are too large: decoding them overflows {out.dtype}")
        return out

    def _decode_dense(self, codes: Floats, out: Floats | None = None) -> Floats:
        return self.decode(csr_array(codes), out)

    @lazy_property
    def matrix(self) -> NDArray[np.float64]:
        """The atoms of all members in columns, shape (n_features, n_members * n_features)."""
        matrix = np.concatenate([member.matrix for member in self._members], axis=1)
        matrix.flags.writeable = False
        return matrix

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Floats:
        """The matrix of all atoms."""
        return np.array(self.matrix, dtype=dtype) if copy else np.asarray(self.matrix, dtype=dtype)

    @lazy_property
    def _split(self) -> tuple[tuple[Transform, ...], tuple[tuple[Transform, ...], ...]]:
        """The stages with which all members begin, and the remaining stages of each member."""
        stages = [
            member.stages if isinstance(member, Chain) else (member,) for member in self._members
        ]
        count = 0
        while all(len(s) > count and s[count] == stages[0][count] for s in stages):
            count += 1
        if len(stages) == 1:  # a single member shares nothing
            count = 0
        return stages[0][:count], tuple(s[count:] for s in stages)

    @lazy_property
    def _plans(self) -> tuple[_core.Plan, list[_core.Plan]]:
        """The compiled base, and the compiled remaining stages of each member."""

        def plan(stages: Iterable[Transform]) -> _core.Plan:
            compiled = _core.Plan(self.n_features)
            for stage in stages:
                compiled.add_plan(stage._plan)
            return compiled

        shared, rests = self._split
        if len(rests) == 1:  # no choice of a member: all stages are the base
            shared, rests = rests[0], ((),)
        return plan(shared), [plan(rest) for rest in rests]

    @property
    def _owner(self) -> str:
        return f"this {type(self).__name__}"

    def _described(self) -> dict[str, object]:
        return {"n_members": self.n_members}

    def __len__(self) -> int:
        return self.n_members

    def __getitem__(self, index: int) -> Transform:
        return self._members[index]


class Bank(TransformCollection):
    """A collection of L orthonormal transforms; the code of each signal uses one of them.

    A signal uses the member whose s largest coefficients have the largest energy; ties go to the
    first. All members are tried in one pass, while the signals are in the cache, and a base that
    all members share is applied once. Codes have n_members * n_features columns: atom i of member
    b is column b * n_features + i, and the entries of a row belong to one member.

    Parameters
    ----------
    members : iterable of transforms
        At least one, all with the same n_features.

    Examples
    --------
    >>> import fost, numpy as np
    >>> bank = fost.Bank([fost.DCT(4), fost.Dense(np.eye(4))])
    >>> bank
    Bank(n_features=4, n_members=2, flops=42)
    >>> codes = bank.encode([[1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 3.0, 0.0]], n_nonzero_coefs=1)
    >>> bank.chosen(codes)
    array([0, 1])
    >>> bank.decode(codes).round(12)
    array([[1., 1., 1., 1.],
           [0., 0., 3., 0.]])
    """

    kind = "bank"

    def chosen(self, codes: sparray | ArrayLike) -> NDArray[np.intp]:
        """The index of the member that each code uses; 0 for codes without entries.

        Parameters
        ----------
        codes : sparse array or array-like of shape (n_signals, n_members * n_features)
            Codes from `encode`.

        Returns
        -------
        ndarray of shape (n_signals,)
        """
        if not issparse(codes):
            codes = csr_array(check_signals(codes, "codes", self.n_atoms, self._owner))
        codes = check_codes(codes, self.n_atoms, self._owner)
        if not codes.data.all():  # remove explicit zeros
            codes = codes.copy()
            codes.eliminate_zeros()
        starts = codes.indptr[:-1]
        used = np.diff(codes.indptr) > 0
        chosen = np.zeros(len(starts), dtype=np.intp)
        chosen[used] = codes.indices[starts[used]] // self.n_features
        return chosen

    @lazy_property
    def _plan(self) -> _core.Bank:
        return _core.Bank(*self._plans)


def without_base(base: Transform | None, coder: Coder) -> Coder:
    """The coder of base coefficients that equals `coder` for signals."""
    if base is None:
        return coder
    members = [_remove_base(base, member) for member in coder.members]
    return type(coder)(members) if isinstance(coder, TransformCollection) else members[0]


def _remove_base(base: Transform, transform: Transform) -> Transform:
    prefix = Chain([base]).stages
    if isinstance(transform, Chain) and transform.stages[: len(prefix)] == prefix:
        rest = transform.stages[len(prefix) :]
        if len(rest) == 1:
            return rest[0]
        if rest:
            return Chain(rest)
    return Dense(base.forward(transform.matrix.T).T)


@overload
def with_base(base: Transform | None, coder: Transform) -> Transform: ...
@overload
def with_base(base: Transform | None, coder: TransformCollection) -> TransformCollection: ...
@overload
def with_base(base: Transform | None, coder: Coder) -> Coder: ...
def with_base(base: Transform | None, coder: Coder) -> Coder:
    """The coder of signals that applies a base and then `coder`; the inverse of `without_base`."""
    if base is None:
        return coder
    chains = [Chain([base, member]) for member in coder.members]
    return type(coder)(chains) if isinstance(coder, TransformCollection) else chains[0]
