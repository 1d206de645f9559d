"""The shape of patches and their positions in an array.

Patches start at every `stride`-th position along each axis. If the last of them leaves a border
uncovered, one more patch is shifted inwards so that it ends at the border. So every sample is
covered, provided that the stride is at most the patch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from fost._cache import lazy_property
from fost._validation import check_each
from fost.transforms import Coder, PursuitCoder

Sizes = int | Sequence[int]
# The default patch shape by number of axes.
DEFAULT_PATCH_SHAPES = {1: (64,), 2: (8, 8), 3: (4, 8, 8)}
# The longest side of a patch by number of axes. Smaller arrays are padded to the size of a patch,
# which must not exhaust the memory.
_MAX_SIDE = {1: 2**24, 2: 4096, 3: 256}


@dataclass(frozen=True)
class PatchGrid:
    """The positions of all patches of an array, channel after channel in row-major order.

    A *row* of patches has equal positions along all axes but the last.
    """

    array_shape: tuple[int, ...]  # of one channel
    patch_shape: tuple[int, ...]
    stride: tuple[int, ...]
    n_channels: int = 1

    @classmethod
    def over(
        cls,
        array_shape: tuple[int, ...],
        patch_shape: Sizes,
        stride: Sizes | None,
        name: str = "x",
        n_channels: int = 1,
    ) -> PatchGrid:
        """The grid for user arguments, which are validated; errors call the array `name`."""
        patch = check_each(patch_shape, "patch_shape", len(array_shape))
        steps = patch if stride is None else check_each(stride, "stride", len(array_shape))
        if any(have < want for have, want in zip(array_shape, patch, strict=True)):
            raise ValueError(
                f"{name} must be at least as large as a patch, {format_sizes(patch)}, "
                f"got {format_sizes(array_shape)}; use a smaller patch_shape"
            )
        return cls(tuple(array_shape), patch, steps, n_channels)

    @lazy_property
    def starts(self) -> tuple[NDArray[np.intp], ...]:
        """The start positions along each axis."""
        sizes = zip(self.array_shape, self.patch_shape, self.stride, strict=True)
        return tuple(_starts(*each) for each in sizes)

    @property
    def per_row(self) -> int:
        """The number of patches in a row."""
        return len(self.starts[-1])

    @property
    def n_rows(self) -> int:
        """The number of rows of patches in all channels."""
        return self.n_channels * prod(map(len, self.starts[:-1]))

    @property
    def n_patches(self) -> int:
        return self.n_rows * self.per_row

    def row(self, number: int) -> tuple[int, tuple[int, ...]]:
        """The channel of a row of patches, and its start along all axes but the last."""
        counts = [len(starts) for starts in self.starts[:-1]]
        channel, *places = (int(k) for k in np.unravel_index(number, (self.n_channels, *counts)))
        lead = zip(self.starts[:-1], places, strict=True)
        return channel, tuple(int(starts[k]) for starts, k in lead)

    def runs(self, column: int, count: int) -> Iterator[tuple[slice, slice]]:
        """Runs of equally spaced patches of a row: their indices from `column`, and their starts.

        There are at most two runs, since only the last patch can be shifted.
        """
        step, starts = self.stride[-1], self.starts[-1]
        last = column + count - 1
        shifted = int(starts[last]) != last * step
        straight = count - shifted
        if straight:
            yield slice(0, straight), slice(column * step, (last - shifted) * step + 1, step)
        if shifted:
            start = int(starts[last])
            yield slice(straight, count), slice(start, start + 1, step)


def _starts(length: int, size: int, step: int) -> NDArray[np.intp]:
    """0, step, 2 step, ... and the last possible position, if a remainder is uncovered."""
    last = length - size
    starts = np.arange(0, last + 1, step)
    return starts if starts[-1] == last else np.append(starts, last)


def format_sizes(sizes: Sequence[int]) -> str:
    """Sizes as error messages show them: 8 x 8."""
    return " x ".join(map(str, sizes))


def check_stride(
    stride: Sizes | None, patch_shape: tuple[int, ...], default: tuple[int, ...] | None = None
) -> tuple[int, ...]:
    """The stride along each axis, at most the patch; `default`, or the patch itself, if None."""
    if stride is None:
        return default or patch_shape
    steps = check_each(stride, "stride", len(patch_shape))
    if any(step > size for step, size in zip(steps, patch_shape, strict=True)):
        raise ValueError(
            f"stride must be at most patch_shape={patch_shape} to cover every sample, got {steps}"
        )
    return steps


def resolve_patch_shape(
    patch_shape: Sizes | None, transform: Coder | None, ndim: int, allow_union: bool = False
) -> tuple[int, ...]:
    """The patch shape that follows from the arguments of a user, which are validated."""
    if transform is not None and (
        not isinstance(transform, Coder)
        or (isinstance(transform, PursuitCoder) and not allow_union)
    ):
        known = "a transform, a bank or a union" if allow_union else "a transform or a bank"
        raise TypeError(f"transform must be {known}, got {type(transform).__name__}")
    if patch_shape is None:
        if transform is None:
            return DEFAULT_PATCH_SHAPES[ndim]
        return _equal_sides(transform.n_features, ndim)
    shape = check_each(patch_shape, "patch_shape", ndim)
    if max(shape) > _MAX_SIDE[ndim]:
        raise ValueError(
            f"patch_shape must be at most {format_sizes((_MAX_SIDE[ndim],) * ndim)}, since smaller "
            f"arrays are padded to it, got {format_sizes(shape)}"
        )
    if transform is not None and prod(shape) != transform.n_features:
        raise ValueError(
            f"patch_shape has {format_sizes(shape)} samples, but transform was built for "
            f"{transform.n_features}"
        )
    return shape


def _equal_sides(n_features: int, ndim: int) -> tuple[int, ...]:
    """The shape of a patch of `n_features` samples with equal sides."""
    side = round(n_features ** (1 / ndim))
    if side**ndim != n_features:
        raise ValueError(
            "patch_shape must be given for a transform whose patches do not have equal sides, "
            f"got n_features={n_features}"
        )
    if side > _MAX_SIDE[ndim]:
        raise ValueError(
            "transform must be for patches of at most "
            f"{format_sizes((_MAX_SIDE[ndim],) * ndim)} samples, got {format_sizes((side,) * ndim)}"
        )
    return (side,) * ndim
