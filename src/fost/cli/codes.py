"""Files of codes: sparse codes with all that is needed to decode them but the model.

An .npz file, which holds no pickles, with

``data``, ``indices``, ``indptr``, ``shape``, ``format``
    the codes as `scipy.sparse.save_npz` stores them, but numbers of atoms in the smallest type
    that holds them; `scipy.sparse.load_npz` reads them, unless ``data`` is float16
``means``
    the mean of each patch, of the type of ``data``; of length 0 for arrays
``metadata``
    JSON with ``format`` ("fost codes"), ``version`` (1), ``signals`` ("picture" or "array"),
    ``model`` (the checksum of the transform), ``sparsity``, ``relative_error``, ``dtype`` (of
    the picture or the array) and, for pictures, ``image_shape``, ``patch``, ``low``, ``high``
    (the values that were taken to 0 and 1) and ``psnr``. The patches of a picture do not
    overlap, but for those at the right and lower border (see `fost.restoration.patches`).
"""

from __future__ import annotations

import io
import json
import os
import re
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from fost.cli.errors import UserError, reading, writing

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from fost._typing import DType, Numbers

FORMAT = "fost codes"
VERSION = 1

# The arrays that are read: the kinds that they may be of, and how many axes they have.
_ARRAYS = {
    "metadata": ("U", 0),
    "data": ("f", 1),
    "indices": ("iu", 1),
    "indptr": ("iu", 1),
    "shape": ("iu", 1),
    "means": ("f", 1),
}
_REAL = re.compile(r"bool|u?int(8|16|32|64)|float(16|32|64|96|128)")
# Bytes of arrays, and pixels, that any file may ask for; larger ones as many as they have bytes
# for (see `_most_bytes`). What `Codes.save` writes keeps to this.
_FREE = 2**24
# What comes before the numbers of an array, at most.
_HEADER = 256


@dataclass(frozen=True)
class Picture:
    """What a picture was before it was coded."""

    image_shape: tuple[int, ...]
    patch: tuple[int, int]
    low: float
    high: float
    psnr: float | None


@dataclass(frozen=True)
class Codes:
    """What is in a file of codes."""

    codes: csr_array
    means: Numbers
    model: str
    sparsity: int
    relative_error: float
    dtype: str
    picture: Picture | None
    # What coefficients and means are stored in: their own type, or float16, which must hold them.
    values: str | None = None

    def save(self, path: Path) -> int:
        """Write to a file in one step; returns its size in bytes."""
        import numpy as np

        from fost._files import write_atomically

        metadata = {
            "format": FORMAT,
            "version": VERSION,
            "signals": "array" if self.picture is None else "picture",
            "model": self.model,
            "sparsity": self.sparsity,
            "relative_error": self.relative_error,
            "dtype": self.dtype,
            **(asdict(self.picture) if self.picture else {}),
        }
        arrays = {
            "data": self.codes.data.astype(self.values or self.codes.dtype, copy=False),
            "indices": _smallest(self.codes.indices, self.codes.shape[1]),
            "indptr": _smallest(self.codes.indptr, self.codes.nnz + 1),
            "shape": np.array(self.codes.shape),
            "format": np.array(b"csr"),
            "_is_array": np.array(True),
            "means": self.means.astype(self.values or self.means.dtype, copy=False),
            "metadata": np.array(json.dumps(metadata)),
        }
        n_bytes = sum(array.nbytes + _HEADER for array in arrays.values())
        n_pixels = prod(self.picture.image_shape) if self.picture else 0
        for write in (np.savez_compressed, np.savez):
            buffer = io.BytesIO()
            write(buffer, **arrays)
            # What compresses beyond belief is written as it is, to be read again.
            if n_bytes <= _most_bytes(buffer.tell()) and n_pixels <= _most_pixels(buffer.tell()):
                break
        else:
            raise UserError(
                f"cannot write {str(path)!r}: {buffer.tell():,} bytes are too few for a picture of "
                f"{n_pixels:,} pixels to be read again; smaller patches or more entries help"
            )
        with writing(path):
            write_atomically(path, buffer.getvalue())
        return buffer.tell()


def _smallest(numbers: Numbers, end: int) -> Numbers:
    """Whole numbers from 0 to below `end` in the smallest type that holds them."""
    import numpy as np

    return numbers.astype(np.min_scalar_type(max(0, end - 1)), copy=False)


def _single(numbers: Numbers) -> Numbers:
    """float16 is a type of files alone."""
    return numbers.astype("float32") if numbers.dtype.itemsize == 2 else numbers


def _most_bytes(file_size: int) -> int:
    """How long the arrays of a file may be: what zlib makes of codes is a few times as long."""
    return max(_FREE, 100 * file_size)


def _most_pixels(file_size: int) -> int:
    """How large a picture may be, all channels together: four coefficients, of 40 bytes with
    all that belongs to them, for patches of 64 x 64 pixels are well below."""
    return max(_FREE, 256 * file_size)


