"""Code files: sparse codes with everything that decoding needs except the model.

An .npz file without pickles that holds

``data``, ``indices``, ``indptr``, ``shape``, ``format``
    the codes as scipy.sparse.save_npz stores them, with indices in the smallest type that holds
    them; scipy.sparse.load_npz reads them unless ``data`` is float16
``means``
    the mean of each patch of an image, in the type of ``data``; empty for arrays
``metadata``
    JSON with ``format`` ("fost codes"), ``version`` (1), ``signals`` ("image" or "array"),
    ``model`` (the checksum of the transform), ``n_nonzero_coefs``, ``relative_error`` and
    ``dtype``. Images add ``image_shape``, ``patch_shape``, ``psnr``, ``low`` and ``high`` (the
    pixel values that correspond to 0 and 1). The patches of an image do not overlap, except at the
    right and lower border (see fost.restoration.patches).
"""

from __future__ import annotations

import io
import json
import os
import re
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from fost.io.arrays import read_npy_header
from fost.io.atomic import open_file, write_atomically

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from fost._typing import DType, Numbers

_FORMAT, _VERSION = "fost codes", 1
# The arrays of a file: the kinds of types that are allowed, and the number of axes.
_ARRAYS = {
    "metadata": ("U", 0),
    "data": ("f", 1),
    "indices": ("iu", 1),
    "indptr": ("iu", 1),
    "shape": ("iu", 1),
    "means": ("f", 1),
}
_REAL = re.compile(r"bool|u?int(8|16|32|64)|float(16|32|64|96|128)")
# Bytes of arrays, and pixels, that any file may claim. A larger file may claim more, in proportion
# to its size: zlib shrinks codes by a small factor, and an image of more than 256 pixels per byte
# would have fewer than four coefficients (of 40 bytes) per patch of 64 x 64 pixels.
_FREE = 2**24
_BYTES_PER_BYTE, _PIXELS_PER_BYTE = 100, 256
# An upper bound of the bytes of an .npy header.
_HEADER = 256


@dataclass(frozen=True)
class EncodedImage:
    """Shape and range of the image that codes belong to, and the PSNR after decoding."""

    image_shape: tuple[int, ...]
    patch_shape: tuple[int, int]
    low: float
    high: float
    psnr: float | None  # None is infinity

    @property
    def channel_axis(self) -> int | None:
        return None if len(self.image_shape) == 2 else -1


@dataclass(frozen=True)
class SavedCodes:
    """The content of a code file."""

    codes: csr_array
    means: Numbers
    model: str
    n_nonzero_coefs: int
    relative_error: float
    dtype: str
    image: EncodedImage | None = None
    # The type that coefficients and means are stored in; None is their own.
    stored_dtype: str | None = None

    @property
    def signals(self) -> str:
        """What the codes are of."""
        return "array" if self.image is None else "image"


def save_codes(path: Path, saved: SavedCodes) -> int:
    """Write a code file atomically; returns its size in bytes."""
    import numpy as np

    codes, image = saved.codes, saved.image
    metadata = {
        "format": _FORMAT,
        "version": _VERSION,
        "signals": saved.signals,
        "model": saved.model,
        "n_nonzero_coefs": saved.n_nonzero_coefs,
        "relative_error": saved.relative_error,
        "dtype": saved.dtype,
        **(asdict(image) if image else {}),
    }
    arrays = {
        "data": codes.data.astype(saved.stored_dtype or codes.dtype, copy=False),
        "indices": _smallest(codes.indices, codes.shape[1]),
        "indptr": _smallest(codes.indptr, codes.nnz + 1),
        "shape": np.array(codes.shape),
        "format": np.array(b"csr"),
        "_is_array": np.array(True),
        "means": saved.means.astype(saved.stored_dtype or saved.means.dtype, copy=False),
        "metadata": np.array(json.dumps(metadata)),
    }
    n_bytes = sum(array.nbytes + _HEADER for array in arrays.values())
    n_pixels = prod(image.image_shape) if image else 0
    # Codes that compress too well for the limits of `load_codes` are stored uncompressed.
    for write in (np.savez_compressed, np.savez):
        buffer = io.BytesIO()
        write(buffer, **arrays)
        if n_bytes <= _max_bytes(buffer.tell()) and n_pixels <= _max_pixels(buffer.tell()):
            break
    else:
        raise ValueError(
            f"cannot write {str(path)!r}: {buffer.tell():,} bytes are too few for an image of "
            f"{n_pixels:,} pixels; use smaller patches or more coefficients"
        )
    write_atomically(path, buffer.getvalue())
    return buffer.tell()


def load_codes(path: Path) -> SavedCodes:
    """Read a code file; a ValueError says what is wrong with it.

    Memory is bounded by the size of the file, whatever the file claims.
    """
    with open_file(path) as file:
        try:
            if not zipfile.is_zipfile(file):
                raise ValueError("it was not written by fost encode")
            with zipfile.ZipFile(file) as archive:
                return _load(archive, os.fstat(file.fileno()).st_size)
        except MemoryError:
            raise
        except Exception as error:
            raise ValueError(f"cannot read codes from {str(path)!r}: {_reason(error)}") from error


