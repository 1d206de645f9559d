"""Signals and volumes from files: arrays of .npy and .zarr, sound, and TIFF with many pages."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fost.cli.errors import UserError, reading
from fost.cli.signals import is_array, open_samples

if TYPE_CHECKING:
    from fost._typing import DType, Numbers

TIFF = (".tif", ".tiff")


@dataclass(frozen=True)
class Samples:
    """An array of one to three axes, and one more for channels, if that is known."""

    array: Any  # or what is read by slices, as arrays of Zarr are
    channel_axis: int | None
    rate: int | None = None  # samples per second, of sound

    @property
    def size(self) -> str:
        return " x ".join(map(str, self.array.shape))

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(int(k) for k in self.array.shape)

    @property
    def dtype(self) -> DType:
        dtype: DType = self.array.dtype
        return dtype.newbyteorder("=")


def holds_samples(path: Path, volume: bool) -> bool:
    """Whether a file is read as an array: by its name, or because all its pages are asked for."""
    return is_array(path) or is_sound(path) or volume


def is_sound(path: Path) -> bool:
    return path.suffix.lower() == ".wav"


def check_kinds(path: Path, output: Path, volume: bool) -> None:
    """Raises a UserError if what is read from one file cannot be written to the other."""
    suffix = path.suffix.lower()
    if volume and suffix not in TIFF:
        raise UserError(f"--volume is for TIFF with many pages, not for {str(path)!r}")
    if is_array(output) or (is_sound(path) and is_sound(output)):
        return
    if volume and output.suffix.lower() in TIFF:
        return
    own = "" if is_array(path) else f" or {suffix}"
    raise UserError(f"cannot write {str(output)!r}: what was {suffix} becomes .npy, .zarr{own}")


def opened_samples(path: Path, channel_axis: int | None = None) -> Samples:
    """The samples of a file, which stay there until they are used, as far as its format allows it.

    Sound and TIFF say themselves which axis is of channels.
    """
    if is_array(path):
        return Samples(open_samples(path), channel_axis)
    with reading(path):
        try:
            return _open_sound(path) if is_sound(path) else _open_stack(path)
        except (OSError, MemoryError, UserError):
            raise
        except Exception as error:  # decoders raise whatever a damaged file makes them
            raise UserError(f"cannot read {str(path)!r}: {error}") from error


def _open_sound(path: Path) -> Samples:
    from scipy.io import wavfile

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of chunks that are not sound
        try:
            rate, array = wavfile.read(path, mmap=True)
        except ValueError:  # of 24 bits, which no array has, or no sound at all
            rate, array = wavfile.read(path)
    return Samples(array, None if array.ndim == 1 else 1, rate)


def _open_stack(path: Path) -> Samples:
    try:
        import tifffile
    except ImportError as error:
        raise UserError("reading TIFF needs tifffile: pip install 'fost[images]'") from error
    with tifffile.TiffFile(path) as file:
        series = file.series[0]
        colours, pages = series.axes.endswith("S"), len(series.pages)
        whole = series.dataoffset is not None
        shape, dtype = series.shape, series.dtype
        # Pages that are no slices of what they make up are read at once.
        array: Any = None if whole or pages == shape[0] else series.asarray()
    if array is None:
        array = tifffile.memmap(path, mode="r") if whole else Pages(path, shape, dtype)
    return Samples(array, -1 if colours else None)


class Pages:
    """The pages of a TIFF as the slices of an array, read when they are asked for."""

    chunks = None  # that it is read by slices, not as a whole

    def __init__(self, path: Path, shape: tuple[int, ...], dtype: DType) -> None:
        self._path, self.shape, self.dtype = path, shape, dtype

    def __getitem__(self, part: tuple[slice, ...]) -> Numbers:
        import numpy as np
        import tifffile

        pages = range(*part[0].indices(self.shape[0]))
        with tifffile.TiffFile(self._path) as file:
            found: Any = (file.series[0].pages[k] for k in pages)
            return np.stack([page.asarray()[part[1:]] for page in found])


class Marked:
    """Where an array has a value, which may be NaN, or has not: a mask that is read in parts."""

    chunks = None

    def __init__(self, array: Any, value: float, is_value: bool = True) -> None:
        import numpy as np

        self._array, self._value, self._is = array, value, is_value
        self.shape, self.dtype = array.shape, np.dtype(bool)

    def __getitem__(self, part: tuple[slice, ...]) -> Numbers:
        import numpy as np

        samples = np.asarray(self._array[part])
        if np.isnan(self._value):
            marked = (
                np.isnan(samples) if samples.dtype.kind == "f" else np.zeros_like(samples, bool)
            )
        else:
            marked = samples == self._value
        return marked if self._is else ~marked

    def count(self) -> int:
        """How many samples are marked."""
        import numpy as np

        from fost.restoration.tiling import ArrayReader

        mask = ArrayReader(self, "mask", None)
        return sum(int(np.count_nonzero(mask.read(part))) for part in mask.parts())
