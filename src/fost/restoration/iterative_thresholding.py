"""Inpainting by iterative hard thresholding with a decreasing threshold.

1. Missing samples start from a smooth fill.
2. Each pass thresholds the transform coefficients of all patches of a random grid, and moves the
   missing samples towards the result. The threshold decreases from pass to pass.
3. After half of the passes, the DCT is replaced by a transform that is learned from the estimate.
4. Over-relaxed passes suit regular patterns, plain passes suit irregular texture. The result is a
   convex combination of both, whose weight minimises the error of held-out observed samples.

Compact holes (squares, scratches, letters) differ from scattered samples. For them, copies of the
holes are hidden at observed places. Passes with small and with large patches start from the fill
of a thin plate. The result is the convex combination of fills and estimates that has the least
error in the hidden holes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_cdt
from scipy.optimize import nnls

from fost import _core
from fost._progress import progress
from fost._threads import single_threaded_blas
from fost._typing import Floats, Mask, Numbers
from fost.imputation.conditioning import keep_observed
from fost.restoration.arrays import crop_to, pad_to
from fost.restoration.patch_grid import Sizes, check_stride
from fost.restoration.patch_specs import default_transform, learn_transform
from fost.restoration.shrinkage import hard_threshold_at, hard_threshold_step
from fost.restoration.smooth_fill import smooth_fill, thin_plate_fill
from fost.transforms import DCT, Coder

# benchmarks/bench_images.py and benchmarks/restoration.py measure the effect of these constants.
# The threshold decreases geometrically from the first to the last value, for samples in [0, 1].
# The first value is interpolated towards the last one where few samples are missing.
_FIRST_THRESHOLD, _LAST_THRESHOLD = 0.4, 0.006
# Step length in units of the distance to the thresholded estimate. Over-relaxed passes also repeat
# a fraction of their last step, so that fewer passes suffice.
_OVER_RELAXATION, _PLAIN_RELAXATION = 1.7, 1.0
_MOMENTUM = 0.3
# For a fraction f of missing samples there are 15 / (1 - f)^2 over-relaxed passes, within limits,
# and a quarter as many plain passes.
_PASSES_FACTOR, _MIN_PASSES, _MAX_PASSES = 15, 36, 80
_PLAIN_PASSES_DIVISOR = 4
# The fraction of observed samples that is held out, and the least number of them. Holes of more
# than 2^2 samples differ from held-out samples, which are scattered, so nothing is held out.
_HELD_OUT_FRACTION, _MIN_HELD_OUT, _MAX_SCALES = 0.03, 64, 2
# Additional passes lower the threshold down to 0.3 of its last value. Every 5 passes, the held-out
# error must be less than 0.99 of the best so far, with one exception in a row. If more than 60 %
# of the samples are missing, there are too few held-out samples to decide.
_MAX_EXTRA_PASSES, _EXTRA_THRESHOLD_FACTOR = 40, 0.3
_CHECK_INTERVAL, _REQUIRED_DECREASE, _PATIENCE = 5, 0.99, 1
_MAX_FRACTION_FOR_CHECKS = 0.6
# A held-out error (RMSE) above 0.015 that rises by this factor does not decrease again. Smaller
# errors, of smooth arrays and patterns, may still drop at lower thresholds.
_RISE_FACTOR, _SMALL_ERROR = 1.002, 0.015
# Learning after half of the passes: Givens rotations and patches per sample of a patch.
_ROTATIONS_PER_SAMPLE = 1
_PATCHES_PER_SAMPLE = 64
_N_ITERATIONS = 2

# Holes are compact if neighbouring entries of the mask have a correlation above this one: it is 0
# for scattered samples, and about 0.5 for scratches of one pixel.
_COMPACT_CORRELATION = 0.25
# Copies of compact holes are hidden until they cover this fraction of the array, or of the observed
# samples if these are few, at this distance from the holes and from each other.
_HIDDEN_FRACTION, _HIDDEN_FRACTION_OF_OBSERVED, _HIDDEN_DISTANCE, _MAX_COPIES = 0.15, 0.5, 4, 8
_COMPACT_PASSES = 120

# The mean squared error of an estimate on held-out samples.
HeldOutError = Callable[[Numbers], float]


def inpaint_by_thresholding(
    array: Numbers,
    mask: Mask,
    transform: Coder | None,
    patch_shape: tuple[int, ...],
    stride: Sizes | None,
    max_iter: int | None,
    random: np.random.Generator,
    verbose: bool,
    missing_fraction: float | None = None,
    large_patch_shape: tuple[int, ...] | None = None,
) -> tuple[Numbers, IterativeThresholding | CompactHoles]:
    """An array without missing samples, and a model that inpaints similar arrays.

    `missing_fraction` is that of the whole array, if `array` consists of parts of it, with rows of
    missing samples between them. `large_patch_shape` is used beside `patch_shape` for compact
    holes.
    """
    if max_iter is None:
        hidden = hide_copies(mask, missing_fraction is not None, random)
        if hidden.sum() >= _MIN_HELD_OUT:
            shapes = dict.fromkeys((patch_shape, large_patch_shape or patch_shape))
            strides = [check_stride(stride, shape, (*shape[:-1], 1)) for shape in shapes]
            schedules = tuple(
                ThresholdSchedule(*each, _COMPACT_PASSES, _OVER_RELAXATION)
                for each in zip(shapes, strides, strict=True)
            )
            return CompactHoles.fit(array, mask, hidden, schedules, transform, random, verbose)
    steps = check_stride(stride, patch_shape, (*patch_shape[:-1], 1))
    known, holes = pad_to(array, patch_shape), pad_to(mask, patch_shape)
    fraction = float(mask.mean()) if missing_fraction is None else missing_fraction
    held_out = np.zeros_like(holes)
    if max_iter is None:
        held_out = _hold_out(~holes, _HELD_OUT_FRACTION, random)
    start, n_scales = smooth_fill(known, holes | held_out)
    wanted = max(_PASSES_FACTOR / max(1 - fraction, 0.05) ** 2, 5 * n_scales)
    n_passes = round(min(max(wanted, _MIN_PASSES), _MAX_PASSES)) if max_iter is None else max_iter
    fast = ThresholdSchedule(patch_shape, steps, n_passes, _OVER_RELAXATION)
    if n_scales > _MAX_SCALES or held_out.sum() < _MIN_HELD_OUT:
        start, _ = smooth_fill(known, holes)
        reached = fast.run(start, holes, transform, random, verbose)
        model = IterativeThresholding(fast, None, transform, reached.learned, 1.0, fraction)
        return crop_to(reached.estimate, array.shape), model
    plain = ThresholdSchedule(
        patch_shape, steps, n_passes // _PLAIN_PASSES_DIVISOR, _PLAIN_RELAXATION
    )
    error = held_out_error(known, held_out) if fraction <= _MAX_FRACTION_FOR_CHECKS else None
    far = fast.run(start, holes | held_out, transform, random, verbose, error=error)
    near = plain.run(start, holes | held_out, transform, random, verbose, far.learned)
    weight = optimal_weight(near.estimate, far.estimate, known, held_out)
    fast = replace(fast, n_extra=far.n_passes - fast.n_passes)
    model = IterativeThresholding(fast, plain, transform, far.learned, weight, fraction)
    return crop_to(interpolate(near.estimate, far.estimate, weight), array.shape), model


@dataclass(frozen=True)
class IterativeThresholding:
    """Inpaints arrays with the schedules, the transform and the weight found for another one."""

    fast: ThresholdSchedule
    plain: ThresholdSchedule | None
    transform: Coder | None  # that of the user
    learned: Coder | None
    weight: float  # of the over-relaxed passes
    missing_fraction: float

    def __call__(self, array: Numbers, mask: Mask, random: np.random.Generator) -> Numbers:
        shape = self.fast.patch_shape
        known, holes = pad_to(array, shape), pad_to(mask, shape)
        start, _ = smooth_fill(known, holes)
        rest = holes, self.transform, random, False, self.learned
        far = self.fast.run(start, *rest, missing_fraction=self.missing_fraction).estimate
        if self.plain is not None:
            near = self.plain.run(start, *rest, missing_fraction=self.missing_fraction).estimate
            far = interpolate(near, far, self.weight)
        return crop_to(far, array.shape)


@dataclass(frozen=True)
class CompactHoles:
    """Inpaints compact holes by a convex combination of fills and thresholded estimates."""

    schedules: tuple[ThresholdSchedule, ...]
    transform: Coder | None  # that of the user
    learned: tuple[Coder | None, ...]  # by schedule
    weights: Floats  # by estimate

    @classmethod
    def fit(
        cls,
        array: Numbers,
        mask: Mask,
        hidden: Mask,
        schedules: tuple[ThresholdSchedule, ...],
        transform: Coder | None,
        random: np.random.Generator,
        verbose: bool,
    ) -> tuple[Numbers, CompactHoles]:
        """The weights with the least error in hidden holes, and the filled array."""
        unfitted = cls(schedules, transform, (None,) * len(schedules), np.empty(0))
        estimates, learned = unfitted._estimates(array, mask | hidden, random, verbose)
        errors = np.stack([(each - array)[hidden] for each in estimates], axis=1)
        weights = least_error_weights(errors.astype(np.float64))
        model = replace(unfitted, learned=learned, weights=weights)
        return model._combine(array, mask, estimates), model

    def __call__(self, array: Numbers, mask: Mask, random: np.random.Generator) -> Numbers:
        return self._combine(array, mask, self._estimates(array, mask, random, False)[0])

    def _estimates(
        self, array: Numbers, mask: Mask, random: np.random.Generator, verbose: bool
    ) -> tuple[list[Numbers], tuple[Coder | None, ...]]:
        """Both fills and the thresholded estimates, with the transforms learned for them."""
        plate = thin_plate_fill(array, mask).clip(0, 1)
        estimates, learned = [smooth_fill(array, mask)[0], plate], []
        for schedule, coder in zip(self.schedules, self.learned, strict=True):
            start, holes = pad_to(plate, schedule.patch_shape), pad_to(mask, schedule.patch_shape)
            # All samples around a missing one are missing, so the thresholds are those of 1.
            found = schedule.run(
                start, holes, self.transform, random, verbose, coder, missing_fraction=1.0
            )
            estimates.append(crop_to(found.estimate, array.shape))
            learned.append(found.learned)
        return estimates, tuple(learned)

    def _combine(self, array: Numbers, mask: Mask, estimates: list[Numbers]) -> Numbers:
        weights = self.weights.astype(array.dtype)
        mixed = sum(w * each for w, each in zip(weights, estimates, strict=True))
        return keep_observed(np.asarray(mixed), array, mask)


def neighbour_correlation(mask: Mask) -> float:
    """The correlation of neighbouring entries of a mask, as a mean over all axes."""
    fraction = float(mask.mean())
    if fraction in (0, 1):
        return 0.0
    both = total = 0
    for axis in range(mask.ndim):
        lines = np.moveaxis(mask, axis, 0)
        both += int(np.count_nonzero(lines[1:] & lines[:-1]))
        total += lines[1:].size
    return (both / max(1, total) - fraction**2) / (fraction - fraction**2)


def hide_copies(mask: Mask, has_parts: bool, random: np.random.Generator) -> Mask:
    """Copies of compact holes at observed places; none if the holes are not compact.

    The holes are shifted cyclically by random distances. If the array has parts, rows of missing
    samples lie between them, which are no holes.
    """
    hidden, axes, holes = np.zeros_like(mask), tuple(range(mask.ndim)), mask
    if has_parts:
        holes = mask & ~mask.all(axis=axes[1:], keepdims=True)
    if neighbour_correlation(holes) <= _COMPACT_CORRELATION:
        return hidden
    wanted = min(_HIDDEN_FRACTION, _HIDDEN_FRACTION_OF_OBSERVED * (1 - mask.mean())) * mask.size
    for _ in range(_MAX_COPIES):
        if hidden.sum() >= wanted:
            break
        far = distance_transform_cdt(~(mask | hidden)) > _HIDDEN_DISTANCE
        shift = [int(random.integers(n)) for n in mask.shape]
        hidden |= far & np.roll(holes, shift, axes)
    return hidden


@single_threaded_blas
def least_error_weights(errors: Floats) -> Floats:
    """The weights of the convex combination of estimates with the least squared error.

    `errors` E has samples in rows and estimates in columns. The weights ``w >= 0`` of sum 1
    minimise ``w^T Q w``, where ``Q = E^T E``. They are proportional to the unconstrained minimiser
    of ``w^T Q w + (1 - sum(w))^2``. The reason is that the best multiple of any w has a value that
    increases with ``w^T Q w``.
    """
    Q, n = errors.T @ errors, errors.shape[1]
    scale = max(float(np.trace(Q)) / n, np.finfo(float).tiny)
    root = np.linalg.cholesky(Q / scale + 1e-9 * np.eye(n)).T
    found, _ = nnls(np.vstack([root, np.ones(n)]), np.r_[np.zeros(n), 1.0])
    return np.asarray(found / found.sum())


@dataclass(frozen=True)
class PassResult:
    """The best estimate of a schedule, the transform learned on the way, and the passes used."""

    estimate: Numbers
    learned: Coder | None
    n_passes: int


@dataclass(frozen=True)
class ThresholdSchedule:
    """Passes over all patches with a threshold that decreases from one to the next."""

    patch_shape: tuple[int, ...]
    stride: tuple[int, ...]
    n_passes: int
    relaxation: float
    n_extra: int = 0  # passes beyond `n_passes`

    def run(
        self,
        start: Numbers,
        mask: Mask,
        transform: Coder | None,
        random: np.random.Generator,
        verbose: bool,
        learned: Coder | None = None,
        error: HeldOutError | None = None,
        missing_fraction: float | None = None,
    ) -> PassResult:
        """Run all passes from an initial estimate.

        Without a transform of the user, the second half of the passes uses `learned`, or a
        transform that is learned then. With a held-out `error`, passes are added while the error
        decreases.
        """
        estimate = start.copy()
        current: Coder = transform if transform is not None else DCT(self.patch_shape)
        fraction = float(mask.mean()) if missing_fraction is None else missing_fraction
        best, least_error, n_idle = PassResult(estimate, learned, 0), np.inf, 0
        velocity, buffers = np.zeros_like(estimate), (np.zeros_like(start), np.zeros_like(start))
        pace = self.relaxation, _MOMENTUM if self.relaxation > 1 else 0.0
        total = self.n_passes + (_MAX_EXTRA_PASSES if error else self.n_extra)
        with progress("iteration", total, verbose) as advance:
            for k, level in enumerate(self._thresholds(fraction, total)):
                if transform is None and k == self.n_passes // 2:
                    learned = learned or _learn(estimate, mask, self.patch_shape, random)
                    current = learned
                sizes = zip(estimate.shape, self.patch_shape, self.stride, strict=True)
                starts = [
                    _starts_from(length - side, step, int(random.integers(step)))
                    for length, side, step in sizes
                ]
                patches = current, self.patch_shape, starts, level
                if k == total - 1 if error is None else self._is_checked(k):
                    sums, weights = hard_threshold_at(estimate, *patches, buffers)
                    reached = estimate + (sums / weights - estimate) * mask
                    now = error(reached) if error else 0.0
                    n_idle = 0 if now < _REQUIRED_DECREASE * least_error else n_idle + 1
                    rises = now > _RISE_FACTOR * least_error and now > _SMALL_ERROR**2
                    if n_idle > _PATIENCE or rises:
                        break
                    if now < least_error:
                        best, least_error = PassResult(reached, learned, k + 1), now
                    if k < total - 1:
                        _core.advance(estimate, velocity, *buffers, mask, *pace)
                else:
                    hard_threshold_step(estimate, velocity, mask, *patches, *pace, buffers)
                advance(k + 1, "")
        return best

    def _is_checked(self, k: int) -> bool:
        """Whether the held-out error is computed after this pass."""
        beyond = k - (self.n_passes - 1)
        return beyond >= 0 and beyond % _CHECK_INTERVAL == 0

    def _thresholds(self, missing_fraction: float, total: int) -> list[float]:
        """The thresholds of all passes, including additional ones."""
        first = _LAST_THRESHOLD + (_FIRST_THRESHOLD - _LAST_THRESHOLD) * missing_fraction
        planned = np.geomspace(first, _LAST_THRESHOLD, self.n_passes)
        extra = np.geomspace(1, _EXTRA_THRESHOLD_FACTOR, _MAX_EXTRA_PASSES + 1)[1:]
        return [float(level) for level in np.r_[planned, _LAST_THRESHOLD * extra][:total]]


def held_out_error(known: Numbers, held_out: Mask) -> HeldOutError:
    """The mean squared error of an estimate on observed samples that were held out."""
    places = np.flatnonzero(held_out)
    truth = known.ravel()[places].astype(np.float64)

    def error(estimate: Numbers) -> float:
        difference = estimate.ravel()[places].astype(np.float64) - truth
        return float(difference @ difference) / len(truth)

    return error


def _hold_out(observed: Mask, fraction: float, random: np.random.Generator) -> Mask:
    """A random fraction of the observed samples.

    The samples are drawn by index: comparing uniform numbers with a limit would fail if the mask
    was made in this way by a generator with the same seed.
    """
    places = np.flatnonzero(observed)
    held_out = np.zeros(observed.shape, bool)
    held_out.flat[random.choice(places, round(fraction * len(places)), replace=False)] = True
    return held_out


def optimal_weight(near: Numbers, far: Numbers, known: Numbers, held_out: Mask) -> float:
    """The weight of `far` in [0, 1] that minimises the squared error on held-out samples."""
    places = np.flatnonzero(held_out)
    start, end, truth = (each.ravel()[places].astype(np.float64) for each in (near, far, known))
    direction = end - start
    length = float(direction @ direction)
    weight = float((truth - start) @ direction) / length if length > 0 else 0.0
    return min(max(weight, 0.0), 1.0)


def interpolate(near: Numbers, far: Numbers, weight: float) -> Numbers:
    """The convex combination of two estimates with this weight of `far`."""
    mixed: Numbers = near + near.dtype.type(weight) * (far - near)
    return mixed


def _learn(
    estimate: Numbers, mask: Mask, patch_shape: tuple[int, ...], random: np.random.Generator
) -> Coder:
    """A transform learned from the estimate, or a general one if there are too few patches."""
    n = prod(patch_shape)
    learned = learn_transform(
        [estimate],
        patch_shape,
        random,
        _ROTATIONS_PER_SAMPLE * n,
        _N_ITERATIONS,
        trusted=[~mask],
        max_patches=_PATCHES_PER_SAMPLE * n,
    )
    return learned or default_transform(patch_shape)


@lru_cache(maxsize=256)
def _starts_from(last: int, step: int, offset: int) -> NDArray[np.int32]:
    """Positions `step` apart from an offset, with the first and the last possible one."""
    starts = np.arange(offset, last + 1, step, dtype=np.int32)
    before = np.zeros(int(offset > 0), np.int32)
    reached = starts[-1] if starts.size else 0
    after = np.full(int(reached < last), last, np.int32)
    return np.concatenate([before, starts, after])
