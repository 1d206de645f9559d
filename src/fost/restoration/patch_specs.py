"""Patch shapes and the transforms that are learned for them from an array.

Denoising averages over overlapping patches of several shapes, each in the domain of its own
transform. The shapes depend on the number of axes only. The transforms are learned from a first
estimate of the array, or are those of the user.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from math import prod

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from fost._typing import Numbers
from fost._validation import check_choice
from fost.learning import Structure
from fost.learning.bank import BankOf
from fost.learning.learn import LearningOptions, learn_part
from fost.learning.rotations import Rotations
from fost.restoration.noise_spectrum import NoiseSpectrum
from fost.restoration.patch_grid import DEFAULT_PATCH_SHAPES, PatchGrid
from fost.restoration.shrinkage import hard_threshold, weighted_mean, wiener
from fost.transforms import DCT, Coder, Transform, load

# The transforms of tools/pretrain.py, by patch shape.
PRETRAINED: dict[tuple[int, ...], str] = {(8, 8): "patches-8x8", (16, 16): "patches-16x16"}


@dataclass(frozen=True)
class PatchSpec:
    """A patch shape and the kind of its transform.

    `n_members` is the number of transforms to learn: 0 for the DCT, more than one for a bank. The
    stride is that of the user times `stride_factors`.
    """

    shape: tuple[int, ...]
    n_members: int = 0
    stride_factors: tuple[int, ...] | None = None

    def fits(self, array_shape: tuple[int, ...]) -> bool:
        """Whether a patch is at most as large as an array of this shape."""
        return all(k <= n for k, n in zip(self.shape, array_shape, strict=True))

    def grid(self, array_shape: tuple[int, ...], stride: tuple[int, ...]) -> PatchGrid:
        """The positions of the patches in an array of this shape."""
        if self.stride_factors is not None:
            sizes = zip(self.shape, stride, self.stride_factors, strict=True)
            stride = tuple(min(n, k * factor) for n, k, factor in sizes)
        return PatchGrid(array_shape, self.shape, stride)


# By number of axes, the first for the patch shape of the user, if any. Long patches suit smooth
# regions, short patches suit edges. Unequal weights gain on some arrays and lose on others.
_SPECS = {
    1: (PatchSpec(DEFAULT_PATCH_SHAPES[1], 4), PatchSpec((32,), 1), PatchSpec((128,), 1)),
    2: (PatchSpec(DEFAULT_PATCH_SHAPES[2], 1), PatchSpec((16, 16), 0, (4, 1))),
    3: (PatchSpec(DEFAULT_PATCH_SHAPES[3], 1), PatchSpec((4, 4, 4), 1)),
}
# Thresholds in units of the noise level, by number of axes. benchmarks/denoising.py (images) and
# benchmarks/restoration.py (signals and volumes) measure the resulting quality.
_THRESHOLDS = {1: 2.8, 2: 2.6, 3: 2.7}
# Learning for denoising: Givens rotations per sample of a patch, and iterations.
_ROTATIONS_PER_SAMPLE = 4
_N_ITERATIONS = 5
# Patches to learn from: at most this many, and at least this many times the samples of a patch,
# below which the transform would overfit.
_MAX_PATCHES = 16384
_MIN_PATCHES_PER_SAMPLE = 16


@dataclass(frozen=True)
class LearnedPatchSpec:
    """A patch shape with its transform."""

    spec: PatchSpec
    transform: Coder


def learn_patch_specs(
    arrays: Sequence[Numbers],
    sigma: float,
    patch_shape: tuple[int, ...],
    stride: tuple[int, ...],
    only_this_shape: bool,
    random: np.random.Generator,
    spectrum: NoiseSpectrum | None = None,
) -> list[LearnedPatchSpec]:
    """Transforms learned from the DCT-thresholded estimates of arrays of equal shape."""
    ndim, sides = len(patch_shape), arrays[0].shape
    first, *others = _SPECS[ndim]
    specs = [PatchSpec(patch_shape, first.n_members)]
    if not only_this_shape:
        specs += [spec for spec in others if spec.fits(sides)]
    level = _THRESHOLDS[ndim] * sigma
    grid = PatchGrid(sides, patch_shape, stride)
    dct = DCT(patch_shape)
    deviations = None if spectrum is None else spectrum.deviations(patch_shape, dct)
    smooth = [weighted_mean([hard_threshold(k, dct, grid, level, deviations)]) for k in arrays]
    learned = []
    for spec in specs:
        transform: Coder | None = None
        if spec.n_members > 0:
            n_rotations = _ROTATIONS_PER_SAMPLE * prod(spec.shape)
            transform = learn_transform(
                smooth, spec.shape, random, n_rotations, _N_ITERATIONS, n_members=spec.n_members
            )
            transform = transform or default_transform(spec.shape)
        learned.append(LearnedPatchSpec(spec, transform or DCT(spec.shape)))
    return learned


def denoise_patches(
    array: Numbers,
    sigma: float,
    specs: Sequence[LearnedPatchSpec],
    stride: tuple[int, ...],
    second_pass: bool,
    done: Callable[[], None] = lambda: None,
    spectrum: NoiseSpectrum | None = None,
) -> Numbers:
    """An array without noise: hard thresholding, then empirical Wiener shrinkage.

    The array is at least as large as the first patch shape. `done` is called after each pass.
    """
    level = _THRESHOLDS[array.ndim] * sigma
    pairs = [
        (each.transform, each.spec.grid(array.shape, stride))
        for each in specs
        if each.spec.fits(array.shape)
    ]
    deviations = [
        None if spectrum is None else spectrum.deviations(grid.patch_shape, transform)
        for transform, grid in pairs
    ]
    clean = weighted_mean(
        hard_threshold(array, *pair, level, each)
        for pair, each in zip(pairs, deviations, strict=True)
    )
    done()
    if second_pass:
        clean = weighted_mean(
            wiener(array, clean, *pair, sigma, each)
            for pair, each in zip(pairs, deviations, strict=True)
        )
        done()
    return clean


def learn_transform(
    arrays: Sequence[Numbers],
    patch_shape: tuple[int, ...],
    random: np.random.Generator,
    n_rotations: int,
    max_iter: int,
    *,
    trusted: Sequence[NDArray[np.bool_]] | None = None,
    max_patches: int = _MAX_PATCHES,
    n_members: int = 1,
) -> Coder | None:
    """A transform, or a bank, learned from random patches; None if there are too few of them.

    Patches without any `trusted` sample are excluded. A keyboard interrupt is passed on, since a
    partially learned transform is of no use here.
    """
    n = prod(patch_shape)
    counts = [tuple(m - k + 1 for m, k in zip(a.shape, patch_shape, strict=True)) for a in arrays]
    ends = np.cumsum([prod(count) for count in counts])
    n_places = int(ends[-1])
    if n_places < _MIN_PATCHES_PER_SAMPLE * n:
        return None
    chosen = np.arange(n_places)
    if n_places > max_patches:
        chosen = random.choice(n_places, max_patches, replace=False)
    rows = []
    for k, (array, count) in enumerate(zip(arrays, counts, strict=True)):
        first = ends[k] - prod(count)
        here = chosen[(chosen >= first) & (chosen < ends[k])] - first
        at = np.unravel_index(here, count)
        if trusted is not None:
            seen = sliding_window_view(trusted[k], patch_shape)[at]
            kept = seen.reshape(len(here), -1).any(axis=1)
            at = tuple(index[kept] for index in at)
        rows.append(sliding_window_view(array, patch_shape)[at].reshape(-1, n))
    Y = np.concatenate(rows)
    Y = Y - Y.mean(axis=1, keepdims=True)
    Y = Y[Y.any(axis=1)]
    if len(Y) < _MIN_PATCHES_PER_SAMPLE * n:
        return None
    one = Rotations(n_rotations)
    structure: Structure = one if n_members == 1 else BankOf(one, n_members)
    options = LearningOptions(
        structure=structure,
        n_nonzero_coefs=max(1, n // 16),
        base=DCT(patch_shape),
        init="base" if n_members == 1 else None,
        max_iter=max_iter,
        random_state=random,
    )
    return learn_part(Y, options).transform


def default_transform(patch_shape: tuple[int, ...]) -> Transform:
    """A transform for patches of any array: a pretrained one if available, else the DCT."""
    name = PRETRAINED.get(patch_shape)
    return pretrained(name) if name else DCT(patch_shape)


def pretrained(name: str) -> Transform:
    """A general transform for patches of natural images.

    Parameters
    ----------
    name : {"patches-8x8", "patches-16x16"}
        The patch shape. Patches are rows without their mean, as `fost.restoration.patches`
        extracts them.

    Returns
    -------
    Transform
        The 2-D DCT followed by learned rotations. fost learned it from images of scikit-image,
        which ``restoration/dictionaries/README.md`` in the package lists. A transform learned
        from images of one kind is better for that kind.

    Examples
    --------
    >>> import fost
    >>> fost.restoration.pretrained("patches-8x8").flops
    2208
    """
    return _load_pretrained(check_choice(name, "name", tuple(PRETRAINED.values())))


@cache
def _load_pretrained(name: str) -> Transform:
    resource = files("fost.restoration") / "dictionaries" / f"{name}.safetensors"
    with as_file(resource) as path:
        transform = load(path)
    assert isinstance(transform, Transform)
    return transform
