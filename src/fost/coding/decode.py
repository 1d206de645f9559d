"""Decoding of sparse codes, which may come from any source.

Codes in the layout that `encode` produces go to the kernels without a check in Python: the kernels
check every index before they use it. All other codes are checked here first. Codes that a kernel
refuses are checked here again, to raise an error that names the reason.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from scipy.sparse import bsr_array, coo_array, csc_array, csr_array, csr_matrix, issparse, sparray

from fost import _core
from fost._typing import Floats, Numbers
from fost._validation import check_out, check_real
from fost.coding.encode import blas_threads

_INT32_MAX = np.iinfo(np.int32).max
_INDEX_TYPE = np.dtype(np.int32)
_VALUE_TYPES = (np.dtype(np.float32), np.dtype(np.float64))

_L2_BYTES = 2**20  # atoms up to this size stay in the second-level cache
_LANES = 16  # signals per tile of a transform, however few there are
_CACHE_LINE_BYTES = 64

# Values, row indices or row pointers, and column indices of sparse codes.
SparseParts = tuple[Numbers, Numbers, Numbers]


class DecodingCost(NamedTuple):
    """Cost model of both ways to decode, in nanoseconds on one thread.

    Memory traffic counts as much as operations. The constants were fitted on AVX2 and AVX-512, for
    16 to 1,024 features and 1 to 64 entries per code. The worst choice there takes 1.5 times as
    long as the alternative.
    """

    n_features: int
    itemsize: int
    operations: float  # of the transform, per signal

    def by_atoms(self, n_signals: int, n_entries: int) -> float:
        signal = self.n_features * self.itemsize
        cached = self.n_features * signal <= _L2_BYTES
        return signal * (n_signals / 24 + n_entries / (96 if cached else 48))

    def by_stages(self, n_signals: int, n_entries: int) -> float:
        lanes = -(-n_signals // _LANES) * _LANES
        each = self.operations * self.itemsize / 240 + self.n_features * self.itemsize / 10
        return lanes * each + 3.0 * n_entries

    def prefer_atoms(self, n_signals: int, n_entries: int, has_atoms: bool) -> bool:
        """Whether sums of atoms are faster, including the time to compute the atoms if needed."""
        prepare = 0.0 if has_atoms else self.by_stages(self.n_features, self.n_features)
        by_atoms = prepare + self.by_atoms(n_signals, n_entries)
        return by_atoms < self.by_stages(n_signals, n_entries)


def decode_by_stages(
    plan: _core.Plan, codes: csr_array, n_features: int, out: Floats | None = None
) -> Floats:
    """inverse(codes) for `prepare_codes` codes, by the stages of the transform."""
    if out is None:
        out = np.empty((codes.shape[0], n_features), codes.data.dtype)
    else:
        codes = check_decode_out(codes, n_features, out)
    with blas_threads(plan):
        verdict = plan.decode(*_packed(codes), out)
    return _checked_result(verdict, codes, out)


def decode_by_atoms(atoms: Floats, codes: csr_array, out: Floats | None = None) -> Floats:
    """codes @ atoms for `prepare_codes` codes, as sums of rows of `atoms`."""
    if out is None:
        out = np.empty((codes.shape[0], atoms.shape[1]), codes.data.dtype)
    else:
        codes = check_decode_out(codes, atoms.shape[1], out)
    return _checked_result(_core.sum_atoms(atoms, *_packed(codes), out), codes, out)


def check_decode_out(codes: csr_array, n_features: int, out: Floats) -> csr_array:
    """Validate `out` for decoded signals; returns the codes, copied if they overlap `out`."""
    check_out(out, (codes.shape[0], n_features), codes.data.dtype)
    arrays = codes.data, codes.indices, codes.indptr
    return codes.copy() if any(np.may_share_memory(a, out) for a in arrays) else codes


def aligned_atoms(rows: Floats, dtype: DTypeLike) -> Floats:
    """A contiguous copy of atoms that starts at a cache line.

    Sums of several atoms take up to twice as long if vector loads cross cache lines.
    """
    dtype = np.dtype(dtype)
    size = rows.size * dtype.itemsize
    room = np.empty(size + _CACHE_LINE_BYTES, np.uint8)
    begin = -room.__array_interface__["data"][0] % _CACHE_LINE_BYTES
    atoms: Floats = room[begin : begin + size].view(dtype).reshape(rows.shape)
    atoms[...] = rows
    return atoms


def prepare_codes(codes: sparray, n_atoms: int, owner: str) -> csr_array:
    """Sparse codes in a layout that the kernels read; their indices may still be invalid."""
    if type(codes) in (csr_array, csr_matrix) and _has_kernel_layout(codes, n_atoms):
        return codes
    return check_codes(codes, n_atoms, owner)


def _has_kernel_layout(codes: csr_array, n_atoms: int) -> bool:
    """Whether the arrays have the types, lengths and layout that `encode` produces."""
    data, indices, indptr = codes.data, codes.indices, codes.indptr
    return (
        codes.shape == (len(indptr) - 1, n_atoms)
        and type(data) is type(indices) is type(indptr) is np.ndarray
        and data.dtype in _VALUE_TYPES
        and indices.dtype == indptr.dtype == _INDEX_TYPE
        and data.ndim == indices.ndim == indptr.ndim == 1
        and _is_packed(data)
        and _is_packed(indices)
        and _is_packed(indptr)
    )


def _is_packed(array: Numbers) -> bool:
    flags = array.flags
    return flags.c_contiguous and flags.aligned


def _checked_result(verdict: int, codes: csr_array, decoded: Floats) -> Floats:
    """The decoded signals; raises if a kernel found damaged codes or signals that overflow."""
    if verdict:
        check_codes(codes, codes.shape[1], "this")  # raises an error that names the damage
        if verdict == _core.NOT_FINITE:
            raise ValueError(f"codes are too large: decoding them overflows {decoded.dtype}")
        raise ValueError("codes are damaged: they changed while they were decoded")
    return decoded


def _packed(codes: csr_array) -> SparseParts:
    """The arrays for the kernels: contiguous, with column indices in 32 bits."""
    data, indices, indptr = codes.data, codes.indices, codes.indptr
    narrow = indptr.dtype == _INDEX_TYPE
    return (
        data if data.flags.c_contiguous else np.ascontiguousarray(data),
        np.ascontiguousarray(indices, _INDEX_TYPE),
        indptr if narrow and indptr.flags.c_contiguous else np.ascontiguousarray(indptr, np.int64),
    )


def check_codes(codes: sparray, n_features: int, owner: str) -> csr_array:
    """Sparse codes of any format as a csr_array of float32 or float64 with valid indices.

    The result consists of the arrays that were checked, whatever other attributes the codes have.
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


