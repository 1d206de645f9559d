"""A reusable denoiser for plug-and-play methods, which denoise in every step of a solver."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fost._typing import Floats
from fost._validation import (
    RandomState,
    as_generator,
    check_flag,
    check_number,
    check_real,
    check_sizes,
)
from fost.restoration.arrays import (
    check_finite,
    check_samples,
    crop_to,
    decorrelate,
    join_channels,
    pad_to,
    recorrelate,
    split_channels,
)
from fost.restoration.patch_grid import Sizes, check_stride, resolve_patch_shape
from fost.restoration.patch_specs import (
    LearnedPatchSpec,
    PatchSpec,
    denoise_patches,
    learn_patch_specs,
)
from fost.transforms import Coder


class Denoiser:
    """Removes noise of any level from arrays of one shape, with transforms that are kept.

    Plug-and-play methods denoise in every step of a solver. The transforms are learned in the
    first call, and the noise level is an argument of each call. Results are floats that are not
    clipped to any range.

    Parameters
    ----------
    shape : tuple of int or int
        The shape of the arrays: one to three spatial axes and at most one channel axis.
    transform : Transform or Bank, optional
        As for `denoise`. By default, transforms are learned from the first array.
    stride : int or sequence of int
        Distance between neighbouring patches along each axis.
    channel_axis : int, optional
        The channel axis, as for `denoise`.
    patch_shape : int or sequence of int, optional
        The patch shape, as for `denoise`.
    second_pass : bool
        Whether to apply the empirical Wiener filter in a second pass.
    random_state : int, Generator, RandomState or None
        Seed for the choice of training patches.

    Examples
    --------
    >>> import fost, numpy as np
    >>> clean = np.sin(np.arange(1000) / 9)
    >>> denoiser = fost.restoration.Denoiser(clean.shape)
    >>> rng = np.random.default_rng(0)
    >>> for sigma in (0.3, 0.1):
    ...     restored = denoiser(clean + sigma * rng.standard_normal(1000), sigma)
    ...     assert np.std(restored - clean) < 0.4 * sigma
    """

    def __init__(
        self,
        shape: tuple[int, ...] | int,
        *,
        transform: Coder | None = None,
        stride: Sizes = 1,
        channel_axis: int | None = None,
        patch_shape: Sizes | None = None,
        second_pass: bool = True,
        random_state: RandomState = 0,
    ) -> None:
        self._shape = check_sizes(shape, "shape")
        check_samples(np.broadcast_to(np.float32(0), self._shape), "shape", channel_axis)
        ndim = len(self._shape) - (channel_axis is not None)
        self._channel_axis = channel_axis
        self._transform = transform
        self._patch_shape = resolve_patch_shape(patch_shape, transform, ndim)
        self._only_this_shape = patch_shape is not None
        self._stride = check_stride(stride, self._patch_shape)
        self._second_pass = check_flag(second_pass, "second_pass")
        self._random = as_generator(random_state)
        self._specs: list[list[LearnedPatchSpec]] = []  # by channel

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the arrays."""
        return self._shape

    def __call__(self, x: ArrayLike, sigma: float) -> Floats:
        """Remove white noise of standard deviation `sigma`.

        The result is float32 or float64, as `x`; computations are in float32.
        """
        samples = check_finite(check_real(x, "x"), "x")
        if samples.shape != self._shape:
            raise ValueError(
                f"x must have the shape {self._shape} of this denoiser, got {samples.shape}"
            )
        sigma = check_number(sigma, "sigma", 0)
        # Scaling avoids overflow and underflow of squares.
        scale = float(max(np.abs(samples).max(), sigma))
        if sigma == 0 or scale == 0:
            return samples.copy()
        channels = split_channels((samples / scale).astype(np.float32), self._channel_axis)
        planes = [pad_to(plane, self._patch_shape) for plane in decorrelate(channels)]
        if not self._specs:
            self._specs = [self._learn(plane, sigma / scale) for plane in planes]
        clean = []
        for plane, specs in zip(planes, self._specs, strict=True):
            passes = self._stride, self._second_pass
            found = denoise_patches(plane, sigma / scale, specs, *passes)
            clean.append(crop_to(found, channels.shape[1:]))
        result: Floats = join_channels(recorrelate(clean), self._channel_axis)
        result = result.astype(samples.dtype)
        result *= scale
        return result

    def _learn(self, plane: Floats, sigma: float) -> list[LearnedPatchSpec]:
        if self._transform is not None:
            return [LearnedPatchSpec(PatchSpec(self._patch_shape), self._transform)]
        shapes = self._patch_shape, self._stride, self._only_this_shape
        return learn_patch_specs([plane], sigma, *shapes, self._random)
