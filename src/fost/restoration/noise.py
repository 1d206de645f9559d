"""Noise models: estimation of the noise of an array, Poisson noise, and impulse noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal, overload
from warnings import warn

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter
from scipy.stats import binom, chi2, poisson

from fost._cache import lazy_property
from fost._typing import Mask, Numbers
from fost._validation import check_flag
from fost._warnings import external_stacklevel
from fost.restoration.arrays import as_float, check_finite, pad_to, split_channels
from fost.restoration.noise_spectrum import (
    PATCH_SHAPES,
    QUIET_FRACTION,
    NoiseSpectrum,
    estimate_spectrum,
    is_striped,
    jpeg_sigma,
    remove_stripes,
)
from fost.restoration.patch_grid import PatchGrid
from fost.restoration.patches import patch_blocks
from fost.restoration.tiling import MAX_SAMPLES, open_reader
from fost.streams.arrays import is_dask
from fost.transforms import DCT

# The white estimate uses the upper half of the DCT frequencies along each axis, in patches that
# overlap by half, and the fraction of patches with the least energy there.
# Noise was clipped if more than this fraction of samples has the minimal or the maximal value.
# Patches with clipped samples are excluded, unless fewer than `_MIN_PATCHES` would remain.
_CLIPPED_FRACTION = 0.005
_MIN_PATCHES = 64
# A warning is due if the middle frequencies of quiet patches have this many times the noise level,
# and more than this fraction of the largest magnitude.
_DOUBTFUL_RATIO, _DOUBTFUL_NOISE = 2.0, 0.02


@overload
def estimate_sigma(
    x: object, *, channel_axis: int | None = None, spectrum: Literal[False] = False
) -> float: ...
@overload
def estimate_sigma(
    x: object, *, channel_axis: int | None = None, spectrum: Literal[True]
) -> NDArray[np.float64]: ...
def estimate_sigma(
    x: object, *, channel_axis: int | None = None, spectrum: bool = False
) -> float | NDArray[np.float64]:
    r"""Estimate the standard deviation of the noise in a signal, an image or a volume.

    The quietest patches of most arrays contain little but noise at high frequencies. The estimate
    is :math:`\sqrt{q / F^{-1}(0.1)}`, where q is the 0.1-quantile over patches of the
    high-frequency energy. This is the energy in the upper half of the DCT frequencies along each
    axis. F is the chi-squared distribution with as many degrees of freedom. Fine texture in all
    parts of the array counts as noise.

    Images and volumes with coloured noise have another spectrum in their quietest patches. If the
    noise is homogeneous, the estimate is the root mean square of this spectrum. JPEG compression
    removes noise at high frequencies, so the middle frequencies provide the estimate. Stripes are
    offsets of all rows or columns, and are removed first. Axes that are shorter than a patch are
    not transformed.

    Parameters
    ----------
    x : array-like with one to three spatial axes and at most one channel axis
        A memory map, an array of Zarr or HDF5, a path to a ``.npy`` or ``.zarr`` file, or a Dask
        array is also accepted. For more than 16 million samples, the estimate uses random regions.
    channel_axis : int, optional
        The channel axis. If None, there are no channels.
    spectrum : bool
        Whether to return the standard deviation of each DCT coefficient of a patch.

    Returns
    -------
    float or ndarray
        One value for all channels, in the units of `x`. With ``spectrum=True``, an array of the
        shape of a patch: 32 samples, 8 x 8 pixels or 4 x 8 x 8 voxels. Its root mean square is the
        noise level. The noise of the mean of a patch is that of its neighbours.

    Warns
    -----
    UserWarning
        If the middle frequencies have far more energy than the high ones, but are not homogeneous
        noise. Then the estimate, from high frequencies, may be far too low.

    Examples
    --------
    >>> import fost, numpy as np
    >>> noise = 5 * np.random.default_rng(0).standard_normal(20_000)
    >>> bool(abs(fost.restoration.estimate_sigma(noise) - 5) < 0.2)
    True
    >>> fost.restoration.estimate_sigma(noise.reshape(100, 200), spectrum=True).shape
    (8, 8)
    """
    spectrum = check_flag(spectrum, "spectrum")
    if is_dask(x):
        from fost.restoration.dask_arrays import read_dask_parts

        parts = read_dask_parts(x, channel_axis)
    else:
        reader = open_reader(x, "x", channel_axis)
        parts = [check_finite(reader.read(part), "x") for part in reader.regions(MAX_SAMPLES)]
    found = estimate_noise(parts, channel_axis)
    return found.deviations if spectrum else found.sigma


@dataclass(frozen=True)
class NoiseEstimate:
    """The level and the kind of the noise of an array."""

    sigma: float
    ndim: int
    spectrum: NoiseSpectrum | None = None  # None for white noise
    stripes: int | None = None  # the axis along which offsets of lines change

    @property
    def deviations(self) -> NDArray[np.float64]:
        """The standard deviation of each DCT coefficient of a patch."""
        if self.spectrum is None:
            return np.full(PATCH_SHAPES[self.ndim], self.sigma)
        return self.sigma * np.sqrt(self.spectrum.variances)


def estimate_noise(parts: Sequence[Numbers], channel_axis: int | None) -> NoiseEstimate:
    """The noise of an array, estimated from parts of it that are finite."""
    floats = [as_float(part) for part in parts]
    # Scaling by a power of two is exact, and avoids overflow and underflow of squares.
    _, exponent = np.frexp(max(np.abs(part).max() for part in floats))
    split = [split_channels(np.ldexp(part, -exponent), channel_axis) for part in floats]
    ndim = split[0].ndim - 1
    split = [_without_thin_axes(planes) for planes in split]
    stripes = _stripe_axis(split[0])
    if stripes is not None:
        split = [np.stack([remove_stripes(each, stripes) for each in planes]) for planes in split]
    clipped = [_clipping_values(planes) for planes in zip(*split, strict=True)]
    sigma, spectrum = _white_sigma(split, clipped), None
    if ndim > 1 and split[0].ndim == ndim + 1:
        planes = [plane for each in split for plane in each]
        ends = sorted({end for each in clipped for end in each})
        found = estimate_spectrum(planes, ends)
        coloured = found.is_homogeneous and not found.is_white
        suspect = found.may_be_compressed and not coloured
        before_jpeg = jpeg_sigma(planes, ends) if suspect else None
        if coloured:
            sigma, spectrum = found.sigma, found.normalized
        elif before_jpeg is not None:
            sigma = max(sigma, before_jpeg)
        elif not found.is_white and found.middle > max(_DOUBTFUL_RATIO * sigma, _DOUBTFUL_NOISE):
            warn(
                "the estimated noise level may be far too low: middle frequencies have more "
                "energy, but are not homogeneous; pass sigma if the array is noisy",
                stacklevel=external_stacklevel(),
            )
    return NoiseEstimate(float(np.ldexp(sigma, exponent)), ndim, spectrum, stripes)


def _without_thin_axes(planes: Numbers) -> Numbers:
    """Channels first; axes shorter than a patch become channels, unless all axes are short."""
    shape = PATCH_SHAPES[planes.ndim - 1]
    thin = [k + 1 for k, (n, p) in enumerate(zip(planes.shape[1:], shape, strict=True)) if n < p]
    if not thin or len(thin) == len(shape):
        return planes
    long = [k for k in range(1, planes.ndim) if k not in thin]
    # Patches of fewer axes may be longer.
    shape = tuple(planes.shape[k] for k in long)
    return _without_thin_axes(planes.transpose(0, *thin, *long).reshape(-1, *shape))


def _stripe_axis(planes: Numbers) -> int | None:
    if planes.ndim != 3:
        return None
    for axis in (0, 1):
        if all(is_striped(plane, axis) for plane in planes):
            return axis
    return None


def _white_sigma(split: Sequence[Numbers], clipped: Sequence[Sequence[float]]) -> float:
    """The level of white noise, from the high frequencies of the quietest patches."""
    found = []
    for ends, planes in zip(clipped, zip(*split, strict=True), strict=True):
        found += [_high_frequency_energies(plane, np.isin(plane, ends)) for plane in planes]
    energies, unclipped, _ = (np.concatenate(each) for each in zip(*found, strict=True))
    if unclipped.sum() >= _MIN_PATCHES:
        energies = energies[unclipped]
    shape = PATCH_SHAPES[split[0].ndim - 1]
    quietest = np.quantile(energies, QUIET_FRACTION)
    scale = chi2.ppf(QUIET_FRACTION, prod(k - k // 2 for k in shape))
    return float(np.sqrt(quietest / scale))


def _clipping_values(planes: Sequence[Numbers]) -> list[float]:
    """The extreme values at which noise was clipped, recognised by their frequency."""
    ends = (min(plane.min() for plane in planes), max(plane.max() for plane in planes))
    size = sum(plane.size for plane in planes)
    counts = [sum(np.count_nonzero(plane == end) for plane in planes) for end in ends]
    return [
        end for end, count in zip(ends, counts, strict=True) if count / size > _CLIPPED_FRACTION
    ]


def _high_frequency_energies(
    plane: Numbers, clipped: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64]]:
    """Per patch: the energy at high frequencies, whether no sample is clipped, and the mean."""
    shape = PATCH_SHAPES[plane.ndim]
    padded = [pad_to(each, shape) for each in (plane, clipped)]
    grid = PatchGrid(padded[0].shape, shape, tuple(k // 2 for k in shape))
    high = (slice(None), *(slice(k // 2, None) for k in shape))
    transform = DCT(shape)
    energies, unclipped, means = [], [], []
    blocks = (patch_blocks(each[None], grid) for each in padded)
    for (_, rows), (_, flags) in zip(*blocks, strict=True):
        means.append(rows.mean(axis=1))
        centred = rows - means[-1][:, None]
        coefficients = transform.forward(centred).reshape(-1, *shape)[high]
        energies.append(np.square(coefficients, dtype=np.float64).reshape(len(rows), -1).sum(1))
        unclipped.append(~flags.any(axis=1))
    return np.concatenate(energies), np.concatenate(unclipped), np.concatenate(means)


# The table of the unbiased inverse covers these mean counts, equidistant in their square roots.
# Beyond it, an asymptotic series is accurate enough.
_TABLE_END, _TABLE_SIZE = 400.0, 500
# Nodes of the Gauss-Hermite quadrature over the Gaussian noise.
_N_NODES = 32
# Larger counts are not resolved by float64. Gaussian noise of more than this many standard
# deviations of the largest count has 1e6 times its variance.
_MAX_COUNT, _LARGE_SIGMA = 1e12, 1e3
_TINY = float(np.finfo(np.float64).tiny)
# The estimate of the gain uses the brightest half of the patches, which have the largest counts.
_BRIGHT_FRACTION = 0.5
# How far the estimate may be from the spacing of the samples, unless their mean is below this many
# counts.
_SPACING_TOLERANCE, _SMALL_COUNT = 1.25, 20.0


def estimate_gain(parts: Sequence[Numbers], sigma: float, channel_axis: int | None) -> float:
    """The value of a single count: the ratio of variance and mean in the quietest patches.

    If all samples are multiples of one value, the gain is that value, provided that it is near the
    estimate or that counts are small.
    """
    found = []
    for part in parts:
        for plane in split_channels(as_float(part), channel_axis):
            # Zeros are common counts, and not a sign of clipping.
            ends = [end for end in _clipping_values([plane]) if end > 0]
            found.append(_high_frequency_energies(plane, np.isin(plane, ends)))
    energies, unclipped, means = (np.concatenate(each) for each in zip(*found, strict=True))
    if unclipped.sum() >= _MIN_PATCHES:
        energies, means = energies[unclipped], means[unclipped]
    bright = (means > 0) & (means >= np.quantile(means, 1 - _BRIGHT_FRACTION))
    if not bright.any():
        return 1.0
    shape = PATCH_SHAPES[parts[0].ndim - (channel_axis is not None)]
    scale = chi2.ppf(QUIET_FRACTION, prod(k - k // 2 for k in shape))
    gain = float(np.quantile((energies / scale - sigma**2)[bright] / means[bright], QUIET_FRACTION))
    if sigma == 0:
        values = np.unique(np.concatenate([np.unique(part) for part in parts]).astype(np.float64))
        spacing = float(np.diff(values).min(initial=np.inf))
        counts = values / spacing
        regular = len(values) > 1 and np.abs(counts - np.rint(counts)).max() < 1e-3
        near = 1 / _SPACING_TOLERANCE < gain / spacing < _SPACING_TOLERANCE
        mean = float(np.mean([part.mean() for part in parts]))
        if regular and (near or mean < _SMALL_COUNT * spacing):
            return spacing
    return gain


@dataclass(frozen=True)
class AnscombeTransform:
    r"""The generalised Anscombe transform of Poisson-Gaussian noise to white Gaussian noise.

    A sample is :math:`\text{gain} \cdot p + n` with Poisson counts p and Gaussian noise n of
    standard deviation `sigma`. The transform :math:`2 \sqrt{x / \text{gain} + 3/8 + v}`, where
    :math:`v = (\sigma / \text{gain})^2`, has noise of standard deviation 1, approximately.
    Denoising estimates the mean of the transform. Its algebraic inverse would be biased, so the
    exact unbiased inverse is interpolated in a table (Makitalo and Foi, 2013).
    """

    gain: float
    sigma: float

    @classmethod
    def of(
        cls,
        parts: Sequence[Numbers],
        channel_axis: int | None,
        gain: float | None,
        sigma: float,
        largest: float,
    ) -> AnscombeTransform | None:
        """The transform for parts of an array whose largest magnitude is given.

        None if the variance of the counts is negligible beside that of the Gaussian noise.
        """
        if sigma > _LARGE_SIGMA * largest:
            return None
        if gain is None:
            gain = estimate_gain(parts, sigma, channel_axis)
        gain = max(gain, largest / _MAX_COUNT, _TINY)
        if sigma / gain > _LARGE_SIGMA * np.sqrt(max(largest / gain, 1.0)):
            return None
        return cls(gain, sigma)

    @property
    def _variance(self) -> float:
        return (self.sigma / self.gain) ** 2

    def forward(self, samples: Numbers) -> NDArray[np.float64]:
        """Samples with noise of standard deviation 1, approximately."""
        counts = samples.astype(np.float64) / self.gain
        return np.asarray(2 * np.sqrt(np.maximum(counts + 0.375 + self._variance, 0)))

    def unbiased_inverse(self, stabilized: Numbers) -> NDArray[np.float64]:
        """The means of samples, given the means of their transforms."""
        values = np.asarray(stabilized, np.float64)
        counts, transformed = self._table
        inside = np.interp(values, transformed, counts)
        beyond = np.square(values) / 4 - 0.125 - self._variance
        found = np.where(values > transformed[-1], np.maximum(beyond, _TABLE_END), inside)
        return np.asarray(self.gain * found)

    @lazy_property
    def _table(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean counts, and the means of the transforms of such counts."""
        counts = np.square(np.linspace(0, np.sqrt(_TABLE_END), _TABLE_SIZE))
        numbers = np.arange(int(_TABLE_END + 12 * np.sqrt(_TABLE_END)))
        nodes, weights = np.polynomial.hermite_e.hermegauss(_N_NODES)
        noisy = self.gain * numbers[:, None] + self.sigma * nodes
        of_numbers = self.forward(noisy) @ (weights / weights.sum())
        return counts, poisson.pmf(numbers, counts[:, None]) @ of_numbers


