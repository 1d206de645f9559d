"""Inpainting: missing samples of signals, images and volumes are filled in.

1. Validate the arguments (`InpaintConfig.from_arguments`).
2. A small array is filled as a whole (`InpaintConfig.inpaint_array`).
3. For a large array, a model is learned once from parts of it (`InpaintConfig.fit`), and applied
   tile by tile (`TileInpainter`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import numpy as np

from fost._progress import steps
from fost._typing import Mask, Numbers
from fost._validation import (
    RandomState,
    as_generator,
    check_choice,
    check_each,
    check_integer,
    check_number,
    check_verbose,
)
from fost.restoration.arrays import ArrayFormat, join_channels, split_channels
from fost.restoration.conditional_mean import AUTOREGRESSION_ORDERS, ConditionalMean
from fost.restoration.iterative_thresholding import inpaint_by_thresholding
from fost.restoration.masks import MaskedReader, replace_masked
from fost.restoration.matching_pursuit import MatchingPursuit
from fost.restoration.patch_grid import Sizes, resolve_patch_shape
from fost.restoration.patch_specs import default_transform
from fost.restoration.tiling import ArrayWriter, insert_channels, iterate_tiles, tile_sides
from fost.streams.arrays import is_dask
from fost.transforms import Coder

METHODS = ("shrinkage", "pursuit", "gaussian")
# Samples of a large array from which the model is learned, approximately.
MAX_TRAINING_SAMPLES = 2**20
# The exponent of the prior of "pursuit", chosen on images of scikit-image by
# python -m tools.choose_exponent.
PRIOR = 0.2
# The thresholds of all iterations are computed in advance, which limits their number.
_MAX_ITER = 10**6
# Patches for "shrinkage" if more than this fraction of samples is missing, by number of axes.
_LARGE_PATCH_FRACTION = 0.6
_LARGE_PATCH_SHAPES = {1: (64,), 2: (16, 16), 3: (4, 8, 8)}
# Patches for "gaussian", whose conditional means gain from long windows, by number of axes.
_GAUSSIAN_PATCH_SHAPES: dict[int, tuple[int, ...]] = {1: (128,)}
# Margins around tiles by number of axes.
_MARGINS = {1: (1024,), 2: (48, 48), 3: (16, 16, 16)}

# A fitted model, which fills one channel.
ChannelModel = Callable[[Numbers, Mask, np.random.Generator], Numbers]


def inpaint(
    x: object,
    mask: object = None,
    *,
    transform: Coder | None = None,
    n_nonzero_coefs: int = 6,
    stride: Sizes | None = None,
    channel_axis: int | None = None,
    method: str | None = None,
    patch_shape: Sizes | None = None,
    max_iter: int | None = None,
    prior: float = PRIOR,
    random_state: RandomState = 0,
    tile: Sizes | None = None,
    out: object = None,
    verbose: bool = False,
) -> Any:
    """Fill in the missing samples of a signal, an image or a volume.

    The method "shrinkage" is iterative hard thresholding. It starts from a smooth fill. Each pass
    sets small coefficients of overlapping patches to zero and updates the missing samples. The
    threshold decreases from pass to pass. After half of the passes, a transform is learned from the
    estimate. Over-relaxed passes, which suit patterns, and plain passes, which suit irregular
    texture, are combined such that the error of held-out samples is least. For compact holes, such
    as scratches, estimates with two patch shapes are combined with a thin-plate fill. Their weights
    minimise the error in artificial holes of the same shapes.

    The method "gaussian" learns a Gaussian mixture from all patches, including their missing
    samples (see `fost.imputation`). It fills each patch by its conditional mean given its observed
    samples. It is best for signals, where it competes with autoregressions: the model with the
    least error on held-out samples is used.

    The method "pursuit" codes each patch once by orthogonal matching pursuit on its observed
    samples. With patches that do not overlap, a transform learned from clean data and
    ``prior=0``, it is one reading of the inpainting experiment of the paper.

    Parameters
    ----------
    x : array-like with one to three spatial axes and at most one channel axis
        Values of missing samples are ignored, and may be NaN. Masked samples of a NumPy masked
        array are missing. Arrays larger than memory are accepted: a memory map, a Zarr, HDF5 or
        Dask array, or a path to a ``.npy`` or ``.zarr`` file.
    mask : array-like of bool, or "nan"
        True where a sample is missing; of the shape of `x` or of one channel. ``"nan"``: samples
        that are NaN are missing. A mask larger than memory is accepted in the same forms as `x`.
        May be None for a masked array.
    transform : Transform, Bank or, for the method "pursuit", Union, optional
        A transform of patches in rows without their means. A bank averages over its members, with
        larger weights for members in which a patch is sparse ("shrinkage"), or uses all of their
        atoms ("pursuit"). By default, a transform is learned from `x`; if there are too few
        patches, a general one is used.
    n_nonzero_coefs : int
        Nonzero coefficients per patch, for "pursuit".
    stride : int or sequence of int, optional
        Distance between neighbouring patches along each axis. The default is a quarter of a patch
        for "pursuit" and an eighth for "gaussian". For "shrinkage" it is one sample along the last
        axis and a patch along the others, with a random offset in each pass.
    channel_axis : int, optional
        The channel axis: -1 for a colour image of shape (height, width, 3). Channels are filled
        separately. If None, there are no channels.
    method : {"shrinkage", "gaussian", "pursuit"}, optional
        The default is "gaussian" for signals without a transform, otherwise "shrinkage".
    patch_shape : int or sequence of int, optional
        The patch shape. The default is that of the transform, if its sides are equal. Without a
        transform it is 64 samples (128 for "gaussian"), 8 x 8 pixels or 4 x 8 x 8 voxels.
        "shrinkage" uses 16 x 16 pixels if more than 60 % are missing, and both shapes for compact
        holes. Gaps of a signal that are longer than a patch need a larger one, up to an eighth of
        the signal.
    max_iter : int, optional
        The number of passes of "shrinkage", all over-relaxed and without held-out samples. By
        default there are 36 to 80 over-relaxed passes, depending on the fraction of missing
        samples. Up to 40 more follow while the held-out error decreases, and a quarter as many
        plain passes. Compact holes have 120 over-relaxed passes for each patch shape.
    prior : float
        For "pursuit": the preference for atoms with large coefficients in other patches, from 0
        (none) to 1. The default is best for overlapping patches; without overlap, 0.6 is better.
    random_state : int, Generator, RandomState or None
        Seed for the positions of patches, held-out samples and training patches.
    tile : int or sequence of int, optional
        The size of the tiles that are processed one by one, with a margin, to limit memory. The
        default is about 16 million samples. The model is then learned from random regions. The
        margin grows if a hole is as large as a tile.
    out : ndarray, memory map or array of Zarr, optional
        Where to store the result, of the shape and type of `x`.
    verbose : bool
        Show progress on stderr.

    Returns
    -------
    ndarray
        An array of the shape and type of `x`, with unchanged observed samples. Returns `out` if it
        is given. The result of a Dask array is a lazy Dask array, whose chunks are processed with a
        margin.

    Warns
    -----
    UserWarning
        If "gaussian" fills a signal by patches that are shorter than its longest gap.

    Examples
    --------
    >>> import fost, numpy as np
    >>> clean = np.sin(np.arange(3000) / 9)
    >>> mask = np.random.default_rng(0).random(3000) < 0.4
    >>> restored = fost.restoration.inpaint(np.where(mask, np.nan, clean), mask)
    >>> bool(np.abs(restored - clean).max() < 0.05)
    True
    """
    configure = partial(
        InpaintConfig.from_arguments,
        method=method,
        transform=transform,
        patch_shape=patch_shape,
        stride=stride,
        n_nonzero_coefs=n_nonzero_coefs,
        max_iter=max_iter,
        prior=prior,
    )
    if is_dask(x):
        from fost.restoration.dask_arrays import check_dask, inpaint_dask

        ndim = check_dask(x, channel_axis, out, tile)
        random = as_generator(random_state)
        return inpaint_dask(x, mask, channel_axis, configure(ndim), random)
    masked = MaskedReader.open(x, mask, channel_axis)
    reader, shape = masked.reader, masked.reader.spatial_shape
    config = configure(len(shape))
    random, verbose = as_generator(random_state), check_verbose(verbose)
    sides = tile_sides(shape, reader.n_channels)
    if tile is not None:
        sides = check_each(tile, "tile", len(shape))
    tiles = list(iterate_tiles(shape, sides, config.margin))
    summary = masked.summary()
    writer = ArrayWriter(out, reader)
    form = ArrayFormat.from_range(reader.dtype, summary.low, summary.high, "x")
    if summary.total == 0:
        for part in reader.parts():
            writer.write(part, reader.read(part))
    elif len(tiles) == 1:
        part = tiles[0].core
        filled = config.inpaint_array(*masked.read(part), channel_axis, form, random, verbose)
        writer.write(part, filled)
    else:
        with steps("filling, step", 1 + len(tiles), verbose) as done:
            fractions = [float(count) / prod(shape) for count in summary.n_missing]
            parts = masked.training_parts(MAX_TRAINING_SAMPLES)
            inpainter = config.fit(parts, channel_axis, form, fractions, random)
            done()
            for each in tiles:
                samples, holes, around = masked.read_around(each, config.margin)
                inner = insert_channels(around.inner, channel_axis)
                if holes[inner].any():
                    samples = inpainter(samples, holes, each.index)
                writer.write(each.core, samples[inner])
                done()
    return writer.array


@dataclass(frozen=True, kw_only=True)
class InpaintConfig:
    """Validated settings of `inpaint`."""

    ndim: int
    method: str
    transform: Coder | None
    patch_shape: Sizes | None
    stride: Sizes | None
    n_nonzero_coefs: int
    max_iter: int | None
    prior: float

    @classmethod
    def from_arguments(
        cls,
        ndim: int,
        *,
        method: str | None,
        transform: Coder | None,
        patch_shape: Sizes | None,
        stride: Sizes | None,
        n_nonzero_coefs: int,
        max_iter: int | None,
        prior: float,
    ) -> InpaintConfig:
        """Validate the arguments of `inpaint` for arrays with `ndim` spatial axes."""
        if method is None:
            method = "gaussian" if ndim == 1 and transform is None else "shrinkage"
        check_choice(method, "method", METHODS)
        if max_iter is not None:
            max_iter = check_integer(max_iter, "max_iter", 0, _MAX_ITER)
        resolve_patch_shape(patch_shape, transform, ndim, allow_union=method == "pursuit")
        if method == "gaussian" and transform is not None:
            raise ValueError("transform must be None for method='gaussian', which learns its own")
        return cls(
            ndim=ndim,
            method=method,
            transform=transform,
            patch_shape=patch_shape,
            stride=None if stride is None else check_each(stride, "stride", ndim),
            n_nonzero_coefs=check_integer(n_nonzero_coefs, "n_nonzero_coefs", 1, 2**31 - 1),
            max_iter=max_iter,
            prior=check_number(prior, "prior", 0, 1),
        )

    @property
    def _default_shape(self) -> tuple[int, ...]:
        """The patch shape, unless the method has another default."""
        return resolve_patch_shape(
            self.patch_shape, self.transform, self.ndim, allow_union=self.method == "pursuit"
        )

    @property
    def margin(self) -> tuple[int, ...]:
        """The margin around a tile along each axis."""
        pairs = zip(_MARGINS[self.ndim], self._default_shape, strict=True)
        return tuple(max(k, 4 * n) for k, n in pairs)

    def inpaint_array(
        self,
        samples: Numbers,
        mask: Mask,
        channel_axis: int | None,
        form: ArrayFormat,
        random: np.random.Generator,
        verbose: bool,
    ) -> Numbers:
        """Fill an array by models that are learned from it."""
        filled = []
        for plane, holes in zip(*self.planes(samples, mask, channel_axis, form), strict=True):
            model, found = self._fit_channel(plane, holes, None, random, verbose)
            filled.append(model(plane, holes, random) if found is None else found)
        return self.join(samples, mask, filled, channel_axis, form)

    def fit(
        self,
        parts: Sequence[tuple[Numbers, Mask]],
        channel_axis: int | None,
        form: ArrayFormat,
        missing_fractions: Sequence[float],
        random: np.random.Generator,
    ) -> TileInpainter:
        """Learn one model per channel from parts of an array.

        `missing_fractions` are those of the channels of the whole array.
        """
        split = [self.planes(*part, channel_axis, form) for part in parts]
        models = []
        for channel, fraction in enumerate(missing_fractions):
            some = [(planes[channel], holes[channel]) for planes, holes in split]
            plane, holes = self._stack(some)
            models.append(self._fit_channel(plane, holes, float(fraction), random, False)[0])
        return TileInpainter(self, tuple(models), channel_axis, form, int(random.integers(2**63)))

    def planes(
        self, samples: Numbers, mask: Mask, channel_axis: int | None, form: ArrayFormat
    ) -> tuple[list[Numbers], list[Mask]]:
        """Normalised channels with zeros for missing samples, and their masks."""
        known = replace_masked(samples, mask)
        unit = form.normalize(known) if self._unclipped else form.normalize_for_restoration(known)
        each = (split_channels(array, channel_axis) for array in (unit, mask))
        planes, holes = ([np.ascontiguousarray(k) for k in array] for array in each)
        return planes, holes

    def join(
        self,
        samples: Numbers,
        mask: Mask,
        planes: list[Numbers],
        channel_axis: int | None,
        form: ArrayFormat,
    ) -> Numbers:
        """The samples with missing ones from normalised channels: the inverse of `planes`."""
        found = form.denormalize(join_channels(planes, channel_axis), clip=not self._unclipped)
        return replace_masked(samples, mask, found)

    @property
    def _unclipped(self) -> bool:
        """Whether missing samples may exceed the range of the observed ones."""
        return self.method == "gaussian"

    def _stack(self, parts: list[tuple[Numbers, Mask]]) -> tuple[Numbers, Mask]:
        """Parts along the first axis, with missing samples between them.

        The distance is such that no patch covers samples of two parts.
        """
        if len(parts) == 1:
            return parts[0]
        plane = parts[0][0]
        longest = _GAUSSIAN_PATCH_SHAPES.get(self.ndim, (0,))[0]
        between = (max(self.margin[0] // 4, longest), *plane.shape[1:])
        empty = np.zeros(between, plane.dtype), np.ones(between, bool)
        rows = [each for part in parts for each in (part, empty)][:-1]
        planes, holes = zip(*rows, strict=True)
        return np.concatenate(planes), np.concatenate(holes)

    def _fit_channel(
        self,
        plane: Numbers,
        mask: Mask,
        missing_fraction: float | None,
        random: np.random.Generator,
        verbose: bool,
    ) -> tuple[ChannelModel, Numbers | None]:
        """A model for arrays like `plane`, and `plane` without missing samples, if computed."""
        shape = self._default_shape
        if self.method == "gaussian":
            if self.patch_shape is None:
                shape = _GAUSSIAN_PATCH_SHAPES.get(plane.ndim, shape)
            with steps("filling, step", 1 + len(AUTOREGRESSION_ORDERS), verbose) as done:
                mean = ConditionalMean.fit(plane, mask, shape, self.stride, random, done)
            if missing_fraction is None:  # otherwise there are gaps between parts of the array
                mean.warn_of_long_gaps(mask)
            return mean, None
        if self.method == "pursuit":
            transform = self.transform if self.transform is not None else default_transform(shape)
            options = self.stride, self.n_nonzero_coefs, self.prior
            return MatchingPursuit.fit(plane, mask, transform, shape, *options), None
        fraction = mask.mean() if missing_fraction is None else missing_fraction
        large = None
        if self.patch_shape is None and self.transform is None:
            large = _LARGE_PATCH_SHAPES[plane.ndim]
            shape = large if fraction > _LARGE_PATCH_FRACTION else shape
        passes = self.stride, self.max_iter, random, verbose, missing_fraction, large
        filled, model = inpaint_by_thresholding(plane, mask, self.transform, shape, *passes)
        return model, filled


@dataclass(frozen=True)
class TileInpainter:
    """Fills any part of an array by the same models."""

    config: InpaintConfig
    models: tuple[ChannelModel, ...]  # by channel
    channel_axis: int | None
    form: ArrayFormat
    seed: int

    def __call__(self, samples: Numbers, mask: Mask, index: tuple[int, ...]) -> Numbers:
        """A part without missing samples; its index determines its random numbers."""
        random = np.random.default_rng((self.seed, *index))
        planes, holes = self.config.planes(samples, mask, self.channel_axis, self.form)
        filled = [
            model(plane, hole, random)
            for model, plane, hole in zip(self.models, planes, holes, strict=True)
        ]
        return self.config.join(samples, mask, filled, self.channel_axis, self.form)
