"""The interface of a stream of signals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse, vstack

from fost._typing import DType, Numbers

# Arrays and numbers that are added entry by entry.
Sums = tuple[Any, ...]
# A function of a block of signals, and of their weights if the stream has weights.
Pass = Callable[..., Sums]
Weights = NDArray[np.float64]


class Stream(ABC):
    """Signals in rows that can be passed over any number of times.

    Attributes
    ----------
    name : str
        The argument that the signals came as, for error messages.
    n_features : int
        Entries per signal.
    n_signals : int or None
        The number of signals; None until a first pass has counted them.
    dtype : dtype
        float32 if it holds all signals exactly, else float64.
    has_missing : bool
        Whether entries may be missing; those are NaN.
    weighted : bool
        Whether each signal has a weight.
    in_memory : bool
        Whether all signals are in memory, as one block.
    random_access : bool
        Whether this process can read any rows, from memory or from a file.
    """

    name: str
    n_features: int
    n_signals: int | None
    dtype: DType
    has_missing: bool = False
    weighted: bool = False
    in_memory: bool = False
    random_access: bool = False

    @abstractmethod
    def blocks(self) -> Iterator[Numbers]:
        """All signals in order, as blocks of rows that the kernels accept.

        A block may become invalid when the next one is requested.
        """

    def total(self, one_pass: Pass) -> Sums:
        """The sum of ``one_pass(block)`` over all blocks, added in their order.

        With weights, the sum of ``one_pass(block, weights)``.
        """
        return reduce(add, map(one_pass, self.blocks()))

    def take(self, rows: NDArray[np.int64]) -> Numbers:
        """The signals with the given row numbers, which are sorted."""
        found, start = [np.empty((0, self.n_features), self.dtype)], 0
        for block in self.blocks():
            first, last = np.searchsorted(rows, (start, start + len(block)))
            found.append(block[rows[first:last] - start])
            start += len(block)
        return np.concatenate(found)

    def weights_at(self, rows: NDArray[np.int64]) -> Weights | None:
        """The weights of the signals with the given row numbers; None without weights."""
        return None

    def map_blocks(self, function: Callable[[Numbers], Any]) -> Any:
        """The values of `function` for all blocks, sparse or dense, stacked vertically."""
        parts = [function(block) for block in self.blocks()]
        if len(parts) == 1:
            return parts[0]
        return vstack(parts, format="csr") if issparse(parts[0]) else np.concatenate(parts)


def add(a: Sums, b: Sums) -> Sums:
    """The entrywise sum of two results of a pass."""
    return tuple(x + y for x, y in zip(a, b, strict=True))


def add_pairwise(parts: Sequence[Sums]) -> Sums:
    """The sum of all parts, added as a balanced binary tree."""
    while len(parts) > 1:
        pairs = [parts[k : k + 2] for k in range(0, len(parts), 2)]
        parts = [reduce(add, pair) for pair in pairs]
    return parts[0]
