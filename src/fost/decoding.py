"""Signals of sparse codes, which may come from anywhere.

Codes in the arrays that `encode` makes go to the kernels as they are: those look at every place and
every index before they follow it, in a fraction of the time that NumPy would take. All others are
checked here first, and so are those that a kernel refused, to say why.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse import bsr_array, coo_array, csc_array, csr_array, csr_matrix, issparse

from fost import _core
from fost._typing import Floats, Numbers
from fost._validation import check_real
from fost.coding import blas_threads

_INT32_MAX = np.iinfo(np.int32).max
_INDEX_TYPE = np.dtype(np.int32)
_VALUE_TYPES = (np.dtype(np.float32), np.dtype(np.float64))

# Bytes of atoms that stay in a cache of the second level, and signals that are worked on together
# however few there are.
_NEAR_BYTES = 2**20
_LANES = 16
_LINE_BYTES = 64

Places = tuple[Numbers, Numbers, Numbers]


class DecodingTimes(NamedTuple):
    """Nanoseconds that decoding takes on one thread, roughly, which are to be compared.

    Memory counts as much as operations: atoms come from caches, the farther the more there are.
    The constants are those that choose best over AVX2 and AVX-512, 16 to 1,024 features and 1 to
    64 entries; the worst choice takes half as long again as the other way.
    """

    n_features: int
    itemsize: int
    operations: float  # of the transform, per signal

    def by_atoms(self, n_signals: int, n_entries: int) -> float:
        signal = self.n_features * self.itemsize
        near = self.n_features * signal <= _NEAR_BYTES
        return signal * (n_signals / 24 + n_entries / (96 if near else 48))

    def by_stages(self, n_signals: int, n_entries: int) -> float:
        lanes = -(-n_signals // _LANES) * _LANES
        each = self.operations * self.itemsize / 240 + self.n_features * self.itemsize / 10
        return lanes * each + 3.0 * n_entries

    def prefer_atoms(self, n_signals: int, n_entries: int, made: bool) -> bool:
        """Whether sums of atoms are faster; where they are not `made` yet, after that."""
        prepare = 0.0 if made else self.by_stages(self.n_features, self.n_features)
        by_atoms = prepare + self.by_atoms(n_signals, n_entries)
        return by_atoms < self.by_stages(n_signals, n_entries)


def decode_by_stages(plan: _core.Plan, codes: csr_array, n_features: int) -> Floats:
    """inverse(codes) of `ready` codes, running the transform backwards."""
    out = np.empty((codes.shape[0], n_features), codes.data.dtype)
    with blas_threads(plan):
        verdict = plan.decode(*_packed(codes), out)
    return _sound(verdict, codes, out)


def decode_by_atoms(atoms: Floats, codes: csr_array) -> Floats:
    """codes @ atoms of `ready` codes, as sums of the rows of `atoms`."""
    out = np.empty((codes.shape[0], atoms.shape[1]), codes.data.dtype)
    return _sound(_core.sum_atoms(atoms, *_packed(codes), out), codes, out)


def as_atoms(rows: Floats, dtype: DTypeLike) -> Floats:
    """A contiguous copy for many sums, from a line of the cache on.

    Where the vectors of a kernel cross lines, sums of several atoms take up to twice as long.
    """
    dtype = np.dtype(dtype)
    size = rows.size * dtype.itemsize
    room = np.empty(size + _LINE_BYTES, np.uint8)
    begin = -room.__array_interface__["data"][0] % _LINE_BYTES
    atoms: Floats = room[begin : begin + size].view(dtype).reshape(rows.shape)
    atoms[...] = rows
    return atoms


def ready(codes: Any, n_atoms: int, owner: str) -> csr_array:
    """Sparse codes that the kernels can read; what is in their arrays may be anything still."""
    if type(codes) in (csr_array, csr_matrix) and _is_plain(codes, n_atoms):
        return codes
    return check_codes(codes, n_atoms, owner)


def _is_plain(codes: csr_array, n_atoms: int) -> bool:
    """Whether the arrays are of the types, lengths and layout that `encode` makes."""
    data, indices, indptr = codes.data, codes.indices, codes.indptr
    return (
        codes.shape == (len(indptr) - 1, n_atoms)
        and type(data) is type(indices) is type(indptr) is np.ndarray
        and data.dtype in _VALUE_TYPES
        and indices.dtype == indptr.dtype == _INDEX_TYPE
        and data.ndim == indices.ndim == indptr.ndim == 1
        and _is_ready(data)
        and _is_ready(indices)
        and _is_ready(indptr)
    )


def _is_ready(array: Numbers) -> bool:
    flags = array.flags
    return flags.c_contiguous and flags.aligned


def _sound(verdict: int, codes: csr_array, decoded: Floats) -> Floats:
    """The signals, unless a kernel found that codes are damaged or that signals are not finite."""
    if verdict:
        check_codes(codes, codes.shape[1], "this")  # which says what is wrong, if it sees it
        if verdict == _core.NOT_FINITE:
            raise ValueError(f"codes are too large: decoding them overflows {decoded.dtype}")
        raise ValueError("codes are damaged: they changed while they were decoded")
    return decoded


def _packed(codes: csr_array) -> Places:
    """The arrays for the kernels: indices in 32 bits, which checked ones fit into."""
    data, indices, indptr = codes.data, codes.indices, codes.indptr
    narrow = indptr.dtype == _INDEX_TYPE
    return (
        data if data.flags.c_contiguous else np.ascontiguousarray(data),
        np.ascontiguousarray(indices, _INDEX_TYPE),
        indptr if narrow and indptr.flags.c_contiguous else np.ascontiguousarray(indptr, np.int64),
    )


def check_codes(codes: Any, n_features: int, owner: str) -> csr_array:
    """Sparse codes as a csr_array of float32 or float64 whose indices can be trusted.

    Its arrays are those that were checked: neither SciPy nor the kernels, which look at nothing
    themselves, see an index that leads elsewhere, whatever the codes say about themselves.
    """
    if not issparse(codes) or codes.ndim != 2:
        raise TypeError(f"codes must be a two-dimensional sparse array, got {type(codes).__name__}")
    shape = (operator.index(codes.shape[0]), operator.index(codes.shape[1]))
    if shape[1] != n_features:
        raise ValueError(f"codes have {shape[1]} columns, but {owner} was built for {n_features}")
    if shape[1] > _INT32_MAX:  # the kernels' indices have 32 bits
        raise ValueError(f"codes have {shape[1]} columns, fost decodes at most {_INT32_MAX}")
    try:
        checked = _as_csr(codes, shape)
    except (ValueError, TypeError, AttributeError, LookupError, OverflowError) as error:
        raise ValueError(f"codes are damaged: {error}") from None
    data = check_real(checked.data, "codes")
    if not np.isfinite(data).all():
        raise ValueError("codes contain NaN or infinity")
    if data is not checked.data:
        checked = csr_array((data, checked.indices, checked.indptr), shape=shape)
    return checked


def _as_csr(codes: Any, shape: tuple[int, int]) -> csr_array:
    """Raises where indices are out of range, before SciPy's own code trusts them."""
    if codes.format in ("csr", "csc"):
        rows_first = codes.format == "csr"
        kind = csr_array if rows_first else csc_array
        parts = _compressed(codes, shape if rows_first else shape[::-1])
        return csr_array(kind(parts, shape=shape))
    if codes.format == "bsr":
        blocks = np.asarray(codes.data)
        if blocks.ndim != 3 or 0 in blocks.shape[1:]:
            raise ValueError(f"their data have the shape {blocks.shape}")
        if shape[0] % blocks.shape[1] or shape[1] % blocks.shape[2]:
            raise ValueError(f"blocks of {blocks.shape[1:]} do not fit a shape of {shape}")
        grid = (shape[0] // blocks.shape[1], shape[1] // blocks.shape[2])
        return csr_array(bsr_array(_compressed(codes, grid), shape=shape))
    data, rows, columns = _PLACES[codes.format](codes, shape)
    places = _in_range(rows, shape[0], len(data)), _in_range(columns, shape[1], len(data))
    return csr_array(coo_array((data, places), shape=shape))


def _compressed(codes: Any, sizes: tuple[int, int]) -> tuple[Numbers, Numbers, Numbers]:
    """Data, indices and indptr of `sizes[0]` rows (or columns, or rows of blocks)."""
    data, indptr = np.asarray(codes.data), np.asarray(codes.indptr)
    indptr = _in_range(indptr, len(data) + 1, sizes[0] + 1)
    if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        raise ValueError("their indptr does not rise from 0")
    # What lies behind the last entry belongs to no row.
    n_entries = int(indptr[-1])
    return data[:n_entries], _in_range(codes.indices[:n_entries], sizes[1], n_entries), indptr


def _of_coordinates(codes: Any, shape: tuple[int, int]) -> Places:
    return np.asarray(codes.data), codes.row, codes.col


def _of_keys(codes: Any, shape: tuple[int, int]) -> Places:
    keys, values = list(codes.keys()), list(codes.values())
    places = np.array(keys or np.empty((0, 2), np.intp))
    return np.array(values, dtype=codes.dtype), places[:, 0], places[:, 1]


def _of_diagonals(codes: Any, shape: tuple[int, int]) -> Places:
    data, offsets = np.asarray(codes.data), np.asarray(codes.offsets)
    if data.ndim != 2 or offsets.shape != (len(data),) or offsets.dtype.kind not in "iu":
        raise ValueError(f"{len(data)} diagonals have offsets of shape {offsets.shape}")
    there = (offsets > -shape[0]) & (offsets < shape[1])
    data, offsets = data[there, : shape[1]], offsets[there].astype(np.intp)
    columns = np.broadcast_to(np.arange(data.shape[1]), data.shape)
    rows = columns - offsets[:, None]
    inside = (rows >= 0) & (rows < shape[0])
    return data[inside], rows[inside], columns[inside]


def _of_lists(codes: Any, shape: tuple[int, int]) -> Places:
    columns, values = list(codes.rows), list(codes.data)
    lengths = [len(row) for row in columns]
    if len(lengths) != shape[0] or lengths != [len(row) for row in values]:
        raise ValueError("their lists are not of equal lengths")
    rows = np.repeat(np.arange(shape[0]), lengths)
    flat = np.array(list(chain.from_iterable(columns)) or np.empty(0, np.intp))
    return np.array(list(chain.from_iterable(values)), dtype=codes.dtype), rows, flat


# Entries, rows and columns of the formats that SciPy's compiled code would read unseen.
_PLACES: dict[str, Callable[[Any, tuple[int, int]], Places]] = {
    "coo": _of_coordinates,
    "dok": _of_keys,
    "dia": _of_diagonals,
    "lil": _of_lists,
}


def _in_range(indices: Any, size: int, count: int) -> Numbers:
    """`count` integers from 0 to size - 1."""
    array = np.asarray(indices)
    if array.dtype.kind not in "iu" or array.shape != (count,):
        raise ValueError(f"{count} indices are expected, got {array.dtype} of shape {array.shape}")
    if count and not 0 <= array.min() <= array.max() < size:
        raise ValueError(f"an index is outside of 0 to {size - 1}")
    return array
