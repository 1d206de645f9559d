"""One pass over signals: their codes, added up, whatever they are like.

Signals may have gaps (NaN), weights, and codes of different lengths. Those that have nothing of all
that are coded and added up by the core in one go.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fost import _core
from fost._threads import single_threaded_blas
from fost._typing import Floats
from fost._validation import not_finite
from fost.coding.encode import code_statistic, encode_signals
from fost.coding.selection import SelectionRule
from fost.learning.filling import Prior
from fost.streams import Sums
from fost.streams.base import add
from fost.transforms import Coder

# How often a pass codes signals with gaps and fills them from their codes.
REFILLS = 3
# Entries of signals that are coded, and taken to float64, at once.
_PART = 2**18

Weights = NDArray[np.float64]


@dataclass(frozen=True)
class Coded:
    """Signals with nothing missing any more, their codes, and what is lost of each.

    That is ||y - U x||^2 on what is observed, and the price of the entries of its code.
    """

    signals: Floats
    codes: csr_array
    lost: NDArray[np.float64]
    energies: NDArray[np.float64]  # of what is observed


@dataclass(frozen=True)
class Coding:
    """How signals are coded: by a rule, and with a prior where entries may be missing."""

    coder: Coder
    rule: SelectionRule
    name: str
    prior: Prior | None = None
    refills: int = REFILLS

    @single_threaded_blas
    def coded(self, block: Floats) -> Coded:
        """The codes of signals, of which what is missing is NaN."""
        if self.prior is None or not (missing := np.isnan(block)).any():
            return self._complete(block)
        if np.isinf(block).any():
            raise ValueError(f"{self.name} contains infinity")
        filled = self.prior.filled(block, missing)
        for _ in range(max(1, self.refills)):
            codes = encode_signals(self.coder._plan, filled, self.rule, self.name)
            decoded = self.coder.decode(codes)
            filled = np.where(missing, decoded, block)
        left = np.where(missing, 0, filled.astype(np.float64) - decoded)
        lost = _row_squares(left) + self.rule.price * np.diff(codes.indptr)
        return Coded(filled, codes, lost, _row_squares(np.where(missing, 0, block)))

    def _complete(self, block: Floats) -> Coded:
        codes = encode_signals(self.coder._plan, block, self.rule, self.name)
        rows = np.repeat(np.arange(len(block)), np.diff(codes.indptr))
        kept = np.square(codes.data, dtype=np.float64) - self.rule.price
        energies = _row_squares(block)
        worth = np.bincount(rows, kept, minlength=len(block))
        return Coded(block, codes, energies - worth, energies)


@dataclass(frozen=True)
class StatisticOf:
    """M, what the codes are worth and ||Y||_F^2 of a block, and whether it is all zeros.

    Codes are worth ||Y||_F^2 less what is lost: ||X||_F^2 for signals without gaps, less the price
    of their entries. ||Y||_F^2 is left out, as is the last, where it is not wanted.
    """

    coding: Coding
    with_total: bool

    def __call__(self, block: Floats, weights: Weights | None = None) -> Sums:
        if not self.coding.rule.is_fixed or weights is not None:
            return self._in_parts(block, weights)
        if self.coding.prior is None:
            return self._at_once(block)
        gaps = np.isnan(block).any(axis=1)
        if not gaps.any():
            return self._at_once(block)
        found = self._in_parts(block[gaps], None)
        return found if gaps.all() else add(found, self._at_once(block[~gaps]))

    def _at_once(self, block: Floats) -> Sums:
        """Signals that are coded and added up by the core."""
        how = self.coding
        matrix, worth = code_statistic(how.coder._plan, block, how.rule.s, how.name)
        if not self.with_total:
            return matrix, worth, 0.0, 0
        return matrix, worth, squares(block), int(block.any())

    def _in_parts(self, block: Floats, weights: Weights | None) -> Sums:
        """All others."""
        how = self.coding
        matrix, worth = np.zeros((how.coder.n_atoms, block.shape[1])), 0.0
        total, nonzero = 0.0, 0
        for rows in _parts(block):
            coded = how.coded(block[rows])
            own = np.ones(len(coded.lost)) if weights is None else weights[rows]
            matrix += products(coded.codes, coded.signals, own)
            worth += float(own @ (coded.energies - coded.lost))
            total += float(own @ coded.energies)
            nonzero |= int(coded.signals.any())
        if not (np.isfinite(worth) and np.isfinite(matrix).all()):
            raise not_finite(block, how.name)
        return matrix, worth, total, nonzero


def products(codes: csr_array, signals: Floats, weights: Weights) -> NDArray[np.float64]:
    """M = X^T diag(weights) Y of codes X and signals Y in rows, in float64.

    Row i is a sum of signals, as decoding is a sum of atoms.
    """
    values = codes.data.astype(np.float64) * np.repeat(weights, np.diff(codes.indptr))
    columns = csr_array((values, codes.indices, codes.indptr), shape=codes.shape).tocsc()
    matrix = np.empty((codes.shape[1], signals.shape[1]))
    rows = np.ascontiguousarray(signals, dtype=np.float64)
    uses = columns.indices.astype(np.int32, copy=False), columns.indptr.astype(np.int64, copy=False)
    _core.sum_atoms(rows, columns.data, *uses, matrix)
    return matrix


@single_threaded_blas
def squares(array: Floats) -> float:
    """The sum of the squares of all entries."""
    return float(sum(np.vdot(part, part) for part in in_doubles(array)))


def in_doubles(array: Floats, entries: int = 2**16) -> Iterator[NDArray[np.float64]]:
    """An array in float64, so many entries at a time, or n rows of n."""
    width = array.shape[1] if array.ndim == 2 else 1
    step = max(width, entries // width)
    for start in range(0, len(array), step):
        yield array[start : start + step].astype(np.float64, copy=False)


def _row_squares(rows: Floats) -> NDArray[np.float64]:
    sums = [np.einsum("ij,ij->i", part, part) for part in in_doubles(rows)]
    return np.concatenate(sums) if sums else np.zeros(0)


def _parts(block: Floats) -> Iterator[slice]:
    step = max(1, _PART // block.shape[1])
    for start in range(0, len(block), step):
        yield slice(start, start + step)
