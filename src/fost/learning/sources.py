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

from fost import coding
from fost._threads import single_threaded_blas
from fost._typing import DType, Floats
from fost.streams import Measure, Stream, Sums, as_stream
from fost.streams.local import Array
from fost.transforms import Coder, Transform, with_base

# Squares below the least normal number lose digits. Of a sum this large they do not count.
LEAST_TOTAL = float(np.finfo(np.float64).tiny / np.finfo(np.float64).eps)
# Entries that are taken to float64 at once for the Gram matrix, or n signals if those are more.
_GRAM_ENTRIES = 2**16


Known = TypeVar("Known")


@dataclass(frozen=True)
class Statistic:
    """What one pass over signals gives: M = X Y^T (row i: code entry i) and ||X||_F^2.

    `total` is ||Y||_F^2, where the pass was asked for it.
    """

    matrix: NDArray[np.float64]
    energy: float
    total: float | None = None

    @property
    def scaled(self) -> NDArray[np.float64]:
        """M over its largest magnitude: what is best for M does not depend on its scale."""
        largest = np.abs(self.matrix).max()
        return self.matrix / largest if largest > 0 else self.matrix


def share_lost(kept: float, total: float) -> float:
    """||Y - U X||_F^2 / ||Y||_F^2 from ||X||_F^2 and ||Y||_F^2: codes are projections."""
    return max(0.0, 1.0 - kept / total) if total > 0 else 0.0


class Source(Stream):
    """A stream of signals as learning sees it: with the sums over all of them."""

    def __init__(self, stream: Stream) -> None:
        self._stream, self.name = stream, stream.name
        self._known: dict[Hashable, object] = {}

    @property
    def n_signals(self) -> int:
        if self._stream.n_signals is None:
            _ = self._gram  # a pass, which counts them
        assert self._stream.n_signals is not None
        return self._stream.n_signals

    @property
    def n_features(self) -> int:
        return self._stream.n_features

    @property
    def dtype(self) -> DType:
        return self._stream.dtype

    def blocks(self) -> Iterator[Floats]:
        return self._stream.blocks()

    def total(self, measure: Measure) -> Sums:
        return self._stream.total(measure)

    def take(self, places: NDArray[np.int64]) -> Floats:
        return self._stream.take(places)

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
        self, base: Transform | None, coder: Coder, s: int, with_total: bool = False
    ) -> Statistic:
        """The statistic of Y = base.forward(signals) with their codes X of s entries.

        With ||Y||_F^2 from the same pass, if wanted.
        """
        matrix, energy, total, nonzero = self._stream.total(
            _StatisticOf(with_base(base, coder), s, with_total, self.name)
        )
        self._check_total(total, nonzero)
        if base is not None:
            # X (B^T Y)^T = (X Y^T) B: the base is applied to the sums once more, not to signals.
            matrix = matrix @ base
        return Statistic(matrix, energy, total if with_total else None)

    def sample(self, count: int) -> Source:
        """About `count` signals, always the same, spread over all; all where there are fewer."""
        if count >= self.n_signals:
            return self
        random = np.random.default_rng(0)
        chosen = np.sort(random.choice(self.n_signals, count, replace=False))
        return ArraySource(self.take(chosen), self.name)

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
        """Y^T Y of Y = base.forward(signals) in rows; its trace is ||Y||_F^2."""
        return self._gram if base is None else (self._gram @ base).T @ base

    def relative_error(self, coder: Coder, s: int) -> float:
        """||Y - U X||_F^2 / ||Y||_F^2 of the best codes X, in one pass."""
        kept, total, nonzero = self._stream.total(_EnergiesOf(coder, s, self.name))
        self._check_total(total, nonzero)
        return share_lost(kept, total)

    def _check_total(self, total: float, nonzero: int) -> None:
        """Raises a ValueError where squares of signals overflow, or lose digits that they need."""
        if not np.isfinite(total):
            raise _overflow(self.name)
        if nonzero and total < LEAST_TOTAL:
            raise ValueError(
                f"{self.name} is too small: the squares of its entries vanish in float64"
            )

    @cached_property
    def _gram(self) -> NDArray[np.float64]:
        gram, nonzero = self._stream.total(_GramOf(self.name))
        self._check_total(float(np.trace(gram)), nonzero)
        return np.asarray(gram)


class ArraySource(Source):
    """Signals in the rows of an array in memory."""

    def __init__(self, Y: ArrayLike, name: str = "Y") -> None:
        super().__init__(Array(Y, name))


def as_source(Y: object) -> Source:
    """Signals in rows, wherever they are, as learning takes them.

    Parameters
    ----------
    Y : array-like, memmap, Dask array, Zarr or HDF5 array, or iterable of blocks
        Anything that NumPy makes an array of is in memory; memory maps (``np.memmap``,
        ``np.load(path, mmap_mode="r")``), arrays of Zarr and h5py, and what is iterated are read
        block by block, once per pass, and never are in memory as a whole. The chunks of a
        `dask.array.Array` are passed over where they are.

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
    return Y if isinstance(Y, Source) else Source(as_stream(Y))


@dataclass(frozen=True)
class _StatisticOf:
    """M, ||X||_F^2 and, if wanted, ||Y||_F^2 of a block and whether it has anything but zeros."""

    coder: Coder
    s: int
    with_total: bool
    name: str

    def __call__(self, block: Floats) -> Sums:
        matrix, energy = coding.statistic(self.coder._plan, block, self.s, self.name)
        if not self.with_total:
            return matrix, energy, 0.0, 0
        return matrix, energy, squares(block), int(block.any())


@dataclass(frozen=True)
class _EnergiesOf:
    """||X||_F^2 and ||Y||_F^2 of a block, and whether it has anything but zeros."""

    coder: Coder
    s: int
    name: str

    def __call__(self, block: Floats) -> Sums:
        codes = coding.encode(self.coder._plan, block, self.s, self.name).data
        return squares(codes), squares(block), int(block.any())


@dataclass(frozen=True)
class _GramOf:
    """Y^T Y of a block, and whether it has anything but zeros."""

    name: str

    @single_threaded_blas
    def __call__(self, block: Floats) -> Sums:
        total = np.zeros((block.shape[1], block.shape[1]))
        with np.errstate(over="ignore", invalid="ignore"):
            for part in _in_doubles(block):
                total += part.T @ part
        if not np.isfinite(total).all():
            if not np.isfinite(block).all():
                raise ValueError(f"{self.name} contains NaN or infinity")
            raise _overflow(self.name)
        return total, int(block.any())


def _overflow(name: str) -> ValueError:
    return ValueError(f"{name} is too large: the squares of its entries overflow float64")


@single_threaded_blas
def squares(array: Floats) -> float:
    """The sum of the squares of all entries."""
    return float(sum(np.vdot(part, part) for part in _in_doubles(array)))


def _in_doubles(array: Floats) -> Iterator[NDArray[np.float64]]:
    """An array in float64, a part at a time."""
    width = array.shape[1] if array.ndim == 2 else 1
    step = max(width, _GRAM_ENTRIES // width)
    for start in range(0, len(array), step):
        yield array[start : start + step].astype(np.float64, copy=False)
