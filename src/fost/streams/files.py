"""Signals in files: the array that a path leads to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeGuard

import numpy as np


def is_path(Y: object) -> TypeGuard[str | os.PathLike[str]]:
    """Whether Y is a path to a file of signals."""
    return isinstance(Y, str | os.PathLike)


def opened(path: str | os.PathLike[str], name: str) -> object:
    """The memory map or the array of Zarr that a path leads to."""
    place = Path(os.fspath(path))
    kind = place.suffix.lower()
    if kind not in (".npy", ".zarr"):
        raise ValueError(
            f"{name} must be an array of signals, blocks of them or a path to a .npy or .zarr "
            f"file, got {str(path)!r}"
        )
    try:
        return np.load(place, mmap_mode="r") if kind == ".npy" else _zarr(place)
    except (OSError, ImportError):
        raise
    except Exception as error:  # NumPy's and Zarr's, about files that are none of theirs
        raise ValueError(f"{name} is no array of numbers in {str(path)!r}: {error}") from error


def _zarr(path: Path) -> object:
    try:
        import zarr
    except ImportError as error:
        raise ImportError("reading .zarr needs Zarr: pip install 'fost[dask]'") from error
    return zarr.open_array(str(path), mode="r")
