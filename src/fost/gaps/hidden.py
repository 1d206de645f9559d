"""Which mixture is best, by entries that are hidden from it.

Signals get the gaps of others in addition to their own, so that what is hidden is like what is
missing: scattered, or in runs, or always the same features.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fost._typing import Floats
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
# How far beyond its end a step of one Gaussian goes (1 is to it, 2 is as far again), and what that
# is multiplied by after each step that was worth it.
_RELAXATION, _GROWTH, _FARTHEST = 2.0, 1.2, 4.0
# How far they go where nothing is hidden that says when it is too far.
_CAREFUL = 1.5
# Steps that went too far are taken again as they are where the last one gained so much.
_AGAIN = 0.97
# Signals whose conditional covariances are computed in a step, about.
_COVARIANCES = 500
# Signals per feature that the first steps are made with, and how much less the error has to be for
# another one with them.
_FEW = ((16, 0.9), (32, 0.995))
# Signals that it takes to believe in correlations; and, as multiples of the number of features,
# in differences between members.
_ALONE = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, 1e6)
_APART = (0.25, 1.0, 4.0)
# Members that are less likely for a signal by so much, as logarithms, do not learn from it.
_BEHIND = 7.0
# A mixture has to be better than one Gaussian by this factor to be worth its time.
_WORTH = 0.98
_HOPELESS = 1.05


@dataclass(frozen=True)
class Choice:
    """A mixture with the shrinkage by which it was found."""

    mixture: Mixture
    shrinkage: Shrinkage
    errors: NDArray[np.float64]  # of hidden entries, by signals; empty where nothing was hidden
    candidates: NDArray[np.bool_] | None = None  # members that may suit each signal, where known


@dataclass(frozen=True)
class Step:
    """A mixture, the sums that make the next one, and its error for hidden entries."""

    mixture: Mixture
    sums: Sums
    error: float


@dataclass(frozen=True)
class Trial:
    """Signals with gaps, and with hidden entries in the first of them, which are judged."""

    signals: Rows
    gaps: Gaps  # the hidden ones among them
    hidden: Gaps  # of the first rows
    order: NDArray[np.int64]  # places of the rows among all signals
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
        if hidden.sum() < _FEWEST:
            hidden[:] = False
        order = np.concatenate([judged, np.setdiff1d(np.arange(len(signals)), judged)])
        more = gaps[order]
        more[:count] |= hidden
        return cls(signals[order], more, hidden, order)

    @property
    def decides(self) -> bool:
        """Whether enough is hidden to tell mixtures apart."""
        return bool(self.hidden.any())

    def few(self, count: int) -> Trial:
        """Those signals that are judged and some others, so many in all."""
        count = max(count, len(self.hidden))
        return Trial(self.signals[:count], self.gaps[:count], self.hidden, self.order[:count])

    def knowing(self, candidates: NDArray[np.bool_]) -> Trial:
        """The same, where the members are known that may suit a signal."""
        return replace(self, candidates=candidates)

    def known(self) -> NDArray[np.bool_] | None:
        """The members that may suit all signals, in their own order."""
        if self.candidates is None:
            return None
        known = np.empty_like(self.candidates)
        known[self.order] = self.candidates
        return known

    def errors(self, mixture: Mixture) -> NDArray[np.float64]:
        """The squared errors of hidden entries, added up for each signal."""
        count = len(self.hidden)
        known = None if self.candidates is None else self.candidates[:count]
        truth = self.signals[:count]
        filled, _ = mixture.filled(truth, self.gaps[:count], candidates=known)
        return self._errors(filled)

    def _errors(self, filled: Floats) -> NDArray[np.float64]:
        shown, truth = self._judged
        wrong = filled * shown
        wrong -= truth
        return np.asarray(np.einsum("ij,ij->i", wrong, wrong))

    @cached_property
    def _judged(self) -> tuple[Rows, Rows]:
        """One where entries are hidden and zero elsewhere, and what these are."""
        truth = np.where(self.hidden, self.signals[: len(self.hidden)], 0)
        return self.hidden.astype(np.float64), truth

    def error(self, mixture: Mixture) -> float:
        """The sum of these errors; infinite where nothing is hidden that could decide."""
        return float(self.errors(mixture).sum()) if self.decides else np.inf

    def step(self, mixture: Mixture) -> Step:
        """The sums of a step, with the conditional covariances of some signals for those of all.

        What is judged is filled on the way.
        """
        filled = np.empty(self.hidden.shape if self.decides else (0, 0))
        sums = moments(mixture, self.signals, self.gaps, self.every, self.candidates, filled)
        error = float(self._errors(filled).sum()) if self.decides else np.inf
        return Step(mixture, sums, error)

    @property
    def every(self) -> int:
        """Which share of signals have their conditional covariances computed, inverted."""
        return max(1, len(self.signals) // _COVARIANCES)


def chosen(signals: Rows, gaps: Gaps, n_members: int | None, random: np.random.Generator) -> Choice:
    """The best mixture for signals in memory; of any size if `n_members` is None."""
    trial = Trial.of(signals, gaps, random)
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
    starts = pairwise(trial.signals, trial.gaps)
    start = min(starts, key=trial.error)  # the first, where nothing decides
    weak = _ALONE.index(0.1 if trial.decides else 1.0)
    several, n = [Shrinkage(k) for k in _ALONE], trial.signals.shape[1]
    for share, gain in _FEW:
        few = trial.few(share * n)
        last = _learned(few, start, several[weak], _STEPS_ALONE, gain)
        start = maximised(last.mixture, last.sums, several[weak])
        if len(few.signals) >= len(trial.signals):
            break
    else:
        last = _learned(trial, start, several[weak], _STEPS_WHOLE, _GAIN)
    return _tuned(trial, last, several, weak)


def _best_apart(trial: Trial, alone: Choice, n_members: int, random: np.random.Generator) -> Choice:
    """A mixture, and how much it takes to believe that its members differ."""
    n = trial.signals.shape[1]
    several = [Shrinkage(alone.shrinkage.alone, k * n) for k in _APART]
    (gaussian,) = alone.mixture.members
    filled = condition(gaussian, trial.signals, trial.gaps).rows
    start = divided(gaussian, filled, trial.gaps, n_members, several[1], random, trial.every)
    trial = trial.knowing(start.likeliest(filled, _BEHIND))
    last = _learned(trial, start, several[1], _STEPS_APART, _GAIN)
    # What is far behind one Gaussian is not tuned any more.
    if last.error > _HOPELESS * alone.errors.sum():
        several = several[1:2]
    return _tuned(trial, last, several, len(several) // 2)


def _learned(
    trial: Trial, mixture: Mixture, shrinkage: Shrinkage, steps: int, enough: float
) -> Step:
    """Learn until the error of hidden entries falls to no less than so much of what it was."""
    last, gain = trial.step(mixture), 0.0
    factor = _RELAXATION if trial.decides else _CAREFUL
    for _ in range(steps - 1):
        plain = maximised(last.mixture, last.sums, shrinkage)
        start = beyond(last.mixture, plain, factor)
        following = trial.step(start)
        if trial.decides:
            factor = min(_GROWTH * factor, _FARTHEST)
        if following.error > last.error and start is not plain and gain < _AGAIN:
            following, factor = trial.step(plain), _RELAXATION
        if following.error > last.error:
            break
        gain = following.error / last.error if trial.decides else 0.0
        last = following
        if gain > enough:
            break
    return last


def _tuned(trial: Trial, last: Step, several: list[Shrinkage], first: int) -> Choice:
    """The best of several shrinkages for the same sums: downhill from the first."""
    best = _judged(trial, last, several[first])
    if not trial.decides:
        return best
    for direction in (1, -1):
        place, better = first + direction, best
        while 0 <= place < len(several):
            other = _judged(trial, last, several[place])
            if not other.errors.sum() < better.errors.sum():
                break
            better, place = other, place + direction
        if better is not best:
            return better
    return best


def _judged(trial: Trial, last: Step, shrinkage: Shrinkage) -> Choice:
    mixture = maximised(last.mixture, last.sums, shrinkage)
    return Choice(mixture, shrinkage, trial.errors(mixture), trial.known())
