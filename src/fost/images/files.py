"""Picture files: what is in them is what you get, and nothing is ever half-written.

TIFF goes through tifffile, everything else (PNG, JPEG, WebP, BMP, GIF, ...) through Pillow;
scikit-image brings both.
"""

from __future__ import annotations

import io
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from fost._files import open_file, write_atomically
from fost._typing import Numbers
from fost._validation import check_flag, check_path
from fost.images.pixels import check_image

if TYPE_CHECKING:
    from PIL import Image

_TIFF_BEGINS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_TIFF_NAMES = (".tif", ".tiff")
# Bytes of pixels that any TIFF may have, and for each byte of a larger one: LZW and deflate make
# less of one. Pillow has a limit of its own.
_FREE_BYTES = 2**29
_MOST_TO_ONE = 2000
_JPEG_NAMES = (".jpg", ".jpeg")
# Without the usual loss of colour resolution, since what is written was computed with care.
_JPEG_OPTIONS: dict[str, Any] = {"quality": 95, "subsampling": 0}

# Pillow's modes that NumPy takes as they are; all others become RGB, RGBA or a grey with alpha.
_PLAIN_MODES = ("L", "LA", "RGB", "RGBA", "I", "F")


def read(path: str | os.PathLike[str]) -> Numbers:
    """Read a picture.

    Parameters
    ----------
    path : path
        A file of any kind that Pillow or tifffile can open.

    Returns
    -------
    ndarray of shape (height, width) or (height, width, 3)
        In the type of the file: uint8, uint16, floats or booleans, as stored. Palettes and
        CMYK become red, green and blue; the orientation that a camera noted is applied.

    Warns
    -----
    UserWarning
        If something is left out: an alpha channel that is not opaque throughout (the colours
        behind it are returned as they are), all pictures of a file but the first, or half of
        the 16 bits of a colour PNG, which Pillow reads in 8.

    Raises
    ------
    OSError
        If the file is missing or must not be read.
    ValueError
        If it is not a picture, or is damaged.

    Examples
    --------
    >>> import fost, numpy as np, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "picture.png")
    >>> fost.images.write(path, np.arange(6, dtype=np.uint8).reshape(2, 3))
    >>> fost.images.read(path)
    array([[0, 1, 2],
           [3, 4, 5]], dtype=uint8)
    """
    check_path(path, "path")
    name = os.fspath(path)
    left_out: list[str] = []
    with open_file(path) as file:
        _needed()
        try:
            tiff = file.read(4) in _TIFF_BEGINS
            file.seek(0)
            image = _read_tiff(file, left_out) if tiff else _read_other(file, left_out)
            image = check_image(image, "it")
        except MemoryError:
            raise
        except Exception as error:  # decoders raise whatever a damaged file makes them
            raise ValueError(f"cannot read {name!r}: {_reason(error)}") from error
    for what in left_out:
        warnings.warn(f"{name!r} has {what}", UserWarning, stacklevel=2)
    return image if image.flags.writeable else image.copy()


def write(path: str | os.PathLike[str], image: ArrayLike, *, overwrite: bool = True) -> None:
    """Write a picture, replacing an old file in one step: nobody ever sees half of one.

    Parameters
    ----------
    path : path
        Its extension says what kind of file it is. JPEG is lossy, also at the quality of 95 that
        is used; everything else keeps all values.
    image : array-like of shape (height, width) or (height, width, channels)
        PNG holds booleans, uint8, and uint16 without colour; TIFF holds every type of up to 64
        bits; the others hold uint8. Values are never scaled or converted.
    overwrite : bool
        Whether an existing file may be replaced.

    Raises
    ------
    ValueError
        If a file of this kind cannot hold this picture.
    FileExistsError
        If the file exists and `overwrite` is false.

    Examples
    --------
    >>> import fost, numpy as np, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "picture.png")
    >>> fost.images.write(path, np.zeros((2, 3), dtype=np.uint8))
    >>> fost.images.read(path).shape
    (2, 3)
    """
    check_path(path, "path")
    overwrite = check_flag(overwrite, "overwrite")
    content = encoded(check_image(image, "image"), path)
    if not overwrite and os.path.lexists(path):
        raise FileExistsError(f"{os.fspath(path)!r} exists already")
    write_atomically(path, content)


def check_writable(path: str | os.PathLike[str], dtype: Any, channels: int | None = None) -> None:
    """Raises ValueError if `write` could not write pictures of this type to this kind of file."""
    encoded(np.zeros((1, 1) if channels is None else (1, 1, channels), dtype), path)


