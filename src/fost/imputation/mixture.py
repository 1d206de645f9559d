"""Gaussian mixtures, and the imputation of missing entries by them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fost import _core
from fost._cache import lazy_property
from fost._threads import single_threaded_blas
from fost._typing import Float64Array, Floats, Mask
from fost._validation import check_flag, check_missing, check_parameters, check_signals
from fost.imputation.conditioning import (
    Conditional,
    condition,
    condition_members,
    fill_iteratively,
    is_cheaper,
    keep_observed,
)
from fost.imputation.gaussian import Gaussian, invert_covariances
from fost.streams import as_stream, is_lazy
from fost.transforms import Transform

# Entries that are processed at once, of all members together.
_BLOCK_ENTRIES = 2**21
# Members that a signal is conditioned under: those of the highest likelihood.
_MAX_CANDIDATES = 2

# The rows of the signals that a member is a candidate for, and these signals conditioned under it.
MemberConditionals = list[tuple[NDArray[np.int64], Conditional]]


class Mixture:
    r"""Gaussian mixture :math:`\sum_k w_k N(\mu_k, C_k)`.

    Parameters
    ----------
    members : list of Gaussian
    weights : array-like of shape (n_members,), optional
        Positive; they are normalised to a sum of one. Equal if None.

    Examples
    --------
    >>> import fost, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.standard_normal((500, 2)) @ rng.standard_normal((2, 8))
    >>> Y[rng.random(Y.shape) < 0.3] = np.nan
    >>> mixture = fost.imputation.fit_mixture(Y)
    >>> filled, std = mixture.fill(Y, return_std=True)
    >>> bool(np.isfinite(filled).all() and std[~np.isnan(Y)].max() == 0)
    True
    """

    def __init__(self, members: Iterable[Gaussian], weights: ArrayLike | None = None) -> None:
        if isinstance(members, Gaussian) or not isinstance(members, Iterable):
            raise TypeError(f"members must be a list of Gaussians, got {members!r}")
        self.members = tuple(members)
        for member in self.members:
            if not isinstance(member, Gaussian):
                raise TypeError(f"members must be Gaussians, got {type(member).__name__}")
        sizes = [member.n_features for member in self.members]
        if len(set(sizes)) != 1:
            raise ValueError(f"members must be Gaussians of the same n_features, got {sizes}")
        given = np.ones(len(sizes)) if weights is None else weights
        checked = check_parameters(given, "weights", (len(sizes),))
        if not checked.min() > 0:
            raise ValueError(f"weights must be positive, got {checked.min():g}")
        self.weights = checked / checked.sum()

    @classmethod
    def _exact(cls, members: Iterable[Gaussian], weights: Float64Array) -> Mixture:
        """A mixture with the given bits of weights that are normalised already."""
        mixture = cls(members, weights)
        mixture.weights = weights
        return mixture

    @property
    def n_members(self) -> int:
        """The number of Gaussians."""
        return len(self.members)

    @property
    def n_features(self) -> int:
        """Entries per signal."""
        return self.members[0].n_features

    @property
    def transforms(self) -> tuple[Transform, ...]:
        """The transforms of the members."""
        return tuple(member.transform for member in self.members)

    @property
    def mean(self) -> Float64Array:
        """The mean of the mixture."""
        return np.asarray(self.weights @ np.array([member.mean for member in self.members]))

    def fill(self, Y: Any, missing: ArrayLike | None = None, *, return_std: bool = False) -> Any:
        """Replace missing entries by their conditional means given the observed entries.

        Parameters
        ----------
        Y : array-like of shape (n_signals, n_features)
            Signals in rows, in any form that `fost.learning.as_training_data` accepts.
        missing : array-like of bool of shape (n_signals, n_features), optional
            True where an entry is missing, whatever value it has. If None, NaN is missing.
        return_std : bool
            Whether to return standard deviations, too; for arrays in memory.

        Returns
        -------
        filled : ndarray of shape (n_signals, n_features)
            Observed entries are unchanged. A lazy Dask array if Y is a Dask array.
        std : ndarray of the same shape
            Conditional standard deviations of the missing entries, zero where entries are
            observed. Only if `return_std`.
        """
        if not is_lazy(Y):
            signals = check_signals(Y, "Y", self.n_features, "this mixture")
            mask = missing_mask(signals, missing, "Y")
            filled, std = self._fill_unchecked(signals, mask, check_flag(return_std, "return_std"))
            return (filled, std) if return_std else filled
        if missing is not None or check_flag(return_std, "return_std"):
            raise ValueError(
                "missing and return_std are for arrays in memory; mark missing entries by NaN"
            )
        stream = as_stream(Y)
        if stream.n_features != self.n_features:
            raise ValueError(
                f"Y has {stream.n_features} features, but this mixture was built for "
                f"{self.n_features}"
            )
        return stream.map_blocks(partial(_fill_block, self, stream.name))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the mixture to a .safetensors file, replacing an old one atomically.

        `fost.imputation.load_mixture` reads it back, bit-exactly.

        Parameters
        ----------
        path : path-like
        """
        from fost.imputation.storage import save_mixture

        save_mixture(self, path)

    @single_threaded_blas
    def _fill_unchecked(
        self,
        signals: Floats,
        missing: Mask,
        std: bool = False,
        candidates: Mask | None = None,
    ) -> tuple[Floats, Floats]:
        """`fill` without validation; the deviations are empty unless `std`."""
        out = np.array(signals, order="C")
        deviations = np.zeros(out.shape if std else (0, 0), out.dtype)
        incomplete = np.flatnonzero(missing.any(axis=1))
        for part in self.blocks(len(incomplete)):
            # A slice instead of row numbers, where possible, avoids a copy.
            rows = part if len(incomplete) == len(out) else incomplete[part]
            allowed = None if candidates is None else candidates[rows]
            block, mask = signals[rows].astype(np.float64, copy=False), missing[rows]
            means, variances = self._posterior(block, mask, allowed, std)
            # Averages over several members have rounding errors in the observed entries.
            out[rows] = keep_observed(means, block, mask) if self.n_members > 1 else means
            if std:
                deviations[rows] = np.sqrt(np.maximum(variances, 0))
        return out, deviations

    def blocks(self, n_signals: int) -> Iterator[slice]:
        """Slices of signals that are processed at once."""
        step = max(64, _BLOCK_ENTRIES // (self.n_features * self.n_members))
        return (slice(start, start + step) for start in range(0, n_signals, step))

    def _posterior(
        self, signals: Float64Array, missing: Mask, candidates: Mask | None, variances: bool
    ) -> tuple[Float64Array, Float64Array]:
        """Conditional means of all entries, and their variances if asked for."""
        if self.n_members == 1 and not variances and is_cheaper(self.members[0], missing):
            return fill_iteratively(self.members[0], signals, missing), signals[:0]
        found = self.condition(signals, missing, candidates, variances=variances)
        posterior, _ = self.responsibilities(found, len(signals))
        mean = posterior_means(found, posterior)
        spread = np.zeros_like(signals if variances else signals[:0])
        for weight, (rows, one) in zip(posterior.T, found, strict=True):
            if one.variances is not None:
                squares = one.variances + np.where(missing[rows], one.filled, 0) ** 2
                spread[rows] += weight[rows, None] * squares
        if variances:
            spread -= np.where(missing, mean, 0) ** 2
        return mean, spread

    def condition(
        self,
        signals: Float64Array,
        missing: Mask,
        candidates: Mask | None = None,
        *,
        variances: bool = False,
    ) -> MemberConditionals:
        """Condition each signal under its candidate members."""
        if candidates is None:
            candidates = self._candidates(signals, missing)
        rows = [np.flatnonzero(own) for own in np.ascontiguousarray(candidates.T)]
        found = condition_members(self.members, signals, missing, rows, variances=variances)
        return list(zip(rows, found, strict=True))

    def _candidates(self, signals: Float64Array, missing: Mask) -> Mask:
        """The likeliest members of each signal, once one Gaussian has filled it."""
        if self.n_members <= _MAX_CANDIDATES:
            return np.ones((len(signals), self.n_members), np.bool_)
        return self.likeliest(condition(self._single_gaussian, signals, missing).filled)

    @single_threaded_blas
    def likeliest(self, complete: Float64Array, margin: float = np.inf) -> Mask:
        """The few members of the highest likelihood for each complete signal.

        Members whose log-likelihood is more than `margin` below the highest are left out.
        """
        invert_covariances(self.members)
        scores = np.empty((len(complete), self.n_members), np.float32)
        # Single precision suffices to rank members; values that overflow are ranked last.
        with np.errstate(over="ignore", invalid="ignore"):
            means = np.array([member.mean for member in self.members]).astype(np.float32)
            precisions = np.array([member.precision.astype(np.float32) for member in self.members])
            _core.find_energies(complete.astype(np.float32), means, precisions, scores)
            volumes = np.array([member.log_determinant for member in self.members])
            scores /= -2
            scores += (np.log(self.weights) - volumes / 2).astype(np.float32)
        scores[np.isnan(scores)] = -np.inf
        chosen, every = np.zeros(scores.shape, np.bool_), np.arange(len(scores))
        lowest = scores.max(axis=1) - margin
        for _ in range(min(_MAX_CANDIDATES, self.n_members)):
            best = np.argmax(scores, axis=1)
            chosen[every, best] |= scores[every, best] >= lowest
            scores[every, best] = -np.inf
        return chosen

    @lazy_property
    def _single_gaussian(self) -> Gaussian:
        """The Gaussian with the mean and the covariance of the mixture."""
        centred = np.array([member.mean for member in self.members]) - self.mean
        within = np.tensordot(self.weights, [member.covariance for member in self.members], 1)
        between = (centred.T * self.weights) @ centred
        return Gaussian._from_covariance(self.mean, within + between)

    def responsibilities(
        self, found: MemberConditionals, n_signals: int
    ) -> tuple[Float64Array, float]:
        """Posterior probabilities of the members for each signal, and the total log-likelihood."""
        lowest = np.finfo(np.float64).min / 4
        if n_signals and self.n_members == 1:
            densities = found[0][1].log_densities
            assert densities is not None
            return np.ones((n_signals, 1)), float(_clipped(densities, lowest).sum())
        joint = np.full((n_signals, self.n_members), lowest)
        for k, (rows, one) in enumerate(found):
            assert one.log_densities is not None
            joint[rows, k] = _clipped(np.log(self.weights[k]) + one.log_densities, lowest)
        # If a signal underflows under all members, these are equally likely.
        top = joint.max(axis=1, keepdims=True)
        likelihoods = np.exp(joint - top)
        sums = likelihoods.sum(axis=1, keepdims=True)
        return likelihoods / sums, float(np.sum(top + np.log(sums)))

    def __repr__(self) -> str:
        return f"Mixture(n_features={self.n_features}, n_members={self.n_members})"


def _clipped(logarithms: Float64Array, lowest: float) -> Float64Array:
    """Logarithms in [lowest, -lowest], and `lowest` for NaN."""
    return np.fmin(np.fmax(logarithms, lowest), -lowest)


def posterior_means(found: MemberConditionals, posterior: Float64Array) -> Float64Array:
    """Averages of the members' conditional means, weighted by their posterior probabilities.

    If `posterior` has fewer rows than there are signals, only these first signals are averaged.
    """
    if len(found) == 1:
        return found[0][1].filled[: len(posterior)]
    mean = np.zeros((len(posterior), found[0][1].filled.shape[1]))
    for weight, (rows, one) in zip(posterior.T, found, strict=True):
        first = rows[: np.searchsorted(rows, len(posterior))]  # row numbers ascend
        mean[first] += weight[first, None] * one.filled[: len(first)]
    return mean


def missing_mask(signals: Floats, missing: ArrayLike | None, name: str) -> Mask:
    """The checked mask of missing entries, or that of NaN; observed entries must be finite."""
    mask = np.isnan(signals) if missing is None else check_missing(missing, signals.shape)
    if not (np.isfinite(signals) | mask).all():
        what = "infinity" if missing is None else "NaN or infinity where it is not missing"
        raise ValueError(f"{name} contains {what}")
    return mask


def _fill_block(mixture: Mixture, name: str, block: Floats) -> Floats:
    return mixture._fill_unchecked(block, missing_mask(block, None, name))[0]
