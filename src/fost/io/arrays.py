"""Arrays in files: .npy, .zarr, .wav and multi-page TIFF, read and written part by part.

=============== ==========================================================
``.npy, .zarr`` arrays of any shape; a memory map, or chunks read on demand
``.wav``        audio, of shape (n,) or (n, channels); a memory map
TIFF stack      a volume whose slices are the pages of a TIFF
image           any other file, read and written as a whole
=============== ==========================================================
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from importlib import import_module
from itertools import product
from math import prod
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from fost.io.atomic import atomic_writer, is_special, open_file, temporary_beside
from fost.io.audio import open_wav, wav_header

if TYPE_CHECKING:
    from fost._typing import DType, Numbers, SlicedArray

ARRAY_SUFFIXES = (".npy", ".zarr")
TIFF_SUFFIXES = (".tif", ".tiff")
FileFormat = Literal["array", "audio", "stack", "image"]

# Classic TIFF has offsets of 32 bits; the rest is room for the tags.
_MAX_TIFF_BYTES = 2**32 - 2**25
_IMAGEJ_TYPES = ("uint8", "uint16", "float32")


# Files of any format.


@dataclass(frozen=True)
class Samples:
    """The array in a file, the axis of its channels if it has one, and the rate of audio.

    `alpha` is the alpha channel of an image, which is not part of the array. `tiff_options` write
    the axes and the voxel size of an ImageJ or OME file.
    """

    array: SlicedArray
    channel_axis: int | None
    format: FileFormat
    rate: int = 1
    alpha: Numbers | None = None
    tiff_options: Mapping[str, Any] = field(default_factory=dict)

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


def open_samples(
    path: Path, volume: bool = False, channel_axis: int | None = None, keep_alpha: bool = False
) -> Samples:
    """Open a file in any format; `channel_axis` is for arrays and stacks."""
    form = file_format(path, volume)
    if form == "array":
        return Samples(open_array(path), channel_axis, form)
    if form == "audio":
        sound, rate = open_wav(path)
        return Samples(sound, None if sound.ndim == 1 else 1, form, rate)
    if form == "stack":
        array, colours, kept = open_stack(path)
        axis = -1 if colours and channel_axis is None else channel_axis
        return Samples(array, axis, form, tiff_options=kept)
    from fost.io import images

    image, alpha = images.read_with_alpha(path) if keep_alpha else (images.read(path), None)
    return Samples(image, None if image.ndim == 2 else -1, form, alpha=alpha)


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
    through a memory map or chunk by chunk. An alpha channel is left out, with a warning, if the
    format does not hold it.
    """
    import numpy as np

    form, alpha = file_format(path, like.format == "stack"), like.alpha
    if form != "image":
        _warn_of_alpha(path, alpha is not None)
    if path.suffix.lower() == ".zarr":
        with create_zarr(path, like.shape, like.dtype) as array:
            yield array
    elif form == "image":
        from fost.io import images

        channels = like.shape[2] if len(like.shape) == 3 else None
        images.check_writable(path, like.dtype, channels)
        if alpha is not None and not images.holds(path, like.dtype, (channels or 1) + 1):
            alpha = None
        _warn_of_alpha(path, like.alpha is not None and alpha is None)
        array = np.empty(like.shape, like.dtype)
        yield array
        images.write(path, array if alpha is None else np.dstack([array, alpha]))
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


def _warn_of_alpha(path: Path, is_lost: bool) -> None:
    if is_lost:
        warnings.warn(
            f"{str(path)!r} does not hold the alpha channel, which is left out",
            UserWarning,
            stacklevel=4,
        )


def _reserve(file: BinaryIO, form: FileFormat, like: Samples) -> int:
    """Write a file with room for its samples; returns where they begin."""
    if form == "stack":
        axis = like.channel_axis
        colours = axis is not None and axis % len(like.shape) == 3 and like.shape[3] in (3, 4)
        return reserve_stack(file, like.shape, like.dtype, colours, like.tiff_options)
    if form == "audio":
        file.write(wav_header(like.shape, like.dtype, like.rate))
    else:
        write_npy_header(file, like.shape, like.dtype)
    offset = file.tell()
    file.truncate(offset + prod(like.shape) * like.dtype.itemsize)
    return offset


# .npy, also from untrusted files.


