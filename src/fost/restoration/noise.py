"""Noise models: estimation of the standard deviation, and stabilisation of Poisson noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2, poisson

from fost._cache import lazy_property
from fost._typing import Numbers
from fost.restoration.arrays import as_float, check_finite, pad_to, split_channels
from fost.restoration.patch_grid import PatchGrid
from fost.restoration.patches import patch_blocks
from fost.restoration.tiling import MAX_SAMPLES, open_reader
from fost.streams.arrays import is_dask
from fost.transforms import DCT

# The estimate uses the upper half of the DCT frequencies along each axis, in patches of these
# shapes that overlap by half, and the fraction of patches with the least energy there.
_PATCH_SHAPES = {1: (32,), 2: (8, 8), 3: (4, 8, 8)}
_QUIET_FRACTION = 0.1
# Noise was clipped if more than this fraction of samples has the minimal or the maximal value.
# Patches with clipped samples are excluded, unless fewer than `_MIN_PATCHES` would remain.
_CLIPPED_FRACTION = 0.005
_MIN_PATCHES = 64


def estimate_sigma(x: object, *, channel_axis: int | None = None) -> float:
    r"""Estimate the standard deviation of white noise in a signal, an image or a volume.

    The quietest patches of most arrays contain little but noise at high frequencies. The estimate
    is :math:`\sqrt{q / F^{-1}(0.1)}`, where q is the 0.1-quantile over patches of the energy in
    the upper half of the DCT frequencies along each axis, and F is the chi-squared distribution
    with as many degrees of freedom. Fine texture in all parts of the array counts as noise.

    Parameters
    ----------
    x : array-like with one to three spatial axes and at most one channel axis
        A memory map, an array of Zarr or HDF5, a path to a ``.npy`` or ``.zarr`` file, or a Dask
        array is also accepted. For more than 16 million samples, the estimate uses random regions.
    channel_axis : int, optional
        The channel axis. If None, there are no channels.

    Returns
    -------
    float
        One value for all channels, in the units of `x`.

    Examples
    --------
    >>> import fost, numpy as np
    >>> noise = 5 * np.random.default_rng(0).standard_normal(20_000)
    >>> bool(abs(fost.restoration.estimate_sigma(noise) - 5) < 0.2)
    True
    """
    if is_dask(x):
        from fost.restoration.dask_arrays import estimate_dask_sigma

        return estimate_dask_sigma(x, channel_axis)
    reader = open_reader(x, "x", channel_axis)
    parts = [check_finite(reader.read(part), "x") for part in reader.regions(MAX_SAMPLES)]
    return sigma_of_parts(parts, channel_axis)


def sigma_of_parts(parts: Sequence[Numbers], channel_axis: int | None) -> float:
    """The noise level of an array, estimated from parts of it that are finite."""
    floats = [as_float(part) for part in parts]
    # Scaling by a power of two is exact, and avoids overflow and underflow of squares.
    _, exponent = np.frexp(max(np.abs(part).max() for part in floats))
    split = [split_channels(np.ldexp(part, -exponent), channel_axis) for part in floats]
    found = []
    for planes in zip(*split, strict=True):
        ends = _clipping_values(planes)
        found += [_high_frequency_energies(plane, np.isin(plane, ends)) for plane in planes]
    energies, unclipped = (np.concatenate(each) for each in zip(*found, strict=True))
    if unclipped.sum() >= _MIN_PATCHES:
        energies = energies[unclipped]
    shape = _PATCH_SHAPES[split[0].ndim - 1]
    quietest = np.quantile(energies, _QUIET_FRACTION)
    scale = chi2.ppf(_QUIET_FRACTION, prod(k - k // 2 for k in shape))
    return float(np.ldexp(np.sqrt(quietest / scale), exponent))


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
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The energy of each patch at high frequencies, and whether no sample of it is clipped."""
    shape = _PATCH_SHAPES[plane.ndim]
    padded = [pad_to(each, shape) for each in (plane, clipped)]
    grid = PatchGrid(padded[0].shape, shape, tuple(k // 2 for k in shape))
    high = (slice(None), *(slice(k // 2, None) for k in shape))
    transform = DCT(shape)
    energies, unclipped = [], []
    blocks = (patch_blocks(each[None], grid) for each in padded)
    for (_, rows), (_, flags) in zip(*blocks, strict=True):
        centred = rows - rows.mean(axis=1, keepdims=True)
        coefficients = transform.forward(centred).reshape(-1, *shape)[high]
        energies.append(np.square(coefficients, dtype=np.float64).reshape(len(rows), -1).sum(1))
        unclipped.append(~flags.any(axis=1))
    return np.concatenate(energies), np.concatenate(unclipped)


# The table of the unbiased inverse covers these mean counts, equidistant in their square roots.
# Beyond it, an asymptotic series is accurate enough.
_TABLE_END, _TABLE_SIZE = 400.0, 500
# Nodes of the Gauss-Hermite quadrature over the Gaussian noise.
_N_NODES = 32


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
