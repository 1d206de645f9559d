"""Inpainting by orthogonal matching pursuit on the observed samples of each patch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from fost._typing import Mask, Numbers
from fost._validation import check_integer
from fost.coding.omp import unchecked_omp
from fost.restoration.arrays import crop_to, pad_to
from fost.restoration.patch_grid import PatchGrid, Sizes, check_stride
from fost.restoration.patches import PatchAssembler, patch_blocks
from fost.restoration.smooth_fill import smooth_fill
from fost.transforms import Coder

# The least scale of an atom, relative to the largest scale.
_MIN_SCALE = 1e-3


@dataclass(frozen=True)
class MatchingPursuit:
    """Codes patches on their observed samples, with a prior on the use of atoms."""

    atoms: Numbers  # in rows, scaled by the prior
    patch_shape: tuple[int, ...]
    stride: tuple[int, ...]
    n_nonzero_coefs: int

    @classmethod
    def fit(
        cls,
        array: Numbers,
        mask: Mask,
        transform: Coder,
        patch_shape: tuple[int, ...],
        stride: Sizes | None,
        n_nonzero_coefs: int,
        prior: float,
    ) -> MatchingPursuit:
        """Scale atoms by their root mean square coefficients in this array, to the power `prior`.

        A larger atom has larger correlations, so that the pursuit prefers it.
        """
        n_samples = prod(patch_shape)
        check_integer(n_nonzero_coefs, "n_nonzero_coefs", 1, n_samples, "the samples of a patch")
        steps = check_stride(stride, patch_shape, tuple(max(1, k // 4) for k in patch_shape))
        n_entries = min(n_nonzero_coefs, transform.n_atoms)
        atoms = np.array(transform.matrix.T, dtype=array.dtype, order="C")
        if prior > 0:
            known, holes = pad_to(array, patch_shape), pad_to(mask, patch_shape)
            grid = PatchGrid(known.shape, patch_shape, patch_shape)
            atoms *= _atom_scales(known, holes, atoms, grid, n_entries)[:, None] ** prior
        return cls(atoms, patch_shape, steps, n_entries)

    def __call__(self, array: Numbers, mask: Mask, random: np.random.Generator) -> Numbers:
        known, holes = pad_to(array, self.patch_shape), pad_to(mask, self.patch_shape)
        grid = PatchGrid(known.shape, self.patch_shape, self.stride)
        assembler = PatchAssembler(grid)
        for where, rows, missing, means in _centred_blocks(known, holes, grid):
            codes = unchecked_omp(rows, self.atoms, self.n_nonzero_coefs, missing=missing)
            if codes is None:
                raise ValueError("x is too large: its codes overflow")
            assembler.add(where, codes @ self.atoms + means)
        return crop_to(assembler.result()[0], array.shape)


def _atom_scales(
    array: Numbers, mask: Mask, atoms: Numbers, grid: PatchGrid, n_nonzero_coefs: int
) -> Numbers:
    """Root mean square coefficients of the atoms, relative to the largest of them."""
    total = np.zeros(len(atoms))
    for _, rows, missing, _ in _centred_blocks(array, mask, grid):
        codes = unchecked_omp(rows, atoms, n_nonzero_coefs, missing=missing)
        if codes is not None:
            squares = np.square(codes.data, dtype=np.float64)
            total += np.bincount(codes.indices, squares, minlength=len(atoms))
    largest = total.max()
    if not largest > 0:
        return np.ones(len(atoms), array.dtype)
    scales = np.maximum(np.sqrt(total / largest), _MIN_SCALE)
    return np.asarray(scales, dtype=array.dtype)


def _centred_blocks(
    array: Numbers, mask: Mask, grid: PatchGrid
) -> Iterator[tuple[slice, Numbers, Mask, Numbers]]:
    """Patches without the mean of their observed samples, their masks, and the means.

    The mean of a patch without observed samples is that of the smooth fill.
    """
    smooth, _ = smooth_fill(array, mask)
    blocks = (patch_blocks(plane[None], grid) for plane in (array, mask, smooth))
    for (where, rows), (_, flags), (_, filled) in zip(*blocks, strict=True):
        missing = flags > 0
        counts = (~missing).sum(axis=1, keepdims=True)
        sums = np.where(missing, 0, rows).sum(axis=1, keepdims=True)
        means = np.where(counts > 0, sums / np.maximum(counts, 1), filled.mean(1, keepdims=True))
        yield where, rows - means.astype(rows.dtype), missing, means.astype(rows.dtype)
