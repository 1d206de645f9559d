"""What shape the patches of an array have, and where they begin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from fost._validation import check_each
from fost.transforms import Coder, Union

Sizes = int | Sequence[int]
# Arrays smaller than a patch are padded to its size, which must not fill the memory: this per axis
# of two or three, and in all.
_LONGEST = {1: 2**24, 2: 4096, 3: 256}
# Patches where the caller does not say, by the number of axes.
PATCHES = {1: (64,), 2: (8, 8), 3: (4, 8, 8)}


@dataclass(frozen=True)
class Grid:
    """The places of all patches; `fost.restoration.patches` says what they are."""

    array_shape: tuple[int, ...]  # of a channel
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    channels: int = 1

    @classmethod
    def over(
        cls,
        array_shape: tuple[int, ...],
        shape: Sizes,
        stride: Sizes | None,
        name: str = "array",
        channels: int = 1,
    ) -> Grid:
        """The grid; `name` is what errors call the array."""
        patch = check_each(shape, "shape", len(array_shape))
        steps = patch if stride is None else check_each(stride, "stride", len(array_shape))
        if any(have < want for have, want in zip(array_shape, patch, strict=True)):
            raise ValueError(
                f"{name} must be at least as large as a patch, {by(patch)}, "
                f"got {by(array_shape)}; a smaller shape would fit"
            )
        return cls(tuple(array_shape), patch, steps, channels)

    @cached_property
    def starts(self) -> tuple[NDArray[np.intp], ...]:
        """Where patches begin along each axis."""
        sizes = zip(self.array_shape, self.shape, self.stride, strict=True)
        return tuple(_starts(*each) for each in sizes)

    @property
    def tops(self) -> NDArray[np.intp]:
        """First rows of patches, in each slice."""
        return self.starts[-2]

    @property
    def lefts(self) -> NDArray[np.intp]:
        """First samples of the patches in a row of them."""
        return self.starts[-1]

    @property
    def per_row(self) -> int:
        """Patches in a row of patches."""
        return len(self.lefts)

    @property
    def n_rows(self) -> int:
        """Rows of patches in all channels."""
        return self.channels * prod(map(len, self.starts[:-1]))

    @property
    def n_patches(self) -> int:
        return self.n_rows * self.per_row

    def row(self, number: int) -> tuple[int, tuple[int, ...]]:
        """The channel of a row of patches, and where it begins along all axes but the last."""
        counts = [len(starts) for starts in self.starts[:-1]]
        channel, *places = (int(k) for k in np.unravel_index(number, (self.channels, *counts)))
        lead = zip(self.starts[:-1], places, strict=True)
        return channel, tuple(int(starts[k]) for starts, k in lead)

    def regular(self, column: int, count: int) -> Iterator[tuple[slice, slice]]:
        """Patches from `column` on as runs of equal steps: which of them, and where they begin.

        There are two runs at most, since only the last patch can be shifted.
        """
        step = self.stride[-1]
        last = column + count - 1
        shifted = int(self.lefts[last]) != last * step
        straight = count - shifted
        if straight:
            yield slice(0, straight), slice(column * step, (last - shifted) * step + 1, step)
        if shifted:
            left = int(self.lefts[last])
            yield slice(straight, count), slice(left, left + 1, step)


def _starts(length: int, size: int, step: int) -> NDArray[np.intp]:
    """0, step, 2 step, ... and, where a rest remains uncovered, the last possible place."""
    last = length - size
    starts = np.arange(0, last + 1, step)
    return starts if starts[-1] == last else np.append(starts, last)


def by(sizes: Sequence[int]) -> str:
    """Sizes as words of errors: 8 x 8."""
    return " x ".join(map(str, sizes))


def check_covers(shape: tuple[int, ...], stride: tuple[int, ...]) -> None:
    if any(step > size for step, size in zip(stride, shape, strict=True)):
        raise ValueError(
            f"stride must be at most the patch, {shape}, to cover every sample, got {stride}"
        )


def patch_shape(
    patch: Sizes | None, dictionary: Coder | None, ndim: int = 2, unions: bool = False
) -> tuple[int, ...]:
    """The shape of patches, from what a user said about it; unions are for pursuit alone."""
    if dictionary is not None and (
        not isinstance(dictionary, Coder) or (isinstance(dictionary, Union) and not unions)
    ):
        known = "a transform, a bank or a union" if unions else "a transform or a bank"
        raise TypeError(f"dictionary must be {known}, got {type(dictionary).__name__}")
    if patch is not None:
        shape = check_each(patch, "patch", ndim)
        if max(shape) > _LONGEST[ndim]:
            raise ValueError(
                f"patch must be at most {by((_LONGEST[ndim],) * ndim)}, since smaller arrays "
                f"are padded to it, got {by(shape)}"
            )
        if dictionary is not None and prod(shape) != dictionary.n_features:
            raise ValueError(
                f"patch has {by(shape)} samples, but dictionary was built for "
                f"{dictionary.n_features}"
            )
        return shape
    return PATCHES[ndim] if dictionary is None else _equal_sides(dictionary.n_features, ndim)


def _equal_sides(n_features: int, ndim: int) -> tuple[int, ...]:
    """The shape of a patch with so many samples and equal sides."""
    side = round(n_features ** (1 / ndim))
    if side**ndim != n_features:
        raise ValueError(
            "patch must be given for a dictionary whose patches do not have equal sides, "
            f"got n_features={n_features}"
        )
    if side > _LONGEST[ndim]:
        raise ValueError(
            f"dictionary must be for patches of at most {by((_LONGEST[ndim],) * ndim)} samples, "
            f"got {by((side,) * ndim)}"
        )
    return (side,) * ndim
