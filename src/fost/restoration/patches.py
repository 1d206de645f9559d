"""Arrays as patches in rows, and arrays assembled from them.

Patches are ordered as in `PatchGrid`: in row-major order, and channel after channel. A patch is a
row of its samples in row-major order. `patches` and `assemble` process all patches at once;
`patch_blocks` and `PatchAssembler` process some rows of patches at a time, so that memory stays
bounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import prod

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike

from fost._typing import DType, Numbers
from fost._validation import check_integer, check_real, check_sizes, float_type
from fost.restoration.arrays import check_samples, join_channels, spatial_shape, split_channels
from fost.restoration.patch_grid import PatchGrid, Sizes, check_stride

# Entries of a block of patches: 4 MB of float32.
_BLOCK_ENTRIES = 2**20


def patches(
    x: ArrayLike,
    patch_shape: Sizes,
    stride: Sizes | None = None,
    *,
    channel_axis: int | None = None,
) -> Numbers:
    """All patches of a signal, an image or a volume, in rows.

    Parameters
    ----------
    x : array-like with one to three spatial axes and at most one channel axis
        NaN and infinity are allowed.
    patch_shape : int or sequence of int
        The shape of a patch. An integer applies to all axes.
    stride : int or sequence of int, optional
        Distance between the starts of neighbouring patches along each axis. The default is
        `patch_shape`: patches do not overlap, except the last ones along an axis whose length is
        not a multiple of the patch.
    channel_axis : int, optional
        The channel axis. The patches of the first channel precede those of the second, and so on.
        If None, there are no channels.

    Returns
    -------
    ndarray of shape (n_patches, samples of a patch)
        float32 for types that float32 represents exactly (8- and 16-bit integers, float32),
        otherwise float64. Values are not scaled.

    See Also
    --------
    assemble : The inverse.

    Examples
    --------
    >>> import fost, numpy as np
    >>> fost.restoration.patches(np.arange(5.0), 3, stride=1)
    array([[0., 1., 2.],
           [1., 2., 3.],
           [2., 3., 4.]])
    >>> colour_image = np.zeros((30, 40, 3), dtype=np.uint8)
    >>> fost.restoration.patches(colour_image, 8, channel_axis=-1).shape
    (60, 64)
    """
    samples = check_samples(x, "x", channel_axis)
    channels = split_channels(samples, channel_axis)
    grid = PatchGrid.over(channels.shape[1:], patch_shape, stride, "x", len(channels))
    return _extract(channels, grid, 0, grid.n_rows)


def assemble(
    patches: ArrayLike,
    shape: tuple[int, ...],
    patch_shape: Sizes,
    stride: Sizes | None = None,
    *,
    weights: ArrayLike | None = None,
    channel_axis: int | None = None,
) -> Numbers:
    """The array that patches form: the (weighted) mean of all patches that cover a sample.

    This is the inverse of `patches`, and exact where patches do not overlap. Apart from the
    patches themselves, it needs memory for a few copies of the array only.

    Parameters
    ----------
    patches : array-like of shape (n_patches, samples of a patch)
        In the order of `fost.restoration.patches`.
    shape : tuple of int
        The shape of the array, including its channel axis if it has one.
    patch_shape : int or sequence of int
        The shape of a patch. An integer applies to all axes.
    stride : int or sequence of int, optional
        As for `fost.restoration.patches`, and at most `patch_shape`.
    weights : array-like, optional
        One nonnegative weight per patch, shape (n_patches,), or per entry of `patches`.
    channel_axis : int, optional
        The channel axis of the array.

    Returns
    -------
    ndarray of this shape
        float32 or float64, as the patches.

    Examples
    --------
    >>> import fost, numpy as np
    >>> signal = np.random.default_rng(0).random(100)
    >>> rows = fost.restoration.patches(signal, 16, stride=1)
    >>> np.allclose(fost.restoration.assemble(rows, signal.shape, 16, stride=1), signal)
    True
    """
    rows = check_real(patches, "patches")
    grid = assembly_grid(shape, patch_shape, stride, channel_axis)
    wanted = (grid.n_patches, prod(grid.patch_shape))
    if rows.shape != wanted:
        raise ValueError(
            f"patches must have shape {wanted} for an array of shape {shape} and stride={stride}, "
            f"got {rows.shape}"
        )
    scale = None if weights is None else _check_weights(weights, wanted)
    assembler = PatchAssembler(grid)
    assembler.add(slice(0, len(rows)), rows, scale)
    return join_channels(assembler.result(), channel_axis)


def assembly_grid(
    shape: tuple[int, ...], patch_shape: Sizes, stride: Sizes | None, channel_axis: int | None
) -> PatchGrid:
    """The validated grid of the patches that form an array of this shape."""
    sizes = check_sizes(shape, "shape", (1, 2, 3) if channel_axis is None else (2, 3, 4))
    n_channels = 1
    if channel_axis is not None:
        check_integer(channel_axis, "channel_axis", -len(sizes), len(sizes) - 1)
        n_channels = sizes[channel_axis]
    spatial = spatial_shape(sizes, channel_axis)
    grid = PatchGrid.over(spatial, patch_shape, stride, "shape", n_channels)
    check_stride(grid.stride, grid.patch_shape)
    return grid


def patch_blocks(
    channels: Numbers, grid: PatchGrid, rows_per_block: int | None = None
) -> Iterator[tuple[slice, Numbers]]:
    """The patches of an array with its channels first, some rows of patches at a time.

    Yields the indices of these patches among all patches, and the patches. A memory map is read
    block by block.
    """
    step = rows_per_block
    if step is None:
        step = max(1, _BLOCK_ENTRIES // (grid.per_row * prod(grid.patch_shape)))
    for first in range(0, grid.n_rows, step):
        last = min(first + step, grid.n_rows)
        where = slice(first * grid.per_row, last * grid.per_row)
        yield where, _extract(channels, grid, first, last)


def _extract(channels: Numbers, grid: PatchGrid, first: int, last: int) -> Numbers:
    """The patches in the rows `first` to `last` of the grid."""
    shape = (last - first, grid.per_row, *grid.patch_shape)
    out = np.empty(shape, float_type(channels.dtype))
    windows_of = lru_cache(1)(lambda k: sliding_window_view(channels[k], grid.patch_shape))
    for number in range(first, last):
        channel, lead = grid.row(number)
        windows = windows_of(channel)[lead]
        for part, places in grid.runs(0, grid.per_row):
            out[number - first, part] = windows[places]
    return out.reshape(-1, prod(grid.patch_shape))


class PatchAssembler:
    """Accumulates weighted sums of patches, some at a time, and divides them by their weights.

    Sums are in float64. Blocks of whole rows of patches, added in order, give bit-identical
    results for any number of rows per block.
    """

    def __init__(self, grid: PatchGrid) -> None:
        self._grid = grid
        self._sums = np.zeros((grid.n_channels, *grid.array_shape))
        self._weights = np.zeros_like(self._sums)
        self._dtype: DType | None = None

    def add(self, where: slice, rows: Numbers, weights: Numbers | None = None) -> None:
        """Add the patches number where.start to where.stop.

        Weights, if any, are nonnegative and multiply the rows: of shape (n, 1) or that of `rows`.
        """
        start, stop = where.start, where.stop
        self._dtype = np.promote_types(rows.dtype, self._dtype or rows.dtype)
        while start < stop:
            # One row of patches, or the rest of it.
            count = min(stop - start, self._grid.per_row - start % self._grid.per_row)
            part = slice(None, count)
            try:
                with np.errstate(over="raise"):
                    self._add_row(start, rows[part], None if weights is None else weights[part])
            except FloatingPointError:
                raise ValueError("patches are too large: their sums overflow float64") from None
            rows, weights = rows[count:], None if weights is None else weights[count:]
            start += count

    def _add_row(self, first: int, rows: Numbers, scale: Numbers | None) -> None:
        """Add patches of one row: one strided sum for each sample of the last patch axis."""
        grid = self._grid
        number, column = divmod(first, grid.per_row)
        channel, lead = grid.row(number)
        band = tuple(slice(k, k + n) for k, n in zip(lead, grid.patch_shape, strict=False))
        sums, weights = self._sums[channel][band], self._weights[channel][band]
        if scale is not None:
            rows = np.multiply(rows, scale, dtype=np.float64)
            scale = np.broadcast_to(scale, rows.shape).reshape(-1, *grid.patch_shape)
        values = rows.reshape(-1, *grid.patch_shape)
        for part, places in grid.runs(column, len(rows)):
            for k in range(grid.patch_shape[-1]):
                columns = slice(places.start + k, places.stop + k, places.step)
                sums[..., columns] += np.moveaxis(values[part, ..., k], 0, -1)
                weights[..., columns] += (
                    1.0 if scale is None else np.moveaxis(scale[part, ..., k], 0, -1)
                )

    def result(self) -> Numbers:
        """The array with its channels first, float64 if any of the patches was, else float32.

        Raises a ValueError if a sample is covered by no patch with a positive weight.
        """
        empty = int(np.count_nonzero(self._weights == 0))
        if empty:
            raise ValueError(f"{empty} samples were covered by no patch with a positive weight")
        channels = np.empty(self._sums.shape, self._dtype)
        np.divide(self._sums, self._weights, out=channels, casting="same_kind")
        return channels


def _check_weights(weights: ArrayLike, shape: tuple[int, int]) -> Numbers:
    """Weights that multiply patches: of shape (n_patches, 1) or that of the patches."""
    checked = check_real(weights, "weights")
    if checked.shape not in (shape[:1], shape):
        raise ValueError(f"weights must have shape {shape[:1]} or {shape}, got {checked.shape}")
    # NaN propagates to the minimum and the maximum, without a boolean array of the same size.
    if checked.size and not (checked.min() >= 0 and checked.max() < np.inf):
        raise ValueError("weights must be nonnegative and finite")
    return checked[:, None] if checked.ndim == 1 else checked
