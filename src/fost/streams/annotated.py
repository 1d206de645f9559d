"""Signals of which entries are missing, or which count more than once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fost._typing import DType, Floats, Numbers
from fost._validation import check_array, check_real
from fost.streams.base import Piece, Stream

Weights = NDArray[np.float64]


class Annotated(Stream):
    """A stream whose missing entries are NaN, and with a weight for each signal.

    `missing` says where entries are missing, in rows that are read as they are needed; without it
    NaN in the signals themselves does, if `gaps` is true.
    """

    def __init__(
        self,
        stream: Stream,
        gaps: bool = False,
        missing: object = None,
        weights: Weights | None = None,
    ) -> None:
        self._stream, self.name = stream, stream.name
        self.gaps = gaps or missing is not None
        self._missing, self._weights = missing, weights
        self.resident = stream.resident and (missing is None or isinstance(missing, np.ndarray))
        self.at_hand = stream.at_hand and (missing is None or hasattr(missing, "shape"))

    @property
    def n_features(self) -> int:
        return self._stream.n_features

    @property
    def n_signals(self) -> int | None:
        return self._stream.n_signals

    @property
    def dtype(self) -> DType:
        return self._stream.dtype

    @property
    def weighted(self) -> bool:
        return self._weights is not None

    def blocks(self) -> Iterator[Numbers]:
        if self._missing is None:
            yield from self._stream.blocks()
            return
        rows, start = _reader(self._missing), 0
        for block in self._stream.blocks():
            yield marked(block, rows(start, len(block)), self.name)
            start += len(block)

    def pieces(self) -> Iterator[Piece]:
        if self._weights is None:
            yield from super().pieces()
            return
        start = 0
        for block in self.blocks():
            weights = self._weights[start : start + len(block)]
            if len(weights) != len(block):
                break
            yield block, weights
            start += len(block)
        if start != len(self._weights) or start != self._stream.n_signals:
            raise ValueError(
                f"sample_weight must have one entry per signal of {self.name}, "
                f"got {len(self._weights)}"
            )

    def take(self, places: NDArray[np.int64]) -> Numbers:
        if self._missing is not None and not hasattr(self._missing, "shape"):
            return super().take(places)
        taken = self._stream.take(places)
        if self._missing is None:
            return taken
        rows = np.asarray(self._missing[places])  # type: ignore[index]
        return marked(taken, rows, self.name)

    def weights_at(self, places: NDArray[np.int64]) -> Weights | None:
        return None if self._weights is None else self._weights[places]


def marked(block: Numbers, missing: object, name: str) -> Floats:
    """A block of signals with NaN for what is missing, and nowhere else."""
    gaps = check_gaps(missing, block.shape, name)
    if np.isnan(block).any() and np.isnan(block[~gaps]).any():
        raise ValueError(f"{name} contains NaN where missing is false")
    return np.where(gaps, block.dtype.type(np.nan), block)


def check_gaps(missing: object, shape: tuple[int, ...], name: str) -> NDArray[np.bool_]:
    """A mask of the given shape, True where an entry is unobserved."""
    mask = check_array(missing, "missing")
    if mask.dtype != np.bool_:
        raise TypeError(f"missing must be boolean, got dtype {mask.dtype}")
    if mask.shape != shape:
        raise ValueError(f"missing must have the shape of {name}, {shape}, got {mask.shape}")
    return mask


def check_weights(
    sample_weight: object, n_signals: int | None, name: str, whole: bool = True
) -> Weights:
    """A weight for each signal: numbers that are not negative, and not all of them zero.

    They may all be, if they are not the `whole` of them.
    """
    weights = check_real(sample_weight, "sample_weight").astype(np.float64)
    if weights.ndim != 1 or n_signals not in (None, len(weights)):
        wanted = "(n_signals,)" if n_signals is None else f"({n_signals},)"
        raise ValueError(
            f"sample_weight must have shape {wanted}, one entry per signal of {name}, "
            f"got {weights.shape}"
        )
    if not np.isfinite(weights).all():
        raise ValueError("sample_weight contains NaN or infinity")
    if weights.size and weights.min() < 0:
        raise ValueError(f"sample_weight must not be negative, got {weights.min():g}")
    if whole and not weights.any():
        raise ValueError("sample_weight must not be zero for all signals")
    return weights


def _reader(missing: Any) -> Callable[[int, int], object]:
    """A function that returns rows of a mask: of an array, or of an object that yields blocks."""
    if hasattr(missing, "shape"):
        return lambda start, count: missing[start : start + count]
    blocks = iter(missing)
    ahead: list[Numbers] = []

    def read(start: int, count: int) -> object:
        while sum(map(len, ahead)) < count:
            block = next(blocks, None)
            if block is None:
                break
            ahead.append(check_array(block, "missing"))
        rows = np.concatenate(ahead) if ahead else np.empty((0, 0), np.bool_)
        ahead[:] = [rows[count:]]
        return rows[:count]

    return read
