"""Files of samples that are written part by part: .npy, .zarr, sound, TIFF with many pages."""

from __future__ import annotations

import io
import os
import shutil
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from fost.cli.errors import UserError, writing
from fost.cli.samples import TIFF, Samples, is_sound
from fost.cli.signals import is_zarr

if TYPE_CHECKING:
    from fost._typing import DType

# Bytes that the header of sound can tell, and those of TIFF without its large form, nearly.
_MOST_OF_SOUND, _MOST_OF_TIFF = 2**32 - 64, 2**32 - 2**25
_PCM, _FLOAT = 1, 3  # formats of sound


@contextmanager
def writing_samples(output: Path, like: Samples) -> Iterator[Any]:
    """An array for samples like others, which is the file `output` when all went well."""
    import numpy as np

    from fost._files import is_special, replacing

    shape, dtype = like.shape, like.dtype
    with writing(output):
        if is_zarr(output):
            with _new_zarr(output, shape, dtype) as made:
                yield made
            return
        with replacing(output) as file:
            if is_special(output):  # which is written to from first to last
                buffer, array = io.BytesIO(), np.empty(shape, dtype)
                offset = _begin(output, buffer, like)
                yield array
                buffer.getbuffer()[offset : offset + array.nbytes] = array.tobytes()
                file.write(buffer.getvalue())
                return
            offset = _begin(output, file, like)
            file.flush()
            mapped = np.memmap(file, dtype, "r+", offset=offset, shape=shape)
            yield mapped
            mapped.flush()


def _begin(output: Path, file: BinaryIO, like: Samples) -> int:
    """Write all but the samples, for which room is left; returns where they begin."""
    import numpy as np

    n_bytes = prod(like.shape) * like.dtype.itemsize
    if output.suffix.lower() in TIFF:
        import tifffile

        room = tifffile.imwrite(
            file,
            shape=like.shape,
            dtype=like.dtype,
            photometric="rgb" if like.channel_axis is not None else "minisblack",
            bigtiff=n_bytes > _MOST_OF_TIFF,
            returnoffset=True,
        )
        assert room is not None  # since nothing is compressed
        return room[0]
    if is_sound(output):
        file.write(_sound_header(output, like, n_bytes))
    else:
        np.lib.format.write_array_header_1_0(
            file,
            {
                "descr": np.lib.format.dtype_to_descr(like.dtype),
                "fortran_order": False,
                "shape": like.shape,
            },
        )
    offset = file.tell()
    file.seek(offset + n_bytes - 1)
    file.write(b"\0")
    return offset


def _sound_header(output: Path, like: Samples, n_bytes: int) -> bytes:
    """What comes before the samples of a .wav file: numbers of little-endian machines."""
    if n_bytes > _MOST_OF_SOUND:
        raise UserError(f"cannot write {str(output)!r}: .wav holds 4 GiB, .npy more")
    size, channels, rate = like.dtype.itemsize, prod(like.shape[1:]), like.rate or 1
    whole = like.dtype.kind != "f"
    kind = struct.pack("<HH", _PCM if whole else _FLOAT, channels)
    pace = struct.pack("<IIHH", rate, rate * size * channels, size * channels, 8 * size)
    form = kind + pace + (b"" if whole else b"\0\0")
    count = b"" if whole else b"fact" + struct.pack("<II", 4, like.shape[0])
    parts = b"WAVEfmt " + struct.pack("<I", len(form)) + form + count
    parts += b"data" + struct.pack("<I", n_bytes)
    return b"RIFF" + struct.pack("<I", len(parts) + n_bytes) + parts


@contextmanager
def _new_zarr(output: Path, shape: tuple[int, ...], dtype: DType) -> Iterator[Any]:
    """An array of Zarr under another name, which becomes `output` when all went well."""
    from fost._files import temporary_beside

    try:
        import zarr
    except ImportError as error:
        raise UserError("writing .zarr needs Zarr: pip install 'fost[dask]'") from error
    temporary = temporary_beside(Path(os.path.realpath(output)))
    try:
        yield zarr.create_array(str(temporary), shape=shape, dtype=dtype)
        os.replace(temporary, os.path.realpath(output))
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
