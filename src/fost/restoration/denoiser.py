"""A denoiser that is made once and called again and again, as a part of other solvers."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fost._typing import Floats
from fost._validation import (
    RandomState,
    as_generator,
    check_each,
    check_flag,
    check_number,
    check_real,
    check_sizes,
)
from fost.restoration.arrays import (
    channels_back,
    channels_first,
    check_finite,
    check_samples,
    cropped,
    padded,
)
from fost.restoration.colour import recoloured
from fost.restoration.grid import Sizes, check_covers, patch_shape
from fost.restoration.views import View, learned_looks, looks_with, restored, views_of
from fost.transforms import Coder


class Denoiser:
    """Removes noise of any level from arrays of one shape, with transforms that it keeps.

    For plug-and-play methods, which denoise in every step of a solver: patches, plans and learned
    transforms are made in the first call, and the level of the noise is an argument of each.
    Results are floats that are not clipped to any range.

    Parameters
    ----------
    shape : tuple of int or int
        Of the arrays: one to three axes, and one more for channels.
    dictionary : Transform or Bank, optional
        As for `denoise`. If None, transforms are learned from the first array.
    stride : int or sequence of int
        Steps from one patch to the next along each axis.
    channel_axis : int, optional
        The axis of channels, as for `denoise`.
    patch : int or sequence of int, optional
        The shape of a patch, as for `denoise`.
    second_pass : bool
        Whether arrays are filtered once more by Wiener's filter.
    random_state : int, Generator, RandomState or None
        For the choice of the patches to learn from.

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
        dictionary: Coder | None = None,
        stride: Sizes = 1,
        *,
        channel_axis: int | None = None,
        patch: Sizes | None = None,
        second_pass: bool = True,
        random_state: RandomState = 0,
    ) -> None:
        self._shape = check_sizes(shape, "shape")
        like = np.broadcast_to(np.float32(0), self._shape)
        channels = channels_first(check_samples(like, "shape", channel_axis), channel_axis)
        ndim = channels.ndim - 1
        self._channel_axis = channel_axis
        self._dictionary = dictionary
        self._patch = patch_shape(patch, dictionary, ndim)
        self._alone = patch is not None
        self._stride = check_each(stride, "stride", ndim)
        check_covers(self._patch, self._stride)
        self._second_pass = check_flag(second_pass, "second_pass")
        self._random = as_generator(random_state)
        self._views: list[list[View]] = []

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the arrays that it takes."""
        return self._shape

    def __call__(self, array: ArrayLike, sigma: float) -> Floats:
        """An array without noise of the standard deviation `sigma`; float32 or float64.

        The work is done in float32.
        """
        samples = check_finite(check_real(array, "array"), "array")
        if samples.shape != self._shape:
            raise ValueError(
                f"array must have the shape {self._shape} of this denoiser, got {samples.shape}"
            )
        sigma = check_number(sigma, "sigma", 0)
        # Of numbers about 1, whatever the unit: squares neither overflow nor vanish.
        scale = float(max(np.abs(samples).max(), sigma))
        if sigma == 0 or scale == 0:
            return samples.copy()
        channels = channels_first((samples / scale).astype(np.float32), self._channel_axis)
        coloured = len(channels) == 3
        planes = [padded(k, self._patch) for k in (recoloured(channels) if coloured else channels)]
        if not self._views:
            self._views = [self._views_of(plane, sigma / scale) for plane in planes]
        clean = np.stack(
            [
                cropped(restored(plane, sigma / scale, views, self._second_pass), channel.shape)
                for plane, views, channel in zip(planes, self._views, channels, strict=True)
            ]
        )
        together = recoloured(clean, back=True) if coloured else clean
        result: Floats = channels_back(together, self._channel_axis).astype(samples.dtype)
        result *= scale
        return result

    def _views_of(self, plane: Floats, sigma: float) -> list[View]:
        if self._dictionary is not None:
            looks = looks_with(self._dictionary, self._patch)
        else:
            options = self._patch, self._stride, self._alone, self._random
            looks = learned_looks([plane], sigma, *options)
        return views_of(looks, plane.shape, self._stride)
