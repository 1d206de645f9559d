"""Which of several candidates is the best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isqrt, log2, prod

import numpy as np

from fost._typing import Floats
from fost._validation import check_sizes
from fost.learning.copies import number
from fost.learning.frontier import Candidate, relative_error
from fost.learning.sources import Source
from fost.transforms import DCT, Givens, Transform, Union

# What is learned over, by its name; none has the empty one.
Bases = dict[str, Transform | None]
# A candidate that is foreseen to miss the error that is asked for by less may reach it yet.
_MISSED = 0.05


@dataclass(frozen=True)
class Wish:
    """The least error at equal bits, or the cheapest within an error."""

    held_out: Floats | Source
    n_nonzero_coefs: int
    max_relative_error: float | None
    threshold: float | None = None

    def order(self, rows: Sequence[Candidate], errors: Sequence[float]) -> list[Candidate]:
        """From the best to the worst, by the errors that they are foreseen to have."""
        if self.max_relative_error is None:
            keys = self._at_equal_bits(rows, errors)
        else:
            most = self.max_relative_error * (1 + _MISSED)
            keys = [
                (0.0, row.flops, error) if error <= most else (1.0, error, row.flops)
                for row, error in zip(rows, errors, strict=True)
            ]
        return [rows[k] for k in sorted(range(len(rows)), key=keys.__getitem__)]

    def best(self, rows: Sequence[Candidate]) -> Candidate:
        """The choice, by the errors on held-out signals."""
        errors = [row.held_out_error for row in rows]
        if self.max_relative_error is None:
            return self.order(rows, errors)[0]
        good = [row for row in rows if row.held_out_error <= self.max_relative_error]
        if not good:
            least = min(rows, key=lambda row: row.held_out_error)
            raise ValueError(
                f"no candidate reaches max_relative_error={self.max_relative_error}; the best, "
                f"{least.structure}, has {least.held_out_error:.4g} (frontier_ has them all)"
            )
        return min(good, key=lambda row: (row.flops, row.held_out_error))

    def _at_equal_bits(
        self, rows: Sequence[Candidate], errors: Sequence[float]
    ) -> list[tuple[float, float, float]]:
        """Errors at equal bits, then operations, then members.

        Naming a member, or one of more atoms in each place, takes the bits that name the places
        of so many coefficients, each of which would lower the error too.
        """
        if self.threshold is not None:
            return self._at_equal_price(rows, errors)
        n = _n_features(self.held_out)
        singles = [row for row in rows if row.n_members == 1] or rows
        best = min(singles, key=lambda row: row.held_out_error)
        more = relative_error(self.held_out, best.transform, min(int(self.n_nonzero_coefs) + 1, n))
        rounding = float(n * np.finfo(self.held_out.dtype).eps)  # errors below it are the same
        left = max(more, rounding) / max(best.held_out_error, rounding)
        places = [self._bits(row) / log2(max(n, 2)) for row in rows]
        return [
            (max(error, rounding) / left**place, row.flops, row.n_members)
            for row, error, place in zip(rows, errors, places, strict=True)
        ]

    def _bits(self, row: Candidate) -> float:
        """Bits that the codes of a candidate take beyond those in a single transform."""
        if isinstance(row.transform, Union):
            atoms = row.transform.n_distinct_atoms / row.transform.n_features
            return int(self.n_nonzero_coefs) * log2(atoms)
        return log2(row.n_members)

    def _at_equal_price(
        self, rows: Sequence[Candidate], errors: Sequence[float]
    ) -> list[tuple[float, float, float]]:
        """The same with a threshold, whose square is the price of a coefficient."""
        assert isinstance(self.held_out, Source)
        assert self.threshold is not None
        n = self.held_out.n_features
        count = number(slice(None), self.held_out.weights, self.held_out.n_signals)
        price = self.threshold**2 * count / max(self.held_out.energy, np.finfo(np.float64).tiny)
        return [
            (error + price * log2(row.n_members) / log2(max(n, 2)), row.flops, row.n_members)
            for row, error in zip(rows, errors, strict=True)
        ]


def _n_features(signals: Floats | Source) -> int:
    return signals.n_features if isinstance(signals, Source) else signals.shape[1]


def bases_for(
    signal_shape: int | tuple[int, ...] | None,
    n_features: int,
    error: Callable[[Transform], float],
) -> Bases:
    """None, and the DCT of the shape of the signals, by their names.

    Where nobody says which shape that is, the errors that transforms leave of some of the signals
    do: there is a DCT if that is better than no transform at all.
    """
    bases: Bases = {"": None}
    dct = _likely(n_features, error) if signal_shape is None else _cosine(signal_shape, n_features)
    if dct is not None:
        bases[f"DCT {'x'.join(map(str, dct.shape))}"] = dct
    return bases


def _cosine(signal_shape: int | tuple[int, ...], n_features: int) -> DCT:
    shape = check_sizes(signal_shape, "signal_shape")
    if prod(shape) != n_features:
        raise ValueError(
            f"signal_shape={signal_shape} has {prod(shape)} entries, "
            f"but X has {n_features} features"
        )
    return DCT(shape)


def _likely(n_features: int, error: Callable[[Transform], float]) -> DCT | None:
    """The DCT of one axis or, if the features may be a square of pixels, of two; or none."""
    side = isqrt(n_features)
    cosines = [DCT(n_features), *([DCT((side, side))] if side**2 == n_features else [])]
    best, least = None, error(Givens(np.empty((0, 2), int), np.empty((0, 2, 2)), n_features))
    for dct in cosines:
        left = error(dct)
        if left < least:
            best, least = dct, left
    return best
