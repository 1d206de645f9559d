"""What a stream of signals can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse, vstack

from fost._typing import DType, Numbers
from fost._validation import not_in_rows

# Arrays and numbers that are added entry by entry.
Sums = tuple[Any, ...]
# A block of signals, with their weights if they have any.
Piece = tuple[Numbers, ...]
Measure = Callable[..., Sums]


class Stream(ABC):
    """Signals in rows that can be passed over any number of times."""

    # What errors call the signals: the argument that they came as.
    name: str
    # Whether entries may be missing, which are NaN.
    gaps: bool = False
    # Whether all of it is in memory, as one block.
    resident: bool = False
    # Whether this process can read any rows of it, in memory or in a file.
    at_hand: bool = False

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Entries per signal."""

    @property
    @abstractmethod
    def n_signals(self) -> int | None:
        """The number of signals; None where no pass has counted them yet."""

    @property
    @abstractmethod
    def dtype(self) -> DType:
        """float32 where that holds all signals exactly, else float64."""

    @property
    def weighted(self) -> bool:
        """Whether signals have weights: how many times each of them counts."""
        return False

    @abstractmethod
    def blocks(self) -> Iterator[Numbers]:
        """All signals in order, as blocks of rows that are ready for the kernels.

        A block need not stay valid when the next one has been asked for.
        """

    def pieces(self) -> Iterator[Piece]:
        """The blocks, each with the weights of its signals if they have any."""
        return ((block,) for block in self.blocks())

    def total(self, measure: Measure) -> Sums:
        """The sum of measure(block) over all blocks, added in their order.

        Of signals with weights it is that of measure(block, weights).
        """
        return reduce(add, (measure(*piece) for piece in self.pieces()))

    def take(self, places: NDArray[np.int64]) -> Numbers:
        """The signals at some places, which are sorted."""
        found, start = [np.empty((0, self.n_features), self.dtype)], 0
        for block in self.blocks():
            first, last = np.searchsorted(places, (start, start + len(block)))
            found.append(block[places[first:last] - start])
            start += len(block)
        return np.concatenate(found)

    def weights_at(self, places: NDArray[np.int64]) -> NDArray[np.float64] | None:
        """The weights of the signals at some places; None where they have none."""
        return None

    def map_blocks(self, function: Callable[[Numbers], Any]) -> Any:
        """What `function` makes of each block, sparse or dense, one below the other."""
        parts = [function(block) for block in self.blocks()]
        if len(parts) == 1:
            return parts[0]
        return vstack(parts, format="csr") if issparse(parts[0]) else np.concatenate(parts)


def add(a: Sums, b: Sums) -> Sums:
    return tuple(x + y for x, y in zip(a, b, strict=True))


def add_pairwise(parts: Sequence[Sums]) -> Sums:
    """All parts, added to their neighbours, then the sums to theirs, until one is left."""
    while len(parts) > 1:
        pairs = [parts[k : k + 2] for k in range(0, len(parts), 2)]
        parts = [reduce(add, pair) for pair in pairs]
    return parts[0]


def check_size(shape: tuple[int, ...], name: str) -> None:
    """Raises a ValueError for what is not a matrix with at least one signal and one feature."""
    if len(shape) != 2:
        raise not_in_rows(shape, name)
    if 0 in shape:
        raise ValueError(f"{name} must have at least one signal and one feature, got shape {shape}")
