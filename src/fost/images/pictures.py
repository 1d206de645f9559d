"""What pictures are: their numbers, their range, their colours, and how far two are apart.

A picture is an array of shape (height, width) or (height, width, channels). Computing needs
floats. float32 and float64 stay what they are; what float32 holds exactly (booleans, integers
of 8 and 16 bits, float16) becomes float32, everything else float64. Values are never scaled on
the way: `PictureFormat` does that, and remembers how to undo it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fost._typing import Numbers
from fost._validation import check_number
from fost.io.images import check_image
from fost.restoration.colour import recoloured
from fost.restoration.formats import ArrayFormat, ranges_by_values

# Pixels that `psnr` takes to float64 at once, about.
_PIXELS = 2**18


@dataclass(frozen=True)
class PictureFormat(ArrayFormat):
    """The type and the range of a picture's numbers, and the way to [0, 1] and back.

    Attributes
    ----------
    dtype : numpy dtype
    low, high : float
        The values that become 0 and 1.

    Examples
    --------
    >>> import fost, numpy as np
    >>> picture = np.array([[0, 51], [102, 255]], dtype=np.uint8)
    >>> form = fost.images.PictureFormat.of(picture)
    >>> form
    PictureFormat(dtype=dtype('uint8'), low=0.0, high=255.0)
    >>> unit = form.to_unit(picture)
    >>> unit
    array([[0. , 0.2],
           [0.4, 1. ]], dtype=float32)
    >>> form.from_unit(unit + 0.2)
    array([[ 51, 102],
           [153, 255]], dtype=uint8)
    """

    @classmethod
    def of(cls, image: ArrayLike) -> PictureFormat:
        """The format of a picture.

        The range of integers of 8 and 16 bits is that of their type. Wider ones, which are what
        NumPy makes of numbers by default, say nothing by their type: their range is 0 to 255 or
        else 0 to 65535 where all values lie inside it, and that of floats [0, 1]; all others
        reach from the least value to the greatest. NaN and infinity do not count.
        """
        return cls.around(check_image(image, "image"), "image")

    def to_unit(self, image: ArrayLike) -> Numbers:
        """The picture as floats, `low` at 0 and `high` at 1."""
        return self.unit_of(check_image(image, "image"))

    def from_unit(self, image: ArrayLike) -> Numbers:
        """A picture in [0, 1] in this format again: clipped, and rounded for integers."""
        return self.of_unit(check_image(image, "image"), "image")


def channel_axis_of(ndim: int) -> int | None:
    """The axis of colours in pictures of so many axes."""
    return None if ndim == 2 else -1


def to_luma_chroma(image: ArrayLike) -> Numbers:
    """Red, green and blue as luma and two chromas, by an orthonormal transform.

    The channels become (R + G + B) / sqrt(3), (R - B) / sqrt(2) and (R - 2 G + B) / sqrt(6). Since
    the transform is orthonormal, white noise keeps its level in each of them and errors keep
    their size; luma reaches sqrt(3) times the range of the colours. `from_luma_chroma` undoes it.

    Parameters
    ----------
    image : array-like of shape (height, width, 3)

    Returns
    -------
    ndarray of shape (height, width, 3)
        float32 or float64.

    Examples
    --------
    >>> import fost
    >>> fost.images.to_luma_chroma([[[3.0, 3.0, 3.0]]]).round(4) + 0.0
    array([[[5.1962, 0.    , 0.    ]]])
    """
    return _recoloured(image, back=False)


def from_luma_chroma(image: ArrayLike) -> Numbers:
    """Red, green and blue from luma and chromas: undoes `to_luma_chroma`.

    Parameters
    ----------
    image : array-like of shape (height, width, 3)

    Returns
    -------
    ndarray of shape (height, width, 3)

    Examples
    --------
    >>> import fost, numpy as np
    >>> picture = np.random.default_rng(0).random((4, 5, 3))
    >>> there = fost.images.to_luma_chroma(picture)
    >>> np.allclose(fost.images.from_luma_chroma(there), picture)
    True
    """
    return _recoloured(image, back=True)


def _recoloured(image: ArrayLike, back: bool) -> Numbers:
    array = check_image(image, "image")
    if array.ndim != 3 or array.shape[2] != 3:
        raise ValueError(f"image must have shape (height, width, 3), got {array.shape}")
    return np.ascontiguousarray(np.moveaxis(recoloured(np.moveaxis(array, 2, 0), back), 0, 2))


def psnr(reference: ArrayLike, image: ArrayLike, data_range: float | None = None) -> float:
    """Peak signal-to-noise ratio, 10 log10(data_range^2 / mean((reference - image)^2)), in dB.

    Parameters
    ----------
    reference, image : array-like of equal shape
    data_range : float, optional
        The distance from black to white. If None, that of the reference's type: 255 for uint8,
        65535 for uint16, 1 for booleans and for floats inside [0, 1]. It must be given for other
        floats and for integers of more than 16 bits, whose white is not known.

    Returns
    -------
    float
        Infinity for equal pictures.

    Examples
    --------
    >>> import fost, numpy as np
    >>> picture = np.zeros((8, 8), dtype=np.uint8)
    >>> round(fost.images.psnr(picture, picture + 5), 2)
    34.15
    """
    a, b = check_image(reference, "reference"), check_image(image, "image")
    if a.shape != b.shape:
        raise ValueError(f"image must have the shape of reference, {a.shape}, got {b.shape}")
    if data_range is None:
        form = PictureFormat.of(a)
        if ranges_by_values(a.dtype) and (form.low, form.high) != (0.0, 1.0):
            raise ValueError(
                f"data_range must be given for a reference of {a.dtype} "
                f"{'outside [0, 1]' if a.dtype.kind == 'f' else 'numbers'}, got values from "
                f"{form.low:g} to {form.high:g}"
            )
        data_range = form.scale
    data_range = check_number(data_range, "data_range", above=0)
    total = 0.0
    step = max(1, _PIXELS // math.prod(a.shape[1:]))
    for top in range(0, len(a), step):
        rows = slice(top, top + step)
        # Over the range, so that squares neither overflow nor vanish where the result does not.
        with np.errstate(over="ignore", invalid="ignore"):
            gaps = np.subtract(a[rows], b[rows], dtype=np.float64) / data_range
            total += float(np.sum(np.square(gaps)))
    if not math.isfinite(total):
        for array, name in ((a, "reference"), (b, "image")):
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise ValueError(f"{name} contains NaN or infinity")
        raise ValueError(
            f"image is too far from reference for data_range={data_range:g}: the squares of their "
            "differences overflow"
        )
    return 10 * math.log10(a.size / total) if total > 0 else math.inf