def load_codes(path: Path) -> Codes:
    """Read a file of codes; whatever is wrong with it is a UserError.

    It takes no more memory than a file of its size may ask for, whatever is in it.
    """
    from fost._files import open_file

    with reading(path), open_file(path) as file:
        try:
            if not zipfile.is_zipfile(file):
                raise ValueError("it was not written by fost encode")
            with zipfile.ZipFile(file) as archive:
                return _loaded(archive, os.fstat(file.fileno()).st_size)
        except MemoryError:
            raise
        except Exception as error:
            raise UserError(f"cannot read codes from {str(path)!r}: {_reason(error)}") from error


def _loaded(archive: zipfile.ZipFile, file_size: int) -> Codes:
    import numpy as np
    from scipy.sparse import csr_array

    from fost._validation import check_integer, check_number
    from fost.decoding import check_codes

    there = set(archive.namelist())
    if "metadata.npy" not in there:
        raise ValueError("it was not written by fost encode")
    for name in _ARRAYS:
        if f"{name}.npy" not in there:
            raise ValueError(f"it has no {name}")
    n_bytes = sum(archive.getinfo(f"{name}.npy").file_size for name in _ARRAYS)
    if n_bytes > _most_bytes(file_size):
        raise ValueError(f"its arrays of {n_bytes:,} bytes are too long for {file_size:,} bytes")
    arrays = {name: _array(archive, name) for name in _ARRAYS}
    metadata = json.loads(str(arrays["metadata"]))
    if not isinstance(metadata, dict):
        raise ValueError("its metadata are not those of codes")
    if metadata["format"] != FORMAT or metadata["version"] != VERSION:
        raise ValueError(f"this fost reads version {VERSION} of codes")
    n_signals, n_features = (check_integer(k, "shape", 0, 2**62) for k in arrays["shape"].tolist())
    parts = _single(arrays["data"]), arrays["indices"], arrays["indptr"]
    codes = check_codes(csr_array(parts, shape=(n_signals, n_features)), n_features, "the file")
    dtype, picture = _dtype(metadata["dtype"]), None
    if metadata["signals"] == "picture":
        picture = _picture(metadata, _most_pixels(file_size))
    elif metadata["signals"] != "array" or dtype.kind != "f":
        raise ValueError(f"its signals are {metadata['signals']!r} of {dtype}")
    means = _single(arrays["means"])
    if means.shape != (0 if picture is None else n_signals,) or not np.isfinite(means).all():
        raise ValueError("its means do not fit its codes")
    return Codes(
        codes,
        means,
        str(metadata["model"]),
        check_integer(metadata["sparsity"], "sparsity", 1, 2**31 - 1),
        check_number(metadata["relative_error"], "relative_error", 0),
        dtype.name,
        picture,
    )


def _array(archive: zipfile.ZipFile, name: str) -> Numbers:
    """An array of the file, if it is of the kind that it should be and as long as it says."""
    import numpy as np

    from fost.cli.npy import read_header

    kinds, n_axes = _ARRAYS[name]
    info = archive.getinfo(f"{name}.npy")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"its {name} are compressed in a way that fost does not use")
    with archive.open(info) as member:
        header = read_header(cast(BinaryIO, member))
        if header.dtype.kind not in kinds or len(header.shape) != n_axes:
            raise ValueError(f"its {name} are {header.dtype} of shape {header.shape}")
        content = member.read()
    if len(content) != header.n_bytes:
        raise ValueError(f"its {name} have {len(content):,} of {header.n_bytes:,} bytes")
    return np.frombuffer(content, header.dtype).reshape(header.shape)


def _dtype(name: Any) -> DType:
    """A type of real numbers by its name, and nothing else that NumPy makes types of."""
    import numpy as np

    if not isinstance(name, str) or not _REAL.fullmatch(name):
        raise ValueError(f"its numbers are {name!r}, not a type of real numbers")
    return np.dtype(name)


def _picture(metadata: Mapping[str, Any], most_pixels: int) -> Picture:
    from fost._validation import check_integer, check_number

    shape, patch = (
        tuple(check_integer(k, name, 1, 2**31 - 1) for k in metadata[name])
        for name in ("image_shape", "patch")
    )
    if len(shape) not in (2, 3) or len(patch) != 2:
        raise ValueError(f"its picture has the shape {shape}, its patches {patch}")
    if prod(shape) > most_pixels:
        raise ValueError(f"its picture of shape {shape} is too large for so small a file")
    psnr = metadata["psnr"]
    low = check_number(metadata["low"], "low")
    return Picture(
        shape,
        (patch[0], patch[1]),
        low,
        check_number(metadata["high"], "high", above=low),
        None if psnr is None else check_number(psnr, "psnr"),
    )


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"it has no {error.args[0] if error.args else error}"
    return str(error) if isinstance(error, ValueError | TypeError) else "it is damaged"
