"""What is missing of arrays of signals: NaN in them, or masks in files of their own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fost.cli.errors import UserError

if TYPE_CHECKING:
    from fost._typing import Numbers
    from fost.cli.signals import Rows


def masks_of(paths: Sequence[Path], arrays: Sequence[Rows], on_cluster: bool = False) -> list[Any]:
    """Masks from files, one for each array and of its shape, which stay on the disk."""
    from fost.cli.cluster import dask_rows
    from fost.cli.signals import is_array, open_array

    if len(paths) != len(arrays):
        raise UserError(
            f"--missing must be given once for each array, got {len(paths)} for {len(arrays)}"
        )
    masks = []
    for path, array in zip(paths, arrays, strict=True):
        if not is_array(path):
            raise UserError(f"--missing must be an .npy or .zarr array, got {str(path)!r}")
        mask = open_array(path)
        if mask.dtype.kind != "b":
            raise UserError(f"cannot use {str(path)!r}: its entries are {mask.dtype}, not bool")
        if tuple(mask.shape) != tuple(array.shape):
            raise UserError(
                f"cannot use {str(path)!r}: its shape is {tuple(mask.shape)}, that of the signals "
                f"is {tuple(array.shape)}"
            )
        masks.append(dask_rows(path) if on_cluster else mask)
    return masks


def has_nan(rows: object) -> bool:
    """Whether an entry is NaN, of signals wherever they are."""
    from fost.streams import as_stream

    return bool(as_stream(rows).total(_count_nan)[0])


def _count_nan(block: Numbers) -> tuple[int]:
    import numpy as np

    return (int(np.isnan(block).sum()) if block.dtype.kind == "f" else 0,)
