"""Denoising of signals, images and volumes by shrinkage of overlapping patches.

1. Validate the arguments (`DenoiseConfig.from_arguments`).
2. Estimate the noise level and learn transforms, once (`DenoiseConfig.fit`).
3. Denoise tile by tile (`TileDenoiser`): hard thresholding, empirical Wiener shrinkage, and for
   the best quality the filtering of groups of similar patches.

`Denoiser` is a reusable denoiser for plug-and-play methods.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from warnings import warn

import numpy as np
from numpy.typing import ArrayLike

from fost._progress import steps
from fost._typing import DType, Floats, Numbers
from fost._validation import (
    RandomState,
    as_generator,
    check_choice,
    check_each,
    check_flag,
    check_number,
    check_real,
    check_sizes,
    check_verbose,
    float_type,
)
from fost._warnings import external_stacklevel
from fost.restoration.arrays import (
    ArrayFormat,
    check_finite,
    check_samples,
    convert_type,
    crop_to,
    decorrelate,
    join_channels,
    pad_to,
    recorrelate,
    split_channels,
)
from fost.restoration.group_filtering import GROUP_FILTERS, refine_by_groups
from fost.restoration.inpainting import inpaint
from fost.restoration.noise import (
    AnscombeTransform,
    NoiseEstimate,
    estimate_noise,
    find_impulses,
)
from fost.restoration.noise_spectrum import remove_stripes
from fost.restoration.patch_grid import Sizes, check_stride, resolve_patch_shape
from fost.restoration.patch_specs import (
    LearnedPatchSpec,
    PatchSpec,
    denoise_patches,
    learn_patch_specs,
)
from fost.restoration.tiling import (
    MAX_SAMPLES,
    ArrayWriter,
    insert_channels,
    iterate_tiles,
    open_reader,
    tile_sides,
)
from fost.streams.arrays import is_dask
from fost.transforms import Coder

# The largest normalised noise level. Nothing of the array is left beyond it, and squares of larger
# levels could overflow.
_MAX_SIGMA = 1e8
# The normalised noise level that remains in an array of stripes without other noise.
_MIN_STRIPED_SIGMA = 1e-6
# Margins around tiles by quality and number of axes, chosen by tools/measure_seams.py: seams are
# much smaller than the remaining noise. The margin for "fast" is two passes over the longest
# patches; groups reach farther.
MARGINS = {
    "fast": {1: (256,), 2: (32, 32), 3: (8, 16, 16)},
    "best": {1: (2**14,), 2: (48, 48), 3: (16, 16, 16)},
}


def denoise(
    x: object,
    sigma: float | None = None,
    *,
    transform: Coder | None = None,
    stride: Sizes = 1,
    channel_axis: int | None = None,
    patch_shape: Sizes | None = None,
    second_pass: bool = True,
    quality: str | None = None,
    noise: str = "gaussian",
    gain: float | None = None,
    random_state: RandomState = 0,
    tile: Sizes | None = None,
    out: object = None,
    verbose: bool = False,
) -> Any:
    """Remove noise from a signal, an image or a volume.

    All overlapping patches are transformed, small coefficients are set to zero, and the patches
    are averaged; patches with few remaining coefficients have larger weights. The transforms are
    learned from a first estimate. A second pass uses the empirical Wiener filter, with the result
    of the first pass as pilot. For the best quality, groups of similar patches are then filtered
    jointly, each under its own Gaussian.

    Parameters
    ----------
    x : array-like with one to three spatial axes and at most one channel axis
        Arrays larger than memory are accepted: a memory map, a Zarr, HDF5 or Dask array, or a path
        to a ``.npy`` or ``.zarr`` file.
    sigma : float, optional
        The standard deviation of the white noise, in the units of `x`. By default, the noise is
        estimated, with its spectrum, as by `estimate_sigma`; with ``noise="poisson"``, it is 0.
    transform : Transform or Bank, optional
        A transform of patches in rows, for example the result of `fost.learn`, instead of
        transforms that are learned from `x`. A bank averages over its members, with larger
        weights for members in which a patch is sparse.
    stride : int or sequence of int
        Distance between neighbouring patches along each axis. 1 gives the best quality, larger
        strides are faster.
    channel_axis : int, optional
        The channel axis: -1 for a colour image of shape (height, width, 3). Three channels are
        processed as luma and chroma, any other number of channels separately. One noise level
        holds for all channels. Denoise channels one by one if they are not colours, or if their
        noise differs. If None, there are no channels.
    patch_shape : int or sequence of int, optional
        Use patches of this shape only. By default, the shape is that of the transform, if its
        sides are equal. Without a transform, signals use 32, 64 and 128 samples, images 8 x 8 and
        16 x 16 pixels, volumes 4 x 8 x 8 and 4 x 4 x 4 voxels.
    second_pass : bool
        Whether to apply the Wiener filter, which doubles the time.
    quality : {"best", "fast"}, optional
        "best" filters groups of similar patches, "fast" processes each patch alone. The
        documentation compares quality and time. The default is "best", but "fast" if `transform`,
        `stride`, `patch_shape` or `second_pass` is given.
    noise : {"gaussian", "poisson", "impulse"}
        "gaussian" without `sigma` also removes coloured noise and stripes, see `estimate_sigma`.
        "poisson" is for photon or particle counts: a sample is `gain` times a Poisson count, plus
        white noise of standard deviation `sigma`. Subtract the offset of a camera, and pass its
        read noise as `sigma`. The generalised Anscombe transform makes this noise white; its exact
        unbiased inverse is applied to the result.
        "impulse" is for salt and pepper: isolated samples with the smallest or the largest value
        are filled by `inpaint`. White noise is then removed if `sigma` is given; if its level is
        unknown, denoise the result again.
    gain : float, optional
        The value of a single count, for ``noise="poisson"``. By default, it is estimated: the
        transformed noise has variance 1.
    random_state : int, Generator, RandomState or None
        Seed for the choice of training patches.
    tile : int or sequence of int, optional
        The size of the tiles that are processed one by one, with a margin, to limit memory. The
        default is about 16 million samples. The noise level and the transforms are the same in
        all tiles.
    out : ndarray, memory map or array of Zarr, optional
        Where to store the result, of the shape and type of `x`. For ``noise="poisson"``, it may
        also have the type of the result.
    verbose : bool
        Show progress on stderr.

    Returns
    -------
    ndarray
        An array of the shape, type and range of `x`; integers are rounded. With
        ``noise="poisson"``, the result of integers is float32, or float64 for more than 16 bits,
        since mean counts are often small. The range is that of the type, or of the values for
        floats and for integers of more than 16 bits. Returns `out` if it is given. The result of a
        Dask array is a lazy Dask array, whose chunks are processed with a margin.

    Warns
    -----
    UserWarning
        If `sigma` exceeds the range of `x`, or if counts are negative and `sigma` is 0.

    See Also
    --------
    Denoiser : Repeated denoising with the same transforms.

    Examples
    --------
    >>> import fost, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> clean = np.sin(np.arange(2000) / 20) * np.sign(np.sin(np.arange(2000) / 300))
    >>> noisy = clean + 0.2 * rng.standard_normal(2000)
    >>> restored = fost.restoration.denoise(noisy, sigma=0.2)
    >>> bool(np.std(restored - clean) < 0.25 * np.std(noisy - clean))
    True
    """
    noise = check_choice(noise, "noise", ("gaussian", "poisson", "impulse"))
    if gain is not None:
        gain = check_number(gain, "gain", above=0)
        if noise != "poisson":
            raise ValueError(f'gain must be None unless noise is "poisson", got {gain:g}')
    if noise == "impulse":
        filled = _fill_impulses(
            x,
            channel_axis,
            transform=transform,
            patch_shape=patch_shape,
            random_state=random_state,
            tile=tile,
            out=None if sigma else out,
            verbose=verbose,
        )
        if not sigma:
            return filled
        x = filled
    configure = partial(
        DenoiseConfig.from_arguments,
        sigma=sigma,
        transform=transform,
        stride=stride,
        channel_axis=channel_axis,
        patch_shape=patch_shape,
        second_pass=second_pass,
        quality=quality,
        poisson=noise == "poisson",
        gain=gain,
    )
    if is_dask(x):
        from fost.restoration.dask_arrays import check_dask, denoise_dask

        ndim = check_dask(x, channel_axis, out, tile)
        return denoise_dask(x, configure(ndim), as_generator(random_state))
    reader = open_reader(x, "x", channel_axis)
    shape = reader.spatial_shape
    config = configure(len(shape))
    random, verbose = as_generator(random_state), check_verbose(verbose)
    sides = tile_sides(shape, reader.n_channels)
    if tile is not None:
        sides = check_each(tile, "tile", len(shape))
    tiles = list(iterate_tiles(shape, sides, config.margin))
    writer = ArrayWriter(out, reader, config.result_type(reader.dtype))
    total = 1 + len(tiles) * config.n_passes(reader.n_channels)
    with steps("denoising, step", total, verbose) as done:
        ends = reader.value_range(required=config.poisson)
        parts = [reader.read(part) for part in reader.regions(MAX_SAMPLES)]
        denoiser = config.fit(parts, writer.array.dtype, ends, random)
        done()
        for each in tiles:
            clean = denoiser(reader.read(each.outer), done)
            writer.write(each.core, clean[insert_channels(each.inner, channel_axis)])
    return writer.array


def _fill_impulses(x: object, channel_axis: int | None, **options: Any) -> Any:
    """An array without salt and pepper; the array itself is in memory."""
    if is_dask(x):
        raise ValueError('x must not be a Dask array for noise="impulse"')
    reader = open_reader(x, "x", channel_axis)
    samples = check_finite(reader.read(tuple(slice(0, n) for n in reader.spatial_shape)), "x")
    mask = find_impulses(samples, channel_axis)
    return inpaint(samples, mask, channel_axis=channel_axis, **options)


@dataclass(frozen=True, kw_only=True)
class DenoiseConfig:
    """Validated settings of `denoise`."""

    sigma: float | None
    transform: Coder | None
    patch_shape: tuple[int, ...]
    only_this_shape: bool  # no other patch shapes
    stride: tuple[int, ...]
    channel_axis: int | None
    second_pass: bool
    quality: str
    poisson: bool
    gain: float | None

    @classmethod
    def from_arguments(
        cls,
        ndim: int,
        *,
        sigma: float | None,
        transform: Coder | None,
        stride: Sizes,
        channel_axis: int | None,
        patch_shape: Sizes | None,
        second_pass: bool,
        quality: str | None,
        poisson: bool,
        gain: float | None,
    ) -> DenoiseConfig:
        """Validate the arguments of `denoise` for arrays with `ndim` spatial axes."""
        shape = resolve_patch_shape(patch_shape, transform, ndim)
        second_pass = check_flag(second_pass, "second_pass")
        step = check_stride(stride, shape)
        default = transform is None and patch_shape is None and set(step) == {1} and second_pass
        if quality is None:
            quality = "best" if default else "fast"
        return cls(
            sigma=None if sigma is None else check_number(sigma, "sigma", 0),
            transform=transform,
            patch_shape=shape,
            only_this_shape=patch_shape is not None,
            stride=step,
            channel_axis=channel_axis,
            second_pass=second_pass,
            quality=check_choice(quality, "quality", ("best", "fast")),
            poisson=poisson,
            gain=gain,
        )

    def result_type(self, dtype: DType) -> DType:
        """The type of the result for arrays of this type: mean counts are floats."""
        return float_type(dtype) if self.poisson and dtype.kind in "biu" else dtype

    @property
    def margin(self) -> tuple[int, ...]:
        """The margin around a tile along each axis."""
        margin = MARGINS[self.quality][len(self.patch_shape)]
        return tuple(max(k, 2 * n) for k, n in zip(margin, self.patch_shape, strict=True))

    def n_passes(self, n_channels: int) -> int:
        """The number of passes over each tile."""
        passes = n_channels * (1 + self.second_pass)
        if self.quality == "best":
            n_groups = 1 if n_channels == 3 else n_channels
            passes += GROUP_FILTERS[len(self.patch_shape)].n_passes * n_groups
        return passes

    def fit(
        self,
        parts: Sequence[Numbers],
        dtype: DType,
        ends: tuple[float, float],
        random: np.random.Generator,
    ) -> TileDenoiser:
        """Learn from parts of an array with these extreme values; `dtype` is that of the result."""
        form = result = ArrayFormat.from_range(dtype, *ends, "x")
        anscombe = None
        if self.poisson:
            sigma, largest = self.sigma or 0.0, max(map(abs, ends))
            if sigma == 0 and ends[0] < 0:
                _warn(
                    f"counts must not be negative, got x down to {ends[0]:g}; pass sigma, the "
                    "read noise, if the offset of the camera was subtracted"
                )
            anscombe = AnscombeTransform.of(parts, self.channel_axis, self.gain, sigma, largest)
        if anscombe is not None:
            parts = [anscombe.forward(part) for part in parts]
            low, high = anscombe.forward(np.array(ends))
            form = ArrayFormat.from_range(low.dtype, float(low), float(high), "x")
            noise = NoiseEstimate(1.0, len(self.patch_shape))
        elif self.sigma is None:
            noise = estimate_noise(parts, self.channel_axis)
        else:
            noise = NoiseEstimate(self.sigma, len(self.patch_shape))
            if self.sigma > form.scale and not self.poisson:
                _warn(
                    f"sigma must be in the units of x, whose range is {form.low:g} to "
                    f"{form.high:g}, got {self.sigma:g}"
                )
        level = min(noise.sigma / form.scale, _MAX_SIGMA)
        if noise.stripes is not None:
            level = max(level, _MIN_STRIPED_SIGMA)
        denoiser = TileDenoiser(self, result, form, level, noise, anscombe, ())
        if level == 0:
            return denoiser
        split = [denoiser.planes(part) for part in parts]
        specs = []
        for planes in zip(*split, strict=True):
            if self.transform is not None:
                specs.append([LearnedPatchSpec(PatchSpec(self.patch_shape), self.transform)])
                continue
            padded = [pad_to(plane, self.patch_shape) for plane in planes]
            shapes = self.patch_shape, self.stride, self.only_this_shape
            specs.append(learn_patch_specs(padded, level, *shapes, random, noise.spectrum))
        return replace(denoiser, specs=tuple(specs))


def _warn(message: str) -> None:
    warn(message, stacklevel=external_stacklevel())


@dataclass(frozen=True)
class TileDenoiser:
    """Denoises any part of an array with the same noise level and transforms."""

    config: DenoiseConfig
    result: ArrayFormat  # of the array
    form: ArrayFormat  # after the Anscombe transform, if any
    sigma: float  # normalised
    noise: NoiseEstimate
    anscombe: AnscombeTransform | None
    specs: tuple[list[LearnedPatchSpec], ...]  # by channel

    def __call__(self, samples: Numbers, done: Callable[[], None] = lambda: None) -> Numbers:
        """A part of the array without noise; `done` is called after each pass."""
        config, spectrum, anscombe = self.config, self.noise.spectrum, self.anscombe
        if self.sigma == 0:
            return samples.copy()
        noisy = self.planes(samples if anscombe is None else anscombe.forward(samples))
        clean: list[Numbers] = []
        for plane, specs in zip(noisy, self.specs, strict=True):
            padded = pad_to(plane, config.patch_shape)
            passes = config.stride, config.second_pass, done, spectrum
            clean.append(crop_to(denoise_patches(padded, self.sigma, specs, *passes), plane.shape))
        if config.quality == "best" and len(clean) == 3:  # groups are found in luma
            clean = list(refine_by_groups(noisy, np.stack(clean), self.sigma, done, spectrum))
        elif config.quality == "best":
            for k, pilot in enumerate(clean):
                pair = noisy[k][None], pilot[None]
                clean[k] = refine_by_groups(*pair, self.sigma, done, spectrum)[0]
        found = self.form.denormalize(join_channels(recorrelate(clean), config.channel_axis))
        if anscombe is None:
            return found
        return self.result.denormalize(self.result.normalize(anscombe.unbiased_inverse(found)))

    def planes(self, samples: Numbers) -> Numbers:
        """Normalised channels, three of them as luma and chroma."""
        unit = self.form.normalize_for_restoration(samples, self.sigma)
        channels, stripes = split_channels(unit, self.config.channel_axis), self.noise.stripes
        if stripes is not None:
            channels = np.stack([remove_stripes(plane, stripes) for plane in channels])
        return decorrelate(channels)


class Denoiser:
    """Removes noise of any level from arrays of one shape, with transforms that are kept.

    Plug-and-play methods denoise in every step of a solver. The transforms are learned in the
    first call, and the noise level is an argument of each call. Results have the type of their
    arrays, as those of `denoise`. Floats are not clipped to any range; integers are rounded.

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

    def __call__(self, x: ArrayLike, sigma: float) -> Numbers:
        """Remove white noise of standard deviation `sigma`.

        The result has the type of `x`; computations are in float32.
        """
        samples = check_finite(check_real(x, "x"), "x")
        dtype = np.asarray(x).dtype.newbyteorder("=")
        if samples.shape != self._shape:
            raise ValueError(
                f"x must have the shape {self._shape} of this denoiser, got {samples.shape}"
            )
        sigma = check_number(sigma, "sigma", 0)
        # Scaling avoids overflow and underflow of squares.
        scale = float(max(np.abs(samples).max(), sigma))
        if sigma == 0 or scale == 0:
            return samples.astype(dtype)
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
        return convert_type(result, dtype)

    def _learn(self, plane: Floats, sigma: float) -> list[LearnedPatchSpec]:
        if self._transform is not None:
            return [LearnedPatchSpec(PatchSpec(self._patch_shape), self._transform)]
        shapes = self._patch_shape, self._stride, self._only_this_shape
        return learn_patch_specs([plane], sigma, *shapes, self._random)
