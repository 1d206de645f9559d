"""Pictures as patches in rows; `assembly` makes pictures of them again.

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
from math import prod

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike

from fost._typing import Numbers
from fost._validation import check_integer, float_type
from fost.images.grid import Grid, Pair
from fost.images.pictures import check_picture

# Entries of a block of patches where the caller does not say: 4 MB of float32.
_BLOCK_ENTRIES = 2**20


def patches(image: ArrayLike, shape: Pair = (8, 8), stride: Pair | None = None) -> Numbers:
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
) -> Iterator[tuple[slice, Numbers]]:
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


def _blocks(picture: Numbers, grid: Grid, step: int) -> Iterator[tuple[slice, Numbers]]:
    for first in range(0, grid.n_rows, step):
        last = min(first + step, grid.n_rows)
        yield slice(first * grid.per_row, last * grid.per_row), _cut(picture, grid, first, last)


def _cut(picture: Numbers, grid: Grid, first: int, last: int) -> Numbers:
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