def encoded(image: Numbers, path: str | os.PathLike[str]) -> bytes:
    """The bytes of a file with this picture, of the kind that the name of the file says."""
    _needed()
    from PIL import Image

    name, suffix = os.fspath(path), Path(path).suffix.lower()
    buffer = io.BytesIO()
    squeezed = image[..., 0] if image.ndim == 3 and image.shape[2] == 1 else image
    if suffix in _TIFF_NAMES:
        import tifffile

        if image.dtype.itemsize > 8:
            raise ValueError(f"cannot write {name!r}: no file holds an image of {image.dtype}")
        colours = image.ndim == 3 and image.shape[2] in (3, 4)
        options: dict[str, Any] = {"photometric": "rgb" if colours else "minisblack"}
        if squeezed.ndim == 3 and image.dtype == np.bool_:
            # tifffile does not read booleans of several channels side by side as it writes them.
            squeezed = np.moveaxis(squeezed, -1, 0)
            options["planarconfig"] = "separate"
        elif squeezed.ndim == 3:
            # Without it two channels would become a picture for each row of pixels.
            options["planarconfig"] = "contig"
        tifffile.imwrite(buffer, squeezed, **options)
        return buffer.getvalue()
    form = Image.registered_extensions().get(suffix)
    if form not in Image.SAVE:
        raise ValueError(
            f"cannot write {name!r}: {suffix or 'a name without an extension'} is no kind of "
            "picture file; .png and .tiff are"
        )
    try:
        options = _JPEG_OPTIONS if suffix in _JPEG_NAMES else {}
        _pillow_image(squeezed).save(buffer, format=form, **options)
    except (OSError, ValueError, TypeError, KeyError):
        colours = image.ndim == 3 and image.shape[2] > 1
        raise ValueError(
            f"cannot write {name!r}: {suffix} files do not hold "
            f"{'colours' if colours else 'pictures'} of {image.dtype}, .tiff files do"
        ) from None
    return buffer.getvalue()


def _pillow_image(image: Numbers) -> Image.Image:
    from PIL import Image

    if image.dtype not in (np.uint8, np.bool_) and not (
        image.dtype == np.uint16 and image.ndim == 2
    ):
        raise TypeError(f"Pillow would convert {image.dtype}")
    return Image.fromarray(np.ascontiguousarray(image))


def _read_other(file: Any, left_out: list[str]) -> Numbers:
    """All that Pillow opens."""
    from PIL import Image, ImageOps

    with Image.open(file) as opened:
        _note_others(getattr(opened, "n_frames", 1), left_out)
        tile = opened.tile[0] if opened.tile else ()
        if opened.mode.startswith("RGB") and "16" in str(tile[-1:]):
            left_out.append("16 bits per colour, of which Pillow reads 8")
        opened.load()
        image = ImageOps.exif_transpose(opened)
    if image.mode == "1":  # its bytes are 0 and 255, which are no booleans to NumPy
        return np.asarray(image.convert("L")) > 0
    if image.mode.startswith("I;16"):
        return np.asarray(image).astype(np.uint16)
    if image.mode not in _PLAIN_MODES:
        clear = image.mode in ("PA", "La", "RGBa") or "transparency" in image.info
        image = image.convert("RGBA" if clear else "RGB")
    return _without_alpha(np.asarray(image), image.mode.endswith("A"), left_out)


def _read_tiff(file: Any, left_out: list[str]) -> Numbers:
    """By tifffile, and by Pillow where tifffile lacks the codec or the kind of colours."""
    import tifffile

    with tifffile.TiffFile(file) as tiff:
        page = tiff.pages.first
        _note_others(len(tiff.pages), left_out)
        plain = page.photometric in (
            tifffile.PHOTOMETRIC.MINISBLACK,
            tifffile.PHOTOMETRIC.RGB,
        )
        size = os.fstat(file.fileno()).st_size
        if page.nbytes > max(_FREE_BYTES, _MOST_TO_ONE * size):
            raise ValueError(f"its {page.nbytes:,} bytes of pixels are too many for {size:,} bytes")
        if plain and page.axes in ("YX", "YXS", "SYX"):
            try:
                image = np.asarray(page.asarray())
            except ValueError:
                image = None  # a codec of the package imagecodecs
            if image is not None:
                image = np.moveaxis(image, 0, -1) if page.axes == "SYX" else image
                alpha = image.ndim == 3 and image.shape[2] in (2, 4)
                return _without_alpha(image, alpha, left_out)
        dtype = page.dtype
        file.seek(0)
        image = _read_other(file, left_out)
        left_out[:] = dict.fromkeys(left_out)  # both may have counted the pictures
    if dtype is not None and image.dtype != dtype and image.dtype != np.bool_:
        raise ValueError(
            f"Pillow would read {dtype} as {image.dtype}; the package imagecodecs helps"
        )
    return image


def _note_others(count: int, left_out: list[str]) -> None:
    if count > 1:
        left_out.append(f"{count} pictures, of which the first is read")


def _without_alpha(image: Numbers, alpha: bool, left_out: list[str]) -> Numbers:
    """The colours alone, or the grey."""
    if alpha:
        opaque = np.iinfo(image.dtype).max if image.dtype.kind in "iu" else 1
        if (image[..., -1] != opaque).any():
            left_out.append("an alpha channel, which is left out")
        image = image[..., :-1]
    if image.ndim == 3 and image.shape[2] == 1:
        image = image[..., 0]
    return np.ascontiguousarray(image)


def _needed() -> None:
    try:
        import PIL.Image  # noqa: F401
        import tifffile  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "reading and writing pictures needs packages that are not installed: "
            "pip install 'fost[images]'"
        ) from error


def _reason(error: Exception) -> str:
    from PIL import UnidentifiedImageError

    if isinstance(error, UnidentifiedImageError):
        return "not a picture that Pillow or tifffile can open"
    return str(error).splitlines()[0] if str(error) else type(error).__name__