def _as_csr(codes: sparray, shape: tuple[int, int]) -> csr_array:
    """A csr_array; raises if indices are out of range, before compiled code of SciPy uses them."""
    if codes.format in ("csr", "csc"):
        rows_first = codes.format == "csr"
        kind = csr_array if rows_first else csc_array
        parts = _compressed(codes, shape if rows_first else shape[::-1])
        return csr_array(kind(parts, shape=shape))
    if codes.format == "bsr":
        blocks = np.asarray(codes.data)
        if blocks.ndim != 3 or 0 in blocks.shape[1:]:
            raise ValueError(f"their data have shape {blocks.shape}")
        if shape[0] % blocks.shape[1] or shape[1] % blocks.shape[2]:
            raise ValueError(f"blocks of shape {blocks.shape[1:]} do not divide shape {shape}")
        grid = (shape[0] // blocks.shape[1], shape[1] // blocks.shape[2])
        return csr_array(bsr_array(_compressed(codes, grid), shape=shape))
    data, rows, columns = _COORDINATES[codes.format](codes, shape)
    places = _in_range(rows, shape[0], len(data)), _in_range(columns, shape[1], len(data))
    return csr_array(coo_array((data, places), shape=shape))


def _compressed(codes: sparray, sizes: tuple[int, int]) -> SparseParts:
    """Data, indices and indptr of `sizes[0]` rows (or columns, or rows of blocks)."""
    data, indptr = np.asarray(codes.data), np.asarray(codes.indptr)
    indptr = _in_range(indptr, len(data) + 1, sizes[0] + 1)
    if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        raise ValueError("their indptr does not increase from 0")
    # Entries after indptr[-1] belong to no row.
    n_entries = int(indptr[-1])
    return data[:n_entries], _in_range(codes.indices[:n_entries], sizes[1], n_entries), indptr


def _coo_parts(codes: sparray, shape: tuple[int, int]) -> SparseParts:
    return np.asarray(codes.data), codes.row, codes.col


def _dok_parts(codes: sparray, shape: tuple[int, int]) -> SparseParts:
    keys, values = list(codes.keys()), list(codes.values())
    places = np.array(keys or np.empty((0, 2), np.intp))
    return np.array(values, dtype=codes.dtype), places[:, 0], places[:, 1]


def _dia_parts(codes: sparray, shape: tuple[int, int]) -> SparseParts:
    data, offsets = np.asarray(codes.data), np.asarray(codes.offsets)
    if data.ndim != 2 or offsets.shape != (len(data),) or offsets.dtype.kind not in "iu":
        raise ValueError(f"{len(data)} diagonals have offsets of shape {offsets.shape}")
    there = (offsets > -shape[0]) & (offsets < shape[1])
    data, offsets = data[there, : shape[1]], offsets[there].astype(np.intp)
    columns = np.broadcast_to(np.arange(data.shape[1]), data.shape)
    rows = columns - offsets[:, None]
    inside = (rows >= 0) & (rows < shape[0])
    return data[inside], rows[inside], columns[inside]


def _lil_parts(codes: sparray, shape: tuple[int, int]) -> SparseParts:
    columns, values = list(codes.rows), list(codes.data)
    lengths = [len(row) for row in columns]
    if len(lengths) != shape[0] or lengths != [len(row) for row in values]:
        raise ValueError("their lists are not of equal lengths")
    rows = np.repeat(np.arange(shape[0]), lengths)
    flat = np.array(list(chain.from_iterable(columns)) or np.empty(0, np.intp))
    return np.array(list(chain.from_iterable(values)), dtype=codes.dtype), rows, flat


# Values, rows and columns of the formats that compiled code of SciPy would read unchecked.
_COORDINATES: dict[str, Callable[[sparray, tuple[int, int]], SparseParts]] = {
    "coo": _coo_parts,
    "dok": _dok_parts,
    "dia": _dia_parts,
    "lil": _lil_parts,
}


def _in_range(indices: ArrayLike, size: int, count: int) -> Numbers:
    """`count` integers from 0 to size - 1."""
    array = np.asarray(indices)
    if array.dtype.kind not in "iu" or array.shape != (count,):
        raise ValueError(f"{count} indices are expected, got {array.dtype} of shape {array.shape}")
    if count and not 0 <= array.min() <= array.max() < size:
        raise ValueError(f"an index is outside of 0 to {size - 1}")
    return array
