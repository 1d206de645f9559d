"""Validation of arguments at the public edge.

Every error names the argument, the rule and the value. Functions inside the library trust their
arguments.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Sequence
from functools import cache
from math import inf, isfinite
from numbers import Real

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from fost._typing import DType, Floats, Numbers

RandomState = int | np.random.Generator | np.random.RandomState | None

_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
# max|U^T U - I| of an orthonormal matrix is at most this: more than rounding to float32 causes.
ORTHONORMALITY_TOLERANCE = 1e-4


# Arrays


def check_array(array: object, name: str) -> Numbers:
    """`np.asarray` with errors that name the argument; sparse and masked arrays are refused."""
    if scipy.sparse.issparse(array):
        raise TypeError(f"{name} must be a dense array, got a sparse {type(array).__name__}")
    if has_masked(array):
        raise ValueError(f"{name} has masked entries, which fost cannot leave out")
    try:
        return np.asarray(array)
    except (MemoryError, OSError):  # the argument is not at fault
        raise
    except Exception as error:  # ragged lists, and anything that an object's __array__ raises
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{name} must be an array of numbers: {error}") from error


def has_masked(array: object) -> bool:
    """Whether a masked array, or a list of masked arrays, has masked entries."""
    parts = array if isinstance(array, list | tuple) else (array,)
    return any(isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part) for part in parts)


def check_real(array: object, name: str) -> Floats:
    """`array` as an aligned native array of float32 or float64, copied only if necessary.

    Types whose values float32 represents exactly become float32: booleans, integers of 8 and 16
    bits, float16. All other real types become float64.
    """
    given = _check_numbers(array, name)
    dtype = float_type(given.dtype)
    return _aligned(given if given.dtype == dtype else _converted(given, dtype, name))


def check_stored_real(array: object, name: str) -> Numbers:
    """Like `check_real`, but small types are kept for kernels that convert them while reading."""
    given = _check_numbers(array, name)
    dtype = float_type(given.dtype)
    readable = given.dtype.isnative and (given.dtype == dtype or dtype == np.float32)
    return _aligned(given if readable else _converted(given, dtype, name))


@cache
def float_type(dtype: DType) -> DType:
    """The type of computations with numbers of a type: float32 if that represents them exactly."""
    return _DOUBLE if dtype == _DOUBLE or not np.can_cast(dtype, _SINGLE) else _SINGLE


def _check_numbers(array: object, name: str) -> Numbers:
    given = array if type(array) is np.ndarray else check_array(array, name)
    if given.dtype.kind not in "biuf":
        raise TypeError(f"{name} must be real numbers, got dtype {given.dtype}")
    return given


def _converted(given: Numbers, dtype: DType, name: str) -> Floats:
    with np.errstate(over="ignore"):
        checked: Floats = given.astype(dtype)
    if given.dtype.itemsize > 8 and not np.array_equal(np.isfinite(checked), np.isfinite(given)):
        raise ValueError(f"{name} is too large: it overflows float64")
    return checked


def _aligned(array: Numbers) -> Numbers:
    """The array, copied if it is unaligned or has strides of fractional elements (records)."""
    if array.flags.aligned and not any(step % array.itemsize for step in array.strides):
        return array
    return array.copy()


def check_parameters(
    array: ArrayLike, name: str, shape: tuple[int | None, ...]
) -> NDArray[np.float64]:
    """`array` as a read-only C-contiguous float64 copy; None in `shape` allows any length."""
    checked = np.array(check_real(array, name), dtype=np.float64, order="C")
    check_shape(checked, name, shape)
    if not np.isfinite(checked).all():
        raise ValueError(f"{name} contains NaN or infinity")
    checked.flags.writeable = False
    return checked


def check_shape(array: Numbers, name: str, shape: tuple[int | None, ...]) -> None:
    """Raise a ValueError unless the array has this shape; None allows any length."""
    fits = array.ndim == len(shape) and all(
        want in (None, have) for want, have in zip(shape, array.shape, strict=True)
    )
    if not fits:
        wanted = "(" + ", ".join("any" if k is None else str(k) for k in shape) + ")"
        raise ValueError(f"{name} must have shape {wanted}, got {array.shape}")


def check_orthonormal(
    matrix: ArrayLike, name: str, n: int | None = None
) -> tuple[NDArray[np.float64], float]:
    """A bit-exact read-only copy of an orthonormal matrix, and its `orthonormality_gap`."""
    checked = check_parameters(matrix, name, (n, n))
    if checked.shape[0] != checked.shape[1] or not checked.size:
        raise ValueError(f"{name} must be square, got shape {checked.shape}")
    gap = orthonormality_gap(checked)
    if not gap <= ORTHONORMALITY_TOLERANCE:
        raise ValueError(f"{name} must have orthonormal columns, got max|U^T U - I| = {gap:.3g}")
    return checked, gap


def orthonormality_gap(matrix: NDArray[np.float64]) -> float:
    """max|U^T U - I|."""
    with np.errstate(over="ignore", invalid="ignore"):
        gram = matrix.T @ matrix
        gram.flat[:: len(gram) + 1] -= 1
        return float(max(gram.max(), -gram.min()))


def as_bool_mask(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """A copy of a mask whose bytes are 0 or 1, as the kernels require.

    A boolean view of other memory may contain any bytes.
    """
    normalised: NDArray[np.bool_] = mask.view(np.uint8) != 0
    return normalised


def check_missing(missing: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """A mask of the given shape, True where an entry is unobserved."""
    mask = check_array(missing, "missing")
    if mask.dtype != np.bool_:
        raise TypeError(f"missing must be boolean, got dtype {mask.dtype}")
    if mask.shape != shape:
        raise ValueError(f"missing must have the shape of Y, {shape}, got {mask.shape}")
    return as_bool_mask(mask)


def check_out(out: object, shape: tuple[int, ...], dtype: DType) -> Numbers:
    """A preallocated result: writable, C-contiguous, of exactly this shape and dtype."""
    if not isinstance(out, np.ndarray) or isinstance(out, np.ma.MaskedArray):
        raise TypeError(f"out must be an ndarray, got {type(out).__name__}")
    if out.shape != shape:
        raise ValueError(f"out must have shape {shape}, got {out.shape}")
    if out.dtype != dtype or not out.dtype.isnative:
        raise TypeError(f"out must have dtype {dtype}, got {out.dtype}")
    if not out.flags.c_contiguous or not out.flags.aligned:
        raise ValueError(f"out must be C-contiguous and aligned, got strides {out.strides}")
    if not out.flags.writeable:
        raise ValueError("out must be writable, got a read-only array")
    return out


# Signals


def check_vectors(array: ArrayLike, name: str, n_features: int, owner: str) -> Numbers:
    """Signals along the last of any number of axes, as `check_stored_real` returns them.

    `owner` describes the object that the signals are for.
    """
    checked = check_stored_real(array, name)
    if checked.ndim == 0:
        raise ValueError(f"{name} must have shape (..., n_features), got a single number")
    _check_features(checked, name, n_features, owner)
    return checked


def check_signals(array: ArrayLike, name: str, n_features: int, owner: str) -> Floats:
    """Signals in rows, as float32 or float64."""
    return _check_rows(check_real(array, name), name, n_features, owner)


def check_stored(array: object, name: str, n_features: int, owner: str) -> Numbers:
    """Signals in rows, as `check_stored_real` returns them."""
    return _check_rows(check_stored_real(array, name), name, n_features, owner)


def _check_rows(checked: Numbers, name: str, n_features: int, owner: str) -> Numbers:
    if checked.ndim != 2:
        raise not_in_rows(checked.shape, name)
    _check_features(checked, name, n_features, owner)
    return checked


def not_in_rows(shape: tuple[int, ...], name: str) -> ValueError:
    """The error for signals that are not a two-dimensional array, with a remedy."""
    hint = f"; write {name}[None, :] for a single signal" if len(shape) == 1 else ""
    if len(shape) > 2 and all(shape):
        hint = f"; write {name}.reshape({shape[0]}, -1) if each of its {shape[0]} parts is a signal"
    return ValueError(f"{name} must have shape (n_signals, n_features), got {shape}{hint}")


def _check_features(array: Numbers, name: str, n_features: int, owner: str) -> None:
    if array.shape[-1] != n_features:
        raise ValueError(
            f"{name} has {array.shape[-1]} features, but {owner} was built for {n_features}"
        )


class NotFinite(ValueError):
    """Signals contain NaN or infinity."""


class ContainsNaN(NotFinite):
    """Signals contain NaN. Functions with an argument `missing` add `hint_at_missing`."""


def not_finite(array: Numbers, name: str) -> ValueError:
    """The error for signals for which a kernel reported a result that is not finite."""
    if np.isfinite(array).all():
        kind = float_type(array.dtype)
        return ValueError(f"{name} is too large: its transform overflows {kind}")
    kind_of_error = ContainsNaN if np.isnan(array).any() else NotFinite
    return kind_of_error(f"{name} contains NaN or infinity")


def hint_at_missing(error: ValueError, place: str = "") -> ValueError:
    """The error of `not_finite` with a place, for a function with an argument `missing`."""
    if not isinstance(error, ContainsNaN):
        return ValueError(f"{error}{place}") if place else error
    return ValueError(f'{error}{place}; if NaN means that an entry is missing, pass missing="nan"')


# Numbers, names and paths


def check_integer(value: object, name: str, low: int, high: int, high_name: str = "") -> int:
    """An integer of Python or NumPy in [low, high]; `high_name` names the upper limit in errors.

    Integral floats and booleans are refused too, so that swapped arguments are noticed.
    """
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        integer = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {value!r}") from None
    if not low <= integer <= high:
        limit = f"{high_name}={high}" if high_name else str(high)
        raise ValueError(f"{name} must be between {low} and {limit}, got {integer}")
    return integer


def check_sizes(value: object, name: str, counts: Sequence[int] = ()) -> tuple[int, ...]:
    """Positive integers, one per axis, from an integer or a sequence of integers.

    `counts` lists the allowed numbers of axes; any number is allowed if it is empty.
    """
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = tuple(value)
    sizes = tuple(value) if isinstance(value, tuple | list | range) else (value,)
    if not sizes or (counts and len(sizes) not in counts):
        wanted = " or ".join(map(str, counts)) + " axes" if counts else "at least one axis"
        raise ValueError(f"{name} must have {wanted}, got {value!r}")
    return tuple(check_integer(size, name, 1, 2**31 - 1) for size in sizes)


def check_each(value: object, name: str, count: int) -> tuple[int, ...]:
    """`count` positive integers, one per axis; a single integer stands for all of them."""
    is_sequence = isinstance(value, tuple | list) or (isinstance(value, np.ndarray) and value.ndim)
    if is_sequence and len(value) != count:  # type: ignore[arg-type]
        many = {1: "one in brackets", 2: "a pair of integers"}.get(count, f"{count} integers")
        raise ValueError(f"{name} must be an integer or {many}, got {value!r}")
    sizes = check_sizes(value, name)
    return sizes if is_sequence else sizes * count


def check_flag(value: object, name: str) -> bool:
    """True or False of Python or NumPy; no other truthy or falsy value."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def check_verbose(value: object, name: str = "verbose") -> bool:
    """A flag, or a verbosity level as in scikit-learn: fost shows progress for all levels > 0."""
    is_level = isinstance(value, int | np.integer) and value >= 0
    return bool(value) if is_level else check_flag(value, name)


