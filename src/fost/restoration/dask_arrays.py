"""Restoration of Dask arrays, chunk by chunk with a margin around each chunk.

All work is lazy. Models are learned by one task and passed to the tasks of all chunks.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from math import prod

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed

from fost._threads import at_most
from fost._typing import DType, Mask, Numbers
from fost._validation import as_bool_mask
from fost.restoration.arrays import (
    ArrayFormat,
    check_axes,
    check_finite,
    has_value_range,
    spatial_shape,
    value_range,
)
from fost.restoration.denoising import DenoiseConfig, TileDenoiser
from fost.restoration.inpainting import MAX_TRAINING_SAMPLES, InpaintConfig, TileInpainter
from fost.restoration.masks import (
    MaskSummary,
    check_mask,
    check_observed,
    has_observed,
    is_nan,
)
from fost.restoration.tiling import MAX_SAMPLES, ArrayReader, insert_channels, training_regions
from fost.streams.dask import explained_errors, threads_per_task


def check_dask(
    x: da.Array, channel_axis: int | None, out: object = None, tile: object = None
) -> int:
    """Validate a Dask array to restore, and return the number of its spatial axes."""
    if out is not None or tile is not None:
        raise ValueError("out and tile must be None for a Dask array, whose chunks are tiles")
    if np.isnan(x.shape).any():
        raise ValueError("x is a Dask array of unknown shape; call x.compute_chunk_sizes() first")
    check_axes(x, "x", channel_axis)
    return len(x.shape) - (channel_axis is not None)


def denoise_dask(x: da.Array, config: DenoiseConfig, random: np.random.Generator) -> da.Array:
    """`denoise` for a Dask array."""
    ends = _value_range(x, config.poisson)
    dtype = config.result_type(x.dtype)
    parts = _training_parts(x, config.channel_axis, MAX_SAMPLES)
    denoiser = dask.delayed(_fit_denoiser, pure=False)(config, parts, dtype, ends, random)
    return _map_chunks(_denoise_chunk, (x,), denoiser, config.margin, config.channel_axis, dtype)


def inpaint_dask(
    x: da.Array,
    mask: object,
    channel_axis: int | None,
    config: InpaintConfig,
    random: np.random.Generator,
) -> da.Array:
    """`inpaint` for a Dask array."""
    if mask is None:
        raise ValueError('mask must be given for a Dask array: a boolean array, or "nan"')
    if channel_axis is not None:
        x = x.rechunk({channel_axis: -1})
    reader = ArrayReader(x, "x", channel_axis)
    flags = da.isnan(x) if is_nan(mask) else da.asarray(mask)
    if check_mask(flags.dtype, flags.shape, reader) is None and channel_axis is not None:
        flags = da.expand_dims(flags, channel_axis)
    flags = da.broadcast_to(flags.map_blocks(as_bool_mask, dtype=bool), x.shape).rechunk(x.chunks)
    chunks = zip(x.to_delayed().ravel(), flags.to_delayed().ravel(), strict=True)
    summaries = [dask.delayed(_summarize)(*pair, channel_axis) for pair in chunks]
    samples, holes = (
        _training_parts(each, channel_axis, MAX_TRAINING_SAMPLES) for each in (x, flags)
    )
    inpainter = dask.delayed(_fit_inpainter, pure=False)(
        config, samples, holes, summaries, reader.spatial_shape, channel_axis, random
    )
    return _map_chunks(_inpaint_chunk, (x, flags), inpainter, config.margin, channel_axis)


def read_dask_parts(x: da.Array, channel_axis: int | None) -> list[Numbers]:
    """The parts of a Dask array from which its noise is estimated, computed immediately."""
    check_dask(x, channel_axis)
    with explained_errors():
        (parts,) = dask.compute(_training_parts(x, channel_axis, MAX_SAMPLES))
    return [check_finite(np.asarray(part), "x") for part in parts]


def _training_parts(x: da.Array, channel_axis: int | None, max_samples: int) -> list[da.Array]:
    """Lazy parts of an array to learn from."""
    n_channels = 1 if channel_axis is None else x.shape[channel_axis]
    regions = training_regions(spatial_shape(x.shape, channel_axis), n_channels, max_samples)
    return [x[insert_channels(part, channel_axis)] for part in regions]


def _map_chunks(
    function: Callable[..., Numbers],
    arrays: tuple[da.Array, ...],
    model: Delayed,
    margin: tuple[int, ...],
    channel_axis: int | None,
    dtype: DType | None = None,
) -> da.Array:
    """Apply a function to the chunks of arrays of equal shape, with their margins.

    The result has the type of the first array, unless `dtype` is given.
    """
    first, depth = arrays[0], list(margin)
    if channel_axis is not None:
        depth.insert(channel_axis % first.ndim, 0)
    # An axis that is not longer than both margins becomes a single chunk.
    single = {k: -1 for k, d in enumerate(depth) if d == 0 or first.shape[k] <= 2 * d}
    dtype = (dtype or first.dtype).newbyteorder("=")
    return da.map_overlap(
        function,
        *(array.rechunk(single) for array in arrays),
        depth={k: 0 if k in single else d for k, d in enumerate(depth)},
        boundary="none",
        dtype=dtype,
        meta=np.empty((0,) * first.ndim, dtype),
        model=model,
        threads=threads_per_task(),
    )


def _value_range(x: da.Array, required: bool) -> tuple[float, float] | Delayed:
    """The smallest and the largest value, lazy: see `ArrayReader.value_range`."""
    if not (required or has_value_range(x.dtype)):
        return 0.0, 0.0
    ranges = [dask.delayed(_chunk_range)(chunk) for chunk in x.to_delayed().ravel()]
    return dask.delayed(_combine_ranges)(ranges)


def _chunk_range(chunk: Numbers) -> tuple[float, float]:
    return value_range(check_finite(np.asarray(chunk), "x"))


def _combine_ranges(ranges: list[tuple[float, float]]) -> tuple[float, float]:
    lows, highs = zip(*ranges, strict=True)
    return min(lows), max(highs)


def _fit_denoiser(
    config: DenoiseConfig,
    parts: list[Numbers],
    dtype: DType,
    ends: tuple[float, float],
    random: np.random.Generator,
) -> TileDenoiser:
    with at_most(threads_per_task()):
        # Dask may run a task again, which must use the same random numbers.
        return config.fit([np.asarray(part) for part in parts], dtype, ends, deepcopy(random))


def _denoise_chunk(chunk: Numbers, *, model: TileDenoiser, threads: int) -> Numbers:
    with at_most(threads):
        return model(np.asarray(chunk))


def _summarize(samples: Numbers, mask: Mask, channel_axis: int | None) -> MaskSummary:
    check_observed(samples, mask, "x")
    return MaskSummary.of(samples, mask, channel_axis)


def _fit_inpainter(
    config: InpaintConfig,
    samples: list[Numbers],
    masks: list[Mask],
    summaries: list[MaskSummary],
    shape: tuple[int, ...],
    channel_axis: int | None,
    random: np.random.Generator,
) -> TileInpainter | None:
    summary = MaskSummary.combine(summaries, prod(shape))
    if summary.total == 0:
        return None
    form = ArrayFormat.from_range(samples[0].dtype, summary.low, summary.high, "x")
    pairs = zip(samples, masks, strict=True)
    parts = [pair for pair in pairs if has_observed(pair[1], channel_axis)]
    if not parts:
        raise ValueError("mask is True for all samples of the regions that the model learns from")
    fractions = [float(count) / prod(shape) for count in summary.n_missing]
    with at_most(threads_per_task()):
        return config.fit(parts, channel_axis, form, fractions, deepcopy(random))


def _inpaint_chunk(
    chunk: Numbers,
    mask: Mask,
    *,
    model: TileInpainter | None,
    threads: int,
    block_id: tuple[int, ...],
) -> Numbers:
    if model is None or not mask.any():
        return np.asarray(chunk)
    if not has_observed(mask, model.channel_axis):
        raise ValueError("x must have larger chunks: mask is True for all samples of a chunk")
    with at_most(threads):
        return model(chunk, mask, spatial_shape(block_id, model.channel_axis))
