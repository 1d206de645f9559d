r"""Steps of EM (expectation-maximisation) for Gaussian mixtures with missing values.

1. Start: one Gaussian by pairwise-complete moments (`pairwise_gaussians`), or a mixture by k-means
   clusters of filled signals (`clustered_mixture`).
2. E-step (`e_step`): condition each signal on its observed entries under its candidate members, and
   add up weights, first and second moments. The conditional covariance of the missing entries adds
   to the second moments.
3. M-step (`m_step`): the mixture of these moments, with covariances shrunk towards simpler ones.
4. Optionally, over-relaxation (`over_relaxed`): a longer step in the same direction.

Everything is computed from sums over signals, so a stream is passed over once per step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from fost._threads import single_threaded_blas
from fost._typing import Float64Array, Floats, Mask
from fost.imputation.conditioning import (
    Conditional,
    condition,
    conditional_covariances,
    zero_missing,
)
from fost.imputation.gaussian import Gaussian
from fost.imputation.mixture import MemberConditionals, Mixture, missing_mask, posterior_means
from fost.streams import Stream, Sums
from fost.transforms import Transform

# Members of a lower posterior probability do not count for a signal.
_MIN_POSTERIOR = 1e-4
# Over-relaxation changes variances by this factor at most.
_MAX_VARIANCE_RATIO = 100.0
# These shares of the variance of a feature, and of the mean variance of all features, are added to
# variances, so that no covariance is singular.
_FLOOR, _MEAN_FLOOR = 1e-6, 1e-9
# Candidates for the least eigenvalue of the first correlation matrix. Pairwise-complete
# correlations need not be positive definite, and small eigenvalues of few pairs are unreliable.
_MIN_EIGENVALUES = (0.01, 0.03, 0.1, 0.3)
_KMEANS_ITERATIONS = 10
# If no standard deviation exceeds this multiple of the median, all features share one scale.
_SAME_SCALE = 10.0


@dataclass(frozen=True)
class Standardisation:
    """Features are shifted by `offsets` and divided by `scales`."""

    offsets: Float64Array
    scales: Float64Array

    @classmethod
    def fit(cls, signals: Float64Array, missing: Mask, common: bool = False) -> Standardisation:
        """Means and standard deviations; one scale for all features of similar deviations."""
        counts = np.maximum(len(missing) - np.count_nonzero(missing, axis=0), 1)
        means = zero_missing(signals, missing).sum(axis=0) / counts
        centred = zero_missing(signals - means, missing)
        deviations = np.sqrt(np.einsum("ij,ij->j", centred, centred) / counts)
        if common or deviations.max() <= _SAME_SCALE * np.median(deviations):
            deviations = np.full_like(deviations, np.sqrt(np.mean(deviations**2)))
        return cls(means, np.where(deviations > 0, deviations, 1.0))

    def apply(self, signals: Floats) -> Float64Array:
        """Standardised signals."""
        return (signals - self.offsets) / self.scales

    def undo(self, mixture: Mixture, std_scale: float = 1.0) -> Mixture:
        """The mixture of the original signals, given that of the standardised ones."""
        members = [self._undo(member) for member in mixture.members]
        return Mixture(members, mixture.weights, std_scale=std_scale)

    def _undo(self, gaussian: Gaussian) -> Gaussian:
        mean = self.offsets + self.scales * gaussian.mean
        if gaussian.has_transform and (self.scales == self.scales[0]).all():
            return Gaussian(mean, gaussian.transform, gaussian.variances * self.scales[0] ** 2)
        covariance = gaussian.covariance * np.outer(self.scales, self.scales)
        return Gaussian._from_covariance(mean, covariance)


@dataclass(frozen=True)
class ObservedCounts:
    """The number of observed entries of each feature, their sum, and the number of signals."""

    n_observed: Float64Array
    sums: Float64Array
    n_signals: int

    @classmethod
    def of(cls, stream: Stream) -> ObservedCounts:
        """Count in one pass; every feature must be observed in some signal."""
        n_observed, sums, n_signals = stream.total(ObservedCountsPass(stream.name))
        if not n_observed.all():
            never = np.flatnonzero(n_observed == 0)[0]
            raise ValueError(
                f"{stream.name} must have every feature observed somewhere, but feature {never} "
                "is not"
            )
        return cls(n_observed, sums, int(n_signals))


@dataclass(frozen=True)
class ObservedCountsPass:
    """`ObservedCounts` of a block of signals, as a tuple of sums."""

    name: str

    def __call__(self, block: Floats) -> Sums:
        missing = missing_mask(block, None, self.name)
        sums = zero_missing(block, missing).sum(axis=0, dtype=np.float64)
        return (~missing).sum(axis=0, dtype=np.float64), sums, len(block)


class MomentSums(NamedTuple):
    """Sums over signals that determine the next mixture."""

    weights: Float64Array  # of each member: the sum of its posterior probabilities
    first: Float64Array  # moments about the mean of the mixture, of each member
    second: Float64Array
    log_likelihood: float  # of the observed entries
    n_observed: int  # entries


@dataclass(frozen=True)
class Shrinkage:
    """Strength of the shrinkage of covariances, in numbers of pseudo-signals.

    `to_diagonal` shrinks the common covariance towards its diagonal, `to_common` the covariances
    of the members towards the common one.
    """

    to_diagonal: float
    to_common: float = 0.0


@dataclass(frozen=True)
class MomentsPass:
    """The E-step of a block of signals, NaN where entries are missing."""

    mixture: Mixture
    standardisation: Standardisation
    name: str
    every: int = 1

    def __call__(self, block: Floats) -> Sums:
        missing = missing_mask(block, None, self.name)
        return e_step(self.mixture, self.standardisation.apply(block), missing, self.every)


def e_step(
    mixture: Mixture,
    signals: Floats,
    missing: Mask,
    every: int = 1,
    candidates: Mask | None = None,
    filled: Float64Array | None = None,
) -> MomentSums:
    """Sums of the moments of signals under a mixture.

    The conditional covariances of one in `every` signals stand for those of all. If `filled` is
    given, the first signals are stored there with their missing entries imputed.
    """
    sums: list[MomentSums] = []
    for part in mixture.blocks(len(signals)):
        block, mask = signals[part].astype(np.float64, copy=False), missing[part]
        if mixture.n_members == 1:  # all posterior probabilities are one: a single pass suffices
            ones = np.ones(len(block))
            one = condition(
                mixture.members[0], block, mask, log_densities=True, weights=ones, every=every
            )
            found = [(np.arange(len(block)), one)]
        else:
            allowed = None if candidates is None else candidates[part]
            found = mixture.condition(block, mask, allowed)
        posterior, log_likelihood = mixture.responsibilities(found, len(block))
        if filled is not None and part.start < len(filled):
            target = filled[part]
            target[:] = posterior_means(found, posterior[: len(target)])
        sums.append(_weighted_moments(mixture, posterior, mask, found, log_likelihood, every))
    if len(sums) == 1:
        return sums[0]
    return MomentSums(*(np.sum(parts, axis=0) for parts in zip(*sums, strict=True)))


def labelled_m_step(
    gaussian: Gaussian,
    labels: NDArray[np.int64],
    n_members: int,
    filled: Float64Array,
    missing: Mask,
    shrinkage: Shrinkage,
    *,
    transforms: tuple[Transform, ...] | None = None,
    every: int = 1,
) -> Mixture:
    """The mixture of signals that a Gaussian has filled, each assigned to one member."""
    copies = Mixture([gaussian] * n_members)
    found = []
    for k in range(n_members):
        rows = np.flatnonzero(labels == k)
        found.append((rows, Conditional(filled[rows])))
    sums = _weighted_moments(copies, np.eye(n_members)[labels], missing, found, 0.0, every)
    return m_step(copies, sums, shrinkage, transforms)


@single_threaded_blas
def _weighted_moments(
    mixture: Mixture,
    posterior: Float64Array,
    missing: Mask,
    found: MemberConditionals,
    log_likelihood: float,
    every: int,
) -> MomentSums:
    """Moments weighted by posterior probabilities. Overwrites the filled signals in `found`."""
    n, count, centre = mixture.n_features, mixture.n_members, mixture.mean
    first, second = np.zeros((count, n)), np.zeros((count, n, n))
    thinned_rows, thinned_weights = [], []
    for k, (rows, one) in enumerate(found):
        own, filled = posterior[rows, k], one.filled
        counts = own > _MIN_POSTERIOR
        if not counts.all():
            rows, own, filled = rows[counts], own[counts], filled[counts]
        centred = np.subtract(filled, centre, out=filled)  # the filled signals are used up here
        first[k] = own @ centred
        if count > 1:
            centred *= np.sqrt(own)[:, None]
        second[k] = centred.T @ centred
        thinned_rows.append(rows[::every])
        thinned_weights.append(_thinned(own, every))
    if found[0][1].covariance is None:
        second += conditional_covariances(mixture.members, missing, thinned_rows, thinned_weights)
    else:
        second += np.array([one.covariance for _, one in found])
    weights = np.where(posterior > _MIN_POSTERIOR, posterior, 0).sum(axis=0)
    n_observed = missing.size - int(np.count_nonzero(missing))
    return MomentSums(weights, first, second, log_likelihood, n_observed)


def _thinned(weights: Float64Array, every: int) -> Float64Array:
    """One in `every` weights, scaled to the sum of all."""
    thinned = weights[::every].copy()
    kept = thinned.sum()
    return thinned * (weights.sum() / kept) if kept > 0 else thinned


@single_threaded_blas
def m_step(
    mixture: Mixture,
    sums: MomentSums,
    shrinkage: Shrinkage,
    transforms: tuple[Transform, ...] | None = None,
) -> Mixture:
    """The mixture that maximises the likelihood given the moments under the previous one.

    The covariance of each member is shrunk towards the common covariance, and that towards its
    diagonal. With transforms, covariances are diagonal in their domains.
    """
    weights, first, second = sums.weights, sums.first, sums.second
    total = weights.sum()
    middle = first.sum(axis=0) / total
    # One pseudo-signal at the overall mean: a member without signals has this mean.
    means = (first + middle) / (weights + 1)[:, None] if len(weights) > 1 else middle[None]
    crosses = first[:, :, None] * means[:, None, :]
    scatters = second - crosses
    scatters -= crosses.transpose(0, 2, 1)
    scatters += (weights[:, None] * means)[:, :, None] * means[:, None, :]
    pooled = scatters.sum(axis=0)
    variances = np.maximum(np.diag(pooled), 0) / total
    floor = _FLOOR * variances + _MEAN_FLOOR * (variances.mean() or 1.0)
    common = (pooled + shrinkage.to_diagonal * np.diag(variances)) / (total + shrinkage.to_diagonal)
    if len(weights) > 1:
        scatters += shrinkage.to_common * common
        scatters /= (weights + shrinkage.to_common)[:, None, None]
    else:
        scatters = common[None]
    covariances = (scatters + scatters.transpose(0, 2, 1)) / 2  # exactly symmetric
    diagonal = np.arange(len(floor))
    covariances[:, diagonal, diagonal] += floor
    members = [
        Gaussian._from_covariance(mean, covariance)
        for mean, covariance in zip(mixture.mean + means, covariances, strict=True)
    ]
    if transforms:
        members = [one.in_domain(to) for one, to in zip(members, transforms, strict=True)]
    return Mixture(members, (weights + 1) / (total + len(weights)))


@single_threaded_blas
def over_relaxed(before: Mixture, after: Mixture, factor: float) -> Mixture:
    """The M-step of a single Gaussian, extended by a factor; mixtures are returned unchanged.

    If many entries are missing, EM takes many short steps in the same direction. The covariance
    moves along the geodesic of positive definite matrices. The ratio of new to old variance in each
    generalised eigendirection is raised to the power `factor`.
    """
    if after.n_members > 1:
        return after
    (old,), (new,) = before.members, after.members
    try:
        ratios, directions = scipy.linalg.eigh(new.covariance, old.covariance)
    except np.linalg.LinAlgError:
        return after
    sides = old.covariance @ directions
    clipped = np.clip(ratios, 1 / _MAX_VARIANCE_RATIO, _MAX_VARIANCE_RATIO)
    covariance = (sides * clipped**factor) @ sides.T
    mean = old.mean + factor * (new.mean - old.mean)
    return Mixture([Gaussian._from_covariance(mean, (covariance + covariance.T) / 2)])


@single_threaded_blas
def pairwise_gaussians(signals: Float64Array, missing: Mask) -> list[Mixture]:
    """Gaussians of pairwise-complete means and covariances.

    One for each candidate of the least eigenvalue that its correlation matrix may have.
    """
    observed = (~missing).astype(np.float64)
    centred = zero_missing(signals, missing)
    mean = centred.sum(axis=0) / np.maximum(observed.sum(axis=0), 1)
    centred -= mean * observed
    products = centred.T @ centred / np.maximum(observed.T @ observed, 1)
    scale = np.sqrt(np.diag(products))
    scale = np.where(scale > 0, scale, scale.max() * 1e-6 or 1.0)
    values, vectors = np.linalg.eigh(products / np.outer(scale, scale))
    gaussians = []
    for lowest in _MIN_EIGENVALUES:
        product = (vectors * np.maximum(values, lowest)) @ vectors.T
        covariance = np.ascontiguousarray((product + product.T) / 2 * np.outer(scale, scale))
        gaussians.append(Mixture([Gaussian._from_covariance(mean, covariance)]))
    return gaussians


@single_threaded_blas
def clustered_mixture(
    gaussian: Gaussian,
    filled: Float64Array,
    missing: Mask,
    n_members: int,
    shrinkage: Shrinkage,
    random: np.random.Generator,
    every: int = 1,
) -> Mixture:
    """A mixture of k-means clusters of signals that a Gaussian has filled.

    The metric is half-way between the Euclidean one, which a few directions dominate, and the
    Mahalanobis one, which weighs all directions alike.
    """
    coefficients = gaussian.transform.forward(filled - gaussian.mean)
    labels = _kmeans(coefficients / gaussian.variances**0.25, n_members, random)
    return labelled_m_step(gaussian, labels, n_members, filled, missing, shrinkage, every=every)


def _kmeans(points: Float64Array, count: int, random: np.random.Generator) -> NDArray[np.int64]:
    """The index of the nearest centre of each point, by Lloyd's algorithm."""
    points = points.astype(np.float32)  # precise enough to find the nearest centre
    centres = points[random.choice(len(points), count, replace=False)]
    labels = np.zeros(len(points), np.int64)
    for _ in range(_KMEANS_ITERATIONS):
        labels = np.argmin((centres**2).sum(axis=1) - points @ (2 * centres.T), axis=1)
        chosen = np.eye(count, dtype=np.float32)[labels]
        sizes = chosen.sum(axis=0)[:, None]
        centres = np.where(sizes > 0, chosen.T @ points / np.maximum(sizes, 1), centres)
    return labels
