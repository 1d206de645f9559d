"""Fit of Gaussian mixtures to signals with missing values, with model selection.

1. Hide some observed entries of a sample of the signals (`HeldOutEntries`).
2. Fit one Gaussian by EM with over-relaxation, until the error of the held-out entries stops
   falling. Select the shrinkage of its correlations by that error.
3. Fit a mixture in the same way, and keep it if its error is significantly lower.
4. Calibrate the standard deviations by the errors of the held-out entries.
5. Run a few EM steps on all signals.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fost._cache import lazy_property
from fost._threads import single_threaded_blas
from fost._typing import Float64Array, Floats, Mask
from fost._validation import RandomState, as_generator, check_integer, check_path
from fost.imputation.conditioning import condition
from fost.imputation.em import (
    MomentsPass,
    MomentSums,
    ObservedCounts,
    Shrinkage,
    Standardisation,
    clustered_mixture,
    e_step,
    labelled_m_step,
    m_step,
    over_relaxed,
    pairwise_gaussians,
)
from fost.imputation.mixture import Mixture, missing_mask
from fost.imputation.storage import FitState, MixtureCheckpoint
from fost.streams import Stream, as_stream
from fost.transforms import Bank, Coder, SparseDictionary

# After a change of the constants below, compare the errors and times of benchmarks/imputers.py.

# Model selection uses at most this many signals.
_MAX_SAMPLE = 2**13
# By default there are three EM steps on all signals if these are more than the sample, and one if
# they are fewer than this, since the held-out entries are a considerable part of them then.
_MANY_SIGNALS = 2500
# Approximate number of signals whose conditional covariances are computed in an EM step: on all
# signals, and during model selection.
_COVARIANCES_ALL, _COVARIANCES_SELECTION = 1000, 500

# Signals with held-out entries, as a share of all and at most.
_HELD_OUT_SHARE, _MAX_HELD_OUT = 0.25, 500
# The share of entries that are held out if no signal has missing entries.
_HELD_OUT_ENTRIES = 0.25
# Fewer held-out entries than this are not enough to compare models.
_MIN_HELD_OUT_ENTRIES = 64

# Standard deviations are calibrated to the coverages of one and two of them under a normal
# distribution, by a factor within limits.
_COVERAGES, _STD_SCALES = (0.6827, 0.9545), (0.5, 4.0)
_TINY = float(np.finfo(np.float64).tiny)
# Small tables hold out entries again for the calibration, until there are this many, and at most so
# many times. EM steps let the mixture forget them. The factor is 1 for fewer than the last number.
_CALIBRATION_ENTRIES, _CALIBRATION_DRAWS, _CALIBRATION_STEPS, _MIN_CALIBRATION = 256, 8, 10, 32

# Members of a mixture at most, and the least number of signals per feature and member.
_MAX_MEMBERS, _SIGNALS_PER_FEATURE = 16, 2
# A mixture must reach this share of the error of one Gaussian to be worth its time. Above the
# second share its shrinkage is not tuned, since it has no chance.
_WORTHWHILE, _HOPELESS = 0.98, 1.05
# Members whose log-likelihood is this far below the highest are no candidates for a signal.
_CANDIDATE_MARGIN = 7.0
# Candidates for `Shrinkage.to_diagonal`, and for `Shrinkage.to_common` per feature.
_TO_DIAGONAL = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, 1e6)
_TO_COMMON = (0.25, 1.0, 4.0)

# EM steps at most: of one Gaussian on a subset, of one Gaussian on all signals, of a mixture.
_STEPS_SUBSET, _STEPS_GAUSSIAN, _STEPS_MIXTURE = 30, 2, 20
# EM stops when the held-out error falls to no less than this share of the previous one.
_STOP = 0.995
# The first steps use a subset: its signals per feature, and the share at which EM stops there.
_SUBSETS = ((16, 0.9), (32, _STOP))
# Over-relaxation: the first factor (1 is plain EM), its growth after each successful step, its
# limit, and the fixed factor if there are no held-out entries to detect overshooting.
_RELAXATION, _RELAXATION_GROWTH, _MAX_RELAXATION, _SAFE_RELAXATION = 2.0, 1.2, 4.0, 1.5
# An over-relaxed step that overshot is repeated as plain EM if the last step gained this much.
_RETRY = 0.97


def fit_mixture(
    Y: object,
    n_members: int | None = None,
    *,
    missing: object = None,
    coder: Coder | None = None,
    max_iter: int | None = None,
    random_state: RandomState = 0,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Mixture:
    """Fit a Gaussian mixture to signals with missing values by EM.

    Each EM step conditions the signals on their observed entries under the current mixture. It then
    adds up first and second moments, including the conditional covariances of the missing entries.
    Covariances are shrunk towards simpler ones. The error of held-out entries, on up to 8,192
    signals, selects the shrinkage and the number of Gaussians. Standard deviations are calibrated
    by the errors of held-out entries, unless these are very few or `coder` is given.

    Parameters
    ----------
    Y : array-like of shape (n_signals, n_features)
        Signals in rows, NaN where entries are missing, or anything else that
        `fost.learning.as_training_data` accepts. Every feature must be observed in some signal.
    n_members : int, optional
        Gaussians of the mixture. If None, one or several, by the error of held-out entries.
    missing : array of bool of the shape of Y, optional
        True where an entry is missing, whatever value it has; a Dask array, a Zarr array or an
        iterable of blocks if Y is one. If None, NaN is missing.
    coder : Transform or Bank, optional
        Covariances are diagonal in the domain of this transform. With a bank, each is diagonal in
        the domain of one member, and `n_members` is that of the bank. This is faster for long
        signals and less accurate. If None, covariances are general, each with its own transform.
    max_iter : int, optional
        EM steps on all signals, after model selection. If None: three if the signals are more than
        8,192, one if they are fewer than 2,500, and none otherwise.
    random_state : int, Generator, RandomState or None
        For the held-out entries and the start of mixtures. The default is a fixed seed.
    checkpoint : path, optional
        A file that is replaced atomically after model selection and after each EM step on all
        signals. If it exists, the fit continues from it and returns the same mixture, bit for bit,
        as an uninterrupted one. It adds steps if `max_iter` is larger now. A damaged file, or one
        of other signals, settings or versions, raises `fost.learning.CheckpointError`, which is a
        ValueError.

    Returns
    -------
    Mixture

    Examples
    --------
    >>> import fost, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> Y = np.cumsum(rng.standard_normal((1000, 16)), axis=1)
    >>> missing = rng.random(Y.shape) < 0.3
    >>> mixture = fost.imputation.fit_mixture(np.where(missing, np.nan, Y))
    >>> error = np.sqrt(np.mean((mixture.fill(Y, missing) - Y)[missing] ** 2))
    >>> bool(error < 1)  # the error of the mean is 2.9
    True
    """
    stream = as_stream(Y, missing=missing)
    if max_iter is not None:
        max_iter = check_integer(max_iter, "max_iter", 0, 10**6)
    if checkpoint is not None:
        check_path(checkpoint, "checkpoint")
    random = as_generator(random_state)
    if coder is not None:
        n_members = _check_coder(coder, stream.n_features, n_members)
    with single_threaded_blas:
        counts = ObservedCounts.of(stream)
        if n_members is not None:
            n_members = check_integer(n_members, "n_members", 1, counts.n_signals, "n_signals")
        file, state = None, None
        if checkpoint is not None:
            seeded = random_state is not None
            file = MixtureCheckpoint(checkpoint, counts, n_members, coder, random, seeded=seeded)
            state = file.resume()
        in_memory = counts.n_signals <= _MAX_SAMPLE
        signals = np.empty((0, stream.n_features))
        if state is None or in_memory:
            signals = _sample(stream, counts.n_signals, random)
        mask = missing_mask(signals, None, stream.name)
        if state is None:
            state = _select(signals, mask, n_members, coder, random)
            if not in_memory:  # the candidates are those of the sample
                state = replace(state, candidates=None)
            if file is not None:
                file.save(state)
        if max_iter is None:
            max_iter = _default_max_iter(counts.n_signals)
        every = max(1, counts.n_signals // _COVARIANCES_ALL)
        standardisation = state.standardisation
        transforms = None if coder is None else coder.members
        scaled = standardisation.apply(signals)
        for _ in range(state.n_iter, max_iter):
            if in_memory:
                sums = e_step(state.mixture, scaled, mask, every, state.candidates)
            else:
                moments = MomentsPass(state.mixture, standardisation, stream.name, every)
                sums = MomentSums(*stream.total(moments))
            mixture = m_step(state.mixture, sums, state.shrinkage, transforms)
            state = replace(state, mixture=mixture, n_iter=state.n_iter + 1)
            if file is not None:
                file.save(state)
        return standardisation.undo(state.mixture, state.std_scale)


def _check_coder(coder: Coder, n_features: int, n_members: int | None) -> int:
    """The number of Gaussians, one for each member of the coder."""
    if not isinstance(coder, Coder) or isinstance(coder, SparseDictionary):
        raise TypeError(f"coder must be a transform or a bank, got {type(coder).__name__}")
    if coder.n_features != n_features:
        raise ValueError(f"coder must be for the {n_features} features of Y, got {coder!r}")
    if n_members not in (None, coder.n_members):
        raise ValueError(f"n_members must be that of coder, {coder.n_members}, got {n_members!r}")
    return coder.n_members


def _sample(stream: Stream, n_signals: int, random: np.random.Generator) -> Float64Array:
    """A random sample of the signals in memory; all of them if they are few."""
    rows = np.arange(n_signals)
    if n_signals > _MAX_SAMPLE:
        rows = np.sort(random.choice(n_signals, _MAX_SAMPLE, replace=False))
    return stream.take(rows).astype(np.float64)


def _default_max_iter(n_signals: int) -> int:
    if n_signals > _MAX_SAMPLE:
        return 3
    return 1 if n_signals < _MANY_SIGNALS else 0


def _select(
    signals: Float64Array,
    missing: Mask,
    n_members: int | None,
    coder: Coder | None,
    random: np.random.Generator,
) -> FitState:
    """Model selection on a sample of the signals."""
    standardisation = Standardisation.fit(signals, missing, common=coder is not None)
    scaled = standardisation.apply(signals)
    selected = select_mixture(scaled, missing, 1 if coder is not None else n_members, random)
    mixture, shrinkage, std_scale = selected.mixture, selected.shrinkage, selected.std_scale
    if coder is not None:
        shrinkage = replace(shrinkage, to_common=float(coder.n_features))
        mixture = _diagonalised(mixture, coder, scaled, missing, shrinkage)
        std_scale = 1.0  # the held-out errors are those of another covariance
    return FitState(mixture, standardisation, shrinkage, selected.candidates, std_scale)


def _diagonalised(
    single: Mixture, coder: Coder, signals: Float64Array, missing: Mask, shrinkage: Shrinkage
) -> Mixture:
    """A Gaussian in the domain of a transform; with a bank, one for each of its members.

    A bank assigns each filled signal to the member with the best sparse code.
    """
    (gaussian,) = single.members
    if not isinstance(coder, Bank):
        return Mixture([gaussian.in_domain(coder.members[0])])
    filled = condition(gaussian, signals, missing).filled
    codes = coder.encode(filled - single.mean, max(1, coder.n_features // 8))
    labels = coder.chosen(codes)
    return labelled_m_step(
        gaussian,
        labels,
        coder.n_members,
        filled,
        missing,
        shrinkage,
        transforms=coder.members,
    )


@dataclass(frozen=True)
class HeldOutEntries:
    """Signals with held-out entries in the first rows, by which models are compared.

    Signals get the missing pattern of other signals in addition to their own. So the held-out
    entries resemble the missing ones: isolated, or in runs, or always of the same features.
    """

    signals: Float64Array
    missing: Mask  # including the held-out entries
    hidden: Mask  # the held-out entries of the first rows
    order: NDArray[np.int64]  # the original row numbers
    candidates: Mask | None = None  # the candidate members of each signal, if known

    @classmethod
    def draw(
        cls,
        signals: Float64Array,
        missing: Mask,
        random: np.random.Generator,
        least: int = _MIN_HELD_OUT_ENTRIES,
    ) -> HeldOutEntries:
        """Hold out entries of randomly chosen signals; none if they would be fewer than `least`."""
        count = min(_MAX_HELD_OUT, int(np.ceil(_HELD_OUT_SHARE * len(signals))))
        rows = np.sort(random.choice(len(signals), count, replace=False))
        incomplete = missing.any(axis=1) & ~missing.all(axis=1)
        if incomplete.any():
            hidden = missing[random.choice(np.flatnonzero(incomplete), count)]
        else:
            hidden = random.random((count, signals.shape[1])) < _HELD_OUT_ENTRIES
        hidden = hidden & ~missing[rows]
        # Every feature stays observed in some signal.
        hidden &= (~missing).sum(axis=0) > hidden.sum(axis=0)
        if hidden.sum() < least:
            hidden[:] = False
        order = np.concatenate([rows, np.setdiff1d(np.arange(len(signals)), rows)])
        combined = missing[order]
        combined[:count] |= hidden
        return cls(signals[order], combined, hidden, order)

    @property
    def is_decisive(self) -> bool:
        """Whether there are enough held-out entries to compare models."""
        return bool(self.hidden.any())

    @property
    def every(self) -> int:
        """Stride over signals whose conditional covariance is computed."""
        return max(1, len(self.signals) // _COVARIANCES_SELECTION)

    def subset(self, count: int) -> HeldOutEntries:
        """The first `count` signals, at least those with held-out entries."""
        count = max(count, len(self.hidden))
        return HeldOutEntries(
            self.signals[:count], self.missing[:count], self.hidden, self.order[:count]
        )

    def original_candidates(self) -> Mask | None:
        """The candidate members in the original order of the signals."""
        if self.candidates is None:
            return None
        candidates = np.empty_like(self.candidates)
        candidates[self.order] = self.candidates
        return candidates

    def errors(self, mixture: Mixture) -> Float64Array:
        """Squared errors of the imputed held-out entries, one sum for each signal."""
        count = len(self.hidden)
        candidates = None if self.candidates is None else self.candidates[:count]
        filled, _ = mixture._fill_unchecked(
            self.signals[:count], self.missing[:count], candidates=candidates
        )
        return self._errors(filled)

    def _errors(self, filled: Floats) -> Float64Array:
        hidden, truth = self._hidden_values
        errors = filled * hidden
        errors -= truth
        return np.asarray(np.einsum("ij,ij->i", errors, errors))

    @lazy_property
    def _hidden_values(self) -> tuple[Float64Array, Float64Array]:
        """`hidden` as numbers, and the held-out values, zero elsewhere."""
        truth = np.where(self.hidden, self.signals[: len(self.hidden)], 0)
        return self.hidden.astype(np.float64), truth

    def error(self, mixture: Mixture) -> float:
        """The sum of all squared errors; infinite if no entries are held out."""
        return float(self.errors(mixture).sum()) if self.is_decisive else np.inf

    def ratios(self, mixture: Mixture) -> Float64Array:
        """Magnitudes of the errors of held-out entries, divided by their standard deviations."""
        signals, missing = self.signals[: len(self.hidden)], self.missing[: len(self.hidden)]
        filled, std = mixture._fill_unchecked(signals, missing, std=True)
        errors = np.abs(filled - signals)[self.hidden]
        return np.asarray(errors / np.maximum(std[self.hidden], _TINY))

    def iterate(self, mixture: Mixture) -> Iterate:
        """The E-step under a mixture, which gives its held-out error without a further pass."""
        filled = np.empty(self.hidden.shape if self.is_decisive else (0, 0))
        sums = e_step(mixture, self.signals, self.missing, self.every, self.candidates, filled)
        error = float(self._errors(filled).sum()) if self.is_decisive else np.inf
        return Iterate(mixture, sums, error)


@dataclass(frozen=True)
class Iterate:
    """A mixture, the moments of the signals under it, and its error of held-out entries."""

    mixture: Mixture
    sums: MomentSums
    error: float


@dataclass(frozen=True)
class SelectedMixture:
    """A mixture with the shrinkage that was selected for it."""

    mixture: Mixture
    shrinkage: Shrinkage
    errors: Float64Array  # of held-out entries, for each signal; zeros if there are none
    candidates: Mask | None = None  # the candidate members of each signal, if known
    std_scale: float = 1.0


def select_mixture(
    signals: Float64Array, missing: Mask, n_members: int | None, random: np.random.Generator
) -> SelectedMixture:
    """The mixture of the lowest error of held-out entries; of any size if `n_members` is None."""
    held_out = HeldOutEntries.draw(signals, missing, random)
    selected = _select_held_out(held_out, n_members, random)
    return replace(selected, std_scale=_std_scale(held_out, selected, random))


def _std_scale(
    held_out: HeldOutEntries, selected: SelectedMixture, random: np.random.Generator
) -> float:
    """The factor by which standard deviations agree with the errors of held-out entries.

    The mean of two factors: those by which one and two standard deviations cover as many errors as
    under a normal distribution.
    """
    ratios = held_out.ratios(selected.mixture)
    missing = held_out.missing.copy()
    missing[: len(held_out.hidden)] &= ~held_out.hidden
    for _ in range(_CALIBRATION_DRAWS):
        if len(ratios) >= _CALIBRATION_ENTRIES:
            break
        other, mixture = HeldOutEntries.draw(held_out.signals, missing, random, 1), selected.mixture
        for _ in range(_CALIBRATION_STEPS):
            sums = e_step(mixture, other.signals, other.missing, other.every)
            mixture = m_step(mixture, sums, selected.shrinkage)
        ratios = np.append(ratios, other.ratios(mixture))
    if len(ratios) < _MIN_CALIBRATION:
        return 1.0
    return float(np.clip(np.mean(np.quantile(ratios, _COVERAGES) / (1, 2)), *_STD_SCALES))


def _select_held_out(
    held_out: HeldOutEntries, n_members: int | None, random: np.random.Generator
) -> SelectedMixture:
    """`select_mixture` without the calibration of standard deviations."""
    single = _fit_gaussian(held_out)
    most = len(held_out.signals) // (_SIGNALS_PER_FEATURE * held_out.signals.shape[1])
    count = min(_MAX_MEMBERS, most) if n_members is None else n_members
    if count < 2 or (n_members is None and not held_out.is_decisive):
        return single
    several = _fit_several(held_out, single, count, random)
    return several if n_members or _is_better(several, single) else single


def _is_better(several: SelectedMixture, single: SelectedMixture) -> bool:
    """Whether a mixture is better by one standard error, and by enough to be worth its time."""
    gains = single.errors - several.errors
    significant = gains.sum() > np.sqrt(len(gains)) * gains.std()
    return bool(significant and several.errors.sum() < _WORTHWHILE * single.errors.sum())


def _fit_gaussian(held_out: HeldOutEntries) -> SelectedMixture:
    """One Gaussian, with `Shrinkage.to_diagonal` selected."""
    starts = pairwise_gaussians(held_out.signals, held_out.missing)
    start = min(starts, key=held_out.error)  # the first one if no entries are held out
    first = _TO_DIAGONAL.index(0.1 if held_out.is_decisive else 1.0)
    shrinkages, n = [Shrinkage(k) for k in _TO_DIAGONAL], held_out.signals.shape[1]
    for signals_per_feature, stop in _SUBSETS:
        subset = held_out.subset(signals_per_feature * n)
        last = _run_em(subset, start, shrinkages[first], _STEPS_SUBSET, stop)
        start = m_step(last.mixture, last.sums, shrinkages[first])
        if len(subset.signals) >= len(held_out.signals):
            break
    else:
        last = _run_em(held_out, start, shrinkages[first], _STEPS_GAUSSIAN, _STOP)
    return _tune_shrinkage(held_out, last, shrinkages, first)


def _fit_several(
    held_out: HeldOutEntries, single: SelectedMixture, n_members: int, random: np.random.Generator
) -> SelectedMixture:
    """A mixture of several Gaussians, with `Shrinkage.to_common` selected."""
    n = held_out.signals.shape[1]
    shrinkages = [Shrinkage(single.shrinkage.to_diagonal, k * n) for k in _TO_COMMON]
    (gaussian,) = single.mixture.members
    missing, every = held_out.missing, held_out.every
    filled = condition(gaussian, held_out.signals, missing).filled
    start = clustered_mixture(gaussian, filled, missing, n_members, shrinkages[1], random, every)
    held_out = replace(held_out, candidates=start.likeliest(filled, _CANDIDATE_MARGIN))
    last = _run_em(held_out, start, shrinkages[1], _STEPS_MIXTURE, _STOP)
    if last.error > _HOPELESS * single.errors.sum():
        shrinkages = shrinkages[1:2]
    return _tune_shrinkage(held_out, last, shrinkages, len(shrinkages) // 2)


def _run_em(
    held_out: HeldOutEntries, mixture: Mixture, shrinkage: Shrinkage, max_iter: int, stop: float
) -> Iterate:
    """EM with over-relaxation, until the error falls to no less than a share `stop`."""
    last, gain = held_out.iterate(mixture), 0.0
    factor = _RELAXATION if held_out.is_decisive else _SAFE_RELAXATION
    for _ in range(max_iter - 1):
        if last.error == 0:  # constant data
            break
        plain = m_step(last.mixture, last.sums, shrinkage)
        relaxed = over_relaxed(last.mixture, plain, factor)
        following = held_out.iterate(relaxed)
        if held_out.is_decisive:
            factor = min(_RELAXATION_GROWTH * factor, _MAX_RELAXATION)
        if following.error > last.error and relaxed is not plain and gain < _RETRY:
            following, factor = held_out.iterate(plain), _RELAXATION
        if following.error > last.error:
            break
        gain = following.error / last.error if held_out.is_decisive else 0.0
        last = following
        if gain > stop:
            break
    return last


def _tune_shrinkage(
    held_out: HeldOutEntries, last: Iterate, shrinkages: list[Shrinkage], first: int
) -> SelectedMixture:
    """Descend from the first of several shrinkages to that of the lowest held-out error."""

    def evaluate(shrinkage: Shrinkage) -> SelectedMixture:
        mixture = m_step(last.mixture, last.sums, shrinkage)
        errors = held_out.errors(mixture)
        return SelectedMixture(mixture, shrinkage, errors, held_out.original_candidates())

    best = evaluate(shrinkages[first])
    if not held_out.is_decisive:
        return best
    for direction in (1, -1):
        index, better = first + direction, best
        while 0 <= index < len(shrinkages):
            other = evaluate(shrinkages[index])
            if not other.errors.sum() < better.errors.sum():
                break
            better, index = other, index + direction
        if better is not best:
            return better
    return best