@dataclass(frozen=True)
class NpyHeader:
    """Shape, type and memory order of the array in an .npy file."""

    shape: tuple[int, ...]
    dtype: DType
    order: Literal["C", "F"]

    @property
    def n_bytes(self) -> int:
        """The size of the array's data."""
        return prod(self.shape) * self.dtype.itemsize


def read_npy_header(file: BinaryIO) -> NpyHeader:
    """Read the header of an .npy file and stop before its data.

    Raises a ValueError for anything but a header. Nothing is allocated by it: the caller judges
    whether shape and type are acceptable.
    """
    import numpy as np

    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's parser warns of text that is no header
            shape, by_columns, dtype = read[np.lib.format.read_magic(file)](file)
    except Exception as error:  # the parser fails with many types of error
        raise ValueError("not an array of numbers") from error
    if any(length < 0 for length in shape):
        raise ValueError(f"not an array: its shape is {shape}")
    return NpyHeader(shape, dtype, "F" if by_columns else "C")


def open_npy(path: str | os.PathLike[str]) -> Numbers:
    """Open an .npy file as a read-only memory map.

    Raises a ValueError for files that are damaged or hold Python objects.
    """
    import numpy as np

    with open_file(path) as file:
        try:
            header = read_npy_header(file)
            if header.dtype.hasobject:
                raise ValueError("not an array of numbers")
            there = os.fstat(file.fileno()).st_size - file.tell()
            if there < header.n_bytes:
                raise ValueError(f"it ends after {there:,} of {header.n_bytes:,} bytes")
        except ValueError as error:
            raise ValueError(f"cannot read {os.fspath(path)!r}: {error}") from error
        if 0 in (*header.shape, header.dtype.itemsize):  # empty maps are not allowed
            return np.empty(header.shape, header.dtype)
        return np.memmap(
            file, header.dtype, "r", offset=file.tell(), shape=header.shape, order=header.order
        )


def write_npy_header(file: BinaryIO, shape: tuple[int, ...], dtype: DType) -> None:
    """Write the header of an .npy file; the data must follow in C order."""
    import numpy as np

    descr = np.lib.format.dtype_to_descr(dtype)
    header = {"descr": descr, "fortran_order": False, "shape": tuple(shape)}
    np.lib.format.write_array_header_1_0(file, header)


# .zarr: chunks, and no incomplete array is left behind.


def open_zarr(path: str | os.PathLike[str]) -> SlicedArray:
    """Open a Zarr array for reading; its chunks are read when it is sliced."""
    zarr = _zarr("reading")
    try:
        opened: SlicedArray = zarr.open_array(str(path), mode="r")
    except Exception as error:  # the types of errors differ between versions of Zarr
        os.stat(path)  # raises the error of the system if there is no such file
        raise ValueError(f"cannot read {os.fspath(path)!r}: not a Zarr array") from error
    return ZarrArray(path, opened)


