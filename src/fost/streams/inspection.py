"""Signs of damage in a stream: entries that are not finite, and extremely large signals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fost._typing import Numbers
from fost.streams.base import Stream

# Signals whose largest entry is so many times that of the median signal are extreme. Measured
# signals differ by less, and most random bytes differ by more when they are read as floats.
_EXTREME = 1e9


class Place(NamedTuple):
    """A signal of a stream: its row, and the number of the block that has it."""

    row: int
    block: int

    def __str__(self) -> str:
        return f"row {self.row:,} (block {self.block:,})"


class Inspection(NamedTuple):
    """Numbers of entries and of NaN, and the first signals of each kind, if there are any."""

    n_entries: int
    n_nan: int
    nan: Place | None
    infinite: Place | None
    extreme: Place | None
    ratio: float  # the largest entry, in units of the largest entry of the median signal


def inspect(stream: Stream) -> Inspection:
    """Inspect all signals in one pass, in memory for one block."""
    n_entries = n_nan = 0
    nan = infinite = largest = None
    top, medians = 0.0, []
    for start, number, block in _numbered(stream):
        peaks = _peaks(block)
        n_entries += block.size
        if np.isnan(peaks).any():
            n_nan += int(np.isnan(block).sum())
            nan = nan or Place(start + int(np.isnan(peaks).argmax()), number)
            rows = np.isnan(peaks)
            peaks[rows] = _peaks(np.where(np.isnan(block[rows]), 0, block[rows]))
        if np.isinf(peaks).any():
            infinite = infinite or Place(start + int(np.isinf(peaks).argmax()), number)
        positive = peaks[peaks > 0]
        if len(positive):
            medians.append(float(np.median(positive)))
        if peaks.max() > top:
            top, largest = float(peaks.max()), Place(start + int(peaks.argmax()), number)
    ratio = top / float(np.median(medians)) if medians and infinite is None else 1.0
    extreme = largest if ratio > _EXTREME else None
    return Inspection(n_entries, n_nan, nan, infinite, extreme, ratio)


def first_not_finite(stream: Stream) -> Place | None:
    """The first signal with NaN or infinity."""
    for start, number, block in _numbered(stream):
        peaks = _peaks(block)
        if not np.isfinite(peaks).all():
            return Place(start + int(np.argmin(np.isfinite(peaks))), number)
    return None


def _numbered(stream: Stream) -> Iterator[tuple[int, int, Numbers]]:
    start = 0
    for number, block in enumerate(stream.blocks()):
        yield start, number, block
        start += len(block)


def _peaks(block: Numbers) -> NDArray[np.float64]:
    """The largest magnitude in each row; NaN where a row contains NaN."""
    with np.errstate(invalid="ignore"):
        high, low = block.max(axis=1), block.min(axis=1)
    return np.asarray(np.maximum(high.astype(np.float64), -low.astype(np.float64)))
