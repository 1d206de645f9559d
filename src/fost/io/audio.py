"""WAV files: opening as a memory map, and the header of files written part by part."""

from __future__ import annotations

import os
import struct
import warnings
from math import prod
from typing import TYPE_CHECKING

from fost.io.atomic import open_file

if TYPE_CHECKING:
    from fost._typing import DType, Numbers

# The header stores sizes in 32 bits.
_MAX_BYTES = 2**32 - 64
_PCM, _FLOAT = 1, 3  # format codes of WAV
# Sound has a few channels, arrays of microphones up to a thousand; each channel is restored alone.
_MAX_CHANNELS = 1024


def open_wav(path: str | os.PathLike[str]) -> tuple[Numbers, int]:
    """Samples of shape (n,) or (n, channels), and their rate per second."""
    from scipy.io import wavfile

    open_file(path).close()  # for the errors of the system
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # chunks other than audio are skipped
        try:
            try:
                rate, samples = wavfile.read(path, mmap=True)
            except ValueError:  # 24-bit samples cannot be mapped
                rate, samples = wavfile.read(path)
        except MemoryError:
            raise
        except Exception as error:  # damaged files cause errors of any type
            raise ValueError(f"cannot read {os.fspath(path)!r}: {error}") from error
    if not samples.size:
        raise ValueError(f"cannot use {os.fspath(path)!r}: it has no samples")
    if prod(samples.shape[1:]) > _MAX_CHANNELS:
        raise ValueError(
            f"cannot use {os.fspath(path)!r}: it has {samples.shape[1]:,} channels, more than "
            f"{_MAX_CHANNELS:,}; an .npy file with --channel-axis may have any number"
        )
    return samples, rate


def wav_header(shape: tuple[int, ...], dtype: DType, rate: int) -> bytes:
    """The bytes of a WAV file before its samples, which must be little-endian."""
    n_bytes = prod(shape) * dtype.itemsize
    if n_bytes > _MAX_BYTES:
        raise ValueError("a .wav file holds at most 4 GiB, an .npy file holds more")
    size, channels, is_float = dtype.itemsize, prod(shape[1:]), dtype.kind == "f"
    if rate * size * channels >= 2**32:
        raise ValueError(
            f"a .wav file holds less than 4 GiB per second, not {rate:,} frames of "
            f"{size * channels} bytes; an .npy file holds more"
        )
    form = struct.pack("<HH", _FLOAT if is_float else _PCM, channels)
    form += struct.pack("<IIHH", rate, rate * size * channels, size * channels, 8 * size)
    form += b"\0\0" if is_float else b""
    fact = b"fact" + struct.pack("<II", 4, shape[0]) if is_float else b""
    chunks = b"WAVEfmt " + struct.pack("<I", len(form)) + form + fact
    chunks += b"data" + struct.pack("<I", n_bytes)
    return b"RIFF" + struct.pack("<I", len(chunks) + n_bytes) + chunks
