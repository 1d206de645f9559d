"""Signals from files: patches of pictures, or the rows of arrays.

Pictures are taken to [0, 1], colours to luma and chroma, and of each patch its mean is removed:
it is kept beside the code, since hardly any patch is without one. Arrays are used as they are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from fost.cli.errors import UserError, reading

if TYPE_CHECKING:
    from fost._typing import DType, Numbers
    from fost.images import ImageFormat
    from fost.learning.training_data import TrainingData

Patch = tuple[int, int]


class Rows(Protocol):
    """Signals in the rows of an array, wherever it is."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> DType: ...


def is_array(path: Path) -> bool:
    """Whether a file is an array of signals, by its name; all else are pictures."""
    return path.suffix.lower() == ".npy" or is_zarr(path)


def is_zarr(path: Path) -> bool:
    return path.suffix.lower() == ".zarr"


@dataclass(frozen=True)
class Signals:
    """What `fost learn` learns from; `rows` is anything that `fost.learn` takes."""

    rows: Any
    n_signals: int
    n_features: int
    kind: str
    patch: Patch | None
    # What is missing, as `fost.learn` takes it.
    missing: Any = None

    @property
    def source(self) -> TrainingData:
        """The signals as learning sees them."""
        from fost.learning import as_training_data

        return as_training_data(self.rows, self.missing)


@dataclass(frozen=True)
class _Joined:
    """Several arrays as the blocks of one."""

    arrays: list[Rows]

    def __iter__(self) -> Iterator[Rows]:
        return iter(self.arrays)


def load_signals(
    paths: Sequence[Path],
    patch: Patch | None,
    stride: Patch | None,
    whole: Patch,
    on_cluster: bool = False,
    masks: Sequence[Path] = (),
) -> Signals:
    """All signals in some files, which must be of one kind.

    `patch` is what the user asked for, and `whole` what pictures are cut into if they did not;
    `masks` say what is missing of arrays.
    """
    import numpy as np

    kinds = {is_array(path) for path in paths}
    if len(kinds) > 1:
        raise UserError("the inputs must be all pictures or all arrays, not both")
    if kinds == {True}:
        if stride is not None:
            raise UserError("--stride is for pictures")
        return _array_signals(paths, patch, on_cluster, masks)
    if masks:
        raise UserError("--missing is for arrays, not for pictures")
    if on_cluster:
        raise UserError("--scheduler is for arrays, not for pictures")
    patch = patch or whole
    parts = [
        block - block.mean(axis=1, keepdims=True)
        for path in paths
        for _, block in picture_blocks(unit_planes(read_picture(path))[0], patch, stride, path)
    ]
    rows = np.concatenate(parts)
    return Signals(rows, len(rows), rows.shape[1], "picture", patch)


def _array_signals(
    paths: Sequence[Path], patch: Patch | None, on_cluster: bool, masks: Sequence[Path]
) -> Signals:
    """The rows of some arrays."""
    from fost.cli.gaps import has_nan, masks_of

    arrays = _dask_arrays(paths) if on_cluster else [open_array(path) for path in paths]
    sizes = {array.shape[1] for array in arrays}
    if len(sizes) > 1:
        raise UserError(f"the arrays must have equally many columns, got {sorted(sizes)}")
    if patch is not None and patch[0] * patch[1] not in sizes:
        raise UserError(
            f"--patch {patch[0]}x{patch[1]} does not fit signals of {sizes.pop()} entries"
        )
    rows = _joined(arrays, on_cluster)
    missing: Any = None
    if masks:
        missing = _joined(masks_of(masks, arrays, on_cluster), on_cluster)
    elif has_nan(rows):
        missing = "nan"
    n_signals = sum(int(array.shape[0]) for array in arrays)
    return Signals(rows, n_signals, int(sizes.pop()), "array", patch, missing)


def _joined(arrays: list[Rows], on_cluster: bool) -> Any:
    import numpy as np

    if len(arrays) == 1:
        return arrays[0]
    return np.concatenate(cast(Any, arrays)) if on_cluster else _Joined(arrays)  # left to Dask


