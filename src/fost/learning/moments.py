"""Second moments and energies of signals: sums over blocks of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fost._threads import single_threaded_blas
from fost._typing import Floats
from fost._validation import not_finite
from fost.coding.selection import SelectionRule
from fost.learning.passes import in_doubles, squares
from fost.streams import Sums
from fost.transforms import Coder


@dataclass(frozen=True)
class EnergiesOf:
    """What codes keep of ||Y||_F^2 of a block, and that, and whether it is all zeros."""

    coder: Coder
    rule: SelectionRule
    gaps: bool
    name: str

    def __call__(self, block: Floats, weights: NDArray[np.float64] | None = None) -> Sums:
        missing = np.isnan(block) if self.gaps else np.zeros((), np.bool_)
        gaps = bool(missing.any())
        codes = self.coder._encode_block(self.rule, gaps, self.name, block)
        if weights is not None:
            roots = np.sqrt(weights).astype(block.dtype)
            block = block * roots[:, None]
            codes.data *= np.repeat(roots, np.diff(codes.indptr))
        if gaps:
            known = np.where(missing, 0, block)
            left = squares(known - np.where(missing, 0, self.coder.decode(codes)))
            return squares(known) - left, squares(known), int(known.any())
        return self.coder.energy_kept(block, codes), squares(block), int(block.any())


@dataclass(frozen=True)
class GramOf:
    """Y^T Y of a block, and whether it has anything but zeros."""

    name: str

    @single_threaded_blas
    def __call__(self, block: Floats) -> Sums:
        total = np.zeros((block.shape[1], block.shape[1]))
        with np.errstate(over="ignore", invalid="ignore"):
            for part in in_doubles(block):
                total += part.T @ part
        if not np.isfinite(total).all():
            if not np.isfinite(block).all():
                raise not_finite(block, self.name)
            raise overflow(self.name)
        return total, int(block.any())


def overflow(name: str) -> ValueError:
    return ValueError(f"{name} is too large: the squares of its entries overflow float64")


@dataclass(frozen=True)
class PairsOf:
    """Products of pairs of entries, how often both are observed, and whether all are zeros."""

    gaps: bool
    name: str

    @single_threaded_blas
    def __call__(self, block: Floats, weights: NDArray[np.float64] | None = None) -> Sums:
        n = block.shape[1]
        sums, counts, start, nonzero = np.zeros((n, n)), np.zeros((n, n)), 0, False
        for part in in_doubles(block):
            if self.gaps and np.isinf(part).any():
                raise ValueError(f"{self.name} contains infinity")
            if not (self.gaps or np.isfinite(part).all()):
                raise not_finite(part, self.name)
            own = None if weights is None else weights[start : start + len(part)]
            with np.errstate(over="ignore", invalid="ignore"):
                found = pair_moments(part, own)
                sums, counts = sums + found[0], counts + found[1]
            nonzero |= bool(np.nan_to_num(part).any())
            start += len(part)
        if not np.isfinite(sums).all():
            raise overflow(self.name)
        return sums, counts, int(nonzero)


def pair_moments(
    block: NDArray[np.float64], weights: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sums over signals of y_i y_j, and of weights, where both entries are observed."""
    observed = ~np.isnan(block)
    known = block if observed.all() else np.where(observed, block, 0)
    there = observed.astype(np.float64)
    if weights is None:
        return known.T @ known, there.T @ there
    factor = weights[:, None]
    return (known * factor).T @ known, (there * factor).T @ there


def mean_moments(sums: NDArray[np.float64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """What Y^T Y would be without gaps, by the mean product of each pair of entries.

    Pairs that were never observed together have nothing to do with each other.
    """
    n_signals = counts.max(initial=0)  # no pair can be observed more often than there are signals
    share = np.divide(n_signals, counts, out=np.zeros_like(counts), where=counts > 0)
    return np.asarray(sums * share)
