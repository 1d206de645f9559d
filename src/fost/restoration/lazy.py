"""Dask arrays restored chunk by chunk, each with what lies around it; nothing is computed before
it is asked for."""

from __future__ import annotations

from copy import deepcopy
from math import prod
from typing import Any

import dask
import dask.array as da
import numpy as np

from fost._random import RandomState, as_generator
from fost._threads import at_most
from fost._typing import DType, Numbers
from fost._validation import truths
from fost.restoration.arrays import check_finite, check_kind
from fost.restoration.cleaning import Cleaner, Cleaning
from fost.restoration.formats import ArrayFormat, extremes, ranges_by_values
from fost.restoration.gaps import Mask, Survey, check_mask, check_observed, observed
from fost.restoration.inpainting import LEARNED_FROM
from fost.restoration.noise import level_of
from fost.restoration.sources import Source, without_channels
from fost.restoration.tiles import MOST, samples_of, with_channels
from fost.restoration.ways import Fillers, Way
from fost.streams.dask import explained_errors, threads_per_task


def denoised_lazily(
    array: Any, sigma: float | None, *options: Any, random_state: RandomState
) -> Any:
    """A lazy array without noise; `options` are those of `Cleaning.checked`."""
    channel_axis = options[2]
    check_chunks(array, "array", channel_axis)
    way = Cleaning.checked(array.ndim - (channel_axis is not None), sigma, *options)
    ends = _ends(array, way.counts is not None)
    parts = samples_in(array, channel_axis, MOST)
    cleaner = dask.delayed(_learned, pure=False)(
        way, parts, array.dtype, ends, as_generator(random_state)
    )
    return over_chunks(_cleaned, (array,), cleaner, way.overlap, channel_axis)


def filled_lazily(
    array: Any, missing: Any, channel_axis: int | None, *options: Any, random_state: RandomState
) -> Any:
    """A lazy array without gaps; `options` are those of `Way.checked`."""
    check_chunks(array, "array", channel_axis)
    way = Way.checked(array.ndim - (channel_axis is not None), *options)
    if missing is None:
        raise ValueError('missing must be given for a Dask array: an array of bool, or "nan"')
    if channel_axis is not None:
        array = array.rechunk({channel_axis: -1})
    source = Source(array, "array", channel_axis)
    nan = isinstance(missing, str) and missing == "nan"
    mask = da.isnan(array) if nan else da.asarray(missing)
    if check_mask(mask.dtype, mask.shape, source) is None and channel_axis is not None:
        mask = da.expand_dims(mask, channel_axis)
    mask = da.broadcast_to(mask.map_blocks(truths, dtype=bool), array.shape).rechunk(array.chunks)
    chunks = zip(array.to_delayed().ravel(), mask.to_delayed().ravel(), strict=True)
    each = [dask.delayed(_surveyed)(*pair, channel_axis) for pair in chunks]
    samples, gaps = (samples_in(both, channel_axis, LEARNED_FROM) for both in (array, mask))
    fillers = dask.delayed(_learned_to_fill, pure=False)(
        way, samples, gaps, each, source.spatial, channel_axis, as_generator(random_state)
    )
    return over_chunks(_filled, (array, mask), fillers, way.overlap, channel_axis)


def noise_level_of(array: Any, channel_axis: int | None) -> float:
    """`noise_level` of a Dask array, at once."""
    check_chunks(array, "array", channel_axis)
    with explained_errors():
        (parts,) = dask.compute(samples_in(array, channel_axis, MOST))
    return level_of([check_finite(part, "array") for part in parts], channel_axis)


def check_chunks(array: Any, name: str, channel_axis: int | None) -> None:
    """Whether a Dask array can be restored."""
    if np.isnan(array.shape).any():
        raise ValueError(
            f"{name} is a Dask array of unknown shape; call {name}.compute_chunk_sizes() first"
        )
    check_kind(array, name, channel_axis)


