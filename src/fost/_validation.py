"""Checks at the public edge. Each names the argument, what it was and what it must be."""

from __future__ import annotations

import operator
import os
from collections.abc import Sequence
from functools import cache
from math import inf, isfinite
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from fost._typing import DType, Floats, Numbers

_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


def check_array(array: object, name: str) -> Numbers:
    """Whatever NumPy makes an array of, not copied; never what lies under a mask."""
    if scipy.sparse.issparse(array):
        raise TypeError(f"{name} must be a dense array, got a sparse {type(array).__name__}")
    if has_masked(array):
        raise ValueError(f"{name} has masked entries, which fost cannot leave out")
    try:
        return np.asarray(array)
    except (MemoryError, OSError):  # the system's faults, not those of an argument
        raise
    except Exception as error:  # ragged lists, and whatever objects raise that are no arrays
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{name} must be an array of numbers: {error}") from error


def truths(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """A mask whose bytes are 0 and 1, which kernels count on; a view of others may have any."""
    ones: NDArray[np.bool_] = mask.view(np.uint8) != 0
    return ones


def has_masked(array: object) -> bool:
    """Whether entries are masked, in a masked array or in a list of them."""
    parts = array if isinstance(array, list | tuple) else (array,)
    return any(isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part) for part in parts)


def check_real(array: object, name: str) -> Floats:
    """`array` as an aligned native array of float32 or float64, copied only where it must be.

    What float32 holds exactly becomes float32: booleans, integers of 8 and 16 bits, float16. All
    other real numbers become float64.
    """
    given = _check_numbers(array, name)
    dtype = float_type(given.dtype)
    return _ready(given if given.dtype == dtype else _converted(given, dtype, name))


def check_stored_real(array: object, name: str) -> Numbers:
    """The same, but what becomes float32 stays what it is: the kernels read it where it lies."""
    given = _check_numbers(array, name)
    dtype = float_type(given.dtype)
    plain = given.dtype.isnative and (given.dtype == dtype or dtype == np.float32)
    return _ready(given if plain else _converted(given, dtype, name))


@cache
def float_type(dtype: DType) -> DType:
    """The type in which numbers of a type are computed with: float32 where that is exact."""
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
        raise ValueError(f"{name} is too large: float64 does not hold it")
    return checked


def _ready(array: Numbers) -> Numbers:
    """Aligned; the kernels take any strides, but in whole elements (fields of records are not)."""
    if array.flags.aligned and not any(step % array.itemsize for step in array.strides):
        return array
    return array.copy()


def check_parameters(
    array: ArrayLike, name: str, shape: tuple[int | None, ...]
) -> NDArray[np.float64]:
    """`array` as a read-only C-contiguous float64 copy of the given shape (None is any)."""
    checked = np.array(check_real(array, name), dtype=np.float64, order="C")
    check_shape(checked, name, shape)
    if not np.isfinite(checked).all():
        raise ValueError(f"{name} contains NaN or infinity")
    checked.flags.writeable = False
    return checked


def check_shape(array: Numbers, name: str, shape: tuple[int | None, ...]) -> None:
    fits = array.ndim == len(shape) and all(
        want in (None, have) for want, have in zip(shape, array.shape, strict=True)
    )
    if not fits:
        wanted = "(" + ", ".join("any" if k is None else str(k) for k in shape) + ")"
        raise ValueError(f"{name} must have shape {wanted}, got {array.shape}")


def check_vectors(array: ArrayLike, name: str, n_features: int, owner: str) -> Numbers:
    """Signals along the last of any number of axes, as `check_stored` has them."""
    checked = check_stored_real(array, name)
    if checked.ndim == 0:
        raise ValueError(f"{name} must have shape (..., n_features), got a single number")
    _check_features(checked, name, n_features, owner)
    return checked


def check_signals(array: ArrayLike, name: str, n_features: int, owner: str) -> Floats:
    """Signals in rows, as float32 or float64; `owner` says what they are meant for."""
    return _check_rows(check_real(array, name), name, n_features, owner)


def check_stored(array: object, name: str, n_features: int, owner: str) -> Numbers:
    """The same, but what becomes float32 stays what it is, for kernels that convert it."""
    return _check_rows(check_stored_real(array, name), name, n_features, owner)


def _check_rows(checked: Numbers, name: str, n_features: int, owner: str) -> Numbers:
    if checked.ndim != 2:
        raise not_in_rows(checked.shape, name)
    _check_features(checked, name, n_features, owner)
    return checked


def not_in_rows(shape: tuple[int, ...], name: str) -> ValueError:
    """The error for an array of other than two axes, and what makes it one of two."""
    hint = f"; write {name}[None, :] for a single signal" if len(shape) == 1 else ""
    if len(shape) > 2 and all(shape):
        hint = f"; write {name}.reshape({shape[0]}, -1) if each of its {shape[0]} parts is a signal"
    return ValueError(f"{name} must have shape (n_signals, n_features), got {shape}{hint}")


