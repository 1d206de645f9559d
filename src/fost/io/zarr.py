"""Zarr arrays: opening, and writing without leaving an incomplete one behind."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from fost.io.files import temporary_beside

if TYPE_CHECKING:
    from fost._typing import DType, SlicedArray


def open_zarr(path: str | os.PathLike[str]) -> SlicedArray:
    """Open a Zarr array for reading; its chunks are read when it is sliced."""
    zarr = _zarr("reading")
    try:
        opened: SlicedArray = zarr.open_array(str(path), mode="r")
    except Exception as error:  # the types of errors differ between versions of Zarr
        os.stat(path)  # raises the error of the system if there is no such file
        raise ValueError(f"cannot read {os.fspath(path)!r}: not a Zarr array") from error
    return opened


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
