"""NumPy's .npy format, read from untrusted files."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, BinaryIO, Literal

from fost.io.files import open_file

if TYPE_CHECKING:
    from fost._typing import DType, Numbers


@dataclass(frozen=True)
class Header:
    """Shape, type and memory order of the array in an .npy file."""

    shape: tuple[int, ...]
    dtype: DType
    order: Literal["C", "F"]

    @property
    def n_bytes(self) -> int:
        """The size of the array's data."""
        return prod(self.shape) * self.dtype.itemsize


def read_header(file: BinaryIO) -> Header:
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
    return Header(shape, dtype, "F" if by_columns else "C")


def open_npy(path: str | os.PathLike[str]) -> Numbers:
    """Open an .npy file as a read-only memory map.

    Raises a ValueError for files that are damaged or hold Python objects.
    """
    import numpy as np

    with open_file(path) as file:
        try:
            header = read_header(file)
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
