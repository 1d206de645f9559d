"""The interface that transforms, banks and unions share: sparse codes of signals."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse, sparray

from fost import _core
from fost._cache import lazy_property
from fost._typing import DType, Floats, Numbers
from fost._validation import (
    ContainsNaN,
    check_flag,
    check_integer,
    check_path,
    check_signals,
    check_stored,
    hint_at_missing,
)
from fost.coding.decode import aligned_atoms, decode_by_atoms, prepare_codes
from fost.coding.encode import encode_signals
from fost.coding.omp import encode_observed
from fost.coding.selection import SelectionRule, check_rule
from fost.streams import as_stream, is_lazy
from fost.transforms import storage
from fost.transforms.registry import Described

if TYPE_CHECKING:
    from fost.transforms.base import Transform

C = TypeVar("C", bound="Coder")

# Largest matrix, in entries, that is computed to decode faster: 128 MiB in float64.
MAX_MATRIX_ENTRIES = 2**24


class OperationCounts(NamedTuple):
    """Multiplications and additions per signal, and the numbers that must be stored for them."""

    multiplications: int
    additions: int
    memory: int


def dense_flops(n: int) -> int:
    """Operations of a product with an n x n matrix, (2 n - 1) n."""
    return (2 * n - 1) * n


def index_bits(n: int) -> int:
    """Bits of an index of one of n items, ceil(log2(n))."""
    return (n - 1).bit_length()


class Coder(Described, ABC):
    """A `Transform`, `Bank`, `Union` or `SparseDictionary`: maps signals to sparse codes and back.

    A code has one entry per atom. The atoms are the columns of `matrix`.

    Examples
    --------
    >>> import fost
    >>> isinstance(fost.DCT(8), fost.Coder), isinstance(fost.Bank([fost.DCT(8)]), fost.Coder)
    (True, True)
    """

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Number of entries per signal, n."""

    @property
    @abstractmethod
    def members(self) -> tuple[Transform, ...]:
        """The members of a bank or union; a transform is its own only member."""

    @property
    def n_members(self) -> int:
        """Number of members; 1 for a transform."""
        return len(self.members)

    @property
    def n_atoms(self) -> int:
        """Number of columns of codes, n_members * n_features."""
        return self.n_members * self.n_features

    @property
    @abstractmethod
    def flops(self) -> int:
        """Operations to transform one signal, as the paper counts them."""

    @property
    def operation_counts(self) -> OperationCounts:
        """Multiplications and additions to transform one signal, whose sum is `flops`, and memory.

        Memory counts the numbers that are stored: the parameters and one signal.

        Examples
        --------
        >>> import fost
        >>> fost.DCT((8, 8)).operation_counts
        OperationCounts(multiplications=256, additions=416, memory=64)
        """
        additions = self._additions
        return OperationCounts(
            self.flops - additions, additions, self.n_parameters + self.n_features
        )

    @property
    @abstractmethod
    def _additions(self) -> int:
        """The additions among the operations to transform one signal."""

    def encode_flops(self, n_nonzero_coefs: int) -> int:
        """Operations to encode one signal, without comparisons.

        Parameters
        ----------
        n_nonzero_coefs : int
            Entries per code, s. Only matching pursuit depends on it.
        """
        return self.flops

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """Number of real parameters; `storage_bits` also counts the indices of features."""

    def storage_bits(self, bits_per_value: int = 16) -> int:
        """Bits to store the learned parameters, including the indices of features.

        A real parameter takes `bits_per_value` bits, an index of one of n features ceil(log2(n))
        bits. A rotation is an angle and an ordered pair of indices, whose order distinguishes
        rotations from reflections. Fixed transforms take none. A sparse dictionary has a value and
        an index for each entry of its atoms, circulants have the values of their kernels.

        Parameters
        ----------
        bits_per_value : int
            Bits per real parameter, from 1 to 64.

        Examples
        --------
        >>> import fost, numpy as np
        >>> fost.DCT((8, 8)).storage_bits(), fost.Dense(np.eye(64)).storage_bits()
        (0, 65536)
        >>> fost.Givens([(0, 5)], [np.eye(2)], n_features=64).storage_bits()  # 16 + 2 * 6
        28
        """
        return self._storage_bits(check_integer(bits_per_value, "bits_per_value", 1, 64))

    def _storage_bits(self, bits_per_value: int) -> int:
        """The bits of all arrays and of a base; integers are indices of features."""
        bits = 0
        for value in self.arguments().values():
            if isinstance(value, Coder):
                bits += value._storage_bits(bits_per_value)
            elif isinstance(value, np.ndarray):
                is_index = value.dtype.kind in "iu"
                bits += value.size * (index_bits(self.n_features) if is_index else bits_per_value)
        return bits

    @property
    @abstractmethod
    def matrix(self) -> NDArray[np.float64]:
        """The atoms in columns, shape (n_features, n_atoms); read-only."""

    def encode(
        self,
        Y: object,
        n_nonzero_coefs: int | None = None,
        *,
        max_error: float | None = None,
        threshold: float | None = None,
        missing: object = None,
    ) -> csr_array:
        r"""Sparse codes of signals, the best ones for transforms and banks.

        A transform keeps its largest coefficients, :math:`\mathcal{T}_s(U^T y)`. Since U is
        orthonormal, no other code with as many entries has a smaller error :math:`\|y - U x\|`. A
        bank uses the member with the smallest error. The transform and the selection are one pass;
        dense coefficients are never stored.

        `Union`, `SparseDictionary` and `Circulant` use orthogonal matching pursuit. It is
        greedy, so better codes may exist. They have no `threshold`.

        Parameters
        ----------
        Y : array-like of shape (n_signals, n_features)
            Signals in rows, or any other input of `fost.learning.as_training_data`: memory maps,
            Zarr arrays, Dask arrays, iterables of blocks.
        n_nonzero_coefs : int, optional
            Number of entries per code, s; the maximum if `max_error` or `threshold` is given.
            Ties go to the lower index.
        max_error : float, optional
            Keep as few entries as give a squared error :math:`\|y - U x\|^2` of at most
            `max_error`, up to rounding. A bank uses the member that needs the fewest.
        threshold : float, optional
            Keep the entries of magnitude above `threshold`, which minimises
            :math:`\|y - U x\|^2 + \mathrm{threshold}^2 \|x\|_0`. A bank uses the member with the
            smallest minimum.
        missing : array of bool of shape (n_signals, n_features), or "nan", optional
            True where an entry of Y is unobserved; its value is ignored. ``"nan"`` treats NaN as
            unobserved. Codes are then fitted to the observed entries by orthogonal matching
            pursuit (as in `fost.omp`), or with a threshold by iterative thresholding. Errors and
            `max_error` count observed entries only. The code of a signal without observed
            entries is empty.

        Returns
        -------
        csr_array of shape (n_signals, n_atoms)
            Codes with sorted indices. A signal with fewer than s nonzero coefficients has fewer
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
            stream = as_stream(Y, missing=missing)
            if stream.n_features != self.n_features:
                raise ValueError(
                    f"{stream.name} has {stream.n_features} features, but {self._owner} was built "
                    f"for {self.n_features}"
                )
            return stream.map_blocks(
                partial(self._encode_block, rule, stream.has_missing, stream.name)
            )
        stored = check_stored(Y, "Y", self.n_features, self._owner)
        return self._encode_block(rule, False, "Y", stored)

    def decode(self, codes: sparray | ArrayLike, out: Floats | None = None) -> Floats:
        """Signals with given codes, sparse (from `encode`) or dense.

        Sparse codes are decoded as sums of atoms or by the inverse transforms, whichever should be
        faster. A large matrix of atoms is never computed for this.

        Parameters
        ----------
        codes : sparse array or array-like of shape (n_signals, n_atoms)
            Codes in rows.
        out : ndarray of shape (n_signals, n_features), optional
            Array for the result: writable, C-contiguous, float32 or float64 like the result.
            Codes that overlap it are copied first. Its contents are undefined after an error.

        Returns
        -------
        ndarray of shape (n_signals, n_features)
            `out` if it was given.

        Examples
        --------
        >>> import fost, numpy as np
        >>> codes = fost.DCT(4).encode(np.ones((2, 4)), 1)
        >>> signals = np.empty((2, 4))
        >>> fost.DCT(4).decode(codes, out=signals) is signals
        True
        >>> signals.round(12)
        array([[1., 1., 1., 1.],
               [1., 1., 1., 1.]])
        """
        if not issparse(codes):
            dense = check_signals(codes, "codes", self.n_atoms, self._owner)
            return self._decode_dense(dense, out)
        codes = prepare_codes(codes, self.n_atoms, self._owner)
        if self._sums_atoms(codes):
            return decode_by_atoms(self._atoms(codes.data.dtype), codes, out)
        return self._decode_by_transforms(codes, out)

    def energy_kept(self, Y: Floats, codes: csr_array) -> float:
        """||Y||_F^2 - ||Y - U X||_F^2 for signals in memory and their codes X from `encode`.

        For transforms and banks this equals ||X||_F^2, because the codes are orthogonal
        projections. The result is not finite if squares overflow.
        """
        with np.errstate(over="ignore"):
            return float(np.sum(np.square(codes.data, dtype=np.float64)))

    def save(
        self,
        path: str | os.PathLike[str],
        metadata: Mapping[str, str] | None = None,
        *,
        overwrite: bool = True,
        compact: bool = False,
    ) -> None:
        """Write to a .safetensors file, which replaces an existing file atomically.

        `fost.load` reads the file, and ``safetensors.numpy.load_file`` its arrays.

        Parameters
        ----------
        path : path
            Name of the file.
        metadata : mapping of str to str, optional
            Additional information, such as the training data;
            `fost.transforms.read_metadata` reads it.
        overwrite : bool
            Whether an existing file may be replaced; if false, an existing file is a
            FileExistsError.
        compact : bool
            Whether to round parameters to 16 bits: angles of rotations to 5e-5, entries of
            reflectors and matrices to a relative error of 5e-4. The loaded transform is
            orthonormal up to float64 rounding. If false, files are bit-exact.
        """
        check_path(path, "path")
        if not check_flag(overwrite, "overwrite") and os.path.lexists(path):
            raise FileExistsError(f"{os.fspath(path)!r} exists already")
        checked = {} if metadata is None else storage.check_metadata(metadata)
        parts = storage.model_parts(self, check_flag(compact, "compact"))
        storage.write_model_file(path, *parts, storage.FORMAT, checked)

    @property
    @abstractmethod
    def _plan(self) -> _core.Coder:
        """The compiled form."""

    @property
    @abstractmethod
    def _owner(self) -> str:
        """The name in error messages."""

    @abstractmethod
    def _sums_atoms(self, codes: csr_array) -> bool:
        """Whether to decode as sums of atoms."""

    @abstractmethod
    def _decode_by_transforms(self, codes: csr_array, out: Floats | None = None) -> Floats:
        """Decode valid sparse codes by the inverse transforms."""

    @abstractmethod
    def _decode_dense(self, codes: Floats, out: Floats | None = None) -> Floats:
        """Decode valid dense codes."""

    def _encode_block(
        self, rule: SelectionRule, has_missing: bool, name: str, block: Numbers
    ) -> csr_array:
        """Codes of valid signals; NaN is a missing entry if `has_missing`."""
        if has_missing and np.isnan(block).any():
            return encode_observed(self, block, rule, name)
        try:
            return encode_signals(self._plan, block, rule, name)
        except ContainsNaN as error:
            raise hint_at_missing(error) from None

    @property
    def _has_matrix(self) -> bool:
        """Whether `matrix` has been computed already."""
        return "matrix" in vars(self)

    @lazy_property
    def _atoms_by_dtype(self) -> dict[DType, Floats]:
        return {}

    def _atoms(self, dtype: DType) -> Floats:
        """The atoms as contiguous rows of the given type, kept for the next call."""
        if dtype not in self._atoms_by_dtype:
            self._atoms_by_dtype[dtype] = aligned_atoms(self.matrix.T, dtype)
        return self._atoms_by_dtype[dtype]

    def _repr_html_(self) -> str:
        """The representation in notebooks."""
        from fost.transforms.html import coder_html

        return coder_html(self)

    def _described(self) -> dict[str, object]:
        """The short arguments, which `repr` shows between n_features and flops."""
        plain = (int, float, str, tuple)
        return {k: v for k, v in self.arguments().items() if isinstance(v, plain)}

    def __repr__(self) -> str:
        items = {"n_features": self.n_features, **self._described(), "flops": self.flops}
        return f"{type(self).__name__}({', '.join(f'{k}={v}' for k, v in items.items())})"


def check_transforms(parts: Iterable[C], name: str) -> tuple[C, ...]:
    """At least one transform, all of the same size; banks and unions are refused."""
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
