"""Image files, and masks of missing pixels and samples.

Images are read without conversion and written atomically: TIFF files by tifffile, all other
formats (PNG, JPEG, WebP, BMP, GIF, ...) by Pillow. Both come with scikit-image. Pillow has no
colours of 16 bits, so that fost reads and writes these PNG files itself.
"""

from __future__ import annotations

import io
import os
import struct
import warnings
import zlib
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike

from fost._typing import DType, Numbers, SlicedArray
from fost._validation import check_array, check_flag, check_path
from fost.io.arrays import TIFF_SUFFIXES
from fost.io.atomic import open_file, write_atomically

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
_PALETTE_MODES = ("P", "PA")

_PNG_MAGIC = b"\x89PNG\r\n\x1a\n"
# The tag of EXIF metadata that turns an image.
_ORIENTATION = 0x0112
# Size, bits, colour type, compression, filter method, interlacing.
_PNG_HEADER = ">IIBBBBB"
# The colour types of PNG by the shape of a pixel; two and four channels end with alpha.
_PNG_COLOUR_TYPES = {(2,): 4, (3,): 2, (4,): 6}

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
        If part of the file is not read: an alpha channel that is not fully opaque, or all images of
        a file but the first. The colours behind an alpha channel are returned unchanged. Also if an
        interlaced colour PNG of 16 bits is read with 8 bits, or if colours are converted from a
        palette or CMYK.

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
    image, alpha = read_with_alpha(path, stacklevel=3)
    if alpha is not None:
        name = os.fspath(path)
        warnings.warn(f"{name!r} has an alpha channel, which is ignored", UserWarning, stacklevel=2)
    return image


def read_with_alpha(
    path: str | os.PathLike[str], stacklevel: int = 2
) -> tuple[Numbers, Numbers | None]:
    """The image in a file, and its alpha channel unless that is missing or fully opaque."""
    check_path(path, "path")
    name = os.fspath(path)
    notes: list[str] = []
    with open_file(path) as file:
        _require_packages()
        try:
            tiff = file.read(4) in _TIFF_MAGIC
            file.seek(0)
            image, has_alpha = _read_tiff(file, notes) if tiff else _read_pillow(file, notes)
            image, alpha = _split_alpha(check_image(image, "it"), has_alpha)
        except MemoryError:
            raise
        except Exception as error:  # damaged files cause errors of any type
            raise ValueError(f"cannot read {name!r}: {_reason(error)}") from error
    for note in notes:
        warnings.warn(f"{name!r} has {note}", UserWarning, stacklevel=stacklevel)
    return image if image.flags.writeable else image.copy(), alpha


