r"""Passes over signals: the statistic :math:`M = X Y^T`, second moments and energies.

A pass is a callable that computes sums over a block of signals; `Stream.total` adds up the sums of
all blocks. Signals with codes of a fixed length are transformed, selected and accumulated in one
compiled kernel. Signals with missing entries (NaN), with weights or with codes of variable length
are coded first and accumulated afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fost import _core
from fost._threads import single_threaded_blas
from fost._typing import Floats
from fost._validation import not_finite
from fost.coding.encode import encode_signals
from fost.coding.selection import SelectionRule
from fost.learning.missing import REFILLS, GaussianPrior, encode_with_refills
from fost.streams import Sums
from fost.streams.base import Weights, add
from fost.transforms import Coder

# Entries of signals that are coded, and converted to float64, at once.
_PART_ENTRIES = 2**18


@dataclass(frozen=True)
class Statistic:
    r"""The sums of one pass over signals that learning works on.

    Attributes
    ----------
    matrix : ndarray of shape (n_atoms, n_features)
        :math:`M = X Y^T`; row i belongs to entry i of the codes.
    energy : float
        The energy that the codes represent, :math:`\|Y\|_F^2 - \|Y - U X\|_F^2` on observed
        entries, minus :math:`\text{threshold}^2 \|X\|_0` for learning with a threshold. For a
        transform or a bank this is :math:`\|X\|_F^2` if nothing is missing.
    signal_energy : float or None
        :math:`\|Y\|_F^2` on observed entries, if the pass computed it.
    products : ndarray of shape (n_atoms, n_atoms) or None
        :math:`X X^T`, for unions.

    Examples
    --------
    >>> import fost, numpy as np
    >>> data = fost.learning.as_training_data(np.eye(4))
    >>> statistic = data.statistic(None, fost.DCT(4), 4)
    >>> statistic.matrix.shape, round(statistic.energy, 12)
    ((4, 4), 4.0)
    """

    matrix: NDArray[np.float64]
    energy: float
    signal_energy: float | None = None
    products: NDArray[np.float64] | None = None

    @property
    def scaled(self) -> NDArray[np.float64]:
        """M divided by its largest magnitude; the best transform does not depend on the scale."""
        largest = np.abs(self.matrix).max()
        return self.matrix / largest if largest > 0 else self.matrix


def error_from_energy(kept: float, total: float) -> float:
    """The relative error 1 - ||X||_F^2 / ||Y||_F^2 of codes that are orthogonal projections.

    `kept` is `Statistic.energy`, which includes thresholds and missing entries.
    """
    return max(0.0, 1.0 - kept / total) if total > 0 else 0.0


@dataclass(frozen=True)
class EncodedBlock:
    """Completed signals, their codes, and the error and energy of each signal.

    Errors are ||y - U x||^2 on observed entries plus threshold^2 ||x||_0; energies are ||y||^2 on
    observed entries.
    """

    signals: Floats
    codes: csr_array
    errors: NDArray[np.float64]
    energies: NDArray[np.float64]


@dataclass(frozen=True)
class BlockEncoder:
    """Codes of signals by a selection rule, with a prior for missing entries."""

    coder: Coder
    rule: SelectionRule
    name: str
    prior: GaussianPrior | None = None
    refills: int = REFILLS

    @single_threaded_blas
    def encode(self, block: Floats) -> EncodedBlock:
        """The codes of signals whose missing entries are NaN."""
        if self.prior is None or not (missing := np.isnan(block)).any():
            return self._encode_complete(block)
        filled, codes, decoded = encode_with_refills(
            block, missing, self.prior, self.refills, self._codes, self.coder.decode, self.name
        )
        residuals = np.where(missing, 0, filled.astype(np.float64) - decoded)
        errors = _row_energies(residuals) + self.rule.price * np.diff(codes.indptr)
        return EncodedBlock(filled, codes, errors, _row_energies(np.where(missing, 0, block)))

    def _encode_complete(self, block: Floats) -> EncodedBlock:
        codes = self._codes(block)
        rows = np.repeat(np.arange(len(block)), np.diff(codes.indptr))
        kept = np.square(codes.data, dtype=np.float64) - self.rule.price
        energies = _row_energies(block)
        errors = energies - np.bincount(rows, kept, minlength=len(block))
        return EncodedBlock(block, codes, errors, energies)

    def _codes(self, block: Floats) -> csr_array:
        return encode_signals(self.coder._plan, block, self.rule, self.name)


@dataclass(frozen=True)
class StatisticPass:
    """M, the represented energy and ||Y||_F^2 of a block, and whether a signal is nonzero.

    The last two are zero unless `with_energy` is true or signals are coded in parts.
    """

    encoder: BlockEncoder
    with_energy: bool

    def __call__(self, block: Floats, weights: Weights | None = None) -> Sums:
        if not self.encoder.rule.is_fixed or weights is not None:
            return self._in_parts(block, weights)
        if self.encoder.prior is None:
            return self._in_one_kernel(block)
        incomplete = np.isnan(block).any(axis=1)
        if not incomplete.any():
            return self._in_one_kernel(block)
        sums = self._in_parts(block[incomplete], None)
        return sums if incomplete.all() else add(sums, self._in_one_kernel(block[~incomplete]))

    def _in_one_kernel(self, block: Floats) -> Sums:
        """Complete signals with codes of fixed length: the codes X are never stored."""
        encoder = self.encoder
        matrix, kept = accumulate(encoder.coder._plan, block, encoder.rule.s, encoder.name)
        if not self.with_energy:
            return matrix, kept, 0.0, 0
        return matrix, kept, sum_of_squares(block), int(block.any())

    def _in_parts(self, block: Floats, weights: Weights | None) -> Sums:
        """All other signals: the codes of a part are stored, then accumulated."""
        encoder = self.encoder
        matrix, kept = np.zeros((encoder.coder.n_atoms, block.shape[1])), 0.0
        total, nonzero = 0.0, 0
        step = max(1, _PART_ENTRIES // block.shape[1])
        for start in range(0, len(block), step):
            part = encoder.encode(block[start : start + step])
            own = np.ones(len(part.errors)) if weights is None else weights[start : start + step]
            with np.errstate(over="ignore", invalid="ignore"):
                matrix += code_products(part.codes, part.signals, own)
                kept += float(own @ (part.energies - part.errors))
                total += float(own @ part.energies)
            nonzero |= int(part.signals.any())
        if not (np.isfinite(kept) and np.isfinite(matrix).all()):
            raise not_finite(block, encoder.name)
        return matrix, kept, total, nonzero


def accumulate(
    plan: _core.Coder, Y: Floats, n_nonzero_coefs: int, name: str = "Y"
) -> tuple[NDArray[np.float64], float]:
    """M = X Y^T and ||X||_F^2 of checked signals, in one compiled pass: X = T_s(U^T Y).

    The sums are in float64 and bit-identical for any number of threads.
    """
    matrix = np.empty((plan.n_atoms, Y.shape[1]))
    if plan.uses_blas:
        with single_threaded_blas:
            energy = plan.accumulate(Y, n_nonzero_coefs, matrix)
    else:
        energy = plan.accumulate(Y, n_nonzero_coefs, matrix)
    if not (isfinite(energy) and np.isfinite(matrix).all()):
        raise not_finite(Y, name)
    return matrix, energy


def code_products(codes: csr_array, signals: Floats, weights: Weights) -> NDArray[np.float64]:
    """M = X^T diag(weights) Y of stored codes X and signals Y in rows, in float64."""
    values = codes.data.astype(np.float64) * np.repeat(weights, np.diff(codes.indptr))
    columns = csr_array((values, codes.indices, codes.indptr), shape=codes.shape).tocsc()
    matrix = np.empty((codes.shape[1], signals.shape[1]))
    rows = np.ascontiguousarray(signals, dtype=np.float64)
    uses = columns.indices.astype(np.int32, copy=False), columns.indptr.astype(np.int64, copy=False)
    # Row i of M is a weighted sum of signals, as a decoded signal is a weighted sum of atoms.
    _core.sum_atoms(rows, columns.data, *uses, matrix)
    return matrix


@dataclass(frozen=True)
class EnergyPass:
    """The energy that codes represent, ||Y||_F^2 of a block, and whether a signal is nonzero."""

    coder: Coder
    rule: SelectionRule
    has_missing: bool
    name: str

    def __call__(self, block: Floats, weights: Weights | None = None) -> Sums:
        missing = np.isnan(block) if self.has_missing else np.zeros((), np.bool_)
        any_missing = bool(missing.any())
        codes = self.coder._encode_block(self.rule, any_missing, self.name, block)
        if weights is not None:
            roots = np.sqrt(weights)  # may overflow float32
            block = block * roots[:, None]
            codes.data = codes.data * np.repeat(roots, np.diff(codes.indptr))
        if any_missing:
            known = np.where(missing, 0, block)
            decoded = np.where(missing, 0, self.coder.decode(codes))
            total = sum_of_squares(known)
            return total - sum_of_squares(known - decoded), total, int(known.any())
        return self.coder.energy_kept(block, codes), sum_of_squares(block), int(block.any())


@dataclass(frozen=True)
class GramPass:
    """The Gram matrix Y^T Y of a block, signals in rows, and whether a signal is nonzero."""

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


@dataclass(frozen=True)
class PairwiseMomentPass:
    """Sums over signals of y_i y_j, how often both are observed, and whether one is nonzero."""

    has_missing: bool
    name: str

    @single_threaded_blas
    def __call__(self, block: Floats, weights: Weights | None = None) -> Sums:
        n = block.shape[1]
        sums, counts, start, nonzero = np.zeros((n, n)), np.zeros((n, n)), 0, False
        for part in in_doubles(block):
            if self.has_missing and np.isinf(part).any():
                raise ValueError(f"{self.name} contains infinity")
            if not (self.has_missing or np.isfinite(part).all()):
                raise not_finite(part, self.name)
            own = None if weights is None else weights[start : start + len(part)]
            with np.errstate(over="ignore", invalid="ignore"):
                found = pairwise_moments(part, own)
                sums, counts = sums + found[0], counts + found[1]
            nonzero |= bool(np.nan_to_num(part).any())
            start += len(part)
        if not np.isfinite(sums).all():
            raise overflow(self.name)
        return sums, counts, int(nonzero)


def pairwise_moments(
    block: NDArray[np.float64], weights: Weights | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sums of y_i y_j, and of weights, over signals in which both entries are observed."""
    observed = ~np.isnan(block)
    known = block if observed.all() else np.where(observed, block, 0)
    indicator = observed.astype(np.float64)
    if weights is None:
        return known.T @ known, indicator.T @ indicator
    factor = weights[:, None]
    return (known * factor).T @ known, (indicator * factor).T @ indicator


