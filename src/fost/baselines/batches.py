"""Factorisations whose atoms are improved batch by batch first, and then by all signals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fost._typing import Floats
from fost._validation import check_integer
from fost.baselines.factorisation import Factorisation, Gaps

# How often each atom is used in a batch, on average, and batches in a pass at most. With 24 uses
# the first passes are too noisy, with 192 they find no better minimum than all signals do.
_USES = 48
_MOST_BATCHES = 64
# Passes with as many batches; two find lower errors than one, if there is time for them.
_PASSES = 2
_MANY_ITERATIONS = 20


def check_batch_size(batch_size: str | int | None) -> None:
    if isinstance(batch_size, str):
        if batch_size != "auto":
            raise ValueError(f"batch_size must be 'auto', an integer or None, got {batch_size!r}")
    elif batch_size is not None:
        check_integer(batch_size, "batch_size", 1, 2**31 - 1)


class BatchedFactorisation(Factorisation):
    """A factorisation that is improved in batches of signals, fewer and fewer of them.

    Batches improve the atoms several times in one pass over the signals, and what one batch
    does not know of the others leads past poor minima. After two passes, or after each where
    `max_iter` is less than 20, the next has half as many batches, until there is one.
    """

    def __init__(
        self,
        Y: Floats,
        atoms: Floats,
        s: int,
        missing: Gaps | None = None,
        batch_size: str | int | None = "auto",
        max_iter: int = _MANY_ITERATIONS,
    ) -> None:
        super().__init__(Y, atoms, s, missing)
        size: int | float
        if isinstance(batch_size, str):
            size = max(_USES * len(atoms) / s, len(Y) / _MOST_BATCHES)
        else:
            size = len(Y) if batch_size is None else int(batch_size)
        self.n_batches = max(1, int(len(Y) / max(1, size)))
        self._passes = _PASSES if max_iter >= _MANY_ITERATIONS else 1
        self._passed = 0

    @property
    def is_whole(self) -> bool:
        return self.n_batches == 1

    def improve_in_batches(
        self, improve: Callable[[Factorisation], None], random: np.random.Generator
    ) -> None:
        """One pass. What is left of a signal is what the batches before its own leave of it."""
        for rows in np.array_split(random.permutation(len(self.Y)), self.n_batches):
            part = self.part(rows, self.atoms)
            self.residual[rows] = part.residual
            if self.missing is not None:
                self.Y[rows] = part.Y
            improve(part)
            self.atoms = part.atoms
        self._passed += 1
        if self._passed % self._passes == 0:
            self.n_batches //= 2
