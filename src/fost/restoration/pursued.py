"""Missing samples by matching pursuit on those that are there, patch by patch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from fost._typing import Numbers
from fost._validation import check_integer
from fost.coding.omp import unchecked_omp
from fost.restoration.arrays import cropped, padded
from fost.restoration.assembly import Assembler
from fost.restoration.filling import fill
from fost.restoration.gaps import Mask, checked_steps
from fost.restoration.grid import Sizes
from fost.restoration.patches import blocks
from fost.transforms import Coder

# No atom is less important than this, beside the most important one.
_LEAST_IMPORTANCE = 1e-3


@dataclass(frozen=True)
class Pursuing:
    """Patches of arrays are coded on their observed samples, with a prior for atoms."""

    atoms: Numbers  # in rows, the more important ones longer
    shape: tuple[int, ...]
    steps: tuple[int, ...]
    n_nonzero_coefs: int

    @classmethod
    def learned(
        cls,
        array: Numbers,
        missing: Mask,
        dictionary: Coder,
        shape: tuple[int, ...],
        stride: Sizes | None,
        n_nonzero_coefs: int,
        prior: float,
    ) -> Pursuing:
        """With atoms as important as they are to this array."""
        check_integer(n_nonzero_coefs, "n_nonzero_coefs", 1, prod(shape), "the samples of a patch")
        default = tuple(max(1, k // 4) for k in shape)
        steps = checked_steps(stride, default, shape)
        atoms = np.array(dictionary.matrix.T, dtype=array.dtype, order="C")
        if prior > 0:
            holes, array = padded(missing, shape), padded(array, shape)
            smooth, _ = fill(array, holes)
            found = _importances(array, holes, smooth, atoms, shape, n_nonzero_coefs)
            atoms *= found[:, None] ** prior
        return cls(atoms, shape, steps, n_nonzero_coefs)

    def __call__(self, array: Numbers, missing: Mask, random: np.random.Generator) -> Numbers:
        sizes, shape = array.shape, self.shape
        # Where nothing of a patch is observed its mean comes from the smooth fill.
        holes, array = padded(missing, shape), padded(array, shape)
        smooth, _ = fill(array, holes)
        assembler = Assembler(array.shape, shape, self.steps)
        for where, rows, gaps, means in _blocks(array, holes, smooth, shape, self.steps):
            codes = unchecked_omp(rows, self.atoms, self.n_nonzero_coefs, missing=gaps)
            if codes is None:
                raise ValueError("image is too large: its codes overflow")
            assembler.add(where, codes @ self.atoms + means)
        return cropped(assembler.result(), sizes)


def _importances(
    array: Numbers,
    missing: Mask,
    smooth: Numbers,
    atoms: Numbers,
    shape: tuple[int, ...],
    s: int,
) -> Numbers:
    """Root mean squared coefficients of atoms in patches side by side, the largest of them 1."""
    total = np.zeros(len(atoms))
    for _, rows, gaps, _ in _blocks(array, missing, smooth, shape, shape):
        codes = unchecked_omp(rows, atoms, s, missing=gaps)
        if codes is not None:
            squares = np.square(codes.data, dtype=np.float64)
            total += np.bincount(codes.indices, squares, minlength=len(atoms))
    largest = total.max()
    if not largest > 0:
        return np.ones(len(atoms), array.dtype)
    importances = np.maximum(np.sqrt(total / largest), _LEAST_IMPORTANCE)
    return np.asarray(importances, dtype=array.dtype)


def _blocks(
    array: Numbers,
    missing: Mask,
    smooth: Numbers,
    shape: tuple[int, ...],
    steps: tuple[int, ...],
) -> Iterator[tuple[slice, Numbers, Mask, Numbers]]:
    """Patches without the mean of their observed samples, the gaps in them, and the means."""
    parts = (blocks(plane, shape, steps) for plane in (array, missing, smooth))
    for (where, rows), (_, gaps), (_, filled) in zip(*parts, strict=True):
        holes = gaps > 0
        counts = (~holes).sum(axis=1, keepdims=True)
        sums = np.where(holes, 0, rows).sum(axis=1, keepdims=True)
        means = np.where(counts > 0, sums / np.maximum(counts, 1), filled.mean(1, keepdims=True))
        yield where, rows - means.astype(rows.dtype), holes, means.astype(rows.dtype)
