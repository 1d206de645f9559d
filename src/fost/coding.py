"""Passes over signals in Python's terms: arrays and sparse matrices around the kernels.

Everything here works on a `_core.Coder`, the compiled form of a transform (`_core.Plan`) or of a
bank (`_core.Bank`); a plan without stages is the identity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import scipy.linalg.cython_blas
import scipy.linalg.cython_lapack
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fost import _core
from fost._threads import single_threaded_blas
from fost._typing import DType, Floats, Numbers
from fost._validation import check_integer, float_type, not_finite

_blas = scipy.linalg.cython_blas.__pyx_capi__
_core.set_gemm(_blas["sgemm"], _blas["dgemm"])
_core.set_stemr(scipy.linalg.cython_lapack.__pyx_capi__["dstemr"])

# Where blocks begin along each axis of a volume.
Places: TypeAlias = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]

_INT32_MAX = np.iinfo(np.int32).max
_AS_BEFORE = nullcontext()


def apply(plan: _core.Plan, Y: Numbers, inverse: bool, name: str) -> Floats:
    """forward(Y) or inverse(Y) of stored signals, along the last of any number of axes."""
    rows = Y if Y.ndim == 2 else Y.reshape(-1, Y.shape[-1])
    out = np.empty(rows.shape, float_type(Y.dtype))
    with blas_threads(plan):
        finite = plan.apply(rows, out, inverse)
    if not finite:
        raise not_finite(Y, name)
    return out.reshape(Y.shape)


def encode(plan: _core.Coder, Y: Numbers, n_nonzero_coefs: int, name: str = "Y") -> csr_array:
    """T_s(forward(Y)) of stored signals; of a bank, in the member that suits each best."""
    s = check_integer(n_nonzero_coefs, "n_nonzero_coefs", 1, Y.shape[1], "n_features")
    shape, dtype = (len(Y), plan.n_atoms), float_type(Y.dtype)
    with blas_threads(plan):
        codes = collect(lambda *out: plan.encode(Y, s, *out), shape, s, dtype)
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
    plan: _core.Coder, Y: Floats, s: int, max_error: float, threshold: float, name: str = "Y"
) -> csr_array:
    """Codes of validated signals by a rule, see `fost.selection`; what is negative is not asked."""
    with blas_threads(plan):
        found = plan.encode_within(Y, s, max_error, threshold)
    if found is None:
        raise not_finite(Y, name)
    values, indices, indptr = found
    index_type = np.int32 if len(values) <= _INT32_MAX else np.int64
    codes = indices.astype(index_type, copy=False), indptr.astype(index_type, copy=False)
    return _sorted_csr(values, *codes, (len(Y), plan.n_atoms))


def shrink(
    plan: _core.Coder,
    array: Floats,
    pilot: Floats | None,
    shape: tuple[int, ...],
    starts: Sequence[NDArray[np.int32]],
    level: float,
    sharpness: float,
    out: tuple[Floats, Floats] | None = None,
) -> tuple[Floats, Floats]:
    """The blocks of an array, shrunk, as sums and weights; see `fost.restoration.shrinkage`.

    The core knows volumes only: an array of fewer axes is one whose first are one sample long.
    Where there is `out`, they are added to that.
    """
    sums, weights = out or (np.zeros_like(array), np.zeros_like(array))
    as_volume, sides, places = _volume_of(array.ndim, shape, starts)
    around = None if pilot is None else as_volume(pilot)
    overlay = as_volume(sums), as_volume(weights)
    with blas_threads(plan):
        plan.shrink(as_volume(array), around, *sides, *places, level, sharpness, *overlay)
    return sums, weights


def shrink_on(
    plan: _core.Coder,
    estimate: Floats,
    velocity: Floats,
    missing: NDArray[np.bool_],
    shape: tuple[int, ...],
    starts: Sequence[NDArray[np.int32]],
    level: float,
    sharpness: float,
    relaxation: float,
    momentum: float,
    overlay: tuple[Floats, Floats],
) -> None:
    """An estimate goes on towards its blocks, shrunk, as `_core.advance` does towards their means.

    Where rows of blocks lie side by side that is one pass. The overlay, for others, is empty before
    and after.
    """
    as_volume, sides, places = _volume_of(estimate.ndim, shape, starts)
    motion = as_volume(estimate), as_volume(velocity), as_volume(missing)
    numbers = level, sharpness, relaxation, momentum
    sums, weights = overlay
    with blas_threads(plan):
        plan.shrink_on(*motion, *sides, *places, *numbers, as_volume(sums), as_volume(weights))


def _volume_of(
    ndim: int, shape: tuple[int, ...], starts: Sequence[NDArray[np.int32]]
) -> tuple[Callable[[NDArray[Any]], NDArray[Any]], tuple[int, int, int], Places]:
    """What makes volumes of arrays; sides of blocks, and where these begin along each axis."""
    flat = (1,) * (3 - ndim)
    depth, height, width = flat + shape
    fronts, tops, lefts = [np.zeros(1, np.int32)] * len(flat) + list(starts)

    def as_volume(samples: NDArray[Any]) -> NDArray[Any]:
        return samples.reshape(flat + samples.shape)

    return as_volume, (depth, height, width), (fronts, tops, lefts)


def _sorted_csr(
    values: Numbers, indices: Numbers, indptr: Numbers, shape: tuple[int, int]
) -> csr_array:
    """A csr_array of these arrays, which need none of the checks that SciPy makes of others."""
    codes = csr_array.__new__(csr_array)
    vars(codes).update(_without_entries(shape))
    codes.data, codes.indices, codes.indptr = values, indices, indptr
    return codes


@lru_cache(maxsize=256)
def _without_entries(shape: tuple[int, int]) -> dict[str, object]:
    """What a csr_array of this shape knows besides its three arrays."""
    codes = csr_array(shape)
    codes.has_sorted_indices = True
    codes.has_canonical_format = True
    return {key: value for key, value in vars(codes).items() if not isinstance(value, np.ndarray)}


def blas_threads(plan: _core.Coder | _core.Union) -> AbstractContextManager[None]:
    return single_threaded_blas if plan.uses_blas else _AS_BEFORE
