"""Where signals come from: everything that learning asks of data.

Learning never sees signals, only sums over them: the n x n statistic M = X Y^T with
||X||_F^2, the n x n Gram matrix Y^T Y and ||Y||_F^2. A memory map, a stream of blocks and a
Dask cluster are three ways to add up the same sums (see `fost.streams`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fost._typing import DType, Floats
from fost.coding.selection import SelectionRule
from fost.learning.content import MarksOf, told_apart
from fost.learning.copies import Part, laid_out
from fost.learning.filling import Prior
from fost.learning.moments import EnergiesOf, GramOf, PairsOf, mean_moments, overflow
from fost.learning.passes import REFILLS, Coding, StatisticOf
from fost.streams import Measure, Stream, Sums, as_stream
from fost.streams.annotated import Annotated
from fost.streams.base import Piece
from fost.streams.local import Array
from fost.transforms import Coder, Transform, with_base

# Squares below the least normal number lose digits. Of a sum this large they do not count.
LEAST_TOTAL = float(np.finfo(np.float64).tiny / np.finfo(np.float64).eps)
# Entries of signals that are put into their own order, in a copy, before learning: 2 MiB of them,
# so that this takes about as long as one iteration.
_FEW_ENTRIES = 2**18
# Signals that are told apart, for which it takes some 30 bytes each.
_MOST_TOLD_APART = 2**22

Known = TypeVar("Known")


@dataclass(frozen=True)
class Statistic:
    """What one pass over signals gives: M = X Y^T (row i: code entry i) and what codes are worth.

    That is ||X||_F^2; less the price of their entries, where learning has a threshold; and where
    entries are missing, the energy of what is observed less the error on it. `total` is
    ||Y||_F^2 of what is observed, where the pass was asked for it. Codes in a union are no
    projections: of those the energy is ||Y||_F^2 - ||Y - U X||_F^2, which it is of others too, and
    there is X X^T.

    Examples
    --------
    >>> import fost, numpy as np
    >>> statistic = fost.learning.as_source(np.eye(4)).statistic(None, fost.DCT(4), 4)
    >>> statistic.matrix.shape, round(statistic.energy, 12)
    ((4, 4), 4.0)
    """

    matrix: NDArray[np.float64]
    energy: float
    total: float | None = None
    products: NDArray[np.float64] | None = None

    @property
    def scaled(self) -> NDArray[np.float64]:
        """M over its largest magnitude: what is best for M does not depend on its scale."""
        largest = np.abs(self.matrix).max()
        return self.matrix / largest if largest > 0 else self.matrix


def share_lost(kept: float, total: float) -> float:
    """||Y - U X||_F^2 / ||Y||_F^2 from ||X||_F^2 and ||Y||_F^2: codes are projections.

    With a price of entries or with gaps, what is minimised instead, from what codes are worth.
    """
    return max(0.0, 1.0 - kept / total) if total > 0 else 0.0


class Source(Stream):
    """A stream of signals as learning sees it: with the sums over all of them.

    Examples
    --------
    >>> import fost, numpy as np
    >>> source = fost.learning.as_source([np.eye(4), 2 * np.eye(4)])  # two blocks
    >>> source.n_signals, source.n_features, source.energy
    (8, 4, 20.0)
    """

    def __init__(self, stream: Stream) -> None:
        self._stream, self.name, self.gaps = stream, stream.name, stream.gaps
        self.resident, self.at_hand = stream.resident, stream.at_hand
        # Whether their order is one that learning has chosen, and not that of who gave them.
        self.settled = False
        self._n_given: int | None = None
        self._known: dict[Hashable, object] = {}

    @property
    def weighted(self) -> bool:
        return self._stream.weighted

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """How many times each signal counts; None where all count once."""
        return self.weights_at(np.arange(self.n_signals)) if self.weighted else None

    @property
    def n_signals(self) -> int:
        if self._stream.n_signals is None:
            _ = self._moments  # a pass, which counts them
        assert self._stream.n_signals is not None
        return self._stream.n_signals

    @property
    def n_given(self) -> int:
        """How many signals there were before equal ones became one."""
        return self.n_signals if self._n_given is None else self._n_given

    @property
    def n_features(self) -> int:
        return self._stream.n_features

    @property
    def dtype(self) -> DType:
        return self._stream.dtype

    def blocks(self) -> Iterator[Floats]:
        return self._stream.blocks()

    def pieces(self) -> Iterator[Piece]:
        return self._stream.pieces()

    def total(self, measure: Measure) -> Sums:
        return self._stream.total(measure)

    def take(self, places: NDArray[np.int64]) -> Floats:
        return self._stream.take(places)

    def weights_at(self, places: NDArray[np.int64]) -> NDArray[np.float64] | None:
        return self._stream.weights_at(places)

    def map_blocks(self, function: Callable[[Floats], Any]) -> Any:
        return self._stream.map_blocks(function)

    @property
    def rounding(self) -> float:
        """The relative rounding error of one number, by the type of the signals."""
        return float(np.finfo(self.dtype).eps)

    @property
    def least(self) -> float:
        """The least number above zero, by the type of the signals."""
        return float(np.finfo(self.dtype).smallest_subnormal)

    def statistic(
        self,
        base: Transform | None,
        coder: Coder,
        rule: SelectionRule | int,
        with_total: bool = False,
        refills: int = REFILLS,
    ) -> Statistic:
        """The statistic of Y = base.forward(signals) with their codes X by a rule.

        A number is that of entries. With ||Y||_F^2 from the same pass, if wanted; signals with
        gaps are filled from their codes so many times.
        """
        how = self.coding(with_base(base, coder), rule, refills)
        matrix, energy, total, nonzero = self._stream.total(StatisticOf(how, with_total))
        self._check_total(total, nonzero)
        if base is not None:
            # X (B^T Y)^T = (X Y^T) B: the base is applied to the sums once more, not to signals.
            matrix = matrix @ base
        return Statistic(matrix, energy, total if with_total else None)

    def coding(self, coder: Coder, rule: SelectionRule | int, refills: int = REFILLS) -> Coding:
        """How signals of this source are coded."""
        rule = rule if isinstance(rule, SelectionRule) else SelectionRule(rule)
        return Coding(coder, rule, self.name, self.prior, refills)

    @cached_property
    def prior(self) -> Prior | None:
        """What gaps are filled by at first; None where nothing is missing."""
        return Prior.of(self._moments[0]) if self.gaps else None

    @cached_property
    def apart(self) -> Part:
        """Where signals are, in the order of what they hold, and how many times each counts.

        Equal ones are one, or as many in a row, so that neither the order of signals nor weights in
        the place of copies make a difference. More than four million are not told apart.
        """
        if self.settled or self.n_signals > _MOST_TOLD_APART:
            return np.arange(self.n_signals), self.weights
        (found,) = self._stream.total(MarksOf())
        return told_apart(found.array, self.weights, self.in_memory() if self.resident else None)

    def in_order(self) -> Source:
        """The same signals in the order of what they hold, if these are few, and at hand.

        What is learned is then, to the last bit, the same for any order of them, and for weights
        as for copies.
        """
        few = self.at_hand and self.n_signals * self.n_features <= _FEW_ENTRIES
        return self.arranged() if few else self

    def arranged(self) -> Source:
        """The same signals in memory, in the order of what they hold."""
        if self.settled:
            return self
        if not self.resident:
            return self.loaded().arranged()
        places, weights = self.apart
        made = Source(Annotated(Array(self.take(places), self.name), self.gaps, None, weights))
        made.settled, made._n_given = True, self.n_signals
        return made

    def sample(self, count: int) -> Source:
        """About `count` signals, always the same, spread over all; all where there are fewer.

        They are drawn by what they hold, wherever they stand. One of weight w is drawn like w
        signals, and counts as often as it was.
        """
        if count >= self.n_signals and (self.settled or not self.resident):
            return self
        places, weights = self.apart
        if count >= len(places):
            return self.taken(places, weights)
        random = np.random.default_rng(0)
        if weights is None:
            return self.taken(places[np.sort(random.choice(len(places), count, replace=False))])
        ends = np.cumsum(weights)
        copies = max(count, round(min(ends[-1], 2.0**53)))
        drawn = np.sort(random.choice(copies, count, replace=False)) + 0.5
        found, times = np.unique(
            np.searchsorted(ends, drawn * (ends[-1] / copies)), return_counts=True
        )
        return self.taken(*laid_out(places[found], times.astype(np.float64)))

    def part(self, places: NDArray[np.int64], weights: NDArray[Any] | None = None) -> Source:
        """The signals at some places, in memory; gaps are filled as in all.

        They have other weights, if given.
        """
        own = self.weights_at(places) if weights is None else weights.astype(np.float64)
        return self.taken(places, own)

    def loaded(self) -> Source:
        """All signals in memory."""
        made = self._in_memory(self.in_memory(), self.weights)
        made.settled = self.settled
        return made

    def taken(
        self, places: NDArray[np.int64], weights: NDArray[np.float64] | None = None
    ) -> Source:
        """The signals at some places, with these weights, in that order."""
        if self.resident:
            rows = self.take(places)
        else:  # which are read from the first to the last
            order = np.argsort(places, kind="stable")
            rows = np.empty((len(places), self.n_features), self.dtype)
            rows[order] = self.take(places[order])
        made = self._in_memory(rows, weights)
        made.settled = True
        return made

    def _in_memory(self, rows: Floats, weights: NDArray[np.float64] | None) -> Source:
        made = Source(Annotated(Array(rows, self.name), self.gaps, None, weights))
        made.__dict__["prior"] = self.prior
        return made

    def in_memory(self) -> Floats:
        """All signals, as one array."""
        blocks = list(self.blocks())
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)

    def once(self, key: Hashable, found: Callable[[], Known]) -> Known:
        """What is found of these signals alone, and need not be found again under this key."""
        if key not in self._known:
            self._known[key] = found()
        return cast(Known, self._known[key])

    def gram(self, base: Transform | None) -> NDArray[np.float64]:
        """Y^T Y of Y = base.forward(signals) in rows; its trace is ||Y||_F^2.

        Where entries are missing, what it would be with them, by the mean product of each pair.
        """
        gram = self._moments[0]
        return gram if base is None else (gram @ base).T @ base

    @property
    def energy(self) -> float:
        """||Y||_F^2 of what is observed."""
        return self._moments[1]

    def relative_error(self, coder: Coder, rule: SelectionRule | int) -> float:
        """||Y - U X||_F^2 / ||Y||_F^2 of the codes X of `encode`, in one pass."""
        rule = rule if isinstance(rule, SelectionRule) else SelectionRule(rule)
        kept, total, nonzero = self._stream.total(EnergiesOf(coder, rule, self.gaps, self.name))
        self._check_total(total, nonzero)
        return share_lost(kept, total)

    def _check_total(self, total: float, nonzero: int) -> None:
        """Raises a ValueError where squares of signals overflow, or lose digits that they need."""
        if not np.isfinite(total):
            raise overflow(self.name)
        if nonzero and total < LEAST_TOTAL:
            raise ValueError(
                f"{self.name} is too small: the squares of its entries vanish in float64"
            )

    @cached_property
    def _moments(self) -> tuple[NDArray[np.float64], float]:
        """Y^T Y, and ||Y||_F^2 of what is observed."""
        if not (self.gaps or self.weighted):
            gram, nonzero = self._stream.total(GramOf(self.name))
            energy = float(np.trace(gram))
            self._check_total(energy, nonzero)
            return np.asarray(gram), energy
        sums, counts, nonzero = self._stream.total(PairsOf(self.gaps, self.name))
        energy = float(np.trace(sums))
        if not counts.any():
            weights = ", or of signals whose sample_weight is zero" if self.weighted else ""
            raise ValueError(f"{self.name} has no observed entries, all are missing{weights}")
        self._check_total(energy, nonzero)
        return mean_moments(sums, counts) if self.gaps else sums, energy


class ArraySource(Source):
    """Signals in the rows of an array in memory."""

    def __init__(self, Y: ArrayLike, name: str = "Y") -> None:
        super().__init__(Array(Y, name))


def as_source(Y: object, missing: object = None, sample_weight: object = None) -> Source:
    """Signals in rows, wherever they are, as learning takes them.

    Parameters
    ----------
    Y : array-like, memmap, Dask array, Zarr or HDF5 array, path, or blocks
        Anything that NumPy makes an array of is in memory; memory maps (``np.memmap``,
        ``np.load(path, mmap_mode="r")``), arrays of Zarr and h5py, and what is iterated are read
        block by block, once per pass, and never are in memory as a whole. Blocks may also be a list
        or tuple of matrices, or a function that yields them; a path leads to a .npy or .zarr
        file. The chunks of a `dask.array.Array` are passed over where they are.
    missing : array of bool of the shape of Y, or "nan", optional
        True where an entry is unobserved, whatever it holds; or NaN in the signals says so. Where Y
        is an array of Dask or Zarr, or yields blocks, this may be one too.
    sample_weight : array-like of shape (n_signals,), optional
        How many times each signal counts.

    Returns
    -------
    Source

    Examples
    --------
    A source of your own is an object whose ``__iter__`` yields blocks of rows, the same ones
    in every pass:

    >>> import fost, numpy as np
    >>> class Months:
    ...     def __iter__(self):
    ...         for month in range(1, 13):  # read a file here
    ...             yield np.random.default_rng(month).standard_normal((30, 16))
    >>> fost.learn(Months(), fost.Reflectors(3), n_nonzero_coefs=2).transform
    Householder(n_features=16, n_reflectors=3, flops=192)
    >>> fost.learning.as_source(Months()).n_signals
    360
    """
    if isinstance(Y, Source) and missing is None and sample_weight is None:
        return Y
    return Source(as_stream(Y, missing=missing, sample_weight=sample_weight))
