"""Image files, and masks of missing pixels and samples.

Images are read without conversion and written atomically: TIFF files by tifffile, all other
formats (PNG, JPEG, WebP, BMP, GIF, ...) by Pillow. Both come with scikit-image.
"""

from __future__ import annotations

import io
import os
import warnings
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike

from fost._typing import DType, Numbers, SlicedArray
from fost._validation import check_array, check_flag, check_path
from fost.io.arrays import TIFF_SUFFIXES
from fost.io.files import open_file, write_atomically

if TYPE_CHECKING:
    from PIL import Image

_TIFF_MAGIC = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
# Decompressed bytes that any TIFF may have, and beyond that per byte of the file: LZW and deflate
# compress less than this. Pillow has a limit of its own.
_FREE_BYTES = 2**29
_MAX_RATIO = 2000
_JPEG_SUFFIXES = (".jpg", ".jpeg")
# Full resolution of colours: results should lose as little as possible.
_JPEG_OPTIONS = {"quality": 95, "subsampling": 0}

# Pillow modes that NumPy reads directly; others become RGB or RGBA.
_PLAIN_MODES = ("L", "LA", "RGB", "RGBA", "I", "F")

# Entries of a mask that are counted at once.
_BLOCK = 2**22


def read(path: str | os.PathLike[str]) -> Numbers:
    """Read an image file.

    Parameters
    ----------
    path : path
        A file in any format that Pillow or tifffile can open.

    Returns
    -------
    ndarray of shape (height, width) or (height, width, 3)
        In the type of the file: uint8, uint16, floats or booleans. Palettes and CMYK become red,
        green and blue. The orientation in the metadata of a camera is applied.

    Warns
    -----
    UserWarning
        If part of the file is not read: an alpha channel that is not fully opaque (the colours
        behind it are returned unchanged), all images of a file but the first, or half of the 16
        bits of a colour PNG, which Pillow reads in 8.

    Raises
    ------
    OSError
        If the file does not exist or must not be read.
    ValueError
        If it is not an image, or is damaged.

    Examples
    --------
    >>> import fost, numpy as np, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "image.png")
    >>> fost.images.write(path, np.arange(6, dtype=np.uint8).reshape(2, 3))
    >>> fost.images.read(path)
    array([[0, 1, 2],
           [3, 4, 5]], dtype=uint8)
    """
    check_path(path, "path")
    name = os.fspath(path)
    ignored: list[str] = []
    with open_file(path) as file:
        _require_packages()
        try:
            tiff = file.read(4) in _TIFF_MAGIC
            file.seek(0)
            image = _read_tiff(file, ignored) if tiff else _read_pillow(file, ignored)
            image = check_image(image, "it")
        except MemoryError:
            raise
        except Exception as error:  # damaged files cause errors of any type
            raise ValueError(f"cannot read {name!r}: {_reason(error)}") from error
    for what in ignored:
        warnings.warn(f"{name!r} has {what}", UserWarning, stacklevel=2)
    return image if image.flags.writeable else image.copy()


def write(path: str | os.PathLike[str], image: ArrayLike, *, overwrite: bool = True) -> None:
    """Write an image file, replacing an old one atomically.

    Parameters
    ----------
    path : path
        Its extension selects the format. JPEG (quality 95) and WebP are lossy; the other formats
        keep all values.
    image : array-like of shape (height, width) or (height, width, channels)
        PNG holds booleans, uint8, and uint16 without colour; TIFF holds every type of up to 64
        bits; the others hold uint8. Values are never scaled or converted.
    overwrite : bool
        Whether an existing file may be replaced.

    Raises
    ------
    ValueError
        If the format cannot hold this image.
    FileExistsError
        If the file exists and `overwrite` is false.

    Examples
    --------
    >>> import fost, numpy as np, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "image.png")
    >>> fost.images.write(path, np.zeros((2, 3), dtype=np.uint8))
    >>> fost.images.read(path).shape
    (2, 3)
    """
    check_path(path, "path")
    overwrite = check_flag(overwrite, "overwrite")
    content = encode_image(check_image(image, "image"), path)
    if not overwrite and os.path.lexists(path):
        raise FileExistsError(f"{os.fspath(path)!r} exists already")
    write_atomically(path, content)


