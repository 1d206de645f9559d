"""Mixtures of Gaussians, and the gaps of signals filled by them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fost import _core
from fost._threads import single_threaded_blas
from fost._typing import Floats
from fost._validation import check_flag, check_parameters, check_signals
from fost.gaps.conditioning import Conditioned, Gaps, Rows, condition, condition_members, merged
from fost.gaps.conjugate import conjugate, is_cheaper
from fost.gaps.gaussian import Gaussian, invert
from fost.pursuit import check_missing
from fost.streams import as_stream, is_lazy
from fost.transforms import Transform

# Numbers that are worked on at once, of all members together.
_ENTRIES = 2**21
# Members that are tried for a signal.
_CANDIDATES = 2


class Mixture:
    """Several Gaussians, each with its share of the signals.

    Parameters
    ----------
    members : list of Gaussian
    shares : array-like of shape (n_members,), optional
        Positive; their sum is made one. Equal ones if None.

    Examples
    --------
    >>> import fost, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.standard_normal((500, 2)) @ rng.standard_normal((2, 8))
    >>> Y[rng.random(Y.shape) < 0.3] = np.nan
    >>> mixture = fost.gaps.learn(Y)
    >>> filled, std = mixture.fill(Y, return_std=True)
    >>> bool(np.isfinite(filled).all() and std[~np.isnan(Y)].max() == 0)
    True
    """

    def __init__(self, members: Iterable[Gaussian], shares: ArrayLike | None = None) -> None:
        if isinstance(members, Gaussian) or not isinstance(members, Iterable):
            raise TypeError(f"members must be a list of Gaussians, got {members!r}")
        self.members = tuple(members)
        for member in self.members:
            if not isinstance(member, Gaussian):
                raise TypeError(f"members must be Gaussians, got {type(member).__name__}")
        sizes = [member.n_features for member in self.members]
        if len(set(sizes)) != 1:
            raise ValueError(f"members must be Gaussians of the same n_features, got {sizes}")
        given = np.ones(len(sizes)) if shares is None else shares
        weights = check_parameters(given, "shares", (len(sizes),))
        if not weights.min() > 0:
            raise ValueError(f"shares must be positive, got {weights.min():g}")
        self.shares = weights / weights.sum()

    @property
    def n_features(self) -> int:
        """Entries per signal."""
        return self.members[0].n_features

    @property
    def transforms(self) -> tuple[Transform, ...]:
        """Those of the members."""
        return tuple(member.transform for member in self.members)

    @property
    def mean(self) -> NDArray[np.float64]:
        """The mean of all signals."""
        return np.asarray(self.shares @ np.array([member.mean for member in self.members]))

    def fill(self, Y: Any, missing: ArrayLike | None = None, *, return_std: bool = False) -> Any:
        """Signals whose gaps hold their mean given what is observed.

        Parameters
        ----------
        Y : array-like of shape (n_signals, n_features)
            Signals in rows, or anything else that `fost.learning.as_training_data` takes.
        missing : array-like of bool of shape (n_signals, n_features), optional
            True where an entry is missing, whatever it holds. If None, where it is NaN.
        return_std : bool
            Whether to return error bars, too; for arrays in memory.

        Returns
        -------
        filled : ndarray of shape (n_signals, n_features)
            Observed entries are what they were. A lazy Dask array for a Dask array.
        std : ndarray of the same shape
            The standard deviations of what was filled in, zero where entries are observed; if
            `return_std`.
        """
        if not is_lazy(Y):
            signals = check_signals(Y, "Y", self.n_features, "this mixture")
            gaps = gaps_of(signals, missing, "Y")
            filled, std = self.filled(signals, gaps, check_flag(return_std, "return_std"))
            return (filled, std) if return_std else filled
        if missing is not None or check_flag(return_std, "return_std"):
            raise ValueError("missing and return_std are for arrays in memory; mark gaps by NaN")
        stream = as_stream(Y)
        if stream.n_features != self.n_features:
            raise ValueError(
                f"Y has {stream.n_features} features, but this mixture was built for "
                f"{self.n_features}"
            )
        return stream.map_blocks(partial(_fill_block, self, stream.name))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a .safetensors file, replacing the old one in one step.

        `fost.gaps.load` reads it back, to the last bit.

        Parameters
        ----------
        path : path-like
        """
        from fost.gaps.storage import save

        save(self, path)

    @single_threaded_blas
    def filled(
        self,
        signals: Floats,
        gaps: Gaps,
        std: bool = False,
        candidates: NDArray[np.bool_] | None = None,
    ) -> tuple[Floats, Floats]:
        """`fill` of checked arguments; deviations are empty where they are not asked for."""
        out = np.array(signals, order="C")
        deviations = np.zeros(out.shape if std else (0, 0), out.dtype)
        holed = np.flatnonzero(gaps.any(axis=1))
        for part in self.parts(len(holed)):
            # All rows of the part, where all have gaps: a slice, which copies nothing.
            rows = part if len(holed) == len(out) else holed[part]
            known = None if candidates is None else candidates[rows]
            taken, holes = signals[rows].astype(np.float64, copy=False), gaps[rows]
            values, squares = self._posterior(taken, holes, known, std)
            # Means by several members have other last bits where something is observed.
            out[rows] = merged(values, taken, holes) if len(self.members) > 1 else values
            if std:
                deviations[rows] = np.sqrt(np.maximum(squares, 0))
        return out, deviations

    def parts(self, count: int) -> Iterator[slice]:
        """So many signals in parts that are worked on at once."""
        step = max(64, _ENTRIES // (self.n_features * len(self.members)))
        return (slice(start, start + step) for start in range(0, count, step))

    def _posterior(
        self, rows: Rows, gaps: Gaps, candidates: NDArray[np.bool_] | None, variances: bool
    ) -> tuple[Rows, Rows]:
        """Means, and where asked for variances, of all entries."""
        if len(self.members) == 1 and not variances and is_cheaper(self.members[0], gaps):
            return conjugate(self.members[0], rows, gaps), rows[:0]
        found = self.members_for(rows, gaps, candidates, variances=variances)
        weights, _ = self.responsibilities(found, len(rows))
        mean = means(found, weights)
        spread = np.zeros_like(rows if variances else rows[:0])
        for weight, (used, one) in zip(weights.T, found, strict=True):
            if one.variances is not None:
                squares = one.variances + np.where(gaps[used], one.rows, 0) ** 2
                spread[used] += weight[used, None] * squares
        if variances:
            spread -= np.where(gaps, mean, 0) ** 2
        return mean, spread

    def members_for(
        self,
        rows: Rows,
        gaps: Gaps,
        candidates: NDArray[np.bool_] | None = None,
        *,
        variances: bool = False,
    ) -> list[tuple[NDArray[np.int64], Conditioned]]:
        """For each member, the signals it may suit, and these under it."""
        if candidates is None:
            candidates = self.candidates(rows, gaps)
        used = [np.flatnonzero(own) for own in np.ascontiguousarray(candidates.T)]
        found = condition_members(self.members, rows, gaps, used, variances=variances)
        return list(zip(used, found, strict=True))

    def candidates(self, rows: Rows, gaps: Gaps) -> NDArray[np.bool_]:
        """Which members may suit a signal, once all of them together have filled its gaps."""
        if len(self.members) <= _CANDIDATES:
            return np.ones((len(rows), len(self.members)), np.bool_)
        return self.likeliest(condition(self._together, rows, gaps).rows)

    @single_threaded_blas
    def likeliest(self, filled: Rows, behind: float = np.inf) -> NDArray[np.bool_]:
        """Which members suit signals without gaps: the few that suit each of them best, whose
        log-likelihoods are not too far behind the first one's."""
        count = len(self.members)
        invert(self.members)
        scores = np.empty((len(filled), count), np.float32)
        # Single precision is enough to see who is far behind; what it cannot hold is.
        with np.errstate(over="ignore", invalid="ignore"):
            means = np.array([member.mean for member in self.members]).astype(np.float32)
            precisions = np.array([member.precision.astype(np.float32) for member in self.members])
            _core.find_energies(filled.astype(np.float32), means, precisions, scores)
            volumes = np.array([member.log_determinant for member in self.members])
            scores /= -2
            scores += (np.log(self.shares) - volumes / 2).astype(np.float32)
        scores[np.isnan(scores)] = -np.inf
        chosen, every = np.zeros(scores.shape, np.bool_), np.arange(len(scores))
        least = scores.max(axis=1) - behind
        for _ in range(min(_CANDIDATES, count)):
            best = np.argmax(scores, axis=1)
            chosen[every, best] |= scores[every, best] >= least
            scores[every, best] = -np.inf
        return chosen

    @cached_property
    def _together(self) -> Gaussian:
        """One Gaussian with the mean and the covariance of all signals."""
        centred = np.array([member.mean for member in self.members]) - self.mean
        within = np.tensordot(self.shares, [member.covariance for member in self.members], 1)
        return Gaussian.of_covariance(self.mean, within + (centred.T * self.shares) @ centred)

    def responsibilities(
        self, found: list[tuple[NDArray[np.int64], Conditioned]], count: int
    ) -> tuple[Rows, float]:
        """How likely each member is for each signal, and the log-likelihood of all signals."""
        least = np.finfo(np.float64).min / 4
        if count and len(self.members) == 1:
            densities = found[0][1].densities
            assert densities is not None
            return np.ones((count, 1)), float(_within(densities, least).sum())
        weighed = np.full((count, len(self.members)), least)
        for k, (used, one) in enumerate(found):
            assert one.densities is not None
            weighed[used, k] = _within(np.log(self.shares[k]) + one.densities, least)
        # Signals that are as good as impossible under all members say nothing about these.
        top = weighed.max(axis=1, keepdims=True)
        likely = np.exp(weighed - top)
        sums = likely.sum(axis=1, keepdims=True)
        return likely / sums, float(np.sum(top + np.log(sums)))

    def __repr__(self) -> str:
        return f"Mixture(n_features={self.n_features}, n_members={len(self.members)})"


def _within(logarithms: NDArray[np.float64], least: float) -> NDArray[np.float64]:
    """Logarithms within bounds, and the lower one for what is not a number."""
    return np.fmin(np.fmax(logarithms, least), -least)


def means(found: list[tuple[NDArray[np.int64], Conditioned]], weights: Rows) -> Rows:
    """Signals filled by members, as far as these are likely for them; the first ones, where there
    are not weights for all."""
    if len(found) == 1:
        return found[0][1].rows[: len(weights)]
    mean = np.zeros((len(weights), found[0][1].rows.shape[1]))
    for weight, (used, one) in zip(weights.T, found, strict=True):
        first = used[: np.searchsorted(used, len(weights))]  # they ascend
        mean[first] += weight[first, None] * one.rows[: len(first)]
    return mean


def gaps_of(signals: Floats, missing: ArrayLike | None, name: str) -> Gaps:
    """Where signals have gaps: those of a mask, or NaN; what is observed must be finite."""
    gaps = np.isnan(signals) if missing is None else check_missing(missing, signals.shape)
    if not (np.isfinite(signals) | gaps).all():
        what = "infinity" if missing is None else "NaN or infinity where it is not missing"
        raise ValueError(f"{name} contains {what}")
    return gaps


def _fill_block(mixture: Mixture, name: str, block: Floats) -> Floats:
    return mixture.filled(block, gaps_of(block, None, name))[0]
