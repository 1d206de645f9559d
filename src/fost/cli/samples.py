"""Signals and volumes from files: arrays of .npy and .zarr, sound, and TIFF with many pages."""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fost.cli.errors import UserError, reading, writing
from fost.cli.signals import is_array, is_zarr, open_samples

if TYPE_CHECKING:
    from fost._typing import Numbers

_TIFF = (".tif", ".tiff")


@dataclass(frozen=True)
class Samples:
    """An array of one to three axes, and one more for channels, if that is known."""

    array: Numbers
    channel_axis: int | None
    rate: int | None = None  # samples per second, of sound

    @property
    def size(self) -> str:
        return " x ".join(map(str, self.array.shape))


def holds_samples(path: Path, volume: bool) -> bool:
    """Whether a file is read as an array: by its name, or because all its pages are asked for."""
    return is_array(path) or is_sound(path) or volume


def is_sound(path: Path) -> bool:
    return path.suffix.lower() == ".wav"


def check_kinds(path: Path, output: Path, volume: bool) -> None:
    """Raises a UserError if what is read from one file cannot be written to the other."""
    suffix = path.suffix.lower()
    if volume and suffix not in _TIFF:
        raise UserError(f"--volume is for TIFF with many pages, not for {str(path)!r}")
    if is_array(output) or (is_sound(path) and is_sound(output)):
        return
    if volume and output.suffix.lower() in _TIFF:
        return
    own = "" if is_array(path) else f" or {suffix}"
    raise UserError(f"cannot write {str(output)!r}: what was {suffix} becomes .npy, .zarr{own}")


def read_samples(path: Path, channel_axis: int | None = None) -> Samples:
    """The samples of a file, in memory. Sound and TIFF say themselves which axis is of channels."""
    import numpy as np

    if is_array(path):
        return Samples(np.array(open_samples(path)), channel_axis)
    with reading(path):
        try:
            return _read_sound(path) if is_sound(path) else _read_stack(path)
        except (OSError, MemoryError, UserError):
            raise
        except Exception as error:  # decoders raise whatever a damaged file makes them
            raise UserError(f"cannot read {str(path)!r}: {error}") from error


def _read_sound(path: Path) -> Samples:
    from scipy.io import wavfile

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of chunks that are not sound
        rate, array = wavfile.read(path)
    return Samples(array, None if array.ndim == 1 else 1, rate)


def _read_stack(path: Path) -> Samples:
    try:
        import tifffile
    except ImportError as error:
        raise UserError("reading TIFF needs tifffile: pip install 'fost[images]'") from error
    with tifffile.TiffFile(path) as file:
        series = file.series[0]
        array, colours = series.asarray(), series.axes.endswith("S")
    return Samples(array, -1 if colours else None)


def write_samples(output: Path, samples: Samples) -> None:
    """Write an array to a file of the kind that its name says, in one step."""
    import numpy as np

    from fost._files import write_atomically

    buffer = io.BytesIO()
    with writing(output):
        if is_zarr(output):
            _write_zarr(output, samples.array)
            return
        if is_sound(output):
            from scipy.io import wavfile

            wavfile.write(buffer, samples.rate or 1, np.ascontiguousarray(samples.array))
        elif output.suffix.lower() in _TIFF:
            import tifffile

            colours = "rgb" if samples.channel_axis is not None else "minisblack"
            tifffile.imwrite(buffer, samples.array, photometric=colours)
        else:
            np.save(buffer, samples.array)
        write_atomically(output, buffer.getvalue())


def _write_zarr(output: Path, array: Numbers) -> None:
    try:
        import zarr
    except ImportError as error:
        raise UserError("writing .zarr needs Zarr: pip install 'fost[dask]'") from error
    made = zarr.create_array(str(output), shape=array.shape, dtype=array.dtype, overwrite=True)
    made[...] = array
