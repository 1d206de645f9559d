"""Pictures as patches in rows, and pictures of them again: `fost.restoration` for pictures.

The channels of a colour picture are pictures of their own: all patches of the first channel come
first, then those of the second, and so on.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isqrt

from numpy.typing import ArrayLike

from fost import restoration
from fost._typing import Numbers
from fost._validation import check_sizes
from fost.images.pictures import channel_axis_of
from fost.io.images import check_image
from fost.restoration.assembly import assembled, checked_rows
from fost.restoration.patches import all_patches, in_blocks

Pair = int | tuple[int, int]


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
    picture = check_image(image, "image")
    return all_patches(picture, shape, stride, channel_axis_of(picture.ndim), "image")


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
    picture = check_image(image, "image")
    axis = channel_axis_of(picture.ndim)
    return in_blocks(picture, shape, stride, rows_per_block, axis, "image")


def assemble(
    patches: ArrayLike,
    image_shape: tuple[int, ...],
    shape: Pair | None = None,
    stride: Pair | None = None,
    weights: ArrayLike | None = None,
) -> Numbers:
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
    rows = checked_rows(patches)
    if shape is None:
        side = isqrt(rows.shape[1])
        if side * side != rows.shape[1]:
            raise ValueError(
                f"shape must be given where patches are not square, got {rows.shape[1]} pixels"
            )
        shape = (side, side)
    assembler = Assembler(image_shape, shape, stride)
    return assembled(assembler, rows, weights, f"a picture of shape {image_shape}", stride)


class Assembler(restoration.Assembler):
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

    Examples
    --------
    >>> import fost, numpy as np
    >>> picture = np.random.default_rng(0).random((32, 40))
    >>> assembler = fost.images.Assembler(picture.shape, 8, 4)
    >>> for where, rows in fost.images.blocks(picture, 8, 4):
    ...     assembler.add(where, rows)
    >>> np.allclose(assembler.result(), picture)
    True
    """

    _samples = "pixels"

    def __init__(
        self, image_shape: tuple[int, ...], shape: Pair = (8, 8), stride: Pair | None = None
    ) -> None:
        sizes = check_sizes(image_shape, "image_shape", (2, 3))
        self._begin(sizes, shape, stride, channel_axis_of(len(sizes)), "image_shape")
