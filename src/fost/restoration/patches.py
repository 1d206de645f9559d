"""Arrays as patches in rows; `assembly` makes arrays of them again.

Patches lie on a grid: they begin at every `stride`-th place along each axis, and where the last
would leave a border uncovered there is one more, shifted inwards so that it ends at the border. So
every sample is covered. Their order is that of the array, the last axis first; a patch is a row of
its samples in row-major order. Channels are arrays of their own: all patches of the first come
first, then those of the second, and so on.

Arrays may be larger than memory would allow their patches to be: `blocks` cuts out some rows of
patches at a time, and an `Assembler` takes them back. `patches` and `assemble` are these two in one
call each.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import prod

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike

from fost._typing import Numbers
from fost._validation import check_integer, float_type
from fost.restoration.arrays import channels_first, check_samples
from fost.restoration.grid import Grid, Sizes

# Entries of a block of patches where the caller does not say: 4 MB of float32.
_BLOCK_ENTRIES = 2**20


def patches(
    array: ArrayLike,
    shape: Sizes,
    stride: Sizes | None = None,
    *,
    channel_axis: int | None = None,
) -> Numbers:
    """All patches of a signal, a picture or a volume, in rows.

    Parameters
    ----------
    array : array-like of one to three axes, and one more for channels
        NaN and infinity are kept.
    shape : int or sequence of int
        Of a patch; an integer is for all axes.
    stride : int or sequence of int, optional
        Steps from one patch to the next along each axis. None means `shape`: patches that do not
        overlap, but for the last ones where the array's sides are no multiples.
    channel_axis : int, optional
        The axis of channels, which follow each other. If None, there is none.

    Returns
    -------
    ndarray of shape (n_patches, samples of a patch)
        float32 for arrays that float32 holds exactly (8 and 16 bits, float32), else float64;
        values are not scaled.

    Examples
    --------
    >>> import fost, numpy as np
    >>> fost.restoration.patches(np.arange(5.0), shape=3, stride=1)
    array([[0., 1., 2.],
           [1., 2., 3.],
           [2., 3., 4.]])
    >>> fost.restoration.patches(np.zeros((9, 30, 40)), shape=(4, 8, 8), stride=4).shape
    (189, 256)
    """
    samples = check_samples(array, "array", channel_axis)
    return all_patches(samples, shape, stride, channel_axis, "array")


def all_patches(
    samples: Numbers, shape: Sizes, stride: Sizes | None, channel_axis: int | None, name: str
) -> Numbers:
    channels, grid = _on_grid(samples, shape, stride, channel_axis, name)
    return _cut(channels, grid, 0, grid.n_rows)


def blocks(
    array: ArrayLike,
    shape: Sizes,
    stride: Sizes | None = None,
    rows_per_block: int | None = None,
    *,
    channel_axis: int | None = None,
) -> Iterator[tuple[slice, Numbers]]:
    """The patches of an array, some rows of patches at a time.

    Parameters
    ----------
    array, shape, stride, channel_axis
        As for `patches`. A memory map is read block by block.
    rows_per_block : int, optional
        Rows of patches, along the last axis, in a block; None means about a million entries.

    Yields
    ------
    where : slice
        Which rows of ``patches(array, shape, stride)`` these are; `Assembler.add` takes it.
    block : ndarray
        These rows.

    Examples
    --------
    >>> import fost, numpy as np
    >>> volume = np.random.default_rng(0).random((6, 20, 30))
    >>> assembler = fost.restoration.Assembler(volume.shape, 4, stride=2)
    >>> for where, block in fost.restoration.blocks(volume, 4, stride=2, rows_per_block=2):
    ...     assembler.add(where, 1 - block)
    >>> np.allclose(assembler.result(), 1 - volume)
    True
    """
    samples = check_samples(array, "array", channel_axis)
    return in_blocks(samples, shape, stride, rows_per_block, channel_axis, "array")


def in_blocks(
    samples: Numbers,
    shape: Sizes,
    stride: Sizes | None,
    rows_per_block: int | None,
    channel_axis: int | None,
    name: str,
) -> Iterator[tuple[slice, Numbers]]:
    channels, grid = _on_grid(samples, shape, stride, channel_axis, name)
    if rows_per_block is None:
        step = max(1, _BLOCK_ENTRIES // (grid.per_row * prod(grid.shape)))
    else:
        step = check_integer(rows_per_block, "rows_per_block", 1, 2**31 - 1)
    return _blocks(channels, grid, step)


def _on_grid(
    samples: Numbers, shape: Sizes, stride: Sizes | None, channel_axis: int | None, name: str
) -> tuple[Numbers, Grid]:
    channels = channels_first(samples, channel_axis)
    return channels, Grid.over(channels.shape[1:], shape, stride, name, len(channels))


def _blocks(channels: Numbers, grid: Grid, step: int) -> Iterator[tuple[slice, Numbers]]:
    for first in range(0, grid.n_rows, step):
        last = min(first + step, grid.n_rows)
        yield slice(first * grid.per_row, last * grid.per_row), _cut(channels, grid, first, last)


def _cut(channels: Numbers, grid: Grid, first: int, last: int) -> Numbers:
    """The patches in the rows `first` to `last` of the grid."""
    out = np.empty((last - first, grid.per_row, *grid.shape), float_type(channels.dtype))
    windows_of = lru_cache(1)(lambda k: sliding_window_view(channels[k], grid.shape))
    for number in range(first, last):
        channel, lead = grid.row(number)
        windows = windows_of(channel)[lead]
        for part, places in grid.regular(0, grid.per_row):
            out[number - first, part] = windows[places]
    return out.reshape(-1, prod(grid.shape))
