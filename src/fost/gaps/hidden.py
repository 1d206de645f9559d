"""Which mixture is best, by entries that are hidden from it.

Signals get the gaps of others in addition to their own, so that what is hidden is like what is
missing: scattered, or in runs, or always the same features.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fost.gaps.conditioning import Gaps, Rows, condition
from fost.gaps.mixture import Mixture
from fost.gaps.moments import Shrinkage, beyond, maximised, moments
from fost.gaps.start import divided, pairwise
from fost.streams import Sums

# Signals that entries are hidden from, as a share of all and at most.
_SHARE, _MOST = 0.25, 500
# Entries that are hidden of signals where no other has gaps.
_SCATTERED = 0.25
# Fewer hidden entries than this decide nothing.
_FEWEST = 64
# Members of a mixture that is tried, fewer where they had not so many signals per feature.
_MEMBERS, _SIGNALS = 16, 2
# Steps of learning at most, and how much less the error has to be for another one.
_STEPS_ALONE, _STEPS_WHOLE, _STEPS_APART, _GAIN = 30, 2, 20, 0.995
# How far beyond its end a step of one Gaussian goes: 1 is to it, 2 is as far again.
_RELAXATION = 1.7
# Signals whose conditional covariances are computed in a step, about.
_COVARIANCES = 500
# Signals per feature that the first steps are made with.
_FEW = 32
# Signals that it takes to believe in correlations; and, as multiples of the number of features,
# in differences between members.
_ALONE = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, 1e6)
_APART = (0.25, 1.0, 4.0)
# A mixture has to be better than one Gaussian by this factor to be worth its time.
_WORTH = 0.98
_HOPELESS = 1.05


@dataclass(frozen=True)
class Choice:
    """A mixture with the shrinkage by which it was found."""

    mixture: Mixture
    shrinkage: Shrinkage
    errors: NDArray[np.float64]  # of hidden entries, by signals; empty where nothing was hidden


@dataclass(frozen=True)
class Trial:
    """Signals with gaps, and with hidden entries in some rows."""

    signals: Rows
    gaps: Gaps  # the hidden ones among them
    judged: NDArray[np.int64]  # rows
    hidden: Gaps  # of these rows
    candidates: NDArray[np.bool_] | None = None  # members that may suit each signal, where known

    @classmethod
    def of(cls, signals: Rows, gaps: Gaps, random: np.random.Generator) -> Trial:
        """Hide entries of some signals where others have gaps."""
        count = min(_MOST, int(np.ceil(_SHARE * len(signals))))
        judged = np.sort(random.choice(len(signals), count, replace=False))
        some = gaps.any(axis=1) & ~gaps.all(axis=1)
        if some.any():
            hidden = gaps[random.choice(np.flatnonzero(some), count)]
        else:
            hidden = random.random((count, signals.shape[1])) < _SCATTERED
        hidden = hidden & ~gaps[judged]
        # Every feature stays observed somewhere.
        hidden &= (~gaps).sum(axis=0) > hidden.sum(axis=0)
        more = gaps.copy()
        more[judged] |= hidden
        return cls(signals, more, judged, hidden)

    @property
    def decides(self) -> bool:
        """Whether enough is hidden to tell mixtures apart."""
        return int(self.hidden.sum()) >= _FEWEST

    def few(self) -> Trial:
        """Those signals that are judged and some others."""
        others = np.setdiff1d(np.arange(len(self.signals)), self.judged)
        count = max(_FEW * self.signals.shape[1] - len(self.judged), 0)
        rows = np.concatenate([self.judged, others[:count]])
        return Trial(self.signals[rows], self.gaps[rows], np.arange(len(self.judged)), self.hidden)

    def knowing(self, candidates: NDArray[np.bool_]) -> Trial:
        """The same, where the members are known that may suit a signal."""
        return replace(self, candidates=candidates)

    def errors(self, mixture: Mixture) -> NDArray[np.float64]:
        """The squared errors of hidden entries, added up for each signal."""
        truth = self.signals[self.judged]
        known = None if self.candidates is None else self.candidates[self.judged]
        filled, _ = mixture.filled(truth, self.gaps[self.judged], candidates=known)
        return np.asarray((np.where(self.hidden, filled - truth, 0) ** 2).sum(axis=1))

    def error(self, mixture: Mixture) -> float:
        """The sum of these errors; infinite where nothing is hidden that could decide."""
        return float(self.errors(mixture).sum()) if self.decides else np.inf

    def moments(self, mixture: Mixture) -> Sums:
        """The sums of a step, with the conditional covariances of some signals for those of all."""
        return moments(mixture, self.signals, self.gaps, self.every, self.candidates)

    @property
    def every(self) -> int:
        """Which share of signals have their conditional covariances computed, inverted."""
        return max(1, len(self.signals) // _COVARIANCES)


def chosen(signals: Rows, gaps: Gaps, n_members: int | None, random: np.random.Generator) -> Choice:
    """The best mixture for signals in memory; of any size if `n_members` is None."""
    trial = Trial.of(signals, gaps, random)
    if not trial.decides:
        trial = Trial(signals, gaps, trial.judged, np.zeros_like(trial.hidden))
    alone = _best_alone(trial)
    most = len(signals) // (_SIGNALS * signals.shape[1])
    wanted = min(_MEMBERS, most) if n_members is None else n_members
    if wanted < 2 or (n_members is None and not trial.decides):
        return alone
    several = _best_apart(trial, alone, wanted, random)
    return several if n_members or _is_better(several, alone) else alone


def _is_better(several: Choice, one: Choice) -> bool:
    """Whether a mixture is better than one Gaussian, by more than chance and than its time."""
    gains = one.errors - several.errors
    sure = gains.sum() > np.sqrt(len(gains)) * gains.std()
    return bool(sure and several.errors.sum() < _WORTH * one.errors.sum())


def _best_alone(trial: Trial) -> Choice:
    """One Gaussian, and how much it takes to believe in correlations."""
    start = pairwise(trial.signals, trial.gaps)
    weak = Shrinkage(_ALONE[1] if trial.decides else 1.0)
    few = trial.few()
    before, sums, _ = _learned(few, start, weak, _STEPS_ALONE)
    if len(few.signals) < len(trial.signals):
        start = maximised(before, sums, weak)
        before, sums, _ = _learned(trial, start, weak, _STEPS_WHOLE)
    return _tuned(trial, before, sums, [Shrinkage(k) for k in _ALONE] if trial.decides else [weak])


def _best_apart(trial: Trial, alone: Choice, n_members: int, random: np.random.Generator) -> Choice:
    """A mixture, and how much it takes to believe that its members differ."""
    n = trial.signals.shape[1]
    several = [Shrinkage(alone.shrinkage.alone, k * n) for k in _APART]
    (gaussian,) = alone.mixture.members
    filled = condition(gaussian, trial.signals, trial.gaps).rows
    start = divided(gaussian, filled, trial.gaps, n_members, several[1], random, trial.every)
    trial = trial.knowing(start.likeliest(filled))
    before, sums, error = _learned(trial, start, several[1], _STEPS_APART)
    # What is far behind one Gaussian is not tuned any more.
    if not trial.decides or error > _HOPELESS * alone.errors.sum():
        several = several[1:2]
    return _tuned(trial, before, sums, several)


def _learned(
    trial: Trial, mixture: Mixture, shrinkage: Shrinkage, steps: int
) -> tuple[Mixture, Sums, float]:
    """Learn until the error of hidden entries falls no more.

    Returns the last mixture but one, its sums, which make the last one, and the error of that.
    """
    before = mixture
    sums = trial.moments(before)
    best = maximised(before, sums, shrinkage)
    error = trial.error(best)
    for _ in range(steps - 1):
        start = beyond(before, best, _RELAXATION)
        more = trial.moments(start)
        following = maximised(start, more, shrinkage)
        reached = trial.error(following)
        if reached > error:
            break
        enough = trial.decides and reached > _GAIN * error
        before, sums, best, error = start, more, following, reached
        if enough:
            break
    return before, sums, error


def _tuned(trial: Trial, before: Mixture, sums: Sums, several: list[Shrinkage]) -> Choice:
    """The best of several shrinkages for the same sums."""
    choices = []
    for shrinkage in several:
        mixture = maximised(before, sums, shrinkage)
        choices.append(Choice(mixture, shrinkage, trial.errors(mixture)))
    return min(choices, key=lambda choice: float(choice.errors.sum()))
