r"""Denoising by collaborative filtering of similar blocks, from coarse to fine.

For each block of a grid, the most similar blocks of its neighbourhood form a group. A group is
modelled as a sample of one Gaussian. Its mean m and covariance C are those of the corresponding
blocks of the pilot, an estimate without noise. The Wiener filter under this Gaussian maps a block
y to

.. math:: m + C (C + \sigma^2 S)^{-1} (y - m),

where S is the covariance of coloured noise of variance 1, or the identity matrix for white noise.

Each pass uses the result of the previous one as its pilot.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import numpy as np

from fost import _core
from fost._typing import Floats
from fost.restoration.noise_spectrum import NoiseSpectrum


@dataclass(frozen=True)
class GroupFilterConfig:
    """The sides of blocks in each pass, and the search radius for similar blocks.

    `noise_factors` multiply the noise variance in each pass. Pilots lack some detail, especially
    the first ones, and a filter for less noise preserves it.
    """

    block_sides: tuple[int, ...]
    search_radius: int
    noise_factors: tuple[float, ...] = (0.6, 0.7, 0.8, 0.9, 1.0)

    @property
    def n_passes(self) -> int:
        return len(self.block_sides)


# By number of axes. The constants for images were chosen on five crops of 256 x 256 pixels;
# docs/benchmarks/images.md gives an ablation. benchmarks/denoising.py (images) and
# benchmarks/restoration.py (signals and volumes) measure the resulting quality. Large blocks find
# similar blocks in a poor pilot, small blocks then restore details. Images and volumes search
# about a thousand positions per group. Signals have fewer blocks and repeat over longer distances.
# Volumes have four passes: a fifth gains up to 0.1 dB for a sixth of the time.
GROUP_FILTERS = {
    1: GroupFilterConfig((128, 96, 64, 48, 32), 4000),
    2: GroupFilterConfig((12, 10, 8, 6, 5), 15),
    3: GroupFilterConfig((6, 4, 4, 3), 5, (0.6, 0.75, 0.9, 1.0)),
}
# Blocks in a group: smaller groups share less structure, larger groups are less similar.
_GROUP_SIZE = 32
# The shape parameter of the Kaiser window, which weights the entries of a block.
_KAISER_BETA = 2.0
# Products of blocks have a rounding error of 1e-7 of their squared range in float32 and 1e-16 in
# float64. Noise below these fractions of the range needs float64, or is lost in both.
_FLOAT64_NOISE = 1e-3
_NEGLIGIBLE_NOISE = 1e-7


def refine_by_groups(
    images: Floats,
    pilots: Floats,
    sigma: float,
    done: Callable[[], None] = lambda: None,
    spectrum: NoiseSpectrum | None = None,
) -> Floats:
    """Improve a first estimate of arrays with white or coloured noise.

    Parameters
    ----------
    images : ndarray of shape (channels, ...)
        float32 or float64, finite, with one to three axes beside the channels. Similar blocks are
        found in the first channel.
    pilots : ndarray
        The first estimate, of the same shape and type.
    sigma : float
        The standard deviation of the noise.
    done : callable
        Called after each pass.
    spectrum : NoiseSpectrum, optional
        The spectrum of coloured noise.

    Returns
    -------
    ndarray
        An array of the shape and type of the images.
    """
    dtype, span = images.dtype, float(np.ptp(pilots))
    if sigma < _NEGLIGIBLE_NOISE * span:
        return pilots
    images = np.ascontiguousarray(images, np.float64 if sigma < _FLOAT64_NOISE * span else dtype)
    shape = images.shape[1:]
    config = GROUP_FILTERS[len(shape)]
    for side, factor in zip(config.block_sides, config.noise_factors, strict=True):
        block_shape = tuple(min(side, extent) for extent in shape)
        sums, weights = filter_groups(
            images,
            np.ascontiguousarray(pilots, images.dtype),
            block_shape,
            float(np.sqrt(factor)) * sigma,
            stride=tuple(max(1, 3 * k // 4) for k in block_shape),
            search_radius=(config.search_radius,) * len(shape),
            group_size=_GROUP_SIZE,
            inverse=None if spectrum is None else spectrum.inverse_covariance(block_shape),
        )
        sums /= weights
        pilots = sums
        done()
    return pilots.astype(dtype, copy=False)


def filter_groups(
    images: Floats,
    pilots: Floats,
    block_shape: tuple[int, ...],
    sigma: float,
    *,
    stride: tuple[int, ...],
    search_radius: tuple[int, ...],
    group_size: int,
    inverse: Floats | None = None,
) -> tuple[Floats, Floats]:
    """One pass over all groups of an array, as weighted sums and weights.

    Groups are found in the first channel and used in all channels. Among equally similar blocks,
    the first in row-major order is used.

    Parameters
    ----------
    images : ndarray of shape (channels, ...)
        float32 or float64, finite, contiguous, with one to three axes beside the channels.
    pilots : ndarray
        Estimates without noise, of the same shape and type.
    block_shape : tuple of int
        The shape of a block, at most that of the array.
    sigma : float
        The standard deviation of the noise.
    stride : tuple of int
        Distance between the reference blocks of neighbouring groups along each axis.
    search_radius : tuple of int
        The largest distance of a similar block along each axis.
    group_size : int
        Blocks in a group.
    inverse : ndarray, optional
        The inverse of the covariance S of a block of coloured noise.

    Returns
    -------
    sums : ndarray of the shape of images
        The sums of the windowed blocks.
    weights : ndarray of the shape of one channel
    """
    shape = images.shape[1:]
    leading = (1,) * (3 - len(shape))
    volumes = (len(images), *leading, *shape)
    window = reduce(np.multiply.outer, [np.kaiser(k, _KAISER_BETA) for k in block_shape])
    sums, weights = np.zeros(volumes, images.dtype), np.zeros(volumes[1:], images.dtype)
    _core.filter_groups(
        images.reshape(volumes),
        pilots.reshape(volumes),
        pilots[0].reshape(volumes[1:]),
        window.reshape(*leading, *block_shape).astype(images.dtype),
        leading + stride,
        (0,) * len(leading) + search_radius,
        group_size,
        # A positive variance, since constant blocks would divide 0 by 0.
        max(sigma**2, float(np.finfo(images.dtype).tiny)),
        None if inverse is None else np.ascontiguousarray(inverse, images.dtype),
        sums,
        weights,
    )
    return sums.reshape(images.shape), weights.reshape(shape)
