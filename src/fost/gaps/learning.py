"""What is usual for signals, learned from signals with gaps."""

from __future__ import annotations

import numpy as np

from fost._random import RandomState, as_generator
from fost._validation import check_integer
from fost.gaps.conditioning import Gaps, Rows, condition
from fost.gaps.hidden import chosen
from fost.gaps.mixture import Mixture, gaps_of
from fost.gaps.moments import MomentsOf, Shrinkage, divided_moments, maximised
from fost.gaps.start import CountsOf
from fost.gaps.units import Units
from fost.streams import Stream, as_stream
from fost.transforms import Bank, Coder

# Signals at most from which sizes and shrinkages are chosen.
_SAMPLE = 2**13
# Signals whose conditional covariances are computed in a step with all signals, about.
_COVARIANCES = 1000


def learn(
    Y: object,
    n_members: int | None = None,
    *,
    missing: object = None,
    coder: Coder | None = None,
    max_iter: int | None = None,
    random_state: RandomState = 0,
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
        `fost.learning.as_source` takes. Every feature must be observed somewhere.
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
        Steps with all signals, after those by which the rest was chosen. If None, one, or three
        where these were not all signals.
    random_state : int, Generator, RandomState or None
        For what is hidden, and where mixtures start.

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
    random = as_generator(random_state)
    if coder is not None:
        n_members = _checked_coder(coder, stream.n_features, n_members)
    n_signals = _checked_signals(stream)
    if n_members is not None:
        n_members = check_integer(n_members, "n_members", 1, n_signals, "n_signals")
    signals = _sample(stream, n_signals, random)
    gaps = gaps_of(signals, None, stream.name)
    units = Units.of(signals, gaps, common=coder is not None)
    scaled = units.taken_out(signals)
    choice = chosen(scaled, gaps, 1 if coder is not None else n_members, random)
    mixture, shrinkage, transforms = choice.mixture, choice.shrinkage, None
    if coder is not None:
        transforms = coder.transforms
        shrinkage = Shrinkage(shrinkage.alone, float(stream.n_features))
        mixture = _in_domains(mixture, coder, scaled, gaps, shrinkage)
    if max_iter is None:
        max_iter = 1 if n_signals <= _SAMPLE else 3
    every = max(1, n_signals // _COVARIANCES)
    for _ in range(max_iter):
        sums = stream.total(MomentsOf(mixture, units, stream.name, every))
        mixture = maximised(mixture, sums, shrinkage, transforms)
    return units.put_back(mixture)


def _checked_coder(coder: Coder, n_features: int, n_members: int | None) -> int:
    """How many Gaussians there are with a coder: one for each of its transforms."""
    if not isinstance(coder, Coder):
        raise TypeError(f"coder must be a transform or a bank, got {type(coder).__name__}")
    if coder.n_features != n_features:
        raise ValueError(f"coder must be for the {n_features} features of Y, got {coder!r}")
    if n_members not in (None, len(coder.transforms)):
        raise ValueError(
            f"n_members must be that of coder, {len(coder.transforms)}, got {n_members!r}"
        )
    return len(coder.transforms)


def _checked_signals(stream: Stream) -> int:
    """How many signals there are, whose features must all be observed somewhere."""
    seen, _, n_signals = stream.total(CountsOf(stream.name))
    if not seen.all():
        never = np.flatnonzero(seen == 0)[0]
        raise ValueError(
            f"{stream.name} must have every feature observed somewhere, but feature {never} is not"
        )
    return int(n_signals)


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
        return Mixture([alone.members[0].in_domain(coder.transforms[0])])
    filled = condition(alone.members[0], signals, gaps).rows
    codes = coder.encode(filled - alone.mean, max(1, coder.n_features // 8))
    labels = coder.chosen(codes)
    same, sums = divided_moments(alone.members[0], labels, coder.n_transforms, filled, gaps)
    return maximised(same, sums, shrinkage, coder.transforms)
