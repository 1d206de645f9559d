"""Signals, images and volumes in files, opened and written part by part where the format allows.

=============== ==========================================================
``.npy, .zarr`` arrays of any shape; a memory map, or chunks read on demand
``.wav``        audio, of shape (n,) or (n, channels); a memory map
TIFF stack      a volume whose slices are the pages of a TIFF
image           any other file, read and written as a whole
=============== ==========================================================
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from fost.io.audio import open_wav, wav_header
from fost.io.files import atomic_writer, is_special
from fost.io.npy import open_npy, write_npy_header
from fost.io.tiff import TIFF_SUFFIXES, open_stack, reserve_stack
from fost.io.zarr import create_zarr, open_zarr

if TYPE_CHECKING:
    from fost._typing import DType, SlicedArray

ARRAY_SUFFIXES = (".npy", ".zarr")
FileFormat = Literal["array", "audio", "stack", "image"]


@dataclass(frozen=True)
class Samples:
    """The array in a file, the axis of its channels if it has one, and the rate of audio."""

    array: SlicedArray
    channel_axis: int | None
    format: FileFormat
    rate: int = 1

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(int(k) for k in self.array.shape)

    @property
    def dtype(self) -> DType:
        return self.array.dtype.newbyteorder("=")

    @property
    def n_axes(self) -> int:
        """The number of axes without that of the channels."""
        return len(self.shape) - (self.channel_axis is not None)


def file_format(path: Path, volume: bool = False) -> FileFormat:
    """The format of a file by its extension; `volume` makes every TIFF a stack."""
    suffix = path.suffix.lower()
    if suffix in ARRAY_SUFFIXES:
        return "array"
    if suffix == ".wav":
        return "audio"
    return "stack" if volume and suffix in TIFF_SUFFIXES else "image"


def open_array(path: str | os.PathLike[str]) -> SlicedArray:
    """Open an .npy file as a memory map, or a .zarr array whose chunks are read on demand."""
    place = Path(path)
    array: SlicedArray = open_zarr(place) if place.suffix.lower() == ".zarr" else open_npy(place)
    if array.dtype.kind not in "biuf":
        raise ValueError(
            f"cannot use {str(path)!r}: its entries are {array.dtype}, not real numbers"
        )
    return array


def open_samples(path: Path, volume: bool = False, channel_axis: int | None = None) -> Samples:
    """Open a file in any format; `channel_axis` is for arrays, other formats tell it themselves."""
    form = file_format(path, volume)
    if form == "array":
        return Samples(open_array(path), channel_axis, form)
    if form == "audio":
        sound, rate = open_wav(path)
        return Samples(sound, None if sound.ndim == 1 else 1, form, rate)
    if form == "stack":
        array, colours = open_stack(path)
        return Samples(array, -1 if colours else None, form)
    from fost.io import images

    image = images.read(path)
    return Samples(image, None if image.ndim == 2 else -1, form)


def check_conversion(path: Path, output: Path, volume: bool = False) -> None:
    """Raise a ValueError if the samples of one file cannot be written to the other."""
    suffix, form = path.suffix.lower(), file_format(path, volume)
    if volume and form != "stack":
        raise ValueError(f"cannot read {str(path)!r} as a volume: it is not a TIFF file")
    if file_format(output, volume) not in ("array", form):
        own = {"audio": " or .wav", "stack": " or .tiff", "image": " or images"}.get(form, "")
        raise ValueError(
            f"cannot write {str(output)!r}: {suffix} files are converted to .npy, .zarr{own}"
        )


@contextmanager
def create_samples(path: Path, like: Samples) -> Iterator[Any]:
    """An array to be filled, which becomes the file `path` when the block ends without an error.

    Shape, type, channels and rate are those of `like`. Formats other than images are written
    through a memory map or chunk by chunk.
    """
    import numpy as np

    form = file_format(path, like.format == "stack")
    if path.suffix.lower() == ".zarr":
        with create_zarr(path, like.shape, like.dtype) as array:
            yield array
    elif form == "image":
        from fost.io import images

        images.check_writable(path, like.dtype, like.shape[2] if len(like.shape) == 3 else None)
        array = np.empty(like.shape, like.dtype)
        yield array
        images.write(path, array)
    else:
        special = is_special(path)  # a pipe cannot be mapped
        with (
            atomic_writer(path) as file,
            tempfile.TemporaryFile() if special else nullcontext(file) as mapped,
        ):
            offset = _reserve(mapped, form, like)
            mapped.flush()
            array = np.memmap(mapped, like.dtype, "r+", offset=offset, shape=like.shape)
            yield array
            array.flush()
            if special:
                mapped.seek(0)
                shutil.copyfileobj(mapped, file)


def _reserve(file: BinaryIO, form: FileFormat, like: Samples) -> int:
    """Write a file with room for its samples; returns where they begin."""
    if form == "stack":
        return reserve_stack(file, like.shape, like.dtype, like.channel_axis is not None)
    if form == "audio":
        file.write(wav_header(like.shape, like.dtype, like.rate))
    else:
        write_npy_header(file, like.shape, like.dtype)
    offset = file.tell()
    file.truncate(offset + prod(like.shape) * like.dtype.itemsize)
    return offset