def write(path: str | os.PathLike[str], image: ArrayLike, *, overwrite: bool = True) -> None:
    """Write an image file, replacing an old one atomically.

    Parameters
    ----------
    path : path
        Its extension selects the format. JPEG (quality 95) and WebP are lossy; the other formats
        keep all values.
    image : array-like of shape (height, width) or (height, width, channels)
        PNG holds booleans, uint8 and uint16; TIFF holds every type of up to 64 bits; the others
        hold uint8. Values are never scaled or converted.
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


def holds(path: str | os.PathLike[str], dtype: DType | str, channels: int) -> bool:
    """Whether the format of `path` can hold images of this type with this many channels."""
    try:
        check_writable(path, dtype, channels)
    except ValueError:
        return False
    return True


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
    deep = image.dtype == np.uint16 and squeezed.shape[2:] in _PNG_COLOUR_TYPES
    if suffix == ".png" and deep:
        return _encode_deep_png(squeezed)
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


def _read_pillow(file: BinaryIO, notes: list[str]) -> tuple[Numbers, bool]:
    """The pixels of a file, and whether their last channel is alpha."""
    from PIL import Image, ImageOps

    with Image.open(file) as opened:
        _note_pages(getattr(opened, "n_frames", 1), opened.format == "TIFF", notes)
        tile = opened.tile[0] if opened.tile else ()
        if opened.mode in ("LA", "RGB", "RGBA") and "16" in str(tile[-1:]):
            turned = opened.getexif().get(_ORIENTATION, 1) != 1
            if opened.format == "PNG" and not turned and "transparency" not in opened.info:
                file.seek(0)
                deep = _decode_deep_png(file.read())
                if deep is not None:
                    return deep, deep.shape[2] != 3
            notes.append("16 bits per colour, of which Pillow reads 8")
        opened.load()
        image = ImageOps.exif_transpose(opened)
    if image.mode == "1":  # NumPy booleans are 0 and 1, these are 0 and 255
        return np.asarray(image.convert("L")) > 0, False
    if image.mode.startswith("I;16"):
        return np.asarray(image).astype(np.uint16), False
    if image.mode not in _PLAIN_MODES:
        kind = "a palette" if image.mode in _PALETTE_MODES else f"colours in {image.mode}"
        if image.mode not in ("La", "RGBa", "RGBX"):
            notes.append(f"{kind}, converted to red, green and blue")
        clear = image.mode in ("PA", "La", "RGBa") or "transparency" in image.info
        image = image.convert("RGBA" if clear else "RGB")
    return np.asarray(image), image.mode.endswith("A")


def _read_tiff(file: BinaryIO, notes: list[str]) -> tuple[Numbers, bool]:
    """Read by tifffile, or by Pillow where tifffile lacks the codec or the colour space."""
    import tifffile

    with tifffile.TiffFile(file) as tiff:
        page = tiff.pages.first
        _note_pages(len(tiff.pages), True, notes)
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
                return image, image.ndim == 3 and image.shape[2] in (2, 4)
        dtype = page.dtype
        file.seek(0)
        image, alpha = _read_pillow(file, notes)
        notes[:] = dict.fromkeys(notes)  # both may have counted the images
    if dtype is not None and image.dtype != dtype and image.dtype != np.bool_:
        raise ValueError(
            f"Pillow would read {dtype} as {image.dtype}; the package imagecodecs helps"
        )
    return image, alpha


def _decode_deep_png(content: bytes) -> Numbers | None:
    """The pixels of a PNG with two to four channels of 16 bits; None if it is interlaced.

    Filters are inverted along diagonals: a pixel depends on its left, upper and upper left
    neighbours only, which lie on the two diagonals before its own.
    """
    chunks = list(_png_chunks(content))
    header = next(data for kind, data in chunks if kind == b"IHDR")
    width, height, _, colour_type, _, _, interlaced = struct.unpack(_PNG_HEADER, header)
    if interlaced:
        return None
    (channels,) = next(key for key, value in _PNG_COLOUR_TYPES.items() if value == colour_type)
    n_bytes = 2 * channels  # of a pixel
    size = height * (1 + n_bytes * width)
    packed = b"".join(data for kind, data in chunks if kind == b"IDAT")
    raw = zlib.decompressobj().decompress(packed, size)
    if len(raw) < size:
        raise ValueError(f"it ends after {len(raw):,} of {size:,} bytes of pixels")
    rows = np.frombuffer(raw, np.uint8).reshape(height, -1)
    filters = rows[:, 0]
    if filters.max() > 4:
        raise ValueError(f"it has a filter of type {filters.max()}")
    # The pixels in rows, with zeros above and to the left.
    pixels = np.zeros(((height + 1) * (width + 1), n_bytes), np.uint8)
    inner = pixels.reshape(height + 1, width + 1, n_bytes)[1:, 1:]
    inner[:] = rows[:, 1:].reshape(height, width, n_bytes)
    kinds = filters[:, None]
    for diagonal in range(height + width - 1):
        top, bottom = max(0, diagonal - width + 1), min(height, diagonal + 1)
        # Pixels from top right to bottom left have a constant distance in memory.
        here = (np.arange(top, bottom) + 1) * width + diagonal + 2
        left, up, corner = (pixels[here - k].astype(np.int16) for k in (1, width + 1, width + 2))
        kind = kinds[top:bottom]
        a, b, c = (abs(left + up - corner - each) for each in (left, up, corner))
        paeth = np.where((a <= b) & (a <= c), left, np.where(b <= c, up, corner))
        predictions = (np.zeros_like(left), left, up, (left + up) // 2, paeth)
        pixels[here] += np.choose(kind, predictions).astype(np.uint8)
    return np.ascontiguousarray(inner).view(">u2").astype(np.uint16)


def _png_chunks(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The chunks of a PNG file with their kinds, after a check of their sums."""
    start, kind = len(_PNG_MAGIC), b""
    while kind != b"IEND":
        if start + 8 > len(content):
            raise ValueError("it is truncated")
        length, kind = struct.unpack_from(">I4s", content, start)
        data = content[start + 8 : start + 8 + length]
        start += 12 + length
        if content[start - 4 : start] != struct.pack(">I", zlib.crc32(kind + data)):
            raise ValueError("it is truncated, or does not match its checksum")
        yield kind, data


def _encode_deep_png(image: Numbers) -> bytes:
    """A PNG file of two to four channels of 16 bits, whose filter subtracts the upper pixels."""
    height, width, _ = image.shape
    pixels = image.astype(">u2", order="C").view(np.uint8).reshape(height, -1)
    differences = np.diff(pixels, axis=0, prepend=np.zeros_like(pixels[:1]))
    rows = np.insert(differences, 0, 2, axis=1)  # the type of the filter
    colour_type = _PNG_COLOUR_TYPES[image.shape[2:]]
    header = struct.pack(_PNG_HEADER, width, height, 16, colour_type, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b""))
    return _PNG_MAGIC + b"".join(
        struct.pack(">I4s", len(data), kind) + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def _note_pages(count: int, is_tiff: bool, notes: list[str]) -> None:
    hint = "; fost denoise and fost inpaint read all with --volume" if is_tiff else ""
    if count > 1:
        notes.append(f"{count} images, of which the first is read{hint}")


def _split_alpha(image: Numbers, has_alpha: bool) -> tuple[Numbers, Numbers | None]:
    """The channels other than alpha, and alpha unless it is opaque."""
    alpha = None
    if has_alpha:
        opaque = np.iinfo(image.dtype).max if image.dtype.kind in "iu" else 1
        if (image[..., -1] != opaque).any():
            alpha = image[..., -1]
        image = image[..., :-1]
    if image.ndim == 3 and image.shape[2] == 1:
        image = image[..., 0]
    return np.ascontiguousarray(image), alpha


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
