"""Units of features: those of a table may differ beyond comparison."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fost._typing import Floats
from fost.gaps.conditioning import Gaps, Rows, blanked
from fost.gaps.gaussian import Gaussian
from fost.gaps.mixture import Mixture

# Deviations up to so many times the median are those of features in the same units.
_ALIKE = 10.0


@dataclass(frozen=True)
class Units:
    """What is subtracted from features, and what they are divided by then."""

    offsets: NDArray[np.float64]
    sizes: NDArray[np.float64]

    @classmethod
    def of(cls, signals: Rows, gaps: Gaps, common: bool = False) -> Units:
        """Means and deviations; the same size for all features that seem to be of one kind."""
        counts = np.maximum(len(gaps) - np.count_nonzero(gaps, axis=0), 1)
        means = blanked(signals, gaps).sum(axis=0) / counts
        centred = blanked(signals - means, gaps)
        deviations = np.sqrt(np.einsum("ij,ij->j", centred, centred) / counts)
        if common or deviations.max() <= _ALIKE * np.median(deviations):
            deviations = np.full_like(deviations, np.sqrt(np.mean(deviations**2)))
        return cls(means, np.where(deviations > 0, deviations, 1.0))

    def taken_out(self, signals: Floats) -> Rows:
        """Signals in these units."""
        return (signals - self.offsets) / self.sizes

    def put_back(self, mixture: Mixture) -> Mixture:
        """The mixture for signals in their own units."""
        return Mixture([self._put_back(member) for member in mixture.members], mixture.shares)

    def _put_back(self, gaussian: Gaussian) -> Gaussian:
        mean = self.offsets + self.sizes * gaussian.mean
        if gaussian.has_transform and (self.sizes == self.sizes[0]).all():
            return Gaussian(mean, gaussian.transform, gaussian.variances * self.sizes[0] ** 2)
        return Gaussian.of_covariance(mean, gaussian.covariance * np.outer(self.sizes, self.sizes))
