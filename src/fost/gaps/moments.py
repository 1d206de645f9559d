"""One step of expectation and maximisation for mixtures, from sums over signals with gaps.

A signal counts for each member as much as that is likely for it, with its gaps filled; what the
filled values may be wrong by, their conditional covariance, adds to the second moments.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from fost._threads import single_threaded_blas
from fost._typing import Floats
from fost.gaps.conditioning import Conditioned, Gaps, Rows, condition, conditional_covariances
from fost.gaps.gaussian import Gaussian
from fost.gaps.mixture import Mixture, gaps_of, means
from fost.gaps.units import Units
from fost.streams import Sums
from fost.transforms import Transform

# Members that are less likely than this for a signal do not count for it.
_LEAST_LIKELY = 1e-4
# A step that is taken further changes variances by this factor at most.
_FARTHEST = 100.0
# What is added to variances, as shares of the usual one of a feature and of all of them: no
# covariance is singular.
_FLOOR, _LOWEST = 1e-6, 1e-9


@dataclass(frozen=True)
class MomentsOf:
    """The sums of a block of signals, NaN where they have gaps, under a mixture.

    Weights of members, first and second moments about the mixture's mean, the log-likelihood of
    what is observed and how many entries that is.
    """

    mixture: Mixture
    units: Units
    name: str
    every: int = 1

    def __call__(self, block: Floats) -> Sums:
        gaps = gaps_of(block, None, self.name)
        return moments(self.mixture, self.units.taken_out(block), gaps, self.every)


def moments(
    mixture: Mixture,
    signals: Floats,
    gaps: Gaps,
    every: int = 1,
    candidates: NDArray[np.bool_] | None = None,
    filled: Rows | None = None,
) -> Sums:
    """The sums of signals with these gaps; conditional covariances are those of one in `every`
    signals, which stand for all. The first of the filled signals are stored, where asked for."""
    sums: list[Sums] = []
    for part in mixture.parts(len(signals)):
        rows, holes = signals[part].astype(np.float64, copy=False), gaps[part]
        if len(mixture.members) == 1:  # its weights are known
            (member,), used, ones = mixture.members, np.arange(len(rows)), np.ones(len(rows))
            one = condition(member, rows, holes, densities=True, weights=ones, every=every)
            found = [(used, one)]
        else:
            known = None if candidates is None else candidates[part]
            found = mixture.members_for(rows, holes, known)
        weights, likelihood = mixture.responsibilities(found, len(rows))
        if filled is not None and part.start < len(filled):
            asked = filled[part]
            asked[:] = means(found, weights[: len(asked)])
        sums.append(weighted_moments(mixture, weights, holes, found, likelihood, every))
    if len(sums) == 1:
        return sums[0]
    return tuple(np.sum(parts, axis=0) for parts in zip(*sums, strict=True))


def divided_moments(
    gaussian: Gaussian,
    labels: NDArray[np.int64],
    count: int,
    filled: Rows,
    gaps: Gaps,
    every: int = 1,
) -> tuple[Mixture, Sums]:
    """A mixture of so many copies of a Gaussian, which has filled signals, and its sums where each
    of these belongs to one member."""
    same = Mixture([gaussian] * count)
    found = []
    for k in range(count):
        used = np.flatnonzero(labels == k)
        found.append((used, Conditioned(filled[used])))
    return same, weighted_moments(same, np.eye(count)[labels], gaps, found, 0.0, every)


@single_threaded_blas
def weighted_moments(
    mixture: Mixture,
    weights: Rows,
    gaps: Gaps,
    found: list[tuple[NDArray[np.int64], Conditioned]],
    likelihood: float,
    every: int,
) -> Sums:
    """The sums where each signal has a weight for each member, under which it was found.

    The filled signals that were found are overwritten.
    """
    n, count, centre = mixture.n_features, len(mixture.members), mixture.mean
    firsts, seconds = np.zeros((count, n)), np.zeros((count, n, n))
    counted, thinned = [], []
    for k, (used, one) in enumerate(found):
        own, filled = weights[used, k], one.rows
        counts = own > _LEAST_LIKELY
        if not counts.all():
            used, own, filled = used[counts], own[counts], filled[counts]
        centred = np.subtract(filled, centre, out=filled)  # nobody looks at them any more
        firsts[k] = own @ centred
        if count > 1:
            centred *= np.sqrt(own)[:, None]
        seconds[k] = centred.T @ centred
        counted.append(used[::every])
        thinned.append(_thinned(own, every))
    if found[0][1].covariance is None:
        seconds += conditional_covariances(mixture.members, gaps, counted, thinned)
    else:
        seconds += np.array([one.covariance for _, one in found])
    counts = np.where(weights > _LEAST_LIKELY, weights, 0).sum(axis=0)
    return counts, firsts, seconds, likelihood, gaps.size - int(np.count_nonzero(gaps))


def _thinned(weights: NDArray[np.float64], every: int) -> NDArray[np.float64]:
    """Each `every`-th weight, so that the sum is that of all."""
    thinned = weights[::every].copy()
    kept = thinned.sum()
    return thinned * (weights.sum() / kept) if kept > 0 else thinned


@single_threaded_blas
def beyond(before: Mixture, after: Mixture, factor: float) -> Mixture:
    """A step of one Gaussian taken further, by a factor.

    Where much is missing, steps are short and all in the same direction. Covariances go on along
    the geodesic, on which they stay definite: each direction's variance by the same ratio again.
    """
    if len(after.members) > 1:
        return after
    (old,), (new,) = before.members, after.members
    try:
        ratios, directions = scipy.linalg.eigh(new.covariance, old.covariance)
    except np.linalg.LinAlgError:
        return after
    sides = old.covariance @ directions
    covariance = (sides * np.clip(ratios, 1 / _FARTHEST, _FARTHEST) ** factor) @ sides.T
    mean = old.mean + factor * (new.mean - old.mean)
    return Mixture([Gaussian.of_covariance(mean, (covariance + covariance.T) / 2)])


@dataclass(frozen=True)
class Shrinkage:
    """How many signals it takes to believe more than what is believed without any.

    Of correlations at all (`alone`), and of members that differ from each other (`apart`).
    """

    alone: float
    apart: float = 0.0


@single_threaded_blas
def maximised(
    mixture: Mixture,
    sums: Sums,
    shrinkage: Shrinkage,
    transforms: tuple[Transform, ...] | None = None,
) -> Mixture:
    """The mixture that suits the sums best, which those of another one gave.

    Covariances are those of the signals of a member, drawn towards what members have in common,
    and that towards variances alone. With transforms, they are diagonal in their domains.
    """
    counts, firsts, seconds, _, _ = sums
    total = counts.sum()
    middle = firsts.sum(axis=0) / total
    # A member without signals is like all others.
    means = (firsts + middle) / (counts + 1)[:, None] if len(counts) > 1 else middle[None]
    crosses = firsts[:, :, None] * means[:, None, :]
    spreads = seconds - crosses
    spreads -= crosses.transpose(0, 2, 1)
    spreads += (counts[:, None] * means)[:, :, None] * means[:, None, :]
    pooled = spreads.sum(axis=0)
    variances = np.maximum(np.diag(pooled), 0) / total
    floor = _FLOOR * variances + _LOWEST * (variances.mean() or 1.0)
    common = (pooled + shrinkage.alone * np.diag(variances)) / (total + shrinkage.alone)
    if len(counts) > 1:
        spreads += shrinkage.apart * common
        spreads /= (counts + shrinkage.apart)[:, None, None]
    else:
        spreads = common[None]
    covariances = (spreads + spreads.transpose(0, 2, 1)) / 2  # which they are but for rounding
    places = np.arange(len(floor))
    covariances[:, places, places] += floor
    members = [
        Gaussian.of_covariance(mean, covariance)
        for mean, covariance in zip(mixture.mean + means, covariances, strict=True)
    ]
    if transforms:
        members = [one.in_domain(to) for one, to in zip(members, transforms, strict=True)]
    return Mixture(members, (counts + 1) / (total + len(counts)))