def impute_moments(sums: NDArray[np.float64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Y^T Y imputed from the mean product of each pair of entries.

    Pairs that were never observed together are assumed uncorrelated.
    """
    n_signals = counts.max(initial=0)  # no pair is observed more often than there are signals
    factors = np.divide(n_signals, counts, out=np.zeros_like(counts), where=counts > 0)
    return np.asarray(sums * factors)


def overflow(name: str) -> ValueError:
    """The error for signals whose squares overflow."""
    return ValueError(f"{name} is too large: the squares of its entries overflow float64")


@single_threaded_blas
def sum_of_squares(array: Floats) -> float:
    """||A||_F^2 in float64."""
    return float(sum(np.vdot(part, part) for part in in_doubles(array)))


def in_doubles(array: Floats, entries: int = 2**16) -> Iterator[NDArray[np.float64]]:
    """Parts of an array in float64 of about as many entries, or of n rows if that is more."""
    width = array.shape[1] if array.ndim == 2 else 1
    step = max(width, entries // width)
    for start in range(0, len(array), step):
        yield array[start : start + step].astype(np.float64, copy=False)


def _row_energies(rows: Floats) -> NDArray[np.float64]:
    sums = [np.einsum("ij,ij->i", part, part) for part in in_doubles(rows)]
    return np.concatenate(sums) if sums else np.zeros(0)
