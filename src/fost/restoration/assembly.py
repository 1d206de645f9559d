"""Patches in rows as arrays again; `patches` cuts them."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import ArrayLike

from fost._typing import DType, Numbers
from fost._validation import check_integer, check_real, check_sizes
from fost.restoration.arrays import channels_back
from fost.restoration.grid import Grid, Sizes


def assemble(
    patches: ArrayLike,
    array_shape: tuple[int, ...],
    shape: Sizes,
    stride: Sizes | None = None,
    weights: ArrayLike | None = None,
    *,
    channel_axis: int | None = None,
) -> Numbers:
    """The array that patches make: where they overlap, their (weighted) mean.

    Undoes `patches`, exactly where no patches overlap. Needs no memory of the size of all
    patches beyond what it is given.

    Parameters
    ----------
    patches : array-like of shape (n_patches, samples of a patch)
        In the order of `patches`.
    array_shape : tuple of int
        One to three axes, and one more for channels.
    shape : int or sequence of int
        Of a patch; an integer is for all axes.
    stride : int or sequence of int, optional
        As for `patches`, and at most `shape`.
    weights : array-like, optional
        One nonnegative weight per patch, shape (n_patches,), or per entry of `patches`.
    channel_axis : int, optional
        The axis of channels in `array_shape`.

    Returns
    -------
    ndarray of shape array_shape
        float32 or float64, as the patches.

    Examples
    --------
    >>> import fost, numpy as np
    >>> signal = np.random.default_rng(0).random(100)
    >>> rows = fost.restoration.patches(signal, 16, stride=1)
    >>> np.allclose(fost.restoration.assemble(rows, signal.shape, 16, stride=1), signal)
    True
    """
    rows = checked_rows(patches)
    assembler = Assembler(array_shape, shape, stride, channel_axis=channel_axis)
    return assembled(assembler, rows, weights, f"an array of shape {array_shape}", stride)


def checked_rows(patches: ArrayLike) -> Numbers:
    rows = check_real(patches, "patches")
    if rows.ndim != 2:
        raise ValueError(f"patches must have shape (n_patches, n_pixels), got {rows.shape}")
    return rows


def assembled(
    assembler: Assembler, rows: Numbers, weights: ArrayLike | None, what: str, stride: object
) -> Numbers:
    """All patches put together."""
    if len(rows) != assembler.n_patches:
        raise ValueError(
            f"patches must be {assembler.n_patches} for {what} and stride={stride}, got {len(rows)}"
        )
    assembler.add(slice(0, len(rows)), rows, weights)
    return assembler.result()


class Assembler:
    """Puts patches together to an array, some at a time: sums of values and of weights.

    Parameters
    ----------
    array_shape, shape, stride, channel_axis
        As for `assemble`.

    Attributes
    ----------
    n_patches : int
        Patches that the array has.

    Notes
    -----
    Sums are in float64. Blocks of whole rows of patches, added in order, give the same result
    to the last bit, however many rows they have.

    Examples
    --------
    >>> import fost, numpy as np
    >>> volume = np.random.default_rng(0).random((8, 20, 30))
    >>> assembler = fost.restoration.Assembler(volume.shape, (4, 8, 8), 2)
    >>> for where, rows in fost.restoration.blocks(volume, (4, 8, 8), 2):
    ...     assembler.add(where, rows)
    >>> np.allclose(assembler.result(), volume)
    True
    """

    _samples = "samples"  # what errors call them

    def __init__(
        self,
        array_shape: tuple[int, ...],
        shape: Sizes,
        stride: Sizes | None = None,
        *,
        channel_axis: int | None = None,
    ) -> None:
        axes = (1, 2, 3) if channel_axis is None else (2, 3, 4)
        sizes = check_sizes(array_shape, "array_shape", axes)
        if channel_axis is not None:
            check_integer(channel_axis, "channel_axis", -len(sizes), len(sizes) - 1)
        self._begin(sizes, shape, stride, channel_axis, "array_shape")

    def _begin(
        self,
        sizes: tuple[int, ...],
        shape: Sizes,
        stride: Sizes | None,
        channel_axis: int | None,
        name: str,
    ) -> None:
        """Sums for an array of these sizes, which errors call `name`."""
        self._channel_axis = channel_axis
        lead, *spatial = (1, *sizes) if channel_axis is None else _moved(sizes, channel_axis)
        self._grid = Grid.over(tuple(spatial), shape, stride, name, lead)
        if any(s > k for s, k in zip(self._grid.stride, self._grid.shape, strict=True)):
            raise ValueError(
                f"stride must be at most shape={self._grid.shape} to cover every "
                f"{self._samples[:-1]}, got {self._grid.stride}"
            )
        self._sums = np.zeros((lead, *spatial))
        self._weights = np.zeros((lead, *spatial))
        self._dtype: DType | None = None

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

    def _add_row(self, first: int, rows: Numbers, scale: Numbers | None) -> None:
        """Patches beside each other: for each of their last axis' samples one strided sum."""
        grid = self._grid
        number, column = divmod(first, grid.per_row)
        channel, lead = grid.row(number)
        band = tuple(slice(k, k + n) for k, n in zip(lead, grid.shape, strict=False))
        sums, weights = self._sums[channel][band], self._weights[channel][band]
        if scale is not None:
            rows = np.multiply(rows, scale, dtype=np.float64)
            scale = np.broadcast_to(scale, rows.shape).reshape(-1, *grid.shape)
        values = rows.reshape(-1, *grid.shape)
        for part, places in grid.regular(column, len(rows)):
            for k in range(grid.shape[-1]):
                columns = slice(places.start + k, places.stop + k, places.step)
                sums[..., columns] += np.moveaxis(values[part, ..., k], 0, -1)
                weights[..., columns] += (
                    1.0 if scale is None else np.moveaxis(scale[part, ..., k], 0, -1)
                )

    def result(self) -> Numbers:
        """The array, float64 if any of the patches were and else float32.

        Raises
        ------
        ValueError
            If there are samples that no patch with a positive weight has covered.
        """
        empty = int(np.count_nonzero(self._weights == 0))
        if empty:
            raise ValueError(
                f"{empty} {self._samples} were covered by no patch with a positive weight"
            )
        channels = np.empty(self._sums.shape, self._dtype)
        np.divide(self._sums, self._weights, out=channels, casting="same_kind")
        return channels_back(channels, self._channel_axis)


def _moved(sizes: tuple[int, ...], channel_axis: int) -> tuple[int, ...]:
    """Sizes with those of channels first."""
    at = channel_axis % len(sizes)
    return (sizes[at], *sizes[:at], *sizes[at + 1 :])


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


def _checked_weights(weights: ArrayLike, shape: tuple[int, int]) -> Numbers:
    """Weights as an array that multiplies patches: shape (n_patches, 1) or that of the patches."""
    checked = check_real(weights, "weights")
    if checked.shape not in (shape[:1], shape):
        raise ValueError(f"weights must have shape {shape[:1]} or {shape}, got {checked.shape}")
    # A NaN makes the least and the greatest NaN, without an array as large as the weights.
    if checked.size and not (checked.min() >= 0 and checked.max() < np.inf):
        raise ValueError("weights must be nonnegative and finite")
    return checked[:, None] if checked.ndim == 1 else checked