def check_writable(
    path: str | os.PathLike[str], dtype: DType | str, channels: int | None = None
) -> None:
    """Raise a ValueError if the format of `path` cannot hold images of this type."""
    encode_image(np.zeros((1, 1) if channels is None else (1, 1, channels), dtype), path)


def encode_image(image: Numbers, path: str | os.PathLike[str]) -> bytes:
    """The bytes of an image file in the format that the extension of `path` selects."""
    _require_packages()
    from PIL import Image

    name, suffix = os.fspath(path), Path(path).suffix.lower()
    buffer = io.BytesIO()
    squeezed = image[..., 0] if image.ndim == 3 and image.shape[2] == 1 else image
    if suffix in TIFF_SUFFIXES:
        import tifffile

        if image.dtype.itemsize > 8:
            raise ValueError(f"cannot write {name!r}: no file holds an image of {image.dtype}")
        colours = image.ndim == 3 and image.shape[2] in (3, 4)
        options: dict[str, Any] = {"photometric": "rgb" if colours else "minisblack"}
        if squeezed.ndim == 3 and image.dtype == np.bool_:
            # tifffile does not read back interleaved channels of booleans.
            squeezed = np.moveaxis(squeezed, -1, 0)
            options["planarconfig"] = "separate"
        elif squeezed.ndim == 3:
            # Otherwise two channels would be written as one page per row of pixels.
            options["planarconfig"] = "contig"
        tifffile.imwrite(buffer, squeezed, **options)
        return buffer.getvalue()
    form = Image.registered_extensions().get(suffix)
    if form not in Image.SAVE:
        raise ValueError(
            f"cannot write {name!r}: {suffix or 'a name without an extension'} is not an "
            "image format; .png and .tiff are"
        )
    try:
        options = _JPEG_OPTIONS if suffix in _JPEG_SUFFIXES else {}
        _pillow_image(squeezed).save(buffer, format=form, **options)
    except (OSError, ValueError, TypeError, KeyError):
        colours = image.ndim == 3 and image.shape[2] > 1
        raise ValueError(
            f"cannot write {name!r}: {suffix} files do not hold "
            f"{'colour' if colours else 'grey'} images of {image.dtype}, .tiff files do"
        ) from None
    return buffer.getvalue()


def _pillow_image(image: Numbers) -> Image.Image:
    from PIL import Image

    if image.dtype not in (np.uint8, np.bool_) and not (
        image.dtype == np.uint16 and image.ndim == 2
    ):
        raise TypeError(f"Pillow would convert {image.dtype}")
    return Image.fromarray(np.ascontiguousarray(image))


def _read_pillow(file: BinaryIO, ignored: list[str]) -> Numbers:
    from PIL import Image, ImageOps

    with Image.open(file) as opened:
        _note_pages(getattr(opened, "n_frames", 1), ignored)
        tile = opened.tile[0] if opened.tile else ()
        if opened.mode.startswith("RGB") and "16" in str(tile[-1:]):
            ignored.append("16 bits per colour, of which Pillow reads 8")
        opened.load()
        image = ImageOps.exif_transpose(opened)
    if image.mode == "1":  # NumPy booleans are 0 and 1, these are 0 and 255
        return np.asarray(image.convert("L")) > 0
    if image.mode.startswith("I;16"):
        return np.asarray(image).astype(np.uint16)
    if image.mode not in _PLAIN_MODES:
        clear = image.mode in ("PA", "La", "RGBa") or "transparency" in image.info
        image = image.convert("RGBA" if clear else "RGB")
    return _without_alpha(np.asarray(image), image.mode.endswith("A"), ignored)


