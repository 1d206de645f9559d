"""Inpainting by the conditional mean of missing samples, given the observed ones.

Two models compete for a signal: a Gaussian mixture of patches and autoregressions of several
orders. The mixture is learned from patches with missing samples (see `fost.imputation`). The model
with the least error on held-out observed samples is used. Images and volumes use the mixture.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod
from warnings import warn

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.linalg import lstsq
from scipy.ndimage import binary_dilation
from scipy.sparse import csc_array, diags_array
from scipy.sparse.linalg import splu

from fost._threads import single_threaded_blas
from fost._typing import Floats, Mask, Numbers
from fost._warnings import external_stacklevel
from fost.imputation.fit import fit_mixture
from fost.imputation.mixture import Mixture
from fost.restoration.arrays import crop_to, pad_to
from fost.restoration.patch_grid import PatchGrid, Sizes, check_stride
from fost.restoration.patches import PatchAssembler, patch_blocks
from fost.restoration.smooth_fill import smooth_fill

# Training patches of a mixture: at most this many. The patch is halved until the array has this
# many samples per sample of a patch.
_MAX_PATCHES, _MIN_SAMPLES_PER_SAMPLE = 8192, 8
# The least conditional variance of a sample, for samples in [0, 1].
_MIN_VARIANCE = 1e-12
# Orders of the autoregressions.
AUTOREGRESSION_ORDERS = (8, 16, 32, 64)
# Complete windows per coefficient of an autoregression, at least, and in total, at most.
_MIN_WINDOWS_PER_COEFFICIENT, _MAX_WINDOWS = 4, 2**15
# Singular values of the windows below this fraction of the largest one are rounding errors.
_RANK_TOLERANCE = 1e-7
# Models are compared on at least this many held-out samples, for which this fraction of the gaps
# is imitated elsewhere.
_MIN_HELD_OUT, _HELD_OUT_FRACTION = 16, 0.3

# A fitted model fills an array, or returns None if it cannot; a fitting function returns a model,
# or None if there are too few observed samples.
Model = Callable[[Floats, Mask], Floats | None]
Fit = Callable[[Floats, Mask], Model | None]


@dataclass(frozen=True)
class ConditionalMean:
    """Fills missing samples by the first of several models that is applicable."""

    models: tuple[Model, ...]

    @classmethod
    def fit(
        cls,
        array: Numbers,
        mask: Mask,
        patch_shape: tuple[int, ...],
        stride: Sizes | None,
        random: np.random.Generator,
        done: Callable[[], None],
    ) -> ConditionalMean:
        """Fit the models to an array, best first; `done` is called after each comparison."""
        samples = array.astype(np.float64, copy=False)
        fits: list[Fit] = [
            partial(GaussianPatches.fit, patch_shape=patch_shape, stride=stride, random=random)
        ]
        if array.ndim == 1:
            fits += [partial(fit_autoregression, order=order) for order in AUTOREGRESSION_ORDERS]
            fits = _sort_by_error(fits, samples, mask, random, done)
        models: list[Model] = []
        for fit in fits:
            model = fit(samples, mask)
            if model is not None:
                models.append(model)
            if isinstance(model, GaussianPatches):  # is applicable to every array
                break
        return cls(tuple(models))

    def warn_of_long_gaps(self, mask: Mask) -> None:
        """Warn if patches are shorter than a gap of a signal: nothing observed predicts its middle.

        Autoregressions extend across gaps of any length.
        """
        best = self.models[0]
        if mask.ndim != 1 or not isinstance(best, GaussianPatches):
            return
        longest = int(np.diff(np.flatnonzero(~np.r_[False, mask, False]), prepend=-1).max()) - 1
        if longest > best.patch_shape[0]:
            warn(
                f"mask has a gap of {longest} samples, longer than patch_shape="
                f"{best.patch_shape[0]}; its middle is smooth, a larger patch_shape may help",
                stacklevel=external_stacklevel(),
            )

    def __call__(self, array: Numbers, mask: Mask, random: np.random.Generator) -> Numbers:
        samples = array.astype(np.float64, copy=False)
        for model in self.models:
            filled = model(samples, mask)
            if filled is not None:
                return filled.astype(array.dtype, copy=False)
        raise AssertionError("GaussianPatches is applicable to every array")


def _sort_by_error(
    fits: list[Fit],
    signal: Floats,
    mask: Mask,
    random: np.random.Generator,
    done: Callable[[], None],
) -> list[Fit]:
    """Models in the order of their squared errors on held-out samples."""
    held_out = _hold_out_gaps(mask, random)
    if held_out.sum() < _MIN_HELD_OUT:
        return fits
    errors = []
    for fit in fits:
        model = fit(signal, mask | held_out)
        filled = None if model is None else model(signal, mask | held_out)
        squares = np.inf if filled is None else np.square((filled - signal)[held_out]).sum()
        errors.append(float(squares))
        done()
    return [fits[k] for k in np.argsort(errors, kind="stable")]


def _hold_out_gaps(mask: Mask, random: np.random.Generator) -> Mask:
    """Observed samples in runs of the same lengths as the gaps.

    The mask is shifted by a random offset. Its runs are kept apart from the gaps by their mean
    length, or else by one sample, if possible: longer gaps would be harder to fill.
    """
    shifted = np.roll(mask, int(random.integers(len(mask))))
    begins = shifted & ~np.r_[False, shifted[:-1]]
    run = np.cumsum(begins) * shifted  # the number of the run of each sample, or 0
    count = int(run.max(initial=0)) + 1
    taken = random.random(count) < _HELD_OUT_FRACTION
    taken[0] = False
    length = int(shifted.sum()) // max(1, count - 1)
    for distance in (max(1, length), 1):
        apart = taken.copy()
        apart[run[binary_dilation(mask, iterations=distance)]] = False
        held_out = apart[run]
        if held_out.sum() >= _MIN_HELD_OUT:
            return np.asarray(held_out)
    return np.asarray(taken[run] & ~mask)


@dataclass(frozen=True)
class GaussianPatches:
    """Fills patches by their conditional mean under a Gaussian mixture.

    Overlapping patches are averaged with their inverse conditional variances as weights. Without
    a mixture, because there were too few observed samples, the fill is smooth.
    """

    mixture: Mixture | None
    patch_shape: tuple[int, ...]
    stride: tuple[int, ...]

    @classmethod
    def fit(
        cls,
        array: Floats,
        mask: Mask,
        patch_shape: tuple[int, ...],
        stride: Sizes | None,
        random: np.random.Generator,
    ) -> GaussianPatches:
        """Learn a mixture from the patches of an array, smaller ones if the array is small."""
        shape = patch_shape
        while prod(shape) > 1 and prod(array.shape) < _MIN_SAMPLES_PER_SAMPLE * prod(shape):
            shape = tuple(max(1, k // 2) for k in shape)
        steps = check_stride(stride, shape, tuple(max(1, k // 8) for k in shape))
        known, holes = pad_to(array, shape), pad_to(mask, shape)
        rows = _training_patches(np.where(holes, np.nan, known), shape, random)
        if prod(shape) == 1 or np.isnan(rows).all(axis=0).any():
            return cls(None, shape, steps)
        return cls(fit_mixture(rows, random_state=random), shape, steps)

    def __call__(self, array: Floats, mask: Mask) -> Floats:
        if self.mixture is None:
            return smooth_fill(array, mask)[0]
        known, holes = pad_to(array, self.patch_shape), pad_to(mask, self.patch_shape)
        grid = PatchGrid(known.shape, self.patch_shape, self.stride)
        assembler = PatchAssembler(grid)
        blocks = (patch_blocks(plane[None], grid) for plane in (known, holes))
        for (where, rows), (_, flags) in zip(*blocks, strict=True):
            mean, std = self.mixture.fill(rows, flags > 0, return_std=True)
            assembler.add(where, mean, 1 / (np.square(std) + _MIN_VARIANCE))
        return crop_to(assembler.result()[0], array.shape)


def _training_patches(
    array: Floats, patch_shape: tuple[int, ...], random: np.random.Generator
) -> Floats:
    """Random patches of an array with NaN for missing samples, without empty patches."""
    windows = sliding_window_view(array, patch_shape)
    counts = windows.shape[: array.ndim]
    n_patches = prod(counts)
    chosen = np.arange(n_patches)
    if n_patches > _MAX_PATCHES:
        chosen = np.sort(random.choice(n_patches, _MAX_PATCHES, replace=False))
    rows = windows[np.unravel_index(chosen, counts)].reshape(len(chosen), -1)
    return np.asarray(rows[~np.isnan(rows).all(axis=1)])


@dataclass(frozen=True)
class Autoregression:
    """A linear prediction of each sample, without its mean, from the samples before it."""

    coefficients: Floats  # the last one multiplies the sample just before
    mean: float

    @single_threaded_blas
    def __call__(self, signal: Floats, mask: Mask) -> Floats | None:
        """Missing samples that minimise the squared prediction errors; None if not unique."""
        order = len(self.coefficients)
        if len(signal) <= order:
            return None
        size = (len(signal) - order, len(signal))
        diagonals = [*-self.coefficients, 1.0]
        errors = csc_array(diags_array(diagonals, offsets=range(order + 1), shape=size))
        known = np.where(mask, 0, signal - self.mean)
        holes = np.flatnonzero(mask)
        of_holes = errors[:, holes]
        try:
            factors = splu(csc_array(of_holes.T @ of_holes))
        except RuntimeError:  # singular: the prediction does not determine the missing samples
            return None
        known[holes] = factors.solve(-(of_holes.T @ (errors @ known)))
        return known + self.mean if np.isfinite(known).all() else None


@single_threaded_blas
def fit_autoregression(signal: Floats, mask: Mask, order: int) -> Autoregression | None:
    """The autoregression with the least squared error on complete windows; None if too few."""
    if len(signal) <= order:
        return None
    observed = ~sliding_window_view(mask, order + 1).any(axis=1)
    if observed.sum() < _MIN_WINDOWS_PER_COEFFICIENT * order:
        return None
    windows = sliding_window_view(signal, order + 1)[observed]
    mean = signal[~mask].mean()
    rows = windows[:: -(-len(windows) // _MAX_WINDOWS)] - mean
    coefficients = lstsq(rows[:, :-1], rows[:, -1], cond=_RANK_TOLERANCE, check_finite=False)[0]
    return Autoregression(coefficients, float(mean))
