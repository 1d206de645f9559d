"""The numbers of an array that is restored: their type, their range, and the way to [0, 1].

Computing needs floats. float32 and float64 stay what they are; what float32 holds exactly
(booleans, integers of 8 and 16 bits, float16) becomes float32, everything else float64.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from fost._typing import DType, Numbers
from fost._validation import check_number, float_type
from fost.restoration.arrays import as_float

# What wide integers hold most often: numbers of 8 or of 16 bits.
_COMMON_PEAKS = (255, 65535)

# Noise in [0, 1] down to which float32 has a hundred steps for it.
_LEAST_NOISE = 1e-5


@dataclass(frozen=True)
class ArrayFormat:
    """The type and the range of numbers: low and high become 0 and 1."""

    dtype: DType
    low: float
    high: float

    def __post_init__(self) -> None:
        try:
            dtype = np.dtype(self.dtype)
        except TypeError:
            raise TypeError(f"dtype must be a type of real numbers, got {self.dtype!r}") from None
        if dtype.kind not in "biuf":
            raise TypeError(f"dtype must be of real numbers, got {dtype}")
        low, high = check_number(self.low, "low"), check_number(self.high, "high")
        if not high > low:
            raise ValueError(f"high must be greater than low={low:g}, got {high:g}")
        for name, value in (("dtype", dtype), ("low", low), ("high", high)):
            object.__setattr__(self, name, value)

    @classmethod
    def around(cls, array: Numbers, name: str) -> Self:
        """The format of an array; `name` is what errors call it.

        The range of integers of 8 and 16 bits is that of their type. Wider ones, which are what
        NumPy makes of numbers by default, say nothing by their type: their range is 0 to 255 or
        else 0 to 65535 where all values lie inside it, and that of floats [0, 1]; all others
        reach from the least value to the greatest. NaN and infinity do not count.
        """
        ends = extremes(array) if ranges_by_values(array.dtype) else (0.0, 0.0)
        return cls.between(array.dtype, *ends, name)

    @classmethod
    def between(cls, dtype: DType, low: float, high: float, name: str) -> Self:
        """The format of an array of this type and with these extremes: see `around`."""
        dtype = dtype.newbyteorder("=")
        if dtype.kind == "b":
            return cls(dtype, 0.0, 1.0)
        if not ranges_by_values(dtype):
            return cls(dtype, float(np.iinfo(dtype).min), float(np.iinfo(dtype).max))
        for peak in (1,) if dtype.kind == "f" else _COMMON_PEAKS:
            if low >= 0 and high <= peak:
                return cls(dtype, 0.0, float(peak))
        high = high if high > low else low + max(1.0, abs(low))
        if not high - low <= float(np.finfo(float_type(dtype)).max):
            raise ValueError(
                f"{name} is too large: its values, from {low:g} to {high:g}, are farther apart "
                f"than {float_type(dtype)} can hold"
            )
        return cls(dtype, low, high)

    @property
    def scale(self) -> float:
        """high - low: what 1 is in the array's own numbers."""
        return self.high - self.low

    def unit_of(self, array: Numbers) -> Numbers:
        """The array as floats, `low` at 0 and `high` at 1."""
        array = as_float(array)
        return np.asarray((array - array.dtype.type(self.low)) / array.dtype.type(self.scale))

    def of_unit(self, unit: Numbers, name: str = "array", bounded: bool = True) -> Numbers:
        """An array in [0, 1] in this format again: clipped, and rounded for integers.

        Floats whose range comes from their values need not be `bounded` by it.
        """
        unit = as_float(unit)
        if self.dtype.kind == "b":
            return np.asarray(unit >= 0.5)
        if ranges_by_values(self.dtype):  # which may have any offset
            unit = unit.astype(float_type(self.dtype), copy=False)
        if bounded or self.dtype.kind != "f":
            unit = np.clip(unit, 0, 1)
        values = unit * unit.dtype.type(self.scale) + unit.dtype.type(self.low)
        if self.dtype.kind == "f":
            return np.asarray(values.astype(self.dtype, copy=False))
        if np.isnan(values).any():
            raise ValueError(f"{name} contains NaN, which {self.dtype} cannot hold")
        return _rounded(values, self.dtype)


def to_restore(form: ArrayFormat, array: Numbers, noise: float = 1.0) -> Numbers:
    """`form.unit_of(array)` in float32, which is finer than anything that restores.

    Only the steps of integers beyond 16 bits, and noise (in units) that float32 nearly loses, need
    more.
    """
    unit = form.unit_of(array)
    steps = form.scale if form.dtype.kind in "iu" else 0.0
    coarse = steps <= _COMMON_PEAKS[-1] and noise >= _LEAST_NOISE
    return unit.astype(np.float32, copy=False) if coarse else unit


def ranges_by_values(dtype: DType) -> bool:
    """Whether the range of arrays of a type comes from their values: floats, wide integers."""
    return dtype.kind == "f" or (dtype.kind in "iu" and dtype.itemsize > 2)


def extremes(array: Numbers) -> tuple[float, float]:
    """The least and the greatest finite value; zeros where there is none."""
    if array.dtype.kind != "f":
        return float(array.min()), float(array.max())
    finite = np.isfinite(array)
    if finite.all() and array.size:
        return float(array.min()), float(array.max())
    if not finite.any():
        return 0.0, 0.0
    low = float(array.min(where=finite, initial=np.inf))
    return low, float(array.max(where=finite, initial=-np.inf))


def _rounded(values: Numbers, dtype: DType) -> Numbers:
    """Rounded to integers of a type; the greatest of 64 bits are no floats."""
    info = np.iinfo(dtype)
    rounded = np.rint(values)
    above = rounded >= float(info.max)
    out = np.where(above, 0, rounded).astype(dtype)
    out[above] = info.max
    return np.asarray(out)
