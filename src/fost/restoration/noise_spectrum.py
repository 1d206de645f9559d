r"""Spectra of stationary noise, estimated from the quietest patches of an array.

1. DCT coefficients of patches, at most `_MAX_PATCHES` of them.
2. The quietest tenth of the patches, by energy relative to the spectrum; their mean energies are
   the next spectrum (`_quietest_spectrum`).
3. Noise is homogeneous: the energies of quiet patches have a chi-squared distribution. The content
   of an array is not (`SpectrumEstimate.is_homogeneous`).
4. White noise has equal variances at middle and high frequencies (`SpectrumEstimate.is_white`).

Coloured noise multiplies thresholds of coefficients by their standard deviations. In the group
filter, the covariance of a block replaces the identity matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d, median_filter
from scipy.stats import chi2

from fost._threads import single_threaded_blas
from fost._typing import Numbers
from fost.restoration.arrays import pad_to
from fost.restoration.patch_grid import PatchGrid
from fost.restoration.patches import patch_blocks
from fost.transforms import DCT, Coder

# Patches by number of axes, and the fraction of patches with the least energy.
PATCH_SHAPES = {1: (32,), 2: (8, 8), 3: (4, 8, 8)}
QUIET_FRACTION = 0.1
_MAX_PATCHES = 4096
_MIN_PATCHES = 256
_N_ITERATIONS = 5
# The following limits were set on camera, astronaut and coins of scikit-image with noise of many
# kinds. The energy of the quietest 2 % of the patches, relative to that of homogeneous noise, is
# 0.84 to 0.97 for coloured noise, and below 0.7 for most images without noise.
_QUIETEST_FRACTION, _HOMOGENEOUS = 0.02, 0.8
# Ratio of the standard deviations at middle and high frequencies: at most 1.26 for white noise, at
# least 2.5 for noise that a Gaussian of 0.6 pixels has blurred.
_WHITE_RATIO = 1.6
_JPEG_RATIO = 1.3
# Coloured noise with a larger share of the variance of an array could be a regular texture.
_MAX_SHARE = 0.5
# Variances and eigenvalues below these fractions of the largest one are raised to it.
_VARIANCE_FLOOR, _EIGENVALUE_FLOOR = 1e-4, 1e-3
_TINY = float(np.finfo(np.float32).tiny)
# Larger patches are processed as under white noise: their covariance would be too large.
_MAX_PATCH_SIZE = 1024
# Points of the power spectral density along each axis, per frequency of a patch.
_POINTS_PER_FREQUENCY = 8
# High frequencies in most grids of blocks, relative to the grid of JPEG compression: 5 or more with
# noise of 15 and qualities of up to 75, less than 1.2 in images without compression.
_JPEG_SIDE, _JPEG_CONTRAST = 8, 2.0
# Blocks of each grid along each axis: at most and at least.
_JPEG_BLOCKS, _MIN_JPEG_BLOCKS = 16, 6
# Frequencies that quantisation keeps, relative to the sampling rate, and the noise before
# compression relative to that of these frequencies.
_JPEG_BAND, _JPEG_FACTOR = (0.15, 0.46), 0.9
# Stripes: all lines of samples along an axis have offsets. In this fraction of lines, the signs of
# the offsets agree in all but one of the segments.
_STRIPED_LINES, _N_SEGMENTS = 0.6, 8
# Offsets are relative to their Gaussian mean over this many lines, the content of the array.
_STRIPE_SCALE, _TREND_LINES = 10.0, 9


@dataclass(frozen=True)
class NoiseSpectrum:
    """The power spectral density of coloured noise of variance 1.

    `variances` are those of the DCT coefficients of a patch, on average 1.
    """

    variances: NDArray[np.float64]

    def deviations(self, patch_shape: tuple[int, ...], coder: Coder) -> Numbers | None:
        """The standard deviations of all coefficients of patches without their means."""
        if prod(patch_shape) > _MAX_PATCH_SIZE:
            return None
        with single_threaded_blas:
            covariance = self.covariance(patch_shape)
            covariance = covariance - covariance.mean(axis=0)
            covariance = covariance - covariance.mean(axis=1, keepdims=True)
            atoms = np.asarray(coder.matrix, np.float64)
            variances = np.einsum("ij,ij->j", covariance @ atoms, atoms)
        return np.asarray(np.sqrt(np.maximum(variances, _VARIANCE_FLOOR * variances.max())))

    def inverse_covariance(self, block_shape: tuple[int, ...]) -> Numbers:
        """The inverse of the regularised covariance of a block."""
        with single_threaded_blas:
            values, vectors = np.linalg.eigh(self.covariance(block_shape))
            values = np.maximum(values, _EIGENVALUE_FLOOR * values[-1])
            return np.asarray((vectors / values) @ vectors.T)

    def covariance(self, block_shape: tuple[int, ...]) -> NDArray[np.float64]:
        """The covariance of the samples of a block.

        The density is interpolated between the frequencies of a patch. Its cosine transform is
        the covariance of two samples, by their distance along each axis.
        """
        lags = self.variances
        for axis, (extent, length) in enumerate(
            zip(self.variances.shape, block_shape, strict=True)
        ):
            n_points = _POINTS_PER_FREQUENCY * max(extent, length)
            places = (np.arange(n_points) + 0.5) / n_points
            hats = np.array(
                [np.interp(places * extent, np.arange(extent), row) for row in np.eye(extent)]
            )
            cosines = np.cos(np.pi * np.outer(np.arange(length), places)) / n_points
            with single_threaded_blas:
                lags = np.moveaxis(np.tensordot(cosines @ hats.T, lags, (1, axis)), 0, axis)
        lags = lags / lags.flat[0]
        places = np.indices(block_shape).reshape(len(block_shape), -1)
        return np.asarray(lags[tuple(np.abs(each[:, None] - each) for each in places)])


@dataclass(frozen=True)
class SpectrumEstimate:
    """The variances of noise at the DCT frequencies of a patch, and how far to trust them."""

    variances: NDArray[np.float64]  # 0 for the mean of a patch
    homogeneity: float  # 1 for homogeneous noise, less for the content of an array
    share: float  # of the variance of the array

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise."""
        return float(np.sqrt(self._complete.mean()))

    @property
    def middle(self) -> float:
        """The standard deviation at middle frequencies."""
        return float(np.sqrt(self.variances[_bands(self.variances.shape)[0]].mean()))

    @property
    def high(self) -> float:
        """The standard deviation at high frequencies along all axes."""
        return float(np.sqrt(self.variances[_bands(self.variances.shape)[1]].mean()))

    @property
    def is_white(self) -> bool:
        return self.high <= _WHITE_RATIO * self.middle <= _WHITE_RATIO**2 * self.high

    @property
    def may_be_compressed(self) -> bool:
        """Whether high frequencies are weaker than middle ones, as under JPEG compression."""
        return self.middle > _JPEG_RATIO * self.high

    @property
    def is_homogeneous(self) -> bool:
        return self.homogeneity >= _HOMOGENEOUS and self.share <= _MAX_SHARE

    @property
    def normalized(self) -> NoiseSpectrum:
        """The spectrum of such noise of variance 1."""
        return NoiseSpectrum(self._complete / self._complete.mean())

    @property
    def _complete(self) -> NDArray[np.float64]:
        """The variances with that of the mean, which is the mean of its neighbours."""
        ndim = self.variances.ndim
        variances = self.variances.copy()
        near = [tuple(int(k == axis) for k in range(ndim)) for axis in range(ndim)]
        variances[(0,) * ndim] = np.mean([variances[place] for place in near])
        return variances


