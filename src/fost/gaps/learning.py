"""What is usual for signals, learned from signals with gaps."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np

from fost._random import RandomState, as_generator
from fost._threads import single_threaded_blas
from fost._validation import check_integer, check_path
from fost.gaps.checkpoint import Checkpoint, Progress
from fost.gaps.conditioning import Gaps, Rows, condition
from fost.gaps.hidden import chosen
from fost.gaps.mixture import Mixture, gaps_of
from fost.gaps.moments import MomentsOf, Shrinkage, divided_moments, maximised, moments
from fost.gaps.start import Counts
from fost.gaps.units import Units
from fost.streams import Stream, as_stream
from fost.transforms import Bank, Coder

# Signals at most from which sizes and shrinkages are chosen.
_SAMPLE = 2**13
# Signals whose conditional covariances are computed in a step with all signals, about.
_COVARIANCES = 1000
# Signals of which those with hidden entries are but a few.
_MANY = 2500


def learn(
    Y: object,
    n_members: int | None = None,
    *,
    missing: object = None,
    coder: Coder | None = None,
    max_iter: int | None = None,
    random_state: RandomState = 0,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Mixture:
    """A mixture of Gaussians that makes what is observed of signals likely.

    By expectation and maximisation: each step fills the gaps by the mixture so far, and adds up
    first and second moments, to which the conditional covariances of what was filled in belong.
    Covariances are drawn towards simpler ones; how much, and whether one Gaussian or several are
    better, is chosen by entries that are hidden for that, in up to 8,192 of the signals.

    Parameters
    ----------
    Y : array-like of shape (n_signals, n_features)
        Signals in rows, NaN where they have gaps, or anything else that
        `fost.learning.as_training_data` takes. Every feature must be observed somewhere.
    n_members : int, optional
        Gaussians of the mixture. If None, one or several, whichever is better.
    missing : array of bool of the shape of Y, optional
        True where an entry is missing, whatever it holds; where Y is in Dask, in Zarr or in blocks,
        this may be too. If None, where it is NaN.
    coder : Transform or Bank, optional
        Covariances are diagonal in the domain of this transform; of a bank, each in that of a
        member, of which there are `n_members`. Faster for long signals, and less exact. If None,
        any covariances, each with a transform of its own.
    max_iter : int, optional
        Steps with all signals, after those by which the rest was chosen. If None, three where these
        were not all signals, one where much was hidden of them (of fewer than 2,500), and none
        otherwise.
    random_state : int, Generator, RandomState or None
        For what is hidden, and where mixtures start.
    checkpoint : path, optional
        A file that is written, in one step, when sizes and shrinkages are chosen, and after each
        step with all signals. Where it exists learning goes on from it, and ends with the same
        mixture, to the last bit, as a run that was never interrupted; with more steps where
        `max_iter` is larger now, and as it is where it has made more. A file of other signals,
        other settings or another version, or a damaged one, is a `fost.learning.CheckpointError`,
        which is a ValueError.

    Returns
    -------
    Mixture

    Examples
    --------
    >>> import fost, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> Y = np.cumsum(rng.standard_normal((1000, 16)), axis=1)
    >>> gaps = rng.random(Y.shape) < 0.3
    >>> mixture = fost.gaps.learn(np.where(gaps, np.nan, Y))
    >>> error = np.sqrt(np.mean((mixture.fill(Y, gaps) - Y)[gaps] ** 2))
    >>> bool(error < 1)  # the mean would be wrong by 2.9
    True
    """
    stream = as_stream(Y, missing=missing)
    if max_iter is not None:
        max_iter = check_integer(max_iter, "max_iter", 0, 10**6)
    if checkpoint is not None:
        check_path(checkpoint, "checkpoint")
    random = as_generator(random_state)
    if coder is not None:
        n_members = _checked_coder(coder, stream.n_features, n_members)
    with single_threaded_blas:
        counts = Counts.of(stream)
        if n_members is not None:
            n_members = check_integer(n_members, "n_members", 1, counts.n_signals, "n_signals")
        keeper, progress = None, None
        if checkpoint is not None:
            seeded = random_state is not None
            keeper = Checkpoint(checkpoint, stream, counts, n_members, coder, random, seeded)
            progress = keeper.resume()
        return _learned(
            stream, counts.n_signals, n_members, coder, max_iter, random, keeper, progress
        )


def _learned(
    stream: Stream,
    n_signals: int,
    n_members: int | None,
    coder: Coder | None,
    max_iter: int | None,
    random: np.random.Generator,
    keeper: Checkpoint | None,
    progress: Progress | None,
) -> Mixture:
    """`learn` of checked arguments, from the beginning or from where it was."""
    in_memory = n_signals <= _SAMPLE
    signals = np.empty((0, stream.n_features))
    if progress is None or in_memory:
        signals = _sample(stream, n_signals, random)
    gaps = gaps_of(signals, None, stream.name)
    if progress is None:
        progress = _begun(signals, gaps, n_members, coder, random)
        if not in_memory:  # there are other signals
            progress = replace(progress, candidates=None)
        if keeper:
            keeper.save(progress)
    steps = max_iter if max_iter is not None else _steps(n_signals)
    every = max(1, n_signals // _COVARIANCES)
    units, transforms = progress.units, coder.members if coder is not None else None
    scaled = units.taken_out(signals)
    for _ in range(progress.n_iter, steps):
        mixture = progress.mixture
        if in_memory:
            sums = moments(mixture, scaled, gaps, every, progress.candidates)
        else:
            sums = stream.total(MomentsOf(mixture, units, stream.name, every))
        mixture = maximised(mixture, sums, progress.shrinkage, transforms)
        progress = replace(progress, mixture=mixture, n_iter=progress.n_iter + 1)
        if keeper:
            keeper.save(progress)
    return units.put_back(progress.mixture)


def _steps(n_signals: int) -> int:
    """Steps with all signals that are worth it, hidden entries and all."""
    if n_signals > _SAMPLE:
        return 3
    return 1 if n_signals < _MANY else 0


def _begun(
    signals: Rows,
    gaps: Gaps,
    n_members: int | None,
    coder: Coder | None,
    random: np.random.Generator,
) -> Progress:
    """What is chosen by some signals."""
    units = Units.of(signals, gaps, common=coder is not None)
    scaled = units.taken_out(signals)
    choice = chosen(scaled, gaps, 1 if coder is not None else n_members, random)
    mixture, shrinkage, candidates = choice.mixture, choice.shrinkage, choice.candidates
    if coder is not None:
        shrinkage = Shrinkage(shrinkage.alone, float(coder.n_features))
        mixture = _in_domains(mixture, coder, scaled, gaps, shrinkage)
    return Progress(mixture, units, shrinkage, candidates)


def _checked_coder(coder: Coder, n_features: int, n_members: int | None) -> int:
    """How many Gaussians there are with a coder: one for each of its transforms."""
    if not isinstance(coder, Coder):
        raise TypeError(f"coder must be a transform or a bank, got {type(coder).__name__}")
    if coder.n_features != n_features:
        raise ValueError(f"coder must be for the {n_features} features of Y, got {coder!r}")
    if n_members not in (None, len(coder.members)):
        raise ValueError(
            f"n_members must be that of coder, {len(coder.members)}, got {n_members!r}"
        )
    return len(coder.members)


def _sample(stream: Stream, n_signals: int, random: np.random.Generator) -> Rows:
    """Some signals, in memory; all where there are few."""
    places = np.arange(n_signals)
    if n_signals > _SAMPLE:
        places = np.sort(random.choice(n_signals, _SAMPLE, replace=False))
    return stream.take(places).astype(np.float64)


def _in_domains(
    alone: Mixture, coder: Coder, signals: Rows, gaps: Gaps, shrinkage: Shrinkage
) -> Mixture:
    """A Gaussian in the domain of a transform; of a bank, one for what each member suits best."""
    if not isinstance(coder, Bank):
        return Mixture([alone.members[0].in_domain(coder.members[0])])
    filled = condition(alone.members[0], signals, gaps).rows
    codes = coder.encode(filled - alone.mean, max(1, coder.n_features // 8))
    labels = coder.chosen(codes)
    same, sums = divided_moments(alone.members[0], labels, coder.n_members, filled, gaps)
    return maximised(same, sums, shrinkage, coder.members)