def _read_tiff(file: BinaryIO, ignored: list[str]) -> Numbers:
    """Read by tifffile, or by Pillow where tifffile lacks the codec or the colour space."""
    import tifffile

    with tifffile.TiffFile(file) as tiff:
        page = tiff.pages.first
        _note_pages(len(tiff.pages), ignored)
        plain = page.photometric in (
            tifffile.PHOTOMETRIC.MINISBLACK,
            tifffile.PHOTOMETRIC.RGB,
        )
        size = os.fstat(file.fileno()).st_size
        if page.nbytes > max(_FREE_BYTES, _MAX_RATIO * size):
            raise ValueError(f"its {page.nbytes:,} bytes of pixels are too many for {size:,} bytes")
        if plain and page.axes in ("YX", "YXS", "SYX"):
            try:
                image = np.asarray(page.asarray())
            except ValueError:
                image = None  # needs a codec of the package imagecodecs
            if image is not None:
                image = np.moveaxis(image, 0, -1) if page.axes == "SYX" else image
                alpha = image.ndim == 3 and image.shape[2] in (2, 4)
                return _without_alpha(image, alpha, ignored)
        dtype = page.dtype
        file.seek(0)
        image = _read_pillow(file, ignored)
        ignored[:] = dict.fromkeys(ignored)  # both may have counted the images
    if dtype is not None and image.dtype != dtype and image.dtype != np.bool_:
        raise ValueError(
            f"Pillow would read {dtype} as {image.dtype}; the package imagecodecs helps"
        )
    return image


def _note_pages(count: int, ignored: list[str]) -> None:
    if count > 1:
        ignored.append(f"{count} images, of which the first is read")


def _without_alpha(image: Numbers, alpha: bool, ignored: list[str]) -> Numbers:
    """The channels other than alpha."""
    if alpha:
        opaque = np.iinfo(image.dtype).max if image.dtype.kind in "iu" else 1
        if (image[..., -1] != opaque).any():
            ignored.append("an alpha channel, which is ignored")
        image = image[..., :-1]
    if image.ndim == 3 and image.shape[2] == 1:
        image = image[..., 0]
    return np.ascontiguousarray(image)


def _require_packages() -> None:
    try:
        import PIL.Image  # noqa: F401
        import tifffile  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "reading and writing images needs packages that are not installed: "
            "pip install 'fost[images]'"
        ) from error


def _reason(error: Exception) -> str:
    from PIL import UnidentifiedImageError

    if isinstance(error, UnidentifiedImageError):
        return "not an image that Pillow or tifffile can open"
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def check_image(image: ArrayLike, name: str) -> Numbers:
    """`image` as an array of shape (height, width) or (height, width, channels) of real numbers.

    It is never copied: a memory map stays one.
    """
    if isinstance(image, str | os.PathLike):
        raise TypeError(
            f"{name} must be an array of pixels, got the path {os.fspath(image)!r}; "
            "fost.images.read reads files"
        )
    array = check_array(image, name)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must be real numbers, got dtype {array.dtype}")
    if array.ndim not in (2, 3):
        raise ValueError(
            f"{name} must have shape (height, width) or (height, width, channels), "
            f"got {array.shape}"
        )
    if 0 in array.shape:
        raise ValueError(f"{name} must have at least one pixel, got shape {array.shape}")
    return array


class ValueMask:
    """The mask of an array where it equals a value, which may be NaN, computed when it is sliced.

    With ``equal=False`` it is the mask where the array differs from the value.
    """

    chunks = None  # marks arrays that are read by slices

    def __init__(self, array: SlicedArray, value: float, equal: bool = True) -> None:
        self._array, self._value, self._equal = array, value, equal
        self.shape, self.dtype = tuple(array.shape), np.dtype(bool)

    def __getitem__(self, part: tuple[slice, ...]) -> Numbers:
        samples = np.asarray(self._array[part])
        is_nan = self._value != self._value
        same = samples != samples if is_nan else samples == self._value
        return np.asarray(same if self._equal else ~same)

    def count(self) -> int:
        """The number of entries that are True."""
        step = max(1, _BLOCK // max(1, prod(self.shape[1:])))
        rest = (slice(None),) * (len(self.shape) - 1)
        starts = range(0, self.shape[0], step)
        return sum(int(np.count_nonzero(self[slice(k, k + step), *rest])) for k in starts)


def mask_from_image(pixels: Numbers, midpoint: float, name: str) -> Numbers:
    """The mask of shape (height, width) that an image draws: True where any channel is not 0.

    An image of more than two values comes from a lossy format. It is True above `midpoint`, with
    a warning that calls it by `name`.
    """
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
