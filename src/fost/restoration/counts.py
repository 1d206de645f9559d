"""Noise of counting: made white for restoration, and its mean taken back without bias.

Photons and particles come by chance: a sample is gain times a Poisson number, and perhaps Gaussian
noise of the electronics beside it. The generalised Anscombe transform 2 sqrt(counts + 3/8 + v), v
the variance of that noise in counts, gives such samples a standard deviation of about one. What is
restored then is the mean of the transform, whose inverse is not that of the transform: it is found
from a table of means.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.stats import poisson

from fost._typing import Numbers

# The table reaches so many mean counts, in steps of their roots; beyond it the mean of the
# transform is known well enough by its series.
_MOST, _STEPS = 400.0, 500
_NODES = 32  # of the integral over Gaussian noise


@dataclass(frozen=True)
class Counts:
    """Samples of so much `gain` per count, with Gaussian noise of deviation `sigma` beside it."""

    gain: float
    sigma: float

    @property
    def _variance(self) -> float:
        return (self.sigma / self.gain) ** 2

    def stabilised(self, samples: Numbers) -> NDArray[np.float64]:
        """Samples whose noise has a standard deviation of about one."""
        counts = samples.astype(np.float64) / self.gain
        return np.asarray(2 * np.sqrt(np.maximum(counts + 0.375 + self._variance, 0)))

    def means(self, stabilised: Numbers) -> NDArray[np.float64]:
        """The means of samples from those of what they become: the exact unbiased inverse."""
        values = np.asarray(stabilised, np.float64)
        counts, transformed = self._table
        inside = np.interp(values, transformed, counts)
        beyond = np.square(values) / 4 - 0.125 - self._variance
        found = np.where(values > transformed[-1], np.maximum(beyond, _MOST), inside)
        return np.asarray(self.gain * found)

    @cached_property
    def _table(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean counts, and the means of the transform of such counts."""
        counts = np.square(np.linspace(0, np.sqrt(_MOST), _STEPS))
        numbers = np.arange(int(_MOST + 12 * np.sqrt(_MOST)))
        nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
        noisy = self.gain * numbers[:, None] + self.sigma * nodes
        of_numbers = self.stabilised(noisy) @ (weights / weights.sum())
        return counts, poisson.pmf(numbers, counts[:, None]) @ of_numbers