def _dask_arrays(paths: Sequence[Path]) -> list[Rows]:
    from fost.cli.cluster import dask_rows

    return [dask_rows(path) for path in paths]


def open_array(path: Path) -> Rows:
    """Signals in the rows of an .npy or Zarr array, which stay on the disk until they are used."""
    array = open_samples(path)
    if len(array.shape) != 2 or 0 in array.shape:
        raise UserError(
            f"cannot use {str(path)!r}: signals must be the rows of a two-dimensional array, "
            f"its shape is {array.shape}"
        )
    return array


def open_samples(path: Path) -> Rows:
    """An .npy or Zarr array of real numbers, of any shape."""
    array = _open_zarr(path) if is_zarr(path) else _open_npy(path)
    if array.dtype.kind not in "biuf":
        raise UserError(
            f"cannot use {str(path)!r}: its entries are {array.dtype}, not real numbers"
        )
    return array


def _open_npy(path: Path) -> Rows:
    import numpy as np

    from fost._files import open_file
    from fost.cli.npy import read_header

    with reading(path), open_file(path) as file:
        try:
            header = read_header(file)
        except ValueError as error:
            raise UserError(f"cannot read {str(path)!r}: {error}") from error
        if header.dtype.hasobject:
            raise UserError(f"cannot read {str(path)!r}: not an array of numbers")
        there = os.fstat(file.fileno()).st_size - file.tell()
        if there < header.n_bytes:
            raise UserError(
                f"cannot read {str(path)!r}: it ends after {there:,} of {header.n_bytes:,} bytes"
            )
        if 0 in (*header.shape, header.dtype.itemsize):  # nothing to map
            return np.empty(header.shape, header.dtype)
        return np.memmap(
            file, header.dtype, "r", offset=file.tell(), shape=header.shape, order=header.order
        )


def _open_zarr(path: Path) -> Rows:
    try:
        import zarr
    except ImportError as error:
        raise UserError("reading .zarr needs Zarr: pip install 'fost[dask]'") from error
    try:
        opened: Rows = zarr.open_array(str(path), mode="r")
    except Exception as error:  # of many kinds, by version and format
        why = "not an array of Zarr" if path.exists() else "No such file or directory"
        raise UserError(f"cannot read {str(path)!r}: {why}") from error
    return opened


def read_picture(path: Path) -> Numbers:
    from fost import images

    with reading(path):
        return images.read(path)


def unit_planes(picture: Numbers) -> tuple[Numbers, ImageFormat]:
    """A picture as it is coded, from 0 to 1 and colours as luma and chroma, and its format."""
    from fost import images

    form = images.ImageFormat.of(picture)
    unit = form.to_unit(picture)
    return (images.to_luma_chroma(unit) if has_colours(picture.shape) else unit), form


def from_unit_planes(planes: Numbers, form: ImageFormat) -> Numbers:
    """Undoes `unit_planes`."""
    from fost import images

    unit = images.from_luma_chroma(planes) if has_colours(planes.shape) else planes
    picture: Numbers = form.from_unit(unit)
    return picture


def has_colours(shape: Sequence[int]) -> bool:
    return len(shape) == 3 and shape[2] == 3


def picture_blocks(
    planes: Numbers, patch: Patch, stride: Patch | None, path: Path
) -> Iterator[tuple[slice, Numbers]]:
    """The patches of a picture, block by block; `path` is for complaints."""
    from fost.restoration.arrays import split_channels
    from fost.restoration.patch_grid import PatchGrid
    from fost.restoration.patches import patch_blocks

    channels = split_channels(planes, None if planes.ndim == 2 else -1)
    try:
        grid = PatchGrid.over(channels.shape[1:], patch, stride, "image", len(channels))
        yield from patch_blocks(channels, grid)
    except ValueError as error:
        raise UserError(f"cannot use {str(path)!r}: {error}") from error
