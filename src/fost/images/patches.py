"""Pictures as patches in rows, and patches as pictures again.

Patches lie on a grid: they begin at every `stride`-th row and column, and where the last would
leave a border uncovered there is one more, shifted inwards so that it ends at the border. So
every pixel is covered. Their order is row by row; a patch is a row of its pixels in row-major
order. The channels of a colour picture are pictures of their own: all patches of the first
channel come first, then those of the second, and so on.

Pictures may be larger than memory would allow their patches to be: `blocks` cuts out some rows
of patches at a time, and an `Assembler` takes them back. `patches` and `assemble` are these
two in one call each.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isqrt, prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray

from fost._validation import check_integer, check_real, check_sizes
from fost.images.grid import Grid, Pair
from fost.images.pictures import check_picture, float_type

# Entries of a block of patches where the caller does not say: 4 MB of float32.
_BLOCK_ENTRIES = 2**20


def patches(image: ArrayLike, shape: Pair = (8, 8), stride: Pair | None = None) -> NDArray[Any]:
    """All patches of a picture, in rows.

    Parameters
    ----------
    image : array-like of shape (height, width) or (height, width, channels)
        NaN and infinity are kept.
    shape : int or pair of int
        Height and width of a patch; an integer means a square.
    stride : int or pair of int, optional
        Steps from one patch to the next, down and across. None means `shape`: patches that do
        not overlap, but for the last ones where the picture's sides are no multiples.

    Returns
    -------
    ndarray of shape (n_patches, height * width of a patch)
        float32 for pictures that float32 holds exactly (8 and 16 bits, float32), else float64;
        values are not scaled. The channels of a colour picture follow each other.

    Examples
    --------
    >>> import fost, numpy as np
    >>> picture = np.arange(15.0).reshape(3, 5)
    >>> fost.images.patches(picture, shape=(3, 2))
    array([[ 0.,  1.,  5.,  6., 10., 11.],
           [ 2.,  3.,  7.,  8., 12., 13.],
           [ 3.,  4.,  8.,  9., 13., 14.]])
    """
    picture = check_picture(image, "image")
    grid = Grid.over(picture.shape, shape, stride)
    return _cut(picture, grid, 0, grid.n_rows)


def blocks(
    image: ArrayLike,
    shape: Pair = (8, 8),
    stride: Pair | None = None,
    rows_per_block: int | None = None,
) -> Iterator[tuple[slice, NDArray[Any]]]:
    """The patches of a picture, some rows of patches at a time.

    Parameters
    ----------
    image, shape, stride
        As for `patches`. An image that is a memory map is read block by block.
    rows_per_block : int, optional
        Rows of patches in a block; None means about a million entries.

    Yields
    ------
    where : slice
        Which rows of ``patches(image, shape, stride)`` these are; `Assembler.add` takes it.
    block : ndarray
        These rows.

    Examples
    --------
    >>> import fost, numpy as np
    >>> picture = np.random.default_rng(0).random((20, 30))
    >>> assembler = fost.images.Assembler(picture.shape, (8, 8), stride=4)
    >>> for where, block in fost.images.blocks(picture, (8, 8), stride=4, rows_per_block=2):
    ...     assembler.add(where, 1 - block)
    >>> np.allclose(assembler.result(), 1 - picture)
    True
    """
    picture = check_picture(image, "image")
    grid = Grid.over(picture.shape, shape, stride)
    if rows_per_block is None:
        step = max(1, _BLOCK_ENTRIES // (grid.per_row * prod(grid.shape)))
    else:
        step = check_integer(rows_per_block, "rows_per_block", 1, 2**31 - 1)
    return _blocks(picture, grid, step)


def _blocks(picture: NDArray[Any], grid: Grid, step: int) -> Iterator[tuple[slice, NDArray[Any]]]:
    for first in range(0, grid.n_rows, step):
        last = min(first + step, grid.n_rows)
        yield slice(first * grid.per_row, last * grid.per_row), _cut(picture, grid, first, last)


def assemble(
    patches: ArrayLike,
    image_shape: tuple[int, ...],
    shape: Pair | None = None,
    stride: Pair | None = None,
    weights: ArrayLike | None = None,
) -> NDArray[Any]:
    """The picture that patches make: where they overlap, their (weighted) mean.

    Undoes `patches`, exactly where no patches overlap. Needs no memory of the size of all
    patches beyond what it is given.

    Parameters
    ----------
    patches : array-like of shape (n_patches, height * width of a patch)
        In the order of `patches`.
    image_shape : tuple of int
        (height, width) or (height, width, channels).
    shape : int or pair of int, optional
        Height and width of a patch; None means a square.
    stride : int or pair of int, optional
        As for `patches`, and at most `shape`.
    weights : array-like, optional
        One nonnegative weight per patch, shape (n_patches,), or per entry of `patches`.

    Returns
    -------
    ndarray of shape image_shape
        float32 or float64, as the patches.

    Examples
    --------
    >>> import fost, numpy as np
    >>> picture = np.random.default_rng(0).random((20, 30), dtype=np.float32)
    >>> rows = fost.images.patches(picture)
    >>> np.array_equal(fost.images.assemble(rows, picture.shape), picture)
    True
    """
    rows = check_real(patches, "patches")
    if rows.ndim != 2:
        raise ValueError(f"patches must have shape (n_patches, n_pixels), got {rows.shape}")
    if shape is None:
        side = isqrt(rows.shape[1])
        if side * side != rows.shape[1]:
            raise ValueError(
                f"shape must be given where patches are not square, got {rows.shape[1]} pixels"
            )
        shape = (side, side)
    assembler = Assembler(image_shape, shape, stride)
    if len(rows) != assembler.n_patches:
        raise ValueError(
            f"patches must be {assembler.n_patches} for a picture of shape {image_shape} and "
            f"stride={stride}, got {len(rows)}"
        )
    assembler.add(slice(0, len(rows)), rows, weights)
    return assembler.result()


class Assembler:
    """Puts patches together to a picture, some at a time: sums of values and of weights.

    Parameters
    ----------
    image_shape, shape, stride
        As for `assemble`.

    Attributes
    ----------
    n_patches : int
        Patches that the picture has.

    Notes
    -----
    Sums are in float64. Blocks of whole rows of patches, added in order, give the same result
    to the last bit, however many rows they have.
    """

    def __init__(
        self, image_shape: tuple[int, ...], shape: Pair = (8, 8), stride: Pair | None = None
    ) -> None:
        self._image_shape = check_sizes(image_shape, "image_shape", (2, 3))
        self._grid = Grid.over(self._image_shape, shape, stride, "image_shape")
        if any(s > k for s, k in zip(self._grid.stride, self._grid.shape, strict=True)):
            raise ValueError(
                f"stride must be at most shape={self._grid.shape} to cover every pixel, "
                f"got {self._grid.stride}"
            )
        planes = (self._grid.channels, *self._image_shape[:2])
        self._sums = np.zeros(planes)
        self._weights = np.zeros(planes)
        self._dtype: np.dtype[Any] | None = None

    @property
    def n_patches(self) -> int:
        return self._grid.n_patches

    def add(self, where: slice, patches: ArrayLike, weights: ArrayLike | None = None) -> None:
        """Add the patches number where.start to where.stop (as `blocks` names them).

        Parameters
        ----------
        where : slice
            Without a step.
        patches : array-like of shape (where.stop - where.start, n_pixels)
        weights : array-like, optional
            Nonnegative; per patch or per entry of `patches`.
        """
        rows = check_real(patches, "patches")
        start, stop = _checked_range(where, self.n_patches)
        wanted = (max(0, stop - start), prod(self._grid.shape))
        if rows.shape != wanted:
            raise ValueError(f"patches must have shape {wanted}, got {rows.shape}")
        scale = None if weights is None else _checked_weights(weights, wanted)
        self._dtype = np.promote_types(rows.dtype, self._dtype or rows.dtype)
        while start < stop:
            # One row of patches, or what there is of it.
            count = min(stop - start, self._grid.per_row - start % self._grid.per_row)
            part = slice(None, count)
            try:
                with np.errstate(over="raise"):
                    self._add_row(start, rows[part], None if scale is None else scale[part])
            except FloatingPointError:
                raise ValueError("patches are too large: their sums overflow float64") from None
            rows, scale = rows[count:], None if scale is None else scale[count:]
            start += count

    def _add_row(self, first: int, rows: NDArray[Any], scale: NDArray[Any] | None) -> None:
        """Patches beside each other: for each column of pixels in them one strided sum."""
        grid = self._grid
        height, width = grid.shape
        row, column = divmod(first, grid.per_row)
        channel, row = divmod(row, len(grid.tops))
        band = slice(grid.tops[row], grid.tops[row] + height)
        sums, weights = self._sums[channel, band], self._weights[channel, band]
        if scale is not None:
            rows = np.multiply(rows, scale, dtype=np.float64)
            scale = np.broadcast_to(scale, rows.shape).reshape(-1, height, width)
        pixels = rows.reshape(-1, height, width)
        for part, places in grid.regular(column, len(rows)):
            for k in range(width):
                columns = slice(places.start + k, places.stop + k, places.step)
                sums[:, columns] += pixels[part, :, k].T
                weights[:, columns] += 1.0 if scale is None else scale[part, :, k].T

    def result(self) -> NDArray[Any]:
        """The picture, float64 if any of the patches were and else float32.

        Raises
        ------
        ValueError
            If there are pixels that no patch with a positive weight has covered.
        """
        empty = int(np.count_nonzero(self._weights == 0))
        if empty:
            raise ValueError(f"{empty} pixels were covered by no patch with a positive weight")
        planes = np.empty(self._sums.shape, self._dtype)
        np.divide(self._sums, self._weights, out=planes, casting="same_kind")
        return planes[0] if len(self._image_shape) == 2 else np.moveaxis(planes, 0, -1).copy()


def _cut(picture: NDArray[Any], grid: Grid, first: int, last: int) -> NDArray[Any]:
    """The patches in the rows `first` to `last` of the grid."""
    out = np.empty((last - first, grid.per_row, *grid.shape), float_type(picture.dtype))
    planes = picture[..., None] if picture.ndim == 2 else picture
    done = first
    while done < last:
        channel, row = divmod(done, len(grid.tops))
        tops = grid.tops[row : row + last - done]
        windows = sliding_window_view(planes[..., channel], grid.shape)
        for k, top in enumerate(tops):
            for part, places in grid.regular(0, grid.per_row):
                out[done - first + k, part] = windows[top, places]
        done += len(tops)
    return out.reshape(-1, prod(grid.shape))


def _checked_range(where: slice, n_patches: int) -> tuple[int, int]:
    """First and last of the patches that a slice names."""
    try:
        start, stop, step = where.indices(n_patches)
        inside = step == 1 and (where.stop is None or where.stop <= n_patches)
    except (AttributeError, TypeError, ValueError):
        raise TypeError(f"where must be a slice of integers, got {where!r}") from None
    if not inside:
        raise ValueError(f"where must be a slice of 0 to {n_patches}, got {where}")
    return start, stop


def _checked_weights(weights: ArrayLike, shape: tuple[int, int]) -> NDArray[Any]:
    """Weights as an array that multiplies patches: shape (n_patches, 1) or that of the patches."""
    checked = check_real(weights, "weights")
    if checked.shape not in (shape[:1], shape):
        raise ValueError(f"weights must have shape {shape[:1]} or {shape}, got {checked.shape}")
    # A NaN makes the least and the greatest NaN, without an array as large as the weights.
    if checked.size and not (checked.min() >= 0 and checked.max() < np.inf):
        raise ValueError("weights must be nonnegative and finite")
    return checked[:, None] if checked.ndim == 1 else checked
