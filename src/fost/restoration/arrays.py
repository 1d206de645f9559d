"""Arrays to restore: validation, channels, numeric range and colour transform.

An array has one to three spatial axes and at most one channel axis. Channels are separated first,
so that all algorithms work on one channel at a time. Arrays are processed as floats in [0, 1].
Types that float32 represents exactly (booleans, integers of 8 and 16 bits, float16) become float32,
all others float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from fost._threads import single_threaded_blas
from fost._typing import DType, Numbers, SlicedArray
from fost._validation import check_array, check_integer, check_number, float_type

# Peak values of 8- and 16-bit samples, which are often stored in wider integers.
_COMMON_PEAKS = (255, 65535)
# Smallest noise level in [0, 1] that float32 still resolves with about a hundred steps.
_SMALLEST_FLOAT32_NOISE = 1e-5
# Rows (1, 1, 1), (1, 0, -1), (1, -2, 1), normalised: the DCT of length 3.
_LUMA_CHROMA = np.array([[1.0, 1.0, 1.0], [1.0, 0.0, -1.0], [1.0, -2.0, 1.0]])
_LUMA_CHROMA /= np.linalg.norm(_LUMA_CHROMA, axis=1, keepdims=True)


def check_samples(x: ArrayLike, name: str, channel_axis: int | None) -> Numbers:
    """`x` as an array that can be restored, without a copy and in its own type."""
    samples = check_array(x, name)
    check_axes(samples, name, channel_axis)
    return samples


def check_axes(x: SlicedArray, name: str, channel_axis: int | None) -> None:
    """Raise an error unless `x` holds real numbers and has one to three spatial axes."""
    if x.dtype.kind not in "biuf":
        raise TypeError(f"{name} must be real numbers, got dtype {x.dtype}")
    beside, ndim = "" if channel_axis is None else " beside channel_axis", len(x.shape)
    if not 1 <= ndim - (channel_axis is not None) <= 3:
        hint = "; pass channel_axis if one of them has channels"
        raise ValueError(
            f"{name} must have one to three axes{beside}, got shape {x.shape}"
            f"{hint if ndim == 4 and channel_axis is None else ''}"
        )
    if channel_axis is not None:
        check_integer(channel_axis, "channel_axis", -ndim, ndim - 1)
    if 0 in x.shape:
        raise ValueError(f"{name} must have at least one sample, got shape {x.shape}")


def check_finite(samples: Numbers, name: str) -> Numbers:
    """Return `samples`, or raise a ValueError if they contain NaN or infinity."""
    if samples.dtype.kind == "f" and not np.isfinite(samples).all():
        hint = "; inpaint fills in missing samples" if np.isnan(samples).any() else ""
        raise ValueError(f"{name} contains NaN or infinity{hint}")
    if samples.dtype.itemsize > 8 and np.abs(samples).max() > np.finfo(np.float64).max:
        raise ValueError(f"{name} is too large: float64 cannot represent its values")
    return samples


def as_float(samples: Numbers) -> Numbers:
    """The array in its floating-point working type, copied only where the type changes."""
    return samples.astype(float_type(samples.dtype), copy=False)


def spatial_shape(shape: tuple[int, ...], channel_axis: int | None) -> tuple[int, ...]:
    """The shape of one channel."""
    if channel_axis is None:
        return shape
    place = channel_axis % len(shape)
    return shape[:place] + shape[place + 1 :]


def split_channels(samples: Numbers, channel_axis: int | None) -> Numbers:
    """A view with the channel axis first; an array without channels is a single channel."""
    return samples[None] if channel_axis is None else np.moveaxis(samples, channel_axis, 0)


def join_channels(channels: Numbers | Sequence[Numbers], channel_axis: int | None) -> Numbers:
    """The contiguous array whose channels these are: the inverse of `split_channels`."""
    if channel_axis is None:
        return np.ascontiguousarray(channels[0])
    return np.ascontiguousarray(np.moveaxis(np.asarray(channels), 0, channel_axis))


@single_threaded_blas
def luma_chroma(channels: Numbers, inverse: bool = False) -> Numbers:
    """Red, green and blue along the first axis as luma and two chroma channels, or the inverse.

    The transform is orthonormal, so white noise keeps its standard deviation.
    """
    array = as_float(channels)
    matrix = _LUMA_CHROMA.T if inverse else _LUMA_CHROMA
    return np.asarray(np.tensordot(matrix.astype(array.dtype), array, axes=1))


def decorrelate(channels: Numbers) -> Numbers:
    """Three channels as luma and chroma; any other number of channels unchanged."""
    return luma_chroma(channels) if len(channels) == 3 else channels


def recorrelate(channels: Sequence[Numbers]) -> Numbers | Sequence[Numbers]:
    """The inverse of `decorrelate`."""
    return luma_chroma(np.stack(channels), inverse=True) if len(channels) == 3 else channels


def pad_to(plane: Numbers, shape: tuple[int, ...]) -> Numbers:
    """A contiguous array of at least this shape, extended by its border values."""
    extra = [max(0, want - have) for want, have in zip(shape, plane.shape, strict=True)]
    if any(extra):
        plane = np.pad(plane, [(0, k) for k in extra], mode="edge")
    return np.ascontiguousarray(plane)


def crop_to(plane: Numbers, shape: tuple[int, ...]) -> Numbers:
    """The leading part of this shape: the inverse of `pad_to`."""
    return plane[tuple(slice(k) for k in shape)]


@dataclass(frozen=True)
class ArrayFormat:
    """The type of an array and the values that are mapped to 0 and 1."""

    dtype: DType
    low: float
    high: float

    def __post_init__(self) -> None:
        try:
            dtype = np.dtype(self.dtype)
        except TypeError:
            raise TypeError(f"dtype must be a type of real numbers, got {self.dtype!r}") from None
        if dtype.kind not in "biuf":
            raise TypeError(f"dtype must be a type of real numbers, got {dtype}")
        low, high = check_number(self.low, "low"), check_number(self.high, "high")
        if not high > low:
            raise ValueError(f"high must be greater than low={low:g}, got {high:g}")
        for name, value in (("dtype", dtype), ("low", low), ("high", high)):
            object.__setattr__(self, name, value)

    @classmethod
    def from_array(cls, array: Numbers, name: str) -> Self:
        """The format of an array, which error messages call `name`.

        Integers of 8 and 16 bits have the range of their type. Wider integers, NumPy's default,
        have the range 0 to 255 or 0 to 65535 if it contains all values. The range of floats is [0,
        1] if it contains all values. Otherwise the range extends from the smallest to the largest
        value; NaN and infinity are ignored.
        """
        ends = value_range(array) if has_value_range(array.dtype) else (0.0, 0.0)
        return cls.from_range(array.dtype, *ends, name)

    @classmethod
    def from_range(cls, dtype: DType, low: float, high: float, name: str) -> Self:
        """The format of an array of this type with these extreme values: see `from_array`."""
        dtype = dtype.newbyteorder("=")
        if dtype.kind == "b":
            return cls(dtype, 0.0, 1.0)
        if not has_value_range(dtype):
            return cls(dtype, float(np.iinfo(dtype).min), float(np.iinfo(dtype).max))
        for peak in (1,) if dtype.kind == "f" else _COMMON_PEAKS:
            if low >= 0 and high <= peak:
                return cls(dtype, 0.0, float(peak))
        high = high if high > low else low + max(1.0, abs(low))
        if not high - low <= float(np.finfo(float_type(dtype)).max):
            raise ValueError(
                f"{name} is too large: its values, from {low:g} to {high:g}, span a wider range "
                f"than {float_type(dtype)} can represent"
            )
        return cls(dtype, low, high)

    @property
    def scale(self) -> float:
        """The width of the range, high - low."""
        return self.high - self.low

    def normalize(self, array: Numbers) -> Numbers:
        """The array as floats, with `low` mapped to 0 and `high` to 1."""
        array = as_float(array)
        return np.asarray((array - array.dtype.type(self.low)) / array.dtype.type(self.scale))

    def normalize_for_restoration(self, array: Numbers, noise: float = 1.0) -> Numbers:
        """As `normalize`, in float32 where that precision suffices.

        The steps of integers of more than 16 bits, and normalised noise levels that float32
        barely resolves, need float64.
        """
        unit = self.normalize(array)
        steps = self.scale if self.dtype.kind in "iu" else 0.0
        coarse = steps <= _COMMON_PEAKS[-1] and noise >= _SMALLEST_FLOAT32_NOISE
        return unit.astype(np.float32, copy=False) if coarse else unit

    def denormalize(self, unit: Numbers, name: str = "x", clip: bool = True) -> Numbers:
        """The inverse of `normalize`: values are clipped to the range and rounded for integers.

        With ``clip=False``, floats may leave the range.
        """
        unit = as_float(unit)
        if self.dtype.kind == "b":
            return np.asarray(unit >= 0.5)
        if has_value_range(self.dtype):  # these ranges may have a large offset
            unit = unit.astype(float_type(self.dtype), copy=False)
        if clip or self.dtype.kind != "f":
            unit = np.clip(unit, 0, 1)
        values = unit * unit.dtype.type(self.scale) + unit.dtype.type(self.low)
        if self.dtype.kind == "f":
            return np.asarray(values.astype(self.dtype, copy=False))
        if np.isnan(values).any():
            raise ValueError(f"{name} contains NaN, which {self.dtype} cannot represent")
        return _round(values, self.dtype)


def has_value_range(dtype: DType) -> bool:
    """Whether the range of an array follows from its values: floats and integers over 16 bits."""
    return dtype.kind == "f" or (dtype.kind in "iu" and dtype.itemsize > 2)


def value_range(array: Numbers) -> tuple[float, float]:
    """The smallest and the largest finite value; zeros if there is none."""
    if array.dtype.kind != "f":
        return float(array.min()), float(array.max())
    finite = np.isfinite(array)
    if finite.all() and array.size:
        return float(array.min()), float(array.max())
    if not finite.any():
        return 0.0, 0.0
    low = float(array.min(where=finite, initial=np.inf))
    return low, float(array.max(where=finite, initial=-np.inf))


def convert_type(values: Numbers, dtype: DType) -> Numbers:
    """Floats as another type: rounded and clipped for integers, compared with 0.5 for booleans."""
    if dtype.kind == "b":
        return np.asarray(values >= 0.5)
    return values.astype(dtype, copy=False) if dtype.kind == "f" else _round(values, dtype)


def _round(values: Numbers, dtype: DType) -> Numbers:
    """Values rounded to an integer type, whose largest 64-bit values are not exact floats."""
    info = np.iinfo(dtype)
    rounded = np.maximum(np.rint(values), float(info.min))
    above = rounded >= float(info.max)
    out = np.where(above, 0, rounded).astype(dtype)
    out[above] = info.max
    return np.asarray(out)
