"""Passes of the compiled core over signals: transform, sparse codes, statistic.

All functions take a `_core.Coder`, the compiled form of a transform (`_core.Plan`) or of a bank
(`_core.Bank`). A plan without stages is the identity. Signals are validated before.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg.cython_blas
import scipy.linalg.cython_lapack
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fost import _core
from fost._threads import single_threaded_blas
from fost._typing import DType, Floats, Numbers
from fost._validation import check_integer, check_out, float_type, not_finite

if TYPE_CHECKING:
    from fost.coding.selection import SelectionRule

_blas = scipy.linalg.cython_blas.__pyx_capi__
_core.set_gemm(_blas["sgemm"], _blas["dgemm"])
_core.set_stemr(scipy.linalg.cython_lapack.__pyx_capi__["dstemr"])

_INT32_MAX = np.iinfo(np.int32).max
_NO_CHANGE = nullcontext()


def apply_plan(
    plan: _core.Plan, Y: Numbers, inverse: bool, name: str, out: Floats | None = None
) -> Floats:
    """forward(Y) or inverse(Y) along the last axis, written to `out` if that is given."""
    rows = Y if Y.ndim == 2 else Y.reshape(-1, Y.shape[-1])
    dtype = float_type(Y.dtype)
    if out is None:
        result = np.empty(rows.shape, dtype)
    else:
        result = np.asarray(check_out(out, Y.shape, dtype)).reshape(rows.shape)
        if np.may_share_memory(rows, result):  # the kernels read signals after writing others
            rows = rows.copy()
    with blas_threads(plan):
        finite = plan.apply(rows, result, inverse)
    if not finite:
        raise not_finite(rows, name)
    return result.reshape(Y.shape) if out is None else out


def encode_signals(
    plan: _core.Coder, Y: Numbers, rule: SelectionRule, name: str = "Y"
) -> csr_array:
    """Sparse codes of signals; each signal of a bank uses the best member.

    The best member has the smallest error, with `max_error` the fewest entries, and with
    `threshold` the smallest ||y - U x||^2 + threshold^2 ||x||_0.
    """
    dtype = float_type(Y.dtype)
    with blas_threads(plan):
        if rule.is_fixed:
            # Codes have room for s entries per signal, so s is checked for internal callers too.
            s = check_integer(rule.s, "n_nonzero_coefs", 1, Y.shape[1], "n_features")
            shape = (len(Y), plan.n_atoms)
            codes = collect_codes(lambda *out: plan.encode(Y, s, *out), shape, s, dtype)
        else:
            codes = _encode_variable_length(plan, Y.astype(dtype, copy=False), rule)
    if codes is None:
        raise not_finite(Y, name)
    return codes


def _encode_variable_length(plan: _core.Coder, Y: Floats, rule: SelectionRule) -> csr_array | None:
    """Codes limited by an error or a threshold; None if they are not finite."""
    max_error = -1.0 if rule.max_error is None else rule.max_error
    threshold = -1.0 if rule.threshold is None else rule.threshold
    found = plan.encode_within(Y, rule.s, max_error, threshold)
    if found is None:
        return None
    values, indices, indptr = found
    index_type = np.int32 if len(values) <= _INT32_MAX else np.int64
    places = indices.astype(index_type, copy=False), indptr.astype(index_type, copy=False)
    return unchecked_csr(values, *places, (len(Y), plan.n_atoms))


def collect_codes(
    fill: Callable[[Floats, NDArray[np.int32], Numbers], int],
    shape: tuple[int, int],
    s: int,
    dtype: DType,
) -> csr_array | None:
    """Codes with at most s entries per row that `fill(values, indices, indptr)` writes.

    `fill` returns the number of entries, or a negative number if they are not finite; then the
    result is None.
    """
    room = shape[0] * s
    index_type = np.int32 if room <= _INT32_MAX else np.int64
    values = np.empty(room, dtype)
    indices = np.empty(room, np.int32)
    indptr = np.empty(shape[0] + 1, index_type)
    n_entries = fill(values, indices, indptr)
    if n_entries < 0:
        return None
    if n_entries < room:  # release unused memory
        values.resize(n_entries, refcheck=False)
        indices.resize(n_entries, refcheck=False)
    return unchecked_csr(values, indices.astype(index_type, copy=False), indptr, shape)


def unchecked_csr(
    values: Numbers, indices: Numbers, indptr: Numbers, shape: tuple[int, int]
) -> csr_array:
    """A csr_array of valid arrays with sorted indices, built without the checks of SciPy.

    The constructor of SciPy checks shapes, types and index ranges in Python, which takes longer
    than the core takes to encode a few signals. A test compares the result with that of the
    constructor, attribute by attribute, so a new attribute in SciPy is noticed.
    """
    codes = csr_array.__new__(csr_array)
    vars(codes).update(_csr_attributes(shape))
    codes.data, codes.indices, codes.indptr = values, indices, indptr
    return codes


@lru_cache(maxsize=256)
def _csr_attributes(shape: tuple[int, int]) -> dict[str, object]:
    """The attributes of a csr_array of this shape other than its three arrays."""
    codes = csr_array(shape)
    codes.has_sorted_indices = True
    codes.has_canonical_format = True
    return {key: value for key, value in vars(codes).items() if not isinstance(value, np.ndarray)}


def blas_threads(plan: _core.Coder | _core.Union) -> AbstractContextManager[None]:
    """A context with single-threaded BLAS if the plan calls BLAS from the core's own threads."""
    return single_threaded_blas if plan.uses_blas else _NO_CHANGE
