"""How much white noise there is in an array."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from fost._typing import Numbers
from fost.restoration.arrays import as_float, channels_first, check_finite, padded
from fost.restoration.patches import blocks
from fost.restoration.sources import Source, as_source, is_dask
from fost.restoration.tiles import MOST, samples_of
from fost.transforms import DCT

# The level is told from the upper half of the frequencies along each axis in patches of these
# shapes, which overlap by halves, and from this share of them, the quietest.
_SHAPES = {1: (32,), 2: (8, 8), 3: (4, 8, 8)}
_QUIETEST = 0.1
# Where this share of all samples has the least or the greatest value, noise was clipped there, and
# patches with such samples are left out; unless fewer than so many would remain.
_CLIPPED, _FEWEST = 0.005, 64


def noise_level(array: Any, *, channel_axis: int | None = None) -> float:
    """The standard deviation of the white noise in an array, estimated.

    What is left of a signal without noise at the highest frequencies is little in its quietest
    patches, so that the noise can be told from there: the energy of the upper half of the
    frequencies along each axis, compared with the distribution that noise gives it. Fine texture
    all over the array is taken for noise.

    Parameters
    ----------
    array : array-like of one to three axes, and one more for channels
        Also a memory map, an array of Zarr, a path to one of them, or a Dask array. Of more than
        16 million samples parts from all over the array are looked at.
    channel_axis : int, optional
        The axis of channels. If None, there is none.

    Returns
    -------
    float
        In the numbers of the array; over all channels together.

    Examples
    --------
    >>> import fost, numpy as np
    >>> noise = 5 * np.random.default_rng(0).standard_normal(20_000)
    >>> bool(abs(fost.restoration.noise_level(noise) - 5) < 0.2)
    True
    """
    if is_dask(array):
        from fost.restoration.lazy import noise_level_of

        return noise_level_of(array, channel_axis)
    return level_in(as_source(array, "array", channel_axis))


def level_in(source: Source) -> float:
    """`noise_level` of an array wherever it is; if it is a large one, of samples of it."""
    parts = samples_of(source.spatial, source.channels, MOST)
    samples = [check_finite(source.read(part), source.name) for part in parts]
    return level_of(samples, source.channel_axis)


def level_of(parts: Sequence[Numbers], channel_axis: int | None) -> float:
    """`noise_level` of parts of an array, all finite."""
    floats = [as_float(part) for part in parts]
    # Times a power of two, which is exact: squares of 1e200 overflow, those of 1e-200 vanish.
    _, exponent = np.frexp(max(np.abs(part).max() for part in floats))
    split = [channels_first(np.ldexp(part, -exponent), channel_axis) for part in floats]
    found = []
    for planes in zip(*split, strict=True):
        ends = _clipped_at(planes)
        found += [_energies(plane, np.isin(plane, ends)) for plane in planes]
    energies, whole = (np.concatenate(each) for each in zip(*found, strict=True))
    if whole.sum() >= _FEWEST:
        energies = energies[whole]
    shape = _SHAPES[split[0].ndim - 1]
    quietest = np.quantile(energies, _QUIETEST)
    scale = chi2.ppf(_QUIETEST, prod(k - k // 2 for k in shape))
    return float(np.ldexp(np.sqrt(quietest / scale), exponent))


def _clipped_at(planes: Sequence[Numbers]) -> list[float]:
    """The ends of the range at which many samples are: noise would have gone beyond them."""
    ends = (min(plane.min() for plane in planes), max(plane.max() for plane in planes))
    size = sum(plane.size for plane in planes)
    counts = [sum(np.count_nonzero(plane == end) for plane in planes) for end in ends]
    return [end for end, count in zip(ends, counts, strict=True) if count / size > _CLIPPED]


def _energies(
    plane: Numbers, clipped: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The energy of the highest frequencies of each patch, and whether none of it is clipped."""
    shape = _SHAPES[plane.ndim]
    stride = tuple(k // 2 for k in shape)
    high = (slice(None), *(slice(k // 2, None) for k in shape))
    transform = DCT(shape)
    energies, whole = [], []
    parts = (blocks(padded(each, shape), shape, stride) for each in (plane, clipped))
    for (_, rows), (_, marks) in zip(*parts, strict=True):
        centred = rows - rows.mean(axis=1, keepdims=True)
        coefficients = transform.forward(centred).reshape(-1, *shape)[high]
        energies.append(np.square(coefficients, dtype=np.float64).reshape(len(rows), -1).sum(1))
        whole.append(~marks.any(axis=1))
    return np.concatenate(energies), np.concatenate(whole)
