"""Arrays that can be restored: one to three axes, and perhaps one more for channels.

Channels are taken apart first, and everything else works on one of them, whatever its axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fost._typing import Numbers
from fost._validation import check_array, check_integer, float_type


def check_samples(array: ArrayLike, name: str, channel_axis: int | None) -> Numbers:
    """An array of one to three axes beside that of channels, not copied, whatever its type."""
    samples = check_array(array, name)
    check_kind(samples, name, channel_axis)
    return samples


def check_kind(array: Any, name: str, channel_axis: int | None) -> None:
    """Whether something with a type and a shape can be restored."""
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must be real numbers, got dtype {array.dtype}")
    beside, ndim = "" if channel_axis is None else " beside channel_axis", len(array.shape)
    if not 1 <= ndim - (channel_axis is not None) <= 3:
        raise ValueError(f"{name} must have one to three axes{beside}, got shape {array.shape}")
    if channel_axis is not None:
        check_integer(channel_axis, "channel_axis", -ndim, ndim - 1)
    if 0 in array.shape:
        raise ValueError(f"{name} must have at least one sample, got shape {array.shape}")


def check_finite(samples: Numbers, name: str) -> Numbers:
    """An array without NaN and infinity."""
    if samples.dtype.kind == "f" and not np.isfinite(samples).all():
        hint = "; inpaint fills what is missing" if np.isnan(samples).any() else ""
        raise ValueError(f"{name} contains NaN or infinity{hint}")
    if samples.dtype.itemsize > 8 and np.abs(samples).max() > np.finfo(np.float64).max:
        raise ValueError(f"{name} is too large: float64 does not hold it")
    return samples


def as_float(samples: Numbers) -> Numbers:
    """The array in its `float_type`, values unchanged, copied only where it must be."""
    return samples.astype(float_type(samples.dtype), copy=False)


def channels_first(samples: Numbers, channel_axis: int | None) -> Numbers:
    """A view whose first axis is that of channels, of which there may be one only."""
    return samples[None] if channel_axis is None else np.moveaxis(samples, channel_axis, 0)


def channels_back(channels: Numbers | Sequence[Numbers], channel_axis: int | None) -> Numbers:
    """Undoes `channels_first`, contiguous."""
    if channel_axis is None:
        return np.ascontiguousarray(channels[0])
    return np.ascontiguousarray(np.moveaxis(np.asarray(channels), 0, channel_axis))


def padded(plane: Numbers, shape: tuple[int, ...]) -> Numbers:
    """At least as large as a patch, by repeating the last samples; contiguous, perhaps a copy."""
    missing = [max(0, want - have) for want, have in zip(shape, plane.shape, strict=True)]
    if any(missing):
        plane = np.pad(plane, [(0, k) for k in missing], mode="edge")
    return np.ascontiguousarray(plane)


def cropped(plane: Numbers, shape: tuple[int, ...]) -> Numbers:
    """Undoes `padded`."""
    return plane[tuple(slice(k) for k in shape)]
