"""TIFF files whose pages are the slices of a volume."""

from __future__ import annotations

import os
from math import prod
from types import ModuleType
from typing import TYPE_CHECKING, BinaryIO

from fost.io.files import open_file

if TYPE_CHECKING:
    from fost._typing import DType, Numbers, SlicedArray

TIFF_SUFFIXES = (".tif", ".tiff")
# Classic TIFF has offsets of 32 bits; the rest is room for the tags.
_MAX_CLASSIC_BYTES = 2**32 - 2**25


def open_stack(path: str | os.PathLike[str]) -> tuple[SlicedArray, bool]:
    """The pages of a TIFF as one array, and whether its last axis is colours.

    Uncompressed pages are a memory map, and compressed ones are read when the array is sliced.
    """
    open_file(path).close()  # for the errors of the system
    tifffile = _tifffile()
    try:
        with tifffile.TiffFile(path) as file:
            series = file.series[0]
            if series.dataoffset is not None:  # contiguous
                array = tifffile.memmap(path, mode="r")
            elif len(series.pages) == series.shape[0]:
                array = TiffPages(path, series.shape, series.dtype)
            else:  # pages are no slices along the first axis
                array = series.asarray()
            return array, series.axes.endswith("S")
    except (OSError, MemoryError):
        raise
    except Exception as error:  # damaged files cause errors of any type
        raise ValueError(f"cannot read {os.fspath(path)!r}: {error}") from error


class TiffPages:
    """The pages of a TIFF as the slices of an array, read when they are indexed."""

    chunks = None  # marks arrays that are read by slices

    def __init__(self, path: str | os.PathLike[str], shape: tuple[int, ...], dtype: DType) -> None:
        self._path, self.shape, self.dtype = path, shape, dtype

    def __getitem__(self, part: tuple[slice, ...]) -> Numbers:
        import numpy as np

        pages = range(*part[0].indices(self.shape[0]))
        with _tifffile().TiffFile(self._path) as file:
            found = (file.series[0].pages[k].asarray() for k in pages)
            return np.stack([page[part[1:]] for page in found])


def reserve_stack(file: BinaryIO, shape: tuple[int, ...], dtype: DType, colours: bool) -> int:
    """Write a TIFF with room for an uncompressed volume; returns where its data begin."""
    room = _tifffile().imwrite(
        file,
        shape=shape,
        dtype=dtype,
        photometric="rgb" if colours else "minisblack",
        bigtiff=prod(shape) * dtype.itemsize > _MAX_CLASSIC_BYTES,
        returnoffset=True,
    )
    assert room is not None  # the data are not compressed
    return int(room[0])


def _tifffile() -> ModuleType:
    try:
        import tifffile
    except ImportError as error:
        raise ImportError("TIFF needs tifffile: pip install 'fost[images]'") from error
    return tifffile
