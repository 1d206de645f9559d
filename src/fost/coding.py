"""Passes over signals in Python's terms: arrays and sparse matrices around the kernels.

Everything here works on a `_core.Coder`, the compiled form of a transform (`_core.Plan`) or of a
bank (`_core.Bank`); a plan without stages is the identity.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from typing import Any

import numpy as np
import scipy.linalg.cython_blas
import scipy.linalg.cython_lapack
from numpy.typing import NDArray
from scipy.sparse import bsr_array, coo_array, csc_array, csr_array, issparse

from fost import _core
from fost._threads import single_threaded_blas
from fost._typing import DType, Floats, Numbers
from fost._validation import check_integer, check_real, not_finite

_blas = scipy.linalg.cython_blas.__pyx_capi__
_core.set_gemm(_blas["sgemm"], _blas["dgemm"])
_core.set_stemr(scipy.linalg.cython_lapack.__pyx_capi__["dstemr"])

_INT32_MAX = np.iinfo(np.int32).max

Places = tuple[Numbers, Numbers, Numbers]


def apply(plan: _core.Plan, Y: Floats, inverse: bool, name: str) -> Floats:
    """forward(Y) or inverse(Y) of validated signals, along the last of any number of axes."""
    rows = Y if Y.ndim == 2 else Y.reshape(-1, Y.shape[-1])
    out = np.empty(rows.shape, Y.dtype)
    with _blas_threads(plan):
        finite = plan.apply(rows, out, inverse)
    if not finite:
        raise not_finite(Y, name)
    return out.reshape(Y.shape)


def encode(plan: _core.Coder, Y: Floats, n_nonzero_coefs: int, name: str = "Y") -> csr_array:
    """T_s(forward(Y)) of validated signals; of a bank, in the member that suits each best."""
    s = check_integer(n_nonzero_coefs, "n_nonzero_coefs", 1, Y.shape[1], "n_features")
    with _blas_threads(plan):
        codes = collect(lambda *out: plan.encode(Y, s, *out), (len(Y), plan.n_atoms), s, Y.dtype)
    if codes is None:
        raise not_finite(Y, name)
    return codes


def collect(
    fill: Callable[[Floats, NDArray[np.int32], Numbers], int],
    shape: tuple[int, int],
    s: int,
    dtype: DType,
) -> csr_array | None:
    """Codes of at most s entries per row as `fill(values, indices, indptr)` writes them.

    None where it reports, by a negative number of entries, that they are not finite.
    """
    room = shape[0] * s
    index_type = np.int32 if room <= _INT32_MAX else np.int64
    values = np.empty(room, dtype)
    indices = np.empty(room, np.int32)
    indptr = np.empty(shape[0] + 1, index_type)
    n_entries = fill(values, indices, indptr)
    if n_entries < 0:
        return None
    if n_entries < room:  # do not keep the memory of entries that are not there
        values.resize(n_entries, refcheck=False)
        indices.resize(n_entries, refcheck=False)
    return _sorted_csr(values, indices.astype(index_type, copy=False), indptr, shape)


def encode_within(
    plan: _core.Coder, Y: Floats, s: int, tol: float, threshold: float, name: str = "Y"
) -> csr_array:
    """Codes of validated signals by a rule, see `fost.selection`; what is negative is not asked."""
    with _blas_threads(plan):
        found = plan.encode_within(Y, s, tol, threshold)
    if found is None:
        raise not_finite(Y, name)
    values, indices, indptr = found
    index_type = np.int32 if len(values) <= _INT32_MAX else np.int64
    codes = indices.astype(index_type, copy=False), indptr.astype(index_type, copy=False)
    return _sorted_csr(values, *codes, (len(Y), plan.n_atoms))


def statistic(
    plan: _core.Coder, Y: Floats, n_nonzero_coefs: int, name: str = "Y"
) -> tuple[NDArray[np.float64], float]:
    """M = X Y^T and ||X||_F^2 of validated signals, X = T_s(U^T Y) never stored.

    Row i of M belongs to entry i of the codes. The sums are in float64, and the number of
    threads does not change them by a bit.
    """
    matrix = np.empty((plan.n_atoms, Y.shape[1]))
    with _blas_threads(plan):
        energy = plan.accumulate(Y, n_nonzero_coefs, matrix)
    if not (np.isfinite(energy) and np.isfinite(matrix).all()):
        raise not_finite(Y, name)
    return matrix, energy


def shrink(
    plan: _core.Coder,
    image: Floats,
    pilot: Floats | None,
    shape: tuple[int, int],
    tops: NDArray[np.int32],
    lefts: NDArray[np.int32],
    level: float,
    sharpness: float,
) -> tuple[Floats, Floats]:
    """The patches of a picture, shrunk, as sums and weights; see `fost.images.shrinkage`."""
    sums, weights = np.zeros_like(image), np.zeros_like(image)
    with _blas_threads(plan):
        plan.shrink(image, pilot, *shape, tops, lefts, level, sharpness, sums, weights)
    return sums, weights


def decode_by_stages(plan: _core.Plan, codes: csr_array, n_features: int) -> Floats:
    """inverse(codes) of validated codes, running the transform backwards."""
    out = np.empty((codes.shape[0], n_features), codes.dtype)
    with _blas_threads(plan):
        plan.decode(*_packed(codes), out)
    return _checked(out, codes)


def decode_by_atoms(atoms: Floats, codes: csr_array, largest: float = 1.0) -> Floats:
    """codes @ atoms of validated codes, as sums of the rows of `atoms`.

    `largest` is a bound of the atoms' entries.
    """
    out = np.empty((codes.shape[0], atoms.shape[1]), codes.dtype)
    _core.sum_atoms(atoms, *_packed(codes), out)
    return _checked(out, codes, largest)


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


def _checked(decoded: Floats, codes: csr_array, largest: float = 1.0) -> Floats:
    """The signals, unless they overflowed.

    No entry exceeds the sum of its code's magnitudes times the largest entry of an atom.
    """
    bound = float(np.abs(codes.data).max(initial=0.0)) * codes.shape[1] * largest
    if bound > float(np.finfo(decoded.dtype).max) / 4 and not np.isfinite(decoded).all():
        raise ValueError(f"codes are too large: decoding them overflows {decoded.dtype}")
    return decoded


def _packed(codes: csr_array) -> tuple[Numbers, NDArray[np.int32], NDArray[np.int64]]:
    return (
        np.ascontiguousarray(codes.data),
        np.ascontiguousarray(codes.indices, dtype=np.int32),
        np.ascontiguousarray(codes.indptr, dtype=np.int64),
    )


def _sorted_csr(
    values: Numbers, indices: Numbers, indptr: Numbers, shape: tuple[int, int]
) -> csr_array:
    codes = csr_array((values, indices, indptr), shape=shape)
    codes.has_sorted_indices = True
    codes.has_canonical_format = True
    return codes


def _blas_threads(plan: _core.Coder) -> AbstractContextManager[None]:
    return single_threaded_blas if plan.uses_blas else nullcontext()
