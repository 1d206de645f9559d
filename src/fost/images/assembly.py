"""Patches in rows as pictures again; `patches` cuts them."""

from __future__ import annotations

from math import isqrt, prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fost._validation import check_real, check_sizes
from fost.images.grid import Grid, Pair


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