class ZarrArray:
    """A Zarr array in a file, which names its first damaged chunk in a ValueError."""

    def __init__(self, path: str | os.PathLike[str], array: Any) -> None:
        self._path, self._array = os.fspath(path), array
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim
        self.chunks, self.shards = array.chunks, getattr(array, "shards", None)

    def __getitem__(self, part: Any) -> Numbers:
        try:
            return self._array[part]  # type: ignore[no-any-return]
        except IndexError:
            raise
        except Exception as error:  # each codec has its own types of errors
            chunk = self._damaged_chunk(part)
            if chunk is None:
                raise
            raise ValueError(
                f"cannot read {self._path!r}: chunk {chunk} is damaged "
                f"({type(error).__name__}: {error})"
            ) from error

    def _damaged_chunk(self, part: Any) -> tuple[int, ...] | None:
        """The index of the first chunk that cannot be read, along the first axis of a part."""
        first = part[0] if isinstance(part, tuple) else part
        rows = range(self.shape[0])[first] if isinstance(first, slice) else range(self.shape[0])
        counts = [-(-n // k) for n, k in zip(self.shape, self.chunks, strict=True)]
        counts[0] = -(-rows.stop // self.chunks[0])
        begin = rows.start // self.chunks[0]
        for chunk in product(range(begin, counts[0]), *map(range, counts[1:])):
            sizes = zip(chunk, self.chunks, strict=True)
            try:
                self._array[tuple(slice(i * k, (i + 1) * k) for i, k in sizes)]
            except Exception:
                return chunk
        return None


@contextmanager
def create_zarr(
    path: str | os.PathLike[str], shape: tuple[int, ...], dtype: DType
) -> Iterator[Any]:
    """A new Zarr array that becomes `path` when the block ends without an error."""
    zarr, target = _zarr("writing"), Path(os.path.realpath(path))
    temporary = temporary_beside(target)
    try:
        yield zarr.create_array(str(temporary), shape=shape, dtype=dtype)
        os.replace(temporary, target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _zarr(doing: str) -> ModuleType:
    try:
        return import_module("zarr")
    except ImportError as error:
        raise ImportError(f"{doing} .zarr needs Zarr: pip install 'fost[dask]'") from error


# TIFF files whose pages are the slices of a volume.


def open_stack(path: str | os.PathLike[str]) -> tuple[SlicedArray, bool, dict[str, Any]]:
    """The pages of a TIFF as one array, whether its last axis is colours, and options to write it.

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
            return array, series.axes.endswith("S"), _tiff_options(file)
    except (OSError, MemoryError):
        raise
    except Exception as error:  # damaged files cause errors of any type
        raise ValueError(f"cannot read {os.fspath(path)!r}: {error}") from error


def _tiff_options(file: Any) -> dict[str, Any]:
    """Options of `tifffile.imwrite` that keep the axes and voxel size of an ImageJ or OME file."""
    kept: dict[str, Any] = {"axes": file.series[0].axes}
    if not set(kept["axes"]) <= set("TZCYXS"):  # tifffile would not write them
        return {}
    if file.is_ome:
        pattern = r'\b((?:PhysicalSize[XYZ]|TimeIncrement)(?:Unit)?)="([^"]*)"'
        return {"ome": True, "metadata": {**dict(re.findall(pattern, file.ome_metadata)), **kept}}
    if not file.is_imagej:
        return {}
    found = file.imagej_metadata or {}
    kept |= {name: found[name] for name in ("spacing", "unit", "finterval") if name in found}
    return {"imagej": True, "resolution": file.pages.first.resolution, "metadata": kept}


class TiffPages:
    """The pages of a TIFF as the slices of an array, read when they are indexed."""

    chunks = None  # marks arrays that are read by slices

    def __init__(self, path: str | os.PathLike[str], shape: tuple[int, ...], dtype: DType) -> None:
        self._path, self.shape, self.dtype = path, shape, dtype

    def __getitem__(self, part: tuple[slice, ...]) -> Numbers:
        import numpy as np

        pages = range(*part[0].indices(self.shape[0]))
        with _tifffile().TiffFile(self._path) as file:
            found = (self._page(file, k) for k in pages)
            return np.stack([page[part[1:]] for page in found])

    def _page(self, file: Any, k: int) -> Numbers:
        try:
            return file.series[0].pages[k].asarray()  # type: ignore[no-any-return]
        except Exception as error:  # each codec has its own types of errors
            raise ValueError(
                f"cannot read {os.fspath(self._path)!r}: page {k} is damaged "
                f"({type(error).__name__}: {error})"
            ) from error


def reserve_stack(
    file: BinaryIO,
    shape: tuple[int, ...],
    dtype: DType,
    colours: bool,
    options: Mapping[str, Any] | None = None,
) -> int:
    """Write a TIFF with room for an uncompressed volume; returns where its data begin."""
    large = prod(shape) * dtype.itemsize > _MAX_TIFF_BYTES
    if options and "imagej" in options and (large or dtype not in _IMAGEJ_TYPES):
        warnings.warn(
            f"the axes and the voxel size are left out: ImageJ files have no {dtype} or more than "
            "4 GB",
            UserWarning,
            stacklevel=4,
        )
        options = None
    room = _tifffile().imwrite(
        file,
        shape=shape,
        dtype=dtype,
        byteorder=">" if sys.byteorder == "big" else "<",  # that of the memory map
        photometric="rgb" if colours else "minisblack",
        bigtiff=large,
        returnoffset=True,
        **(options or {}),
    )
    assert room is not None  # the data are not compressed
    return int(room[0])


def _tifffile() -> ModuleType:
    try:
        import tifffile
    except ImportError as error:
        raise ImportError("TIFF needs tifffile: pip install 'fost[images]'") from error
    return tifffile
