"""Images: files, numeric formats, colour transform and quality.

An image is an array of shape (height, width) or (height, width, channels). Values are never
scaled implicitly: `ImageFormat` converts them to [0, 1] and back. `fost.restoration` denoises and
inpaints images, and extracts their patches: pass ``channel_axis=-1`` for colour images. Only
`read` and `write` need the extra ``fost[images]``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fost._typing import Numbers
from fost._validation import check_number
from fost.io.images import check_image, read, write
from fost.restoration.arrays import ArrayFormat, has_value_range, luma_chroma

__all__ = [
    "ImageFormat",
    "from_luma_chroma",
    "psnr",
    "read",
    "to_luma_chroma",
    "write",
]

# Pixels that `psnr` converts to float64 at a time, approximately.
_CHUNK_PIXELS = 2**18


@dataclass(frozen=True)
class ImageFormat(ArrayFormat):
    """The type and the range of the values of an image, for conversion to [0, 1] and back.

    Attributes
    ----------
    dtype : numpy dtype
    low, high : float
        The values that are mapped to 0 and 1.

    Examples
    --------
    >>> import fost, numpy as np
    >>> image = np.array([[0, 51], [102, 255]], dtype=np.uint8)
    >>> form = fost.images.ImageFormat.of(image)
    >>> form
    ImageFormat(dtype=dtype('uint8'), low=0.0, high=255.0)
    >>> unit = form.to_unit(image)
    >>> unit
    array([[0. , 0.2],
           [0.4, 1. ]], dtype=float32)
    >>> form.from_unit(unit + 0.2)
    array([[ 51, 102],
           [153, 255]], dtype=uint8)
    """

    @classmethod
    def of(cls, image: ArrayLike) -> ImageFormat:
        """The format of an image.

        Integers of 8 and 16 bits have the range of their type. Wider integers, NumPy's default,
        have the range 0 to 255 or 0 to 65535 if it contains all values. The range of floats is [0,
        1] if it contains all values. Otherwise the range extends from the smallest to the largest
        value; NaN and infinity are ignored.
        """
        return cls.from_array(check_image(image, "image"), "image")

    def to_unit(self, image: ArrayLike) -> Numbers:
        """The image as floats, with `low` mapped to 0 and `high` to 1."""
        return self.normalize(check_image(image, "image"))

    def from_unit(self, image: ArrayLike) -> Numbers:
        """The inverse of `to_unit`: values are clipped to the range and rounded for integers."""
        return self.denormalize(check_image(image, "image"), "image")


def to_luma_chroma(image: ArrayLike) -> Numbers:
    r"""Red, green and blue as luma and two chroma channels, by an orthonormal transform.

    The channels become :math:`(R + G + B) / \sqrt{3}`, :math:`(R - B) / \sqrt{2}` and
    :math:`(R - 2 G + B) / \sqrt{6}`. Since the transform is orthonormal, white noise keeps its
    standard deviation in each channel. The range of luma is :math:`\sqrt{3}` times that of the
    colours.

    Parameters
    ----------
    image : array-like of shape (height, width, 3)

    Returns
    -------
    ndarray of shape (height, width, 3)
        float32 or float64.

    See Also
    --------
    from_luma_chroma : The inverse.

    Examples
    --------
    >>> import fost
    >>> fost.images.to_luma_chroma([[[3.0, 3.0, 3.0]]]).round(4) + 0.0
    array([[[5.1962, 0.    , 0.    ]]])
    """
    return _convert_colours(image, inverse=False)


def from_luma_chroma(image: ArrayLike) -> Numbers:
    """Red, green and blue from luma and chroma: the inverse of `to_luma_chroma`.

    Parameters
    ----------
    image : array-like of shape (height, width, 3)

    Returns
    -------
    ndarray of shape (height, width, 3)

    Examples
    --------
    >>> import fost, numpy as np
    >>> image = np.random.default_rng(0).random((4, 5, 3))
    >>> converted = fost.images.to_luma_chroma(image)
    >>> np.allclose(fost.images.from_luma_chroma(converted), image)
    True
    """
    return _convert_colours(image, inverse=True)


def _convert_colours(image: ArrayLike, inverse: bool) -> Numbers:
    array = check_image(image, "image")
    if array.ndim != 3 or array.shape[2] != 3:
        raise ValueError(f"image must have shape (height, width, 3), got {array.shape}")
    converted = luma_chroma(np.moveaxis(array, 2, 0), inverse)
    return np.ascontiguousarray(np.moveaxis(converted, 0, 2))


def psnr(reference: ArrayLike, image: ArrayLike, data_range: float | None = None) -> float:
    r"""Peak signal-to-noise ratio in dB.

    .. math:: 10 \log_{10} \left( r^2 / \text{mean}((\text{reference} - \text{image})^2) \right)

    where r is `data_range`.

    Parameters
    ----------
    reference, image : array-like of equal shape
    data_range : float, optional
        The distance from black to white. The default is that of the type of the reference: 255 for
        uint8, 65535 for uint16, 1 for booleans and for floats in [0, 1]. It must be given for
        other floats and for integers of more than 16 bits.

    Returns
    -------
    float
        Infinity for equal images.

    Examples
    --------
    >>> import fost, numpy as np
    >>> image = np.zeros((8, 8), dtype=np.uint8)
    >>> round(fost.images.psnr(image, image + 5), 2)
    34.15
    """
    a, b = check_image(reference, "reference"), check_image(image, "image")
    if a.shape != b.shape:
        raise ValueError(f"image must have the shape of reference, {a.shape}, got {b.shape}")
    if data_range is None:
        form = ImageFormat.from_array(a, "reference")
        if has_value_range(a.dtype) and (form.low, form.high) != (0.0, 1.0):
            raise ValueError(
                f"data_range must be given for a reference of {a.dtype} "
                f"{'outside [0, 1]' if a.dtype.kind == 'f' else 'numbers'}, got values from "
                f"{form.low:g} to {form.high:g}"
            )
        data_range = form.scale
    data_range = check_number(data_range, "data_range", above=0)
    total = 0.0
    step = max(1, _CHUNK_PIXELS // math.prod(a.shape[1:]))
    for top in range(0, len(a), step):
        rows = slice(top, top + step)
        # Division by the range avoids overflow and underflow of squares.
        with np.errstate(over="ignore", invalid="ignore"):
            errors = np.subtract(a[rows], b[rows], dtype=np.float64) / data_range
            total += float(np.sum(np.square(errors)))
    if not math.isfinite(total):
        for array, name in ((a, "reference"), (b, "image")):
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise ValueError(f"{name} contains NaN or infinity")
        raise ValueError(
            f"image is too far from reference for data_range={data_range:g}: the squares of their "
            "differences overflow"
        )
    return 10 * math.log10(a.size / total) if total > 0 else math.inf