def samples_in(array: Any, channel_axis: int | None, most: int) -> list[Any]:
    """Parts of an array to learn from, lazy."""
    channels = 1 if channel_axis is None else array.shape[channel_axis]
    places = samples_of(without_channels(array.shape, channel_axis), channels, most)
    return [array[with_channels(part, channel_axis)] for part in places]


def over_chunks(
    function: Any,
    arrays: tuple[Any, ...],
    learned: Any,
    overlap: tuple[int, ...],
    channel_axis: int | None,
) -> Any:
    """What a function of chunks, and of what was learned, makes of them with their overlaps.

    The result is like the first of the arrays, which are all of one shape.
    """
    first, depth = arrays[0], list(overlap)
    if channel_axis is not None:
        depth.insert(channel_axis % first.ndim, 0)
    # Where an array is not longer than what is looked at around a chunk, there is but one.
    single = {k: -1 for k, d in enumerate(depth) if d == 0 or first.shape[k] <= 2 * d}
    dtype = first.dtype.newbyteorder("=")
    return da.map_overlap(
        function,
        *(array.rechunk(single) for array in arrays),
        depth={k: 0 if k in single else d for k, d in enumerate(depth)},
        boundary="none",
        dtype=dtype,
        meta=np.empty((0,) * first.ndim, dtype),
        learned=learned,
        threads=threads_per_task(),
    )


def _ends(array: Any, needed: bool) -> Any:
    """The least and the greatest value, lazy; a ValueError then unless all are finite."""
    if not (needed or ranges_by_values(array.dtype)):
        return 0.0, 0.0
    each = [dask.delayed(_ends_of)(part) for part in array.to_delayed().ravel()]
    return dask.delayed(_least_and_greatest)(each)


def _ends_of(part: Numbers) -> tuple[float, float]:
    return extremes(check_finite(np.asarray(part), "array"))


def _least_and_greatest(ends: list[tuple[float, float]]) -> tuple[float, float]:
    lows, highs = zip(*ends, strict=True)
    return min(lows), max(highs)


def _learned(
    way: Cleaning,
    parts: list[Numbers],
    dtype: DType,
    ends: tuple[float, float],
    random: np.random.Generator,
) -> Cleaner:
    with at_most(threads_per_task()):
        # A copy: what is computed again must be the same.
        return way.learned([np.asarray(part) for part in parts], dtype, ends, deepcopy(random))


def _cleaned(part: Numbers, *, learned: Cleaner, threads: int) -> Numbers:
    with at_most(threads):
        return learned(np.asarray(part))


def _surveyed(samples: Numbers, gaps: Mask, channel_axis: int | None) -> Survey:
    check_observed(samples, gaps, "array")
    return Survey.of(samples, gaps, channel_axis)


def _learned_to_fill(
    way: Way,
    samples: list[Numbers],
    gaps: list[Mask],
    surveys: list[Survey],
    spatial: tuple[int, ...],
    channel_axis: int | None,
    random: np.random.Generator,
) -> Fillers | None:
    survey = Survey.joined(surveys, prod(spatial))
    if survey.total == 0:
        return None
    form = ArrayFormat.between(samples[0].dtype, survey.low, survey.high, "array")
    parts = [pair for pair in zip(samples, gaps, strict=True) if observed(pair[1], channel_axis)]
    if not parts:
        raise ValueError("missing leaves too little of array to learn from in its parts")
    shares = [float(count) / prod(spatial) for count in survey.missing]
    with at_most(threads_per_task()):
        return way.learned(parts, channel_axis, form, shares, deepcopy(random))


def _filled(
    samples: Numbers,
    gaps: Mask,
    *,
    learned: Fillers | None,
    threads: int,
    block_id: tuple[int, ...],
) -> Numbers:
    if learned is None or not gaps.any():
        return np.asarray(samples)
    if not observed(gaps, learned.channel_axis):
        raise ValueError("array must have larger chunks: missing is True for all samples of one")
    with at_most(threads):
        return learned(samples, gaps, without_channels(block_id, learned.channel_axis))
