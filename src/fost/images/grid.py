"""What shape the patches of a picture have, and where they begin."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from fost._validation import check_pair
from fost.transforms import Coder, Union

Pair = int | tuple[int, int]
# Pictures smaller than a patch are padded to its size, which must not fill the memory.
_LARGEST = 4096


@dataclass(frozen=True)
class Grid:
    """The places of all patches; `fost.images.patches` says what they are."""

    image_shape: tuple[int, ...]
    shape: tuple[int, int]
    stride: tuple[int, int]

    @classmethod
    def over(
        cls,
        image_shape: tuple[int, ...],
        shape: Pair,
        stride: Pair | None,
        name: str = "image",
    ) -> Grid:
        """The grid; `name` is what errors call the picture."""
        patch = check_pair(shape, "shape")
        steps = patch if stride is None else check_pair(stride, "stride")
        if any(have < want for have, want in zip(image_shape, patch, strict=False)):
            raise ValueError(
                f"{name} must be at least as large as a patch, {patch[0]} x {patch[1]}, "
                f"got {image_shape[0]} x {image_shape[1]} pixels; a smaller shape would fit"
            )
        return cls(tuple(image_shape), patch, steps)

    @cached_property
    def tops(self) -> NDArray[np.intp]:
        """First row of pixels of each row of patches."""
        return _starts(self.image_shape[0], self.shape[0], self.stride[0])

    @cached_property
    def lefts(self) -> NDArray[np.intp]:
        """First column of pixels of each column of patches."""
        return _starts(self.image_shape[1], self.shape[1], self.stride[1])

    @property
    def channels(self) -> int:
        return 1 if len(self.image_shape) == 2 else self.image_shape[2]

    @property
    def per_row(self) -> int:
        """Patches in a row of patches."""
        return len(self.lefts)

    @property
    def n_rows(self) -> int:
        """Rows of patches in all channels."""
        return self.channels * len(self.tops)

    @property
    def n_patches(self) -> int:
        return self.n_rows * self.per_row

    def regular(self, column: int, count: int) -> Iterator[tuple[slice, slice]]:
        """Patches from `column` on as runs of equal steps: which of them, and where they begin.

        There are two runs at most, since only the last patch can be shifted.
        """
        step = self.stride[1]
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


def patch_shape(
    patch: Pair | None, dictionary: Coder | None, unions: bool = False
) -> tuple[int, int]:
    """The shape of patches, from what a user said about it; unions are for pursuit alone."""
    if dictionary is not None and (
        not isinstance(dictionary, Coder) or (isinstance(dictionary, Union) and not unions)
    ):
        known = "a transform, a bank or a union" if unions else "a transform or a bank"
        raise TypeError(f"dictionary must be {known}, got {type(dictionary).__name__}")
    if patch is not None:
        height, width = check_pair(patch, "patch")
        if max(height, width) > _LARGEST:
            raise ValueError(
                f"patch must be at most {_LARGEST} x {_LARGEST} pixels, since smaller pictures "
                f"are padded to it, got {height} x {width}"
            )
        if dictionary is not None and height * width != dictionary.n_features:
            raise ValueError(
                f"patch has {height} x {width} pixels, but dictionary was built for "
                f"{dictionary.n_features}"
            )
        return height, width
    if dictionary is None:
        return 8, 8
    side = isqrt(dictionary.n_features)
    if side * side != dictionary.n_features:
        raise ValueError(
            "patch must be given for a dictionary whose patches are not square, "
            f"got n_features={dictionary.n_features}"
        )
    if side > _LARGEST:
        raise ValueError(
            f"dictionary must be for patches of at most {_LARGEST} x {_LARGEST} pixels, "
            f"got {side} x {side}"
        )
    return side, side