def check_choice(value: object, name: str, choices: Sequence[str]) -> str:
    """One of several strings."""
    known = ", ".join(repr(choice) for choice in choices)
    if not isinstance(value, str):
        raise TypeError(f"{name} must be one of {known}, got {value!r}")
    if value not in choices:
        raise ValueError(f"{name} must be one of {known}, got {value!r}")
    return str(value)


def check_callable(value: object, name: str) -> None:
    """A callable or None."""
    if value is not None and not callable(value):
        raise TypeError(f"{name} must be callable or None, got {value!r}")


def check_path(value: object, name: str) -> None:
    """A string or a path object."""
    if not isinstance(value, str | os.PathLike):
        raise TypeError(f"{name} must be a path, got {value!r}")
    if "\0" in os.fsdecode(value):
        raise ValueError(f"{name} must be a path without null characters, got {value!r}")


def check_number(
    value: object, name: str, low: float = -inf, high: float = inf, *, above: float | None = None
) -> float:
    """A finite real number of Python or NumPy in [low, high], and greater than `above` if given.

    Strings, booleans, complex numbers and NaN are refused.
    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number, got {value!r}")
    try:
        number = float(value)
    except OverflowError:  # integers and fractions beyond the range of floats
        number = inf
    inside = isfinite(number) and low <= number <= high
    if not inside or (above is not None and not number > above):
        least = f"at least {low:g}" if low > -inf else ""
        if above is not None:
            least = f"greater than {above:g}"
        most = f"at most {high:g}" if high < inf else "finite"
        wanted = " and ".join(filter(None, (least, most)))
        raise ValueError(f"{name} must be {wanted}, got {value!r}")
    return number


def as_generator(random_state: RandomState) -> np.random.Generator:
    """A random state in the sense of scikit-learn as a NumPy generator."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.Generator(random_state._bit_generator)
    wanted = "random_state must be a nonnegative integer, a Generator or None"
    try:
        if isinstance(random_state, bool | np.bool_):
            raise TypeError
        return np.random.default_rng(random_state)
    except TypeError:
        raise TypeError(f"{wanted}, got {random_state!r}") from None
    except ValueError:
        raise ValueError(f"{wanted}, got {random_state!r}") from None
