"""What codes signals by a transform and a selection: a transform, or a bank of them."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse, sparray

from fost import _core, decoding
from fost._typing import DType, Floats, Numbers
from fost._validation import ContainsNaN, check_signals, check_stored, hint_at_missing
from fost.selection import Rule, check_rule, encode
from fost.streams import Stream, as_stream, is_lazy
from fost.transforms import storage
from fost.transforms.html import as_html
from fost.transforms.kinds import Described
from fost.transforms.observed import encode_observed

if TYPE_CHECKING:
    from fost.transforms.base import Transform

C = TypeVar("C", bound="Coder")

# Entries of a matrix that is made to decode faster: 128 MiB in float64; up to so few it is made
# without much thought.
MOST_ENTRIES = 2**24
FEW_ENTRIES = 2**16


class Coder(Described, ABC):
    """A `Transform`, or a `Bank` of several: what turns signals into sparse codes and back.

    A code has one entry per atom, and the atoms are the columns of `matrix`.

    Examples
    --------
    >>> import fost
    >>> isinstance(fost.DCT(8), fost.Coder), isinstance(fost.Bank([fost.DCT(8)]), fost.Coder)
    (True, True)
    """

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Entries per signal, n."""

    @property
    @abstractmethod
    def members(self) -> tuple[Transform, ...]:
        """The members of a bank; a transform is its own only member."""

    @property
    def n_members(self) -> int:
        """Members: 1 for a transform."""
        return len(self.members)

    @property
    def n_atoms(self) -> int:
        """Columns of codes, n_members * n_features."""
        return self.n_members * self.n_features

    @property
    @abstractmethod
    def flops(self) -> int:
        """Operations to transform one signal, by the paper's counts."""

    def encode_flops(self, n_nonzero_coefs: int) -> int:
        """Operations to code one signal without comparisons: `flops`, and in a union a pursuit."""
        return self.flops

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """Numbers that must be stored to describe it."""

    @property
    @abstractmethod
    def matrix(self) -> NDArray[np.float64]:
        """The atoms in columns, shape (n_features, n_atoms); read-only."""

    def encode(
        self,
        Y: Any,
        n_nonzero_coefs: int | None = None,
        *,
        max_error: float | None = None,
        threshold: float | None = None,
        missing: object = None,
    ) -> csr_array:
        """Best sparse codes: the coefficients of largest magnitude, T_s(U^T y).

        Since U is orthonormal no other code with as many entries is closer to y; a bank takes
        the member for which that is closest. Transform and selection are one pass; dense
        coefficients are never stored.

        Parameters
        ----------
        Y : array-like of shape (n_signals, n_features)
            Or any form that `fost.learning.as_training_data` takes: memory maps, arrays of Zarr,
            Dask arrays, iterables of blocks.
        n_nonzero_coefs : int, optional
            Entries to keep per signal, s; a limit where `max_error` or `threshold` is given.
            Ties go to the lower index.
        max_error : float, optional
            Keep as few entries as make the squared error ||y - U x||^2 of a signal at most this,
            to rounding; a bank takes the member that needs the fewest.
        threshold : float, optional
            Keep the entries whose magnitude is above this, which minimises
            ||y - U x||^2 + threshold^2 ||x||_0; a bank takes the member for which that is least.
        missing : array of bool of shape (n_signals, n_features), or "nan", optional
            True where an entry of Y is unobserved, whatever it holds; ``"nan"``: where Y is NaN.
            Then codes are found by pursuit on what is observed (as in `fost.omp`), which errors and
            `max_error` count alone; with a threshold by thresholding and refilling. A signal
            without observed entries has an empty code.

        Returns
        -------
        csr_array of shape (n_signals, n_atoms)
            With sorted indices. A signal with fewer than s nonzero coefficients has fewer
            entries. For a Dask array, a lazy Dask array whose blocks are such csr_arrays.

        Examples
        --------
        >>> import fost, numpy as np
        >>> Y = np.array([[1.0, 1.0, 1.0, 1.1], [0.0, 0.0, 3.0, 0.0]])
        >>> np.diff(fost.DCT(4).encode(Y, max_error=0.01).indptr)  # entries per signal
        array([1, 4], dtype=int32)
        """
        rule = check_rule(n_nonzero_coefs, max_error, threshold, self.n_features)
        if is_lazy(Y) or missing is not None:
            return self._encode_stream(as_stream(Y, missing=missing), rule)
        stored = check_stored(Y, "Y", self.n_features, self._owner)
        return self._encode_block(rule, False, "Y", stored)

    def decode(self, codes: sparray | ArrayLike) -> Floats:
        """Signals with given codes, sparse (from `encode`) or dense.

        A sparse code is decoded as a sum of atoms or by running the transforms backwards,
        whichever should take less time; never as a sum where the matrix of all atoms would have
        to be made and is large.

        Parameters
        ----------
        codes : sparse array or array-like of shape (n_signals, n_atoms)

        Returns
        -------
        ndarray of shape (n_signals, n_features)
        """
        if not issparse(codes):
            dense = check_signals(codes, "codes", self.n_atoms, self._owner)
            return self._decode_dense(dense)
        codes = decoding.ready(codes, self.n_atoms, self._owner)
        if self._sums_atoms(codes):
            return decoding.decode_by_atoms(self._atoms(codes.data.dtype), codes)
        return self._decode_backwards(codes)

    def energy_kept(self, Y: Floats, codes: csr_array) -> float:
        """||Y||_F^2 - ||Y - U X||_F^2 of signals in memory and their codes by `encode`.

        Those of transforms and banks are projections, and keep ||X||_F^2. Not finite where squares
        overflow.
        """
        with np.errstate(over="ignore"):
            return float(np.sum(np.square(codes.data, dtype=np.float64)))

    def save(
        self,
        path: str | os.PathLike[str],
        metadata: Mapping[str, str] | None = None,
        *,
        overwrite: bool = True,
    ) -> None:
        """Write it to a .safetensors file, replacing the old one in one step.

        `fost.load` reads it back, and ``safetensors.numpy.load_file`` its arrays.

        Parameters
        ----------
        path : path
        metadata : mapping of str to str, optional
            Anything that should stay with it, such as what it was learned on;
            `fost.transforms.read_metadata` reads it back.
        overwrite : bool
            Whether an existing file may be replaced, as by commands with ``--force``; if not it
            is a FileExistsError.
        """
        storage.save(self, path, metadata, overwrite)

    @property
    @abstractmethod
    def _plan(self) -> _core.Coder:
        """Its compiled form."""

    @property
    @abstractmethod
    def _owner(self) -> str:
        """What errors call it."""

    @abstractmethod
    def _sums_atoms(self, codes: csr_array) -> bool:
        """Whether to decode as sums of atoms."""

    @abstractmethod
    def _decode_backwards(self, codes: csr_array) -> Floats:
        """Decode validated codes by running the transforms backwards."""

    @abstractmethod
    def _decode_dense(self, codes: Floats) -> Floats:
        """Decode validated codes that are not sparse."""

    def _encode_stream(self, stream: Stream, rule: Rule) -> Any:
        n = self.n_features
        if stream.n_features != n:
            raise ValueError(
                f"{stream.name} has {stream.n_features} features, but {self._owner} was built "
                f"for {n}"
            )
        return stream.map_blocks(partial(self._encode_block, rule, stream.has_missing, stream.name))

    def _encode_block(self, rule: Rule, gaps: bool, name: str, block: Numbers) -> csr_array:
        if gaps and np.isnan(block).any():
            return encode_observed(self, block, rule, name)
        try:
            return encode(self._plan, block, rule, name)
        except ContainsNaN as error:
            raise hint_at_missing(error) from None

    @property
    def _has_matrix(self) -> bool:
        """Whether the matrix has been made already."""
        return "matrix" in self.__dict__

    @cached_property
    def _atoms_of(self) -> dict[DType, Floats]:
        return {}

    def _atoms(self, dtype: DType) -> Floats:
        """The atoms as contiguous rows of the given type, kept for the next call."""
        if dtype not in self._atoms_of:
            self._atoms_of[dtype] = decoding.as_atoms(self.matrix.T, dtype)
        return self._atoms_of[dtype]

    def _repr_html_(self) -> str:
        """What notebooks show: costs, and the atoms as a small picture."""
        return as_html(self)

    def _described(self) -> dict[str, Any]:
        """What `repr` says between n_features and flops: the arguments that are short."""
        plain = (int, float, str, tuple)
        return {k: v for k, v in self.arguments().items() if isinstance(v, plain)}

    def __repr__(self) -> str:
        items = {"n_features": self.n_features, **self._described(), "flops": self.flops}
        return f"{type(self).__name__}({', '.join(f'{k}={v}' for k, v in items.items())})"


def check_parts(parts: Iterable[C], name: str) -> tuple[C, ...]:
    """At least one transform, no bank among them, all of the same size."""
    if not isinstance(parts, Iterable) or getattr(parts, "ndim", 1) == 0:
        raise TypeError(f"{name} must be a list of transforms, got {type(parts).__name__}")
    checked = tuple(parts)
    for part in checked:
        if not isinstance(part, Coder) or part.members[0] is not part:
            raise TypeError(f"{name} must be transforms, got {type(part).__name__}")
    if not checked:
        raise ValueError(f"{name} must be at least one transform, got none")
    sizes = [part.n_features for part in checked]
    if len(set(sizes)) > 1:
        raise ValueError(f"{name} must have the same n_features, got {sizes}")
    return checked