def _check_features(array: Numbers, name: str, n_features: int, owner: str) -> None:
    if array.shape[-1] != n_features:
        raise ValueError(
            f"{name} has {array.shape[-1]} features, but {owner} was built for {n_features}"
        )


def check_integer(value: Any, name: str, low: int, high: int, high_name: str = "") -> int:
    """An integer in [low, high], of Python or NumPy; `high_name` says where the limit is from.

    Floats are refused even where they are whole, and so are booleans: an argument that slipped
    into the place of another is noticed.
    """
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        integer = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {value!r}") from None
    if not low <= integer <= high:
        limit = f"{high_name}={high}" if high_name else str(high)
        raise ValueError(f"{name} must be between {low} and {limit}, got {integer}")
    return integer


def check_sizes(value: Any, name: str, counts: Sequence[int] = ()) -> tuple[int, ...]:
    """Positive integers, one per axis: a tuple, a list or an array of them, or a single one.

    `counts` says how many there may be, where that is limited.
    """
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = tuple(value)
    sizes = tuple(value) if isinstance(value, tuple | list | range) else (value,)
    if not sizes or (counts and len(sizes) not in counts):
        wanted = " or ".join(map(str, counts)) + " axes" if counts else "at least one axis"
        raise ValueError(f"{name} must have {wanted}, got {value!r}")
    return tuple(check_integer(size, name, 1, 2**31 - 1) for size in sizes)


def check_pair(value: Any, name: str) -> tuple[int, int]:
    """A pair of positive integers; a single one is for both."""
    height, width = check_each(value, name, 2)
    return height, width


def check_each(value: Any, name: str, count: int) -> tuple[int, ...]:
    """So many positive integers, one per axis; a single one is for all of them."""
    several = isinstance(value, tuple | list) or (isinstance(value, np.ndarray) and value.ndim)
    if several and len(value) != count:
        many = {1: "one in brackets", 2: "a pair of integers"}.get(count, f"{count} integers")
        raise ValueError(f"{name} must be an integer or {many}, got {value!r}")
    sizes = check_sizes(value, name)
    return sizes if several else sizes * count


def check_flag(value: Any, name: str) -> bool:
    """True or False, of Python or NumPy; nothing else that could count as one of them."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def check_verbose(value: Any, name: str = "verbose") -> bool:
    """A flag, or as elsewhere an integer that says how much: fost knows silence and progress."""
    integer = isinstance(value, int | np.integer)
    return bool(value) if integer and value >= 0 else check_flag(value, name)


def check_choice(value: Any, name: str, choices: Sequence[str]) -> str:
    """One of several names."""
    known = ", ".join(repr(choice) for choice in choices)
    if not isinstance(value, str):
        raise TypeError(f"{name} must be one of {known}, got {value!r}")
    if value not in choices:
        raise ValueError(f"{name} must be one of {known}, got {value!r}")
    return str(value)


def check_callable(value: Any, name: str) -> None:
    """Something to call, or None."""
    if value is not None and not callable(value):
        raise TypeError(f"{name} must be callable or None, got {value!r}")


def check_path(value: Any, name: str) -> None:
    """A path, as a string or an object that is one."""
    if not isinstance(value, str | os.PathLike):
        raise TypeError(f"{name} must be a path, got {value!r}")
    if "\0" in os.fsdecode(value):
        raise ValueError(f"{name} must be a path, which has no null characters, got {value!r}")


def check_number(
    value: Any, name: str, low: float = -inf, high: float = inf, *, above: float | None = None
) -> float:
    """A finite real number in [low, high], of Python or NumPy, and greater than `above` if given.

    Strings, booleans and complex numbers are refused, and so is NaN.
    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number, got {value!r}")
    try:
        number = float(value)
    except OverflowError:  # integers and fractions beyond all floats
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


class ContainsNaN(ValueError):
    """Signals contain NaN. What can leave that out says how, by `hint_at_missing`."""


def not_finite(array: Numbers, name: str) -> ValueError:
    """The error for input of which a kernel reported that its result is not finite."""
    if np.isfinite(array).all():
        kind = float_type(array.dtype)
        return ValueError(f"{name} is too large: its transform overflows {kind}")
    kind_of_error = ContainsNaN if np.isnan(array).any() else ValueError
    return kind_of_error(f"{name} contains NaN or infinity")


def hint_at_missing(error: ValueError) -> ValueError:
    """The same error from a function with an argument for entries that are missing."""
    if not isinstance(error, ContainsNaN):
        return error
    return ValueError(f'{error}; where NaN means that an entry is missing, say missing="nan"')
