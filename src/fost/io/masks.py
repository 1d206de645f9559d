"""Masks of missing pixels and samples, from values, from images and from transparency."""

from __future__ import annotations

import os
import warnings
from math import prod
from typing import TYPE_CHECKING

from fost.io.files import open_file

if TYPE_CHECKING:
    from fost._typing import Numbers, SlicedArray

# Entries of a mask that are counted at once.
_BLOCK = 2**22


class ValueMask:
    """The mask of an array where it equals a value, which may be NaN, computed when it is sliced.

    With ``equal=False`` it is the mask where the array differs from the value.
    """

    chunks = None  # marks arrays that are read by slices

    def __init__(self, array: SlicedArray, value: float, equal: bool = True) -> None:
        import numpy as np

        self._array, self._value, self._equal = array, value, equal
        self.shape, self.dtype = tuple(array.shape), np.dtype(bool)

    def __getitem__(self, part: tuple[slice, ...]) -> Numbers:
        import numpy as np

        samples = np.asarray(self._array[part])
        is_nan = self._value != self._value
        same = samples != samples if is_nan else samples == self._value
        return np.asarray(same if self._equal else ~same)

    def count(self) -> int:
        """The number of entries that are True."""
        import numpy as np

        step = max(1, _BLOCK // max(1, prod(self.shape[1:])))
        rest = (slice(None),) * (len(self.shape) - 1)
        starts = range(0, self.shape[0], step)
        return sum(int(np.count_nonzero(self[slice(k, k + step), *rest])) for k in starts)


def mask_from_image(pixels: Numbers, midpoint: float, name: str) -> Numbers:
    """The mask of shape (height, width) that an image draws: True where any channel is not 0.

    An image of more than two values comes from a lossy format. It is True above `midpoint`, with
    a warning that calls it by `name`.
    """
    import numpy as np

    values = np.unique(pixels)
    if len(values) > 2 or (len(values) == 2 and values[0] != 0):
        warnings.warn(
            f"the mask {name!r} has {len(values):,} values; pixels above {midpoint:g}, half of "
            "its range, are missing",
            UserWarning,
            stacklevel=2,
        )
        mask = pixels > midpoint
    else:
        mask = pixels != 0
    return np.asarray(mask.any(axis=2) if mask.ndim == 3 else mask)


def read_alpha_mask(path: str | os.PathLike[str]) -> Numbers:
    """The mask of an image file where its alpha channel is below one half."""
    import numpy as np
    from PIL import Image, ImageOps

    try:
        with open_file(path) as file, Image.open(file) as opened:
            image = ImageOps.exif_transpose(opened)
            if image.has_transparency_data:
                return np.asarray(image.convert("RGBA"))[..., 3] < 128
    except MemoryError:
        raise
    except Exception as error:  # damaged files cause errors of any type
        raise ValueError(f"cannot read the alpha channel of {os.fspath(path)!r}") from error
    raise ValueError(f"{os.fspath(path)!r} has no alpha channel")
