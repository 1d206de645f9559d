"""Signals in files: the array that a path leads to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeGuard

from fost.io.arrays import ARRAY_SUFFIXES, open_array


def is_path(Y: object) -> TypeGuard[str | os.PathLike[str]]:
    """Whether Y is a path to a file of signals."""
    return isinstance(Y, str | os.PathLike)


def opened(path: str | os.PathLike[str], name: str) -> object:
    """The memory map or the Zarr array in the file at a path."""
    if Path(path).suffix.lower() not in ARRAY_SUFFIXES:
        raise ValueError(
            f"{name} must be an array of signals, blocks of them or a path to a .npy or .zarr "
            f"file, got {str(path)!r}"
        )
    try:
        return open_array(path)
    except ValueError as error:
        raise ValueError(f"{name} must be an array of numbers: {error}") from error
