"""Several transforms, and banks of them: each signal uses the one that suits it best."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array, issparse

from fost import _core, decoding
from fost._typing import Floats
from fost._validation import check_signals
from fost.transforms.base import Chain, Transform
from fost.transforms.coder import FEW_ENTRIES, MOST_ENTRIES, Coder, check_parts
from fost.transforms.dense import Dense

_MOST_ATOMS = 2**31 - 1


class Several(Coder):
    """Orthonormal transforms of the same size whose codes have a column for each atom of each.

    Atom i of member b has the number b * n_features + i.
    """

    def __init__(self, members: Iterable[Transform]) -> None:
        self._members = check_parts(members, "members")
        if self.n_atoms > _MOST_ATOMS:
            raise ValueError(
                "members must have fewer than 2**31 atoms together, since codes number them in "
                f"32 bits, got {self.n_members} transforms of {self.n_features} features"
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
        """What all members begin with, or None."""
        shared = self._split[0]
        return Chain(shared) if shared else None

    @property
    def flops(self) -> int:
        """Operations to transform one signal by all members: the base once, then each of them."""
        shared, rests = self._split
        return sum(member.flops for rest in (shared, *rests) for member in rest)

    @property
    def n_parameters(self) -> int:
        """Numbers that must be stored to describe all members, a shared base once."""
        shared, rests = self._split
        return sum(member.n_parameters for rest in (shared, *rests) for member in rest)

    def _uses(self, codes: csr_array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The member of each entry of the codes, and its row."""
        rows = np.repeat(np.arange(codes.shape[0]), np.diff(codes.indptr))
        return (codes.indices // self.n_features).astype(np.intp, copy=False), rows

    def _sums_atoms(self, codes: csr_array) -> bool:
        """Whether a sum of atoms is no dearer than the members one by one, by operations."""
        n = self.n_features
        if self._has_matrix or n * self.n_atoms <= FEW_ENTRIES:
            return True
        if n * self.n_atoms > MOST_ENTRIES:
            return False
        used, rows = self._uses(decoding.check_codes(codes, self.n_atoms, self._owner))
        first = np.append(True, (np.diff(used) != 0) | (np.diff(rows) != 0))[: len(used)]
        n_entries, n_signals = (
            np.bincount(members, minlength=self.n_members).tolist()
            for members in (used, used[first])
        )
        whole = apart = 0
        for member, entries, signals in zip(self._members, n_entries, n_signals, strict=True):
            by_atoms = n * member.flops + 2 * entries * n
            whole += by_atoms
            apart += min(by_atoms, signals * member.flops)
        return bool(whole <= apart)

    def _decode_backwards(self, codes: csr_array) -> Floats:
        """The sum over members of what each makes of its own entries, from the first to the last.

        A code of a bank has entries of one member only, and then nothing is added up.
        """
        n = self.n_features
        codes = decoding.check_codes(codes, self.n_atoms, self._owner)
        used, rows = self._uses(codes)
        out = np.zeros((codes.shape[0], n), codes.dtype)
        order = np.argsort(used, kind="stable")
        begins = np.searchsorted(used[order], np.arange(self.n_members + 1))
        for b in np.flatnonzero(np.diff(begins)).tolist():
            own = order[begins[b] : begins[b + 1]]
            present, starts = np.unique(rows[own], return_index=True)
            indptr = np.append(starts, len(own))
            entries = codes.data[own], codes.indices[own] - b * n, indptr
            decoded = self[b].decode(csr_array(entries, shape=(len(present), n)))
            with np.errstate(over="ignore"):
                out[present] += decoded
        if not np.isfinite(out).all():
            raise ValueError(f"codes are too large: decoding them overflows {out.dtype}")
        return out

    def _decode_dense(self, codes: Floats) -> Floats:
        return self.decode(csr_array(codes))

    @cached_property
    def matrix(self) -> NDArray[np.float64]:
        """The atoms of all members in columns, shape (n_features, n_members * n_features)."""
        matrix = np.concatenate([member.matrix for member in self._members], axis=1)
        matrix.flags.writeable = False
        return matrix

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Floats:
        """The matrix, not one of each member."""
        return np.array(self.matrix, dtype=dtype) if copy else np.asarray(self.matrix, dtype=dtype)

    @cached_property
    def _split(self) -> tuple[tuple[Transform, ...], tuple[tuple[Transform, ...], ...]]:
        """The stages that all members begin with, and what is left of each."""
        stages = [
            member.stages if isinstance(member, Chain) else (member,) for member in self._members
        ]
        count = 0
        while all(len(s) > count and s[count] == stages[0][count] for s in stages):
            count += 1
        if len(stages) == 1:  # nothing is shared by one
            count = 0
        return stages[0][:count], tuple(s[count:] for s in stages)

    @cached_property
    def _plans(self) -> tuple[_core.Plan, list[_core.Plan]]:
        """The base and the members beyond it, compiled."""

        def plan(stages: Iterable[Transform]) -> _core.Plan:
            made = _core.Plan(self.n_features)
            for stage in stages:
                made.add_plan(stage._plan)
            return made

        shared, rests = self._split
        if len(rests) == 1:  # there is nothing to choose from
            shared, rests = rests[0], ((),)
        return plan(shared), [plan(rest) for rest in rests]

    @property
    def _owner(self) -> str:
        return f"this {type(self).__name__}"

    def _described(self) -> dict[str, Any]:
        return {"n_members": self.n_members}

    def __len__(self) -> int:
        return self.n_members

    def __getitem__(self, index: int) -> Transform:
        return self._members[index]


class Bank(Several):
    """B orthonormal transforms of the same size; each signal is coded in one of them.

    That one is the member whose s largest coefficients keep the most of the signal's energy, the
    first of equals. All members are tried in one pass, while the signals are in the cache; a base
    that all of them begin with is applied once. Codes have n_members * n_features columns, in
    which atom i of member b has the number b * n_features + i: a row uses the columns of one
    member only.

    Parameters
    ----------
    members : iterable of transforms
        At least one, all of the same n_features.

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

    def chosen(self, codes: Any) -> NDArray[np.intp]:
        """Which member each code uses; 0 for codes without entries.

        Parameters
        ----------
        codes : sparse array or array-like of shape (n_signals, n_members * n_features)
            From `encode`.

        Returns
        -------
        ndarray of shape (n_signals,)
        """
        if not issparse(codes):
            codes = csr_array(check_signals(codes, "codes", self.n_atoms, self._owner))
        codes = decoding.check_codes(codes, self.n_atoms, self._owner)
        if not codes.data.all():  # zeros that are stored are no entries
            codes = codes.copy()
            codes.eliminate_zeros()
        starts = codes.indptr[:-1]
        used = np.diff(codes.indptr) > 0
        chosen = np.zeros(len(starts), dtype=np.intp)
        chosen[used] = codes.indices[starts[used]] // self.n_features
        return chosen

    @cached_property
    def _plan(self) -> _core.Bank:
        return _core.Bank(*self._plans)


def beyond(base: Transform | None, coder: Coder) -> Coder:
    """What remains of a coder of signals when a base has been applied already."""
    if base is None:
        return coder
    members = [_rest(base, member) for member in coder.members]
    return type(coder)(members) if isinstance(coder, Several) else members[0]


def _rest(base: Transform, transform: Transform) -> Transform:
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
def with_base(base: Transform | None, coder: Several) -> Several: ...
@overload
def with_base(base: Transform | None, coder: Coder) -> Coder: ...
def with_base(base: Transform | None, coder: Coder) -> Coder:
    """A transform, or each member of several, beyond a base."""
    if base is None:
        return coder
    chains = [Chain([base, member]) for member in coder.members]
    return type(coder)(chains) if isinstance(coder, Several) else chains[0]