def estimate_spectrum(planes: Sequence[Numbers], clipped: Sequence[float]) -> SpectrumEstimate:
    """The noise spectrum of planes of one array; patches with clipped samples are excluded.

    Too few patches give a homogeneity of 0.
    """
    shape = PATCH_SHAPES[planes[0].ndim]
    limit = max(1, _MAX_PATCHES // len(planes))
    found = np.concatenate([_energies(plane, shape, limit, clipped) for plane in planes])
    variance = float(np.mean([np.var(plane) for plane in planes]))
    if len(found) < _MIN_PATCHES or variance == 0:
        return SpectrumEstimate(np.zeros(shape), 0.0, 1.0)
    variances, homogeneity = _quietest_spectrum(found[:, 1:])
    share = float(variances.sum() / (prod(shape) - 1) / variance)
    return SpectrumEstimate(np.append(0.0, variances).reshape(shape), homogeneity, share)


def jpeg_sigma(planes: Sequence[Numbers], clipped: Sequence[float]) -> float | None:
    """The noise of images before JPEG compression, or None without signs of that.

    The quantisation removes noise at high frequencies, so lower frequencies provide the estimate.
    """
    if not all(_is_jpeg(plane) for plane in planes):
        return None
    shape = PATCH_SHAPES[2]
    limit = max(1, _MAX_PATCHES // len(planes))
    found = np.concatenate([_energies(plane, shape, limit, clipped) for plane in planes])
    if len(found) < _MIN_PATCHES:
        return None
    low = (_radii(shape) > _JPEG_BAND[0]) & (_radii(shape) < _JPEG_BAND[1])
    variances, homogeneity = _quietest_spectrum(found[:, low.ravel()])
    if homogeneity < _HOMOGENEOUS:
        return None
    return _JPEG_FACTOR * float(np.sqrt(variances.mean()))


def _is_jpeg(plane: Numbers) -> bool:
    """Whether the blocks of one of 64 grids have much smaller high frequencies than most others.

    Quantisation sets most of these coefficients to zero, in blocks that are aligned with its grid.
    """
    counts = [min(_JPEG_BLOCKS, n // _JPEG_SIDE - 1) for n in plane.shape]
    if plane.ndim != 2 or min(counts) < _MIN_JPEG_BLOCKS:
        return False
    windows = sliding_window_view(plane, (_JPEG_SIDE, _JPEG_SIDE))
    steps = [
        _JPEG_SIDE * np.linspace(0, n // _JPEG_SIDE - 2, count).astype(int)
        for n, count in zip(plane.shape, counts, strict=True)
    ]
    transform, high = DCT((_JPEG_SIDE, _JPEG_SIDE)), _bands((_JPEG_SIDE, _JPEG_SIDE))[1].ravel()
    medians = []
    for offsets in product(range(_JPEG_SIDE), repeat=2):
        rows, columns = (step + k for step, k in zip(steps, offsets, strict=True))
        blocks = windows[np.ix_(rows, columns)].reshape(-1, _JPEG_SIDE**2)
        medians.append(float(np.median(np.abs(transform.forward(blocks)[:, high]))))
    return _JPEG_CONTRAST * min(medians) < float(np.median(medians))


def is_striped(plane: Numbers, axis: int) -> bool:
    """Whether the lines of an image along the other axis have offsets of their own."""
    rows = np.moveaxis(plane, axis, 0)
    if plane.ndim != 2 or rows.shape[1] < 8 * _N_SEGMENTS or len(rows) < 2 * _TREND_LINES:
        return False
    # A few samples of each segment suffice.
    length = rows.shape[1] // _N_SEGMENTS
    columns = np.arange(_N_SEGMENTS)[:, None] * length + np.linspace(0, length - 1, 8).astype(int)
    jumps = np.median(np.diff(rows[:, columns], axis=0), axis=2).T
    jumps = jumps - median_filter(np.median(jumps, axis=0), _TREND_LINES, mode="nearest")
    agreeing = np.maximum((jumps > 0).sum(axis=0), (jumps < 0).sum(axis=0))
    return bool(np.mean(agreeing >= _N_SEGMENTS - 1) > _STRIPED_LINES)


def remove_stripes(plane: Numbers, axis: int) -> Numbers:
    """An image without the offsets of its lines.

    The median of the differences of two neighbouring lines is the difference of their offsets.
    Sums of these medians also contain the content of the image, which is smooth.
    """
    rows = np.moveaxis(plane, axis, 0)
    jumps = np.median(np.diff(rows, axis=0), axis=1)
    offsets = np.append(0.0, np.cumsum(jumps))
    offsets -= gaussian_filter1d(offsets, _STRIPE_SCALE, mode="nearest")
    return np.moveaxis(rows - offsets[:, None].astype(plane.dtype), 0, axis)


def _energies(
    plane: Numbers, shape: tuple[int, ...], limit: int, clipped: Sequence[float]
) -> NDArray[np.float64]:
    """Squared DCT coefficients of unclipped patches that are spread over a plane."""
    padded = pad_to(plane, shape)
    stride = [max(1, k // 2) for k in shape]
    # Strides grow, the shortest first relative to the patch, until there are few enough patches.
    while prod(-(-n // k) for n, k in zip(padded.shape, stride, strict=True)) > limit:
        stride[int(np.argmin([k / n for k, n in zip(stride, shape, strict=True)]))] += 1
    grid = PatchGrid(padded.shape, shape, tuple(stride))
    transform, found = DCT(shape), []
    for _, rows in patch_blocks(padded[None], grid):
        kept = rows[~np.isin(rows, clipped).any(axis=1)] if len(clipped) else rows
        centred = kept - kept.mean(axis=1, keepdims=True)
        found.append(np.square(transform.forward(centred), dtype=np.float64))
    return np.concatenate(found)


def _quietest_spectrum(energies: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """The mean energies of the quietest patches, and their homogeneity.

    Means are divided by those of the smallest tenth of chi-squared variables, for which the
    density of x times x is that of two more degrees of freedom.
    """
    n = energies.shape[1]
    bias = chi2.cdf(chi2.ppf(QUIET_FRACTION, n), n + 2) / QUIET_FRACTION
    # 0.2 is far enough from the zeros of an image without noise.
    variances = np.quantile(energies, 0.2, axis=0) / chi2.ppf(0.2, 1)
    totals = np.zeros(len(energies))
    for _ in range(_N_ITERATIONS):
        floor = max(_VARIANCE_FLOOR * float(variances.max()), _TINY)
        totals = (energies / np.maximum(variances, floor)).sum(axis=1)
        quiet = totals <= np.quantile(totals, QUIET_FRACTION)
        variances = energies[quiet].mean(axis=0) / bias
    fractions = (_QUIETEST_FRACTION, QUIET_FRACTION)
    quietest, quiet_total = np.quantile(totals, fractions) / chi2.ppf(fractions, n)
    return variances, float(quietest / quiet_total) if quiet_total > 0 else 0.0


@lru_cache
def _bands(shape: tuple[int, ...]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Middle frequencies, and high frequencies along all axes."""
    high = np.asarray((_frequencies(shape) >= 0.5).all(axis=0))
    return (_radii(shape) > 0.28) & (_radii(shape) < 0.63) & ~high, high


def _frequencies(shape: tuple[int, ...]) -> NDArray[np.float64]:
    """The frequencies of DCT coefficients along each axis, up to 1."""
    return np.asarray(np.indices(shape) / np.reshape(shape, (-1,) + (1,) * len(shape)))


def _radii(shape: tuple[int, ...]) -> NDArray[np.float64]:
    return np.asarray(np.sqrt(np.square(_frequencies(shape)).sum(axis=0)))
