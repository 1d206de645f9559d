"""Where learning from gaps begins: pairs of entries that were observed together, and clusters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fost._threads import single_threaded_blas
from fost._typing import Floats
from fost.gaps.conditioning import Gaps, Rows, blanked
from fost.gaps.gaussian import Gaussian
from fost.gaps.mixture import Mixture, gaps_of
from fost.gaps.moments import Shrinkage, divided_moments, maximised
from fost.streams import Stream, Sums

# Eigenvalues of the first correlations are at least one of these: those of pairs are not of one
# whole, and the fewer pairs there are, the less small ones are to be believed.
_LEAST = (0.01, 0.03, 0.1, 0.3)
_ROUNDS = 10  # of clustering


@dataclass(frozen=True)
class Counts:
    """How often each feature of signals is observed, the sum of what is, and all signals."""

    seen: NDArray[np.float64]
    sums: NDArray[np.float64]
    n_signals: int

    @classmethod
    def of(cls, stream: Stream) -> Counts:
        """By a pass over signals, whose features must all be observed somewhere."""
        seen, sums, n_signals = stream.total(CountsOf(stream.name))
        if not seen.all():
            never = np.flatnonzero(seen == 0)[0]
            raise ValueError(
                f"{stream.name} must have every feature observed somewhere, but feature {never} "
                "is not"
            )
        return cls(seen, sums, int(n_signals))


@dataclass(frozen=True)
class CountsOf:
    """The counts of a block of signals, as sums."""

    name: str

    def __call__(self, block: Floats) -> Sums:
        gaps = gaps_of(block, None, self.name)
        sums = blanked(block, gaps).sum(axis=0, dtype=np.float64)
        return (~gaps).sum(axis=0, dtype=np.float64), sums, len(block)


@single_threaded_blas
def pairwise(signals: Rows, gaps: Gaps) -> list[Mixture]:
    """One Gaussian, by means and products of what is observed; for each of the least eigenvalues
    that its correlations may have."""
    ones = (~gaps).astype(np.float64)
    known = blanked(signals, gaps)
    mean = known.sum(axis=0) / np.maximum(ones.sum(axis=0), 1)
    known -= mean * ones
    products = known.T @ known / np.maximum(ones.T @ ones, 1)
    scale = np.sqrt(np.diag(products))
    scale = np.where(scale > 0, scale, scale.max() * 1e-6 or 1.0)
    values, vectors = np.linalg.eigh(products / np.outer(scale, scale))
    found = []
    for least in _LEAST:
        near = (vectors * np.maximum(values, least)) @ vectors.T
        covariance = np.ascontiguousarray((near + near.T) / 2 * np.outer(scale, scale))
        found.append(Mixture([Gaussian.of_covariance(mean, covariance)]))
    return found


@single_threaded_blas
def divided(
    gaussian: Gaussian,
    filled: Rows,
    gaps: Gaps,
    n_members: int,
    shrinkage: Shrinkage,
    random: np.random.Generator,
    every: int = 1,
) -> Mixture:
    """A mixture from clusters of signals that one Gaussian has filled.

    They are clustered half-way between their own distances, which few directions dominate, and
    those in which all directions count alike.
    """
    coefficients = gaussian.transform.forward(filled - gaussian.mean)
    labels = _clustered(coefficients / gaussian.variances**0.25, n_members, random)
    same, sums = divided_moments(gaussian, labels, n_members, filled, gaps, every)
    return maximised(same, sums, shrinkage)


def _clustered(points: Rows, count: int, random: np.random.Generator) -> NDArray[np.int64]:
    """The number of the nearest of some centres for each point, by Lloyd's algorithm."""
    points = points.astype(np.float32)  # enough to see who is near
    centres = points[random.choice(len(points), count, replace=False)]
    labels = np.zeros(len(points), np.int64)
    for _ in range(_ROUNDS):
        labels = np.argmin((centres**2).sum(axis=1) - points @ (2 * centres.T), axis=1)
        chosen = np.eye(count, dtype=np.float32)[labels]
        sizes = chosen.sum(axis=0)[:, None]
        centres = np.where(sizes > 0, chosen.T @ points / np.maximum(sizes, 1), centres)
    return labels