def to_float16(saved: SavedCodes) -> SavedCodes:
    """The same codes with coefficients and means rounded to float16."""
    import numpy as np

    values = saved.codes.data
    with np.errstate(over="ignore"):
        data, means = (
            numbers.astype(np.float16).astype(numbers.dtype) for numbers in (values, saved.means)
        )
    if not (np.isfinite(data).all() and np.isfinite(means).all()):
        largest = max(float(np.abs(each).max(initial=0)) for each in (values, saved.means))
        raise ValueError(f"float16 holds numbers up to 65504, the codes have {largest:.6g}")
    kept, lost = (
        float(np.square(each, dtype=np.float64).sum()) for each in (values, values - data)
    )
    # The rounding errors are orthogonal to the residual, so squared errors add up.
    share = lost / kept if kept > 0 else 0.0
    error = saved.relative_error + share * (1 - saved.relative_error)
    rounded = saved.codes.copy()
    rounded.data = data
    return replace(saved, codes=rounded, means=means, relative_error=error, stored_dtype="float16")


def _smallest(numbers: Numbers, end: int) -> Numbers:
    """Integers from 0 to `end` - 1 in the smallest type that holds them."""
    import numpy as np

    return numbers.astype(np.min_scalar_type(max(0, end - 1)), copy=False)


def _max_bytes(file_size: int) -> int:
    return max(_FREE, _BYTES_PER_BYTE * file_size)


def _max_pixels(file_size: int) -> int:
    """Pixels of all channels together."""
    return max(_FREE, _PIXELS_PER_BYTE * file_size)


def _load(archive: zipfile.ZipFile, file_size: int) -> SavedCodes:
    import numpy as np
    from scipy.sparse import csr_array

    from fost._validation import check_integer, check_number
    from fost.coding.decode import check_codes

    names = set(archive.namelist())
    if "metadata.npy" not in names:
        raise ValueError("it was not written by fost encode")
    for name in _ARRAYS:
        if f"{name}.npy" not in names:
            raise ValueError(f"it has no {name}")
    n_bytes = sum(archive.getinfo(f"{name}.npy").file_size for name in _ARRAYS)
    if n_bytes > _max_bytes(file_size):
        raise ValueError(f"its arrays of {n_bytes:,} bytes are too long for {file_size:,} bytes")
    arrays = {name: _read_member(archive, name) for name in _ARRAYS}
    metadata = json.loads(str(arrays["metadata"]))
    if not isinstance(metadata, dict):
        raise ValueError("its metadata are not those of codes")
    if metadata["format"] != _FORMAT or metadata["version"] != _VERSION:
        raise ValueError(f"this fost reads version {_VERSION} of codes")
    n_signals, n_features = (check_integer(k, "shape", 0, 2**62) for k in arrays["shape"].tolist())
    # float16 is for storage only.
    data, means = (
        array.astype("float32") if array.dtype.itemsize == 2 else array
        for array in (arrays["data"], arrays["means"])
    )
    matrix = csr_array((data, arrays["indices"], arrays["indptr"]), shape=(n_signals, n_features))
    codes = check_codes(matrix, n_features, "the file")
    dtype, image = _dtype(metadata["dtype"]), None
    if metadata["signals"] == "image":
        image = _encoded_image(metadata, _max_pixels(file_size))
    elif metadata["signals"] != "array" or dtype.kind != "f":
        raise ValueError(f"its signals are {metadata['signals']!r} of {dtype}")
    if means.shape != (0 if image is None else n_signals,) or not np.isfinite(means).all():
        raise ValueError("its means do not fit its codes")
    return SavedCodes(
        codes,
        means,
        str(metadata["model"]),
        check_integer(metadata["n_nonzero_coefs"], "n_nonzero_coefs", 1, 2**31 - 1),
        check_number(metadata["relative_error"], "relative_error", 0),
        dtype.name,
        image,
    )


def _read_member(archive: zipfile.ZipFile, name: str) -> Numbers:
    """One array of the archive, if its type and length are as expected."""
    import numpy as np

    kinds, n_axes = _ARRAYS[name]
    info = archive.getinfo(f"{name}.npy")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"its {name} are compressed in a way that fost does not use")
    with archive.open(info) as member:
        header = read_npy_header(cast(BinaryIO, member))
        if header.dtype.kind not in kinds or len(header.shape) != n_axes:
            raise ValueError(f"its {name} are {header.dtype} of shape {header.shape}")
        content = member.read()
    if len(content) != header.n_bytes:
        raise ValueError(f"its {name} have {len(content):,} of {header.n_bytes:,} bytes")
    return np.frombuffer(content, header.dtype).reshape(header.shape)


def _dtype(name: object) -> DType:
    """The real type with a name; NumPy would make types of much more."""
    import numpy as np

    if not isinstance(name, str) or not _REAL.fullmatch(name):
        raise ValueError(f"its numbers are {name!r}, not a type of real numbers")
    return np.dtype(name)


def _encoded_image(metadata: Mapping[str, Any], max_pixels: int) -> EncodedImage:
    from fost._validation import check_integer, check_number

    shape, patch_shape = (
        tuple(check_integer(k, name, 1, 2**31 - 1) for k in metadata[name])
        for name in ("image_shape", "patch_shape")
    )
    if len(shape) not in (2, 3) or len(patch_shape) != 2:
        raise ValueError(f"its image has the shape {shape}, its patches {patch_shape}")
    if prod(shape) > max_pixels:
        raise ValueError(f"its image of shape {shape} is too large for so small a file")
    psnr, low = metadata["psnr"], check_number(metadata["low"], "low")
    return EncodedImage(
        shape,
        (patch_shape[0], patch_shape[1]),
        low,
        check_number(metadata["high"], "high", above=low),
        None if psnr is None else check_number(psnr, "psnr"),
    )


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"it has no {error.args[0] if error.args else error}"
    return str(error) if isinstance(error, ValueError | TypeError) else "it is damaged"