# Windows, by number of axes, in which a sample is compared with its neighbours.
_IMPULSE_WINDOWS = {1: 7, 2: 3, 3: 3}
# A wider window with more than this share of one value is saturated, not noisy.
_WIDE_WINDOW, _SATURATED_SHARE = 7, 0.6
# An impulse has at most as many equal neighbours as this quantile of independent impulses.
_IMPULSE_QUANTILE = 0.999


def find_impulses(samples: Numbers, channel_axis: int | None) -> Mask:
    """Whether each sample is salt or pepper: the largest or smallest value, and isolated.

    Saturated regions also have these values. Their samples have more neighbours of the same value
    than independent impulses of the same density.
    """
    mask = np.zeros(samples.shape, bool)
    for plane, out in zip(
        split_channels(samples, channel_axis), split_channels(mask, channel_axis), strict=True
    ):
        if plane.min() == plane.max():
            continue
        for value in (plane.min(), plane.max()):
            equal = (plane == value).astype(np.float32)
            saturated = uniform_filter(equal, _WIDE_WINDOW, mode="nearest") > _SATURATED_SHARE
            density = float(equal[~saturated].mean()) if not saturated.all() else 1.0
            side = _IMPULSE_WINDOWS[plane.ndim]
            n_neighbours = side**plane.ndim - 1
            neighbours = uniform_filter(equal, side, mode="nearest") * (n_neighbours + 1) - equal
            most = binom.ppf(_IMPULSE_QUANTILE, n_neighbours, min(density, 1.0))
            out |= (equal > 0) & (np.rint(neighbours) <= most)
        if out.all():  # an array of two values says nothing about its impulses
            out[...] = False
    return mask
