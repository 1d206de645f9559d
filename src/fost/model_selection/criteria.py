"""Selection criteria: the order of candidates, and the bases to try."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, isqrt, log2
from typing import NoReturn

import numpy as np

from fost._typing import Floats
from fost.learning.canonical_order import total_weight
from fost.learning.training_data import TrainingData
from fost.model_selection.candidates import (
    COSTS,
    Bases,
    Candidate,
    CandidateSpec,
    relative_error,
)
from fost.transforms import DCT, Givens, PursuitCoder, Transform, Wavelet
from fost.transforms.bases import check_signal_shape

# A candidate whose predicted error exceeds the limit by less than this share may still reach it.
_ERROR_MARGIN = 0.05
# Wavelets that may be a base: the cheapest one, and one for smooth signals.
_WAVELETS = ("haar", "db4")


@dataclass(frozen=True)
class SelectionCriterion:
    """The smallest error within a budget or, with `max_relative_error`, the lowest cost.

    The cost is "flops", "bits" or "time"; if None, operations count, and errors are compared at
    equal bits of the codes.
    """

    held_out: Floats | TrainingData
    n_nonzero_coefs: int
    max_relative_error: float | None
    threshold: float | None = None
    cost: str | None = None
    budget: float = inf

    def cost_of(self, candidate: Candidate | CandidateSpec) -> float:
        """The cost that the budget limits; the time of a spec is not known yet, and 0."""
        return float(getattr(candidate, COSTS[self.cost or "flops"]))

    def allows(self, candidate: Candidate | CandidateSpec) -> bool:
        """Whether a candidate is within the budget."""
        return self.cost_of(candidate) <= self.budget

    def rank(self, rows: Sequence[Candidate], errors: Sequence[float]) -> list[Candidate]:
        """The candidates from the best to the worst, by their predicted errors."""
        if self.max_relative_error is not None:
            most = self.max_relative_error * (1 + _ERROR_MARGIN)
            keys = [
                (0.0, self.cost_of(row), error) if error <= most else (1.0, error, row.flops)
                for row, error in zip(rows, errors, strict=True)
            ]
        elif self.cost is None:
            keys = self._keys_at_equal_bits(rows, errors)
        else:
            least = _n_features(self.held_out) * _rounding(self.held_out)  # smaller ones are equal
            keys = [
                (max(error, least), self.cost_of(row), row.flops)
                for row, error in zip(rows, errors, strict=True)
            ]
        order = sorted(range(len(rows)), key=lambda k: (not self.allows(rows[k]), keys[k]))
        return [rows[k] for k in order]

    def best(self, rows: Sequence[Candidate]) -> Candidate:
        """The best candidate, by the errors on held-out signals."""
        rows = [row for row in rows if self.allows(row)] or self.raise_budget(rows)
        errors = [row.held_out_error for row in rows]
        if self.max_relative_error is None:
            return self.rank(rows, errors)[0]
        good = [row for row in rows if row.held_out_error <= self.max_relative_error]
        if not good:
            least = min(rows, key=lambda row: row.held_out_error)
            raise ValueError(
                f"no candidate reaches max_relative_error={self.max_relative_error}; the best, "
                f"{least.structure}, has {least.held_out_error:.4g} (frontier_ has them all)"
                + (self.cost is None)
                * "; criterion='flops' also tries matching pursuit"
            )
        return min(good, key=lambda row: (self.cost_of(row), row.held_out_error))

    def raise_budget(self, candidates: Sequence[Candidate] | Sequence[CandidateSpec]) -> NoReturn:
        """Raise an error that names the cheapest candidate."""
        cheapest = min(candidates, key=self.cost_of)
        name = cheapest.name if isinstance(cheapest, CandidateSpec) else cheapest.structure
        unit = {"bits": "bits", "time": "ns"}.get(self.cost or "", "operations")
        raise ValueError(
            f"{'budget' if self.cost else 'max_flops'}={self.budget:.12g} is below the cheapest "
            f"candidate, {name} with {self.cost_of(cheapest):.0f} {unit}"
        )

    def _keys_at_equal_bits(
        self, rows: Sequence[Candidate], errors: Sequence[float]
    ) -> list[tuple[float, float, float]]:
        """Errors at equal bits, then operations, then members.

        The index of a member, or of an atom of a union, takes as many bits as the positions of
        some additional coefficients. The error of a single transform with these is compared.
        """
        if self.threshold is not None:
            return self._keys_with_threshold(rows, errors)
        n = _n_features(self.held_out)
        singles = [row for row in rows if isinstance(row.transform, Transform)] or rows
        best = min(singles, key=lambda row: row.held_out_error)
        more = relative_error(self.held_out, best.transform, min(int(self.n_nonzero_coefs) + 1, n))
        rounding = n * _rounding(self.held_out)  # smaller errors are equal
        left = max(more, rounding) / max(best.held_out_error, rounding)
        places = [self._bits(row) / log2(max(n, 2)) for row in rows]
        return [
            (max(error, rounding) / left**place, row.flops, row.n_members)
            for row, error, place in zip(rows, errors, places, strict=True)
        ]

    def _bits(self, row: Candidate) -> float:
        """Additional bits per code, compared with the codes of a single transform."""
        if isinstance(row.transform, PursuitCoder):
            atoms = row.transform.n_distinct_atoms / row.transform.n_features
            return int(self.n_nonzero_coefs) * max(0.0, log2(atoms))
        return log2(row.n_members)

    def _keys_with_threshold(
        self, rows: Sequence[Candidate], errors: Sequence[float]
    ) -> list[tuple[float, float, float]]:
        """The same with a threshold, whose square is the price of one coefficient."""
        assert isinstance(self.held_out, TrainingData)
        assert self.threshold is not None
        n = self.held_out.n_features
        count = total_weight(self.held_out.weights, self.held_out.n_signals)
        price = self.threshold**2 * count / max(self.held_out.energy, np.finfo(np.float64).tiny)
        return [
            (error + price * log2(row.n_members) / log2(max(n, 2)), row.flops, row.n_members)
            for row, error in zip(rows, errors, strict=True)
        ]


def _n_features(signals: Floats | TrainingData) -> int:
    return signals.n_features if isinstance(signals, TrainingData) else signals.shape[1]


def _rounding(signals: Floats | TrainingData) -> float:
    if isinstance(signals, TrainingData):
        return signals.rounding
    return float(np.finfo(signals.dtype).eps)


def bases_for(
    signal_shape: int | tuple[int, ...] | None,
    n_features: int,
    error: Callable[[Transform], float],
) -> Bases:
    """No base, a wavelet and the DCT of the shape of the signals, by their names.

    If the shape is not given, `error` decides between the possible ones. All must be better than no
    transform, but for the DCT of a given shape. The wavelet must be better or cheaper than the DCT.
    """
    shapes = [check_signal_shape(signal_shape, n_features)]
    if signal_shape is None and isqrt(n_features) ** 2 == n_features:
        shapes.append((isqrt(n_features),) * 2)
    dct = min(map(DCT, shapes), key=error)
    none, least = error(Givens(np.empty((0, 2), int), np.empty((0, 2, 2)), n_features)), error(dct)
    wavelets = [(error(wavelet), wavelet) for wavelet in _wavelets(shapes)]
    found = [each for each in wavelets if each[0] < min(least, none)] or [
        each for each in wavelets if each[0] < none and each[1].flops < dct.flops
    ]
    bases: Bases = {"": None}
    if found:
        wavelet = min(found, key=lambda each: each[0])[1]
        bases[f"{wavelet.name} {_times(wavelet.shape)}"] = wavelet
    # The last base is that of pursuit.
    if signal_shape is not None or least < none:
        bases[f"DCT {_times(dct.shape)}"] = dct
    return bases


def _wavelets(shapes: Sequence[tuple[int, ...]]) -> list[Wavelet]:
    """Wavelets to try; none if PyWavelets is not installed, or if a length is odd."""
    try:
        return [Wavelet(shape, name) for shape in shapes for name in _WAVELETS]
    except (ImportError, ValueError):
        return []


def _times(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))
