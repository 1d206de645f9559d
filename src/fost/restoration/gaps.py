"""Arrays with gaps: masks, and what all ways of filling them need."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fost._typing import Numbers
from fost._validation import check_array, check_each
from fost.restoration.arrays import channels_first, check_samples
from fost.restoration.grid import Sizes

Mask = NDArray[np.bool_]


def array_and_gaps(
    array: ArrayLike,
    missing: ArrayLike | None,
    channel_axis: int | None,
) -> tuple[Numbers, Mask]:
    """The array and where it has gaps: those of a mask, of `missing`, or of both."""
    data, hidden = split_masked(array)
    samples = check_samples(data, "array", channel_axis)
    return samples, check_gaps(samples, hidden, missing, channel_axis, "array", "samples")


def split_masked(array: ArrayLike) -> tuple[ArrayLike, Mask | None]:
    """What a masked array holds and where it is masked; None of others."""
    if isinstance(array, np.ma.MaskedArray):
        return array.data, np.ma.getmaskarray(array)
    return array, None


def check_gaps(
    samples: Numbers,
    hidden: Mask | None,
    missing: ArrayLike | None,
    channel_axis: int | None,
    name: str,
    what: str,
) -> Mask:
    """A mask of the shape of the samples, which are finite elsewhere; `what` errors call them."""
    if missing is None:
        if hidden is None:
            raise ValueError(f"missing must be given for an {name} that is no masked array")
        mask = hidden
    else:
        mask = _checked_mask(missing, samples, channel_axis, name)
        mask = mask if hidden is None else mask | hidden
    observed = ~mask
    if not all(channel.any() for channel in channels_first(observed, channel_axis)):
        raise ValueError(f"missing is True for all {what}: there is nothing to go by")
    if samples.dtype.kind == "f" and not np.isfinite(samples[observed]).all():
        raise ValueError(f"{name} contains NaN or infinity where it is not missing")
    return mask


def _checked_mask(
    missing: ArrayLike, samples: Numbers, channel_axis: int | None, name: str
) -> Mask:
    """A mask of the shape of the samples, from one of that shape or without channels."""
    mask = check_array(missing, "missing")
    if mask.dtype != np.bool_:
        raise TypeError(f"missing must be boolean, got dtype {mask.dtype}")
    if mask.shape == samples.shape:
        return mask
    if channel_axis is None or mask.shape != channels_first(samples, channel_axis).shape[1:]:
        raise ValueError(
            f"missing must have the shape of {name}, {samples.shape}, got {mask.shape}"
        )
    return np.broadcast_to(np.expand_dims(mask, channel_axis), samples.shape)


def checked_steps(
    stride: Sizes | None, default: tuple[int, ...], shape: tuple[int, ...]
) -> tuple[int, ...]:
    """Steps from patch to patch that leave no sample out."""
    steps = default if stride is None else check_each(stride, "stride", len(shape))
    if not all(k <= n for k, n in zip(steps, shape, strict=True)):
        raise ValueError(f"stride must be between 1 and the patch, {shape}, got {stride!r}")
    return steps
