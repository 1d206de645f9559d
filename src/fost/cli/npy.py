"""Arrays in the format of .npy, from files that nobody vouches for."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, BinaryIO, Literal

if TYPE_CHECKING:
    pass

    from fost._typing import DType


@dataclass(frozen=True)
class Header:
    """What comes before the numbers."""

    shape: tuple[int, ...]
    dtype: DType
    order: Literal["C", "F"]

    @property
    def n_bytes(self) -> int:
        """Of the numbers."""
        return prod(self.shape) * self.dtype.itemsize


def read_header(file: BinaryIO) -> Header:
    """The header of an array, after which its numbers come; a ValueError where there is none.

    Nothing is made of what it says but a type and a shape, which are for the caller to judge.
    """
    import numpy as np

    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Python's parser, about what is no header
            shape, by_columns, dtype = read[np.lib.format.read_magic(file)](file)
    except Exception as error:  # of the parser too, which gives up in many ways
        raise ValueError("not an array of numbers") from error
    if any(length < 0 for length in shape):
        raise ValueError(f"not an array: its shape is {shape}")
    return Header(shape, dtype, "F" if by_columns else "C")
