"""Sums that are rounded as another machine might round them.

Other instruction sets, BLAS libraries and numbers of cores add in another order. What is learned
then differs in its last bits at first, and after some iterations in as many digits as the signals
leave undecided. ``FOST_TEST_ROUNDING=1`` (2, 3, ...) gives every sum over signals an error of some
units in the last place, and signals of float64 too, so that entries of their codes that are as good
as equal are told apart otherwise. The same sum always has the same error: results still repeat to
the last bit. What is true of one machine only does not survive several such numbers.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fost.learning import statistics

# Relative to the largest entry of a row of M, or to an entry of a signal: four units in the last
# place of float64, in which all sums are added up.
_LEVEL = 2.0**-50
# Fewer signals than these are examples whose answers are known, and whose sums are exact.
_FEW = 16


def disturb(seed: int) -> None:
    """Give the sums of this process errors that follow from `seed` and the sums themselves."""
    accumulate, gram_pass = statistics.accumulate, statistics.GramPass.__call__

    def errors_of(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        random = np.random.default_rng([seed, zlib.crc32(np.ascontiguousarray(matrix))])
        largest = np.abs(matrix).max(axis=1, keepdims=True, initial=0)
        # What is exactly zero, such as the rows of atoms that no signal uses, is so everywhere.
        return np.where(matrix != 0, _LEVEL * largest * random.uniform(-1, 1, matrix.shape), 0)

    def disturbed_accumulate(
        plan: Any, Y: NDArray[Any], s: int, name: str = "Y"
    ) -> tuple[NDArray[Any], float]:
        if len(Y) < _FEW:
            return accumulate(plan, Y, s, name)
        if Y.dtype == np.float64:
            random = np.random.default_rng([seed, *Y.shape])
            Y = Y * (1 + _LEVEL * random.uniform(-1, 1, Y.shape))
        matrix, energy = accumulate(plan, Y, s, name)
        return matrix + errors_of(matrix), float(energy * (1 + _LEVEL * np.sin(matrix.sum())))

    def disturbed_gram_pass(self: Any, block: NDArray[Any]) -> Any:
        total, nonzero = gram_pass(self, block)
        errors = errors_of(total) if len(block) >= _FEW else np.zeros_like(total)
        return total + (errors + errors.T) / 2, nonzero

    statistics.accumulate = disturbed_accumulate
    statistics.GramPass.__call__ = disturbed_gram_pass  # type: ignore[method-assign]
