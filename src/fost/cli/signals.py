"""Signals from one or several files: patches of images, rows of arrays, windows of recordings.

Images are scaled to [0, 1], colours are converted to luma and chroma, and the mean of each patch is
removed. Code files store the means beside the codes. Arrays and recordings are used unchanged.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fost.cli.errors import UserError, error_prefix
from fost.cli.options import format_shape
from fost.io.arrays import file_format, open_array
from fost.io.atomic import open_file
from fost.io.audio import open_wav

if TYPE_CHECKING:
    from fost._typing import Numbers, SlicedArray
    from fost.images import ImageFormat
    from fost.learning.training_data import TrainingData

Shape = tuple[int, int]
DEFAULT_PATCH_SHAPE = (8, 8)
# Files of samples besides arrays.
_RECORDINGS = (".wav", ".csv")
# Bytes of an .npy file that a Dask worker reads at once.
_CHUNK_BYTES = 2**26
# An array is taken for transposed if it has so many features, and so many for each signal.
_MANY_FEATURES, _FEW_SIGNALS = 1000, 10
# Chunks of fewer rows, and more than so many of them, are slow to read.
_FEW_ROWS, _MANY_CHUNKS = 16, 1000


@dataclass(frozen=True)
class Signals:
    """Signals and missing entries as `fost.learn` takes them, and their origin."""

    rows: Any
    n_signals: int
    n_features: int
    kind: str  # "image" or "array"
    patch_shape: Shape | None = None
    missing: Any = None

    @property
    def source(self) -> TrainingData:
        """The signals as learning sees them."""
        from fost.learning import as_training_data

        return as_training_data(self.rows, self.missing)


@dataclass(frozen=True)
class _Blocks:
    """Several arrays as the blocks of one stream."""

    arrays: list[SlicedArray]

    def __iter__(self) -> Iterator[SlicedArray]:
        return iter(self.arrays)


def holds_signals(path: Path) -> bool:
    """Whether a file is an array, a table or a recording, by its name; other files are images."""
    return is_array(path) or path.suffix.lower() in _RECORDINGS


def is_array(path: Path) -> bool:
    """Whether a file holds signals in rows, by its name."""
    return file_format(path) == "array"


@dataclass(frozen=True)
class Windows:
    """How recordings are cut into signals, and the columns of tables that are left out.

    For encoding, a table with `length` columns has signals in rows, and a remainder is reported.
    """

    length: int | None = None
    hop: int | None = None
    exclude: Sequence[str] = ()
    channel_axis: int | None = None
    for_codes: bool = False

    def check(self, paths: Sequence[Path]) -> None:
        """Raise a UserError for options that do not belong to these files."""
        if self.hop is not None and self.length is None:
            raise UserError("--hop needs --window")
        if self.exclude and not any(path.suffix.lower() == ".csv" for path in paths):
            raise UserError("--exclude is for .csv files")
        if self.channel_axis is not None and self.length is None:
            raise UserError("--channel-axis needs --window")
        if self.channel_axis is not None and not all(map(is_array, paths)):
            raise UserError("--channel-axis is for .npy and .zarr arrays")

    def of(self, path: Path) -> list[Any]:
        """The signals of a file: windows of each channel, or rows if there is no window."""
        from numpy.lib.stride_tricks import sliding_window_view

        samples = self._samples(path)
        if self.length is None:
            if samples.ndim != 2 or path.suffix.lower() == ".wav":
                raise UserError(f"--window must be given for the samples of {str(path)!r}")
            return [samples]
        if self.for_codes and path.suffix.lower() == ".csv" and samples.shape[1] == self.length:
            return [samples]
        if samples.ndim > 2:
            raise UserError(f"cannot use {str(path)!r}: its shape is {samples.shape}")
        if len(samples) < self.length:
            raise UserError(
                f"a window must have at most the {len(samples):,} samples of {str(path)!r}, "
                f"got {self.length}"
            )
        if self.for_codes and (rest := len(samples) % self.length):
            warnings.warn(
                f"the last {rest:,} of {len(samples):,} samples of {str(path)!r} are left out: "
                f"they do not fill a window of {self.length}",
                stacklevel=2,
            )
        channels = samples[:, None] if samples.ndim == 1 else samples
        hop = self.hop or self.length
        return [sliding_window_view(channel, self.length)[::hop] for channel in channels.T]

    def _samples(self, path: Path) -> Any:
        """Samples in the first axis, channels in the second."""
        import numpy as np

        if path.suffix.lower() == ".csv":
            table = read_table(path)
            columns = number_columns(table, self.exclude, path)
            return table[columns].to_numpy(np.float64, na_value=np.nan)
        if is_array(path):
            array: Any = open_array(path)
            if self.channel_axis is not None:
                if len(array.shape) != 2 or self.channel_axis not in (-2, -1, 0, 1):
                    raise UserError(
                        f"--channel-axis must be an axis of a two-dimensional array, got "
                        f"{self.channel_axis} for the shape {tuple(array.shape)} of {str(path)!r}"
                    )
                return np.moveaxis(array[:], self.channel_axis, 1)
            if len(array.shape) == 2 and self.length is not None:
                raise UserError(
                    f"--window is for recordings: the rows of {str(path)!r} are signals already, "
                    "unless --channel-axis says which axis is that of channels"
                )
            return array if isinstance(array, np.ndarray) else array[:]
        samples, _ = open_wav(path)
        # The samples of 8-bit files are unsigned, with silence at 128.
        return samples - np.float32(128) if samples.dtype == np.uint8 else samples


def load_signals(
    paths: Sequence[Path],
    patch_shape: Shape | None = None,
    stride: Shape | None = None,
    *,
    windows: Windows | None = None,
    masks: Sequence[Path] = (),
    on_cluster: bool = False,
) -> Signals:
    """The signals of files that are all images or all arrays; `masks` are for arrays."""
    import numpy as np

    windows = windows or Windows()
    windows.check(paths)
    kinds = set(map(holds_signals, paths))
    if len(kinds) > 1:
        raise UserError("the inputs must be all images or all arrays, not both")
    if kinds == {True}:
        if stride is not None:
            raise UserError("--stride is for images, not for arrays")
        return _array_signals(paths, patch_shape, windows, masks, on_cluster)
    if windows.length is not None:
        raise UserError("--window is for recordings, not for images")
    check_array_options(masks, on_cluster)
    shape = patch_shape or DEFAULT_PATCH_SHAPE
    rows = np.concatenate(
        [
            block - block.mean(axis=1, keepdims=True)
            for path in paths
            for block in image_blocks(read_planes(path)[1], shape, stride, path)
        ]
    )
    return Signals(rows, len(rows), rows.shape[1], "image", shape)


def check_array_options(masks: Sequence[Path], on_cluster: bool) -> None:
    """Raise a UserError for options that images do not have."""
    if masks or on_cluster:
        option = "--missing" if masks else "--scheduler"
        raise UserError(f"{option} is for arrays, not for images")


def _array_signals(
    paths: Sequence[Path],
    patch_shape: Shape | None,
    windows: Windows,
    masks: Sequence[Path],
    on_cluster: bool,
) -> Signals:
    from fost.streams import as_stream

    if windows.length is None and all(map(is_array, paths)):
        found = [(path, open_rows(path, on_cluster)) for path in paths]
    else:
        if masks or on_cluster:
            option = "--missing" if masks else "--scheduler"
            raise UserError(f"{option} is for arrays with signals in rows, not for recordings")
        found = [(path, signals) for path in paths for signals in windows.of(path)]
    arrays = [array for _, array in found]
    sizes = {int(array.shape[1]) for array in arrays}
    if len(sizes) > 1:
        raise UserError(f"the arrays must have equally many columns, got {sorted(sizes)}")
    (n_features,) = sizes
    if patch_shape is not None and patch_shape[0] * patch_shape[1] != n_features:
        raise UserError(
            f"--patch-shape {format_shape(patch_shape)} does not fit signals of {n_features} "
            "entries"
        )
    rows, missing = _joined(arrays, on_cluster), None
    if masks:
        missing = _joined(open_masks(masks, arrays, on_cluster), on_cluster)
    elif on_cluster:
        n_nan = as_stream(rows).total(_count_nan)[0]
        missing = "nan" if n_nan else None
    elif sum([_inspect(path, array) for path, array in found]):
        missing = "nan"
    n_signals = sum(int(array.shape[0]) for array in arrays)
    return Signals(rows, n_signals, n_features, "array", patch_shape, missing)


def _inspect(path: Path, array: SlicedArray) -> int:
    """The number of NaN in a file, after a look for damage and unsuitable layouts."""
    from fost.streams import as_stream
    from fost.streams.inspection import inspect

    (n_signals, n_features), chunks = array.shape, getattr(array, "chunks", None)
    if n_features >= _MANY_FEATURES and n_features >= _FEW_SIGNALS * n_signals:
        warnings.warn(
            f"{str(path)!r} has only {n_signals:,} signals of {n_features:,} entries each: signals "
            "are rows, is the array transposed?",
            stacklevel=2,
        )
    if chunks is not None and chunks[0] < _FEW_ROWS and n_signals > _MANY_CHUNKS * chunks[0]:
        warnings.warn(
            f"the chunks of {str(path)!r} have {chunks[0]} rows, which makes reading slow; chunks "
            "of about 1 MB are fast",
            stacklevel=2,
        )
    found = inspect(as_stream(array))
    if found.infinite is not None:
        raise UserError(
            f"cannot use {str(path)!r}: it contains NaN or infinity, infinity first in "
            f"{found.infinite}"
        )
    if found.extreme is not None:
        warnings.warn(
            f"{str(path)!r} may be damaged: an entry in {found.extreme} is {found.ratio:.0e} times "
            "as large as those of the median signal",
            stacklevel=2,
        )
    if 0 < found.n_nan < found.n_entries:
        warnings.warn(
            f"{found.n_nan:,} of {found.n_entries:,} entries of {str(path)!r} are NaN and taken as "
            f"missing, the first in {found.nan}",
            stacklevel=2,
        )
    return found.n_nan


def _joined(arrays: list[Any], on_cluster: bool) -> Any:
    import numpy as np

    if len(arrays) == 1:
        return arrays[0]
    return np.concatenate(arrays) if on_cluster else _Blocks(arrays)  # Dask's concatenate


def _count_nan(block: Numbers) -> tuple[int]:
    import numpy as np

    return (int(np.isnan(block).sum()) if block.dtype.kind == "f" else 0,)


def open_rows(
    path: Path,
    on_cluster: bool = False,
    hint: str = "fost learn --window N cuts recordings into signals",
) -> SlicedArray:
    """Signals in the rows of an .npy or .zarr array, which is not read before it is used.

    On a cluster it is a Dask array, whose chunks the workers read themselves. `hint` is for
    one-dimensional arrays.
    """
    array = open_array(path)
    if len(array.shape) != 2 or 0 in array.shape:
        raise UserError(
            f"cannot use {str(path)!r}: signals must be the rows of a two-dimensional array, "
            f"its shape is {array.shape}" + (f"; {hint}" if len(array.shape) == 1 else "")
        )
    return _dask_array(path, array) if on_cluster else array


def open_masks(
    paths: Sequence[Path], arrays: Sequence[SlicedArray], on_cluster: bool = False
) -> list[SlicedArray]:
    """Masks of missing entries, one file for each array and of its shape."""
    if len(paths) != len(arrays):
        raise UserError(
            f"--missing must be given once for each array, got {len(paths)} for {len(arrays)}"
        )
    masks = []
    for path, array in zip(paths, arrays, strict=True):
        if not is_array(path):
            raise UserError(f"--missing must be an .npy or .zarr array, got {str(path)!r}")
        mask = open_rows(path, on_cluster)
        if mask.dtype.kind != "b":
            raise UserError(f"cannot use {str(path)!r}: its entries are {mask.dtype}, not bool")
        if tuple(mask.shape) != tuple(array.shape):
            raise UserError(
                f"cannot use {str(path)!r}: its shape is {tuple(mask.shape)}, that of the signals "
                f"is {tuple(array.shape)}"
            )
        masks.append(mask)
    return masks


def read_table(path: Path, *, verbatim: bool = False) -> Any:
    """A .csv or .parquet file as a data frame of pandas, with numbered columns without a header.

    A blank line of a .csv file with one column is a missing value, except at its end. With
    `verbatim`, cells are the text of the .csv file, or have the types of the .parquet file.
    """
    try:
        import pandas as pd  # type: ignore[import-untyped]
    except ImportError as error:
        raise UserError("tables need pandas: pip install pandas") from error
    with open_file(path) as file, error_prefix(f"cannot read {str(path)!r}"):
        try:
            if path.suffix.lower() != ".csv":
                return pd.read_parquet(file, **({"dtype_backend": "pyarrow"} if verbatim else {}))
            text: Any = {"dtype": str, "keep_default_na": False} if verbatim else {}
            first = pd.read_csv(file, header=None, nrows=1)
            file.seek(0)
            header = 0 if _is_header(first) else None
            if first.shape[1] > 1:
                return pd.read_csv(file, header=header, **text)
            content = file.read().rstrip()
            text |= {"skip_blank_lines": False, "skipinitialspace": True}
            if header is None:
                return pd.read_csv(BytesIO(content), header=None, names=[0], **text)
            return pd.read_csv(BytesIO(content.lstrip()), **text)
        except ImportError as error:
            raise UserError(f"cannot read {str(path)!r}: pandas needs pyarrow for it") from error


def _is_header(row: Any) -> bool:
    """Whether the first row of a table has the names of its columns.

    Such a row has text, an empty first entry, which is the index of pandas, or the numbers 0, 1,
    2, ... that pandas writes for columns without names. One column may begin with the sample 0 or
    with a missing one.
    """
    if not all(kind.kind in "iuf" for kind in row.dtypes):
        return True
    if row.shape[1] == 1:
        return False
    return bool(row.isna().iloc[0, 0] or row.iloc[0].tolist() == list(range(row.shape[1])))


def number_columns(table: Any, exclude: Sequence[str], path: Path) -> list[Any]:
    """The columns of a table that have numbers, without those in `exclude`."""
    unknown = [name for name in exclude if name not in map(str, table.columns)]
    if unknown:
        raise UserError(
            f"--exclude must be a column of {str(path)!r}, got {unknown[0]!r}; its columns are "
            f"{', '.join(map(str, table.columns))}"
        )
    columns = [
        name
        for name, kind in table.dtypes.items()
        if getattr(kind, "kind", "O") in "iuf"
        and table[name].notna().any()
        and str(name) not in exclude
    ]
    if not columns:
        others = " besides the excluded ones" if exclude else ""
        if len(table.columns) == 1 and ";" in str(table.columns[0]):
            others += "; its columns must be separated by commas, not by semicolons"
        raise UserError(f"cannot use {str(path)!r}: it has no columns of numbers{others}")
    for name in table.columns:
        if str(name) not in exclude and name not in columns:
            _warn_of_unused(table[name], path)
    return columns


def _warn_of_unused(column: Any, path: Path) -> None:
    """Warn of a column that is not used although it may have numbers or missing entries."""
    import pandas as pd

    n_missing, n_text = int(column.isna().sum()), 0
    if getattr(column.dtype, "kind", "O") == "O":
        n_text = int(pd.to_numeric(column, errors="coerce").isna().sum()) - n_missing
    elif not n_missing:  # dates or logical values
        return
    if n_missing == len(column):
        reason = "it has no entries"
    elif n_missing or n_text < len(column):
        reason = (
            f"text in {n_text:,} of {len(column):,} cells"
            if n_text
            else f"its type is {pd.api.types.infer_dtype(column)}, not a number"
        )
    else:
        return
    warnings.warn(
        f"the column {str(column.name)!r} of {str(path)!r} is not used: {reason}", stacklevel=2
    )


def read_planes(path: Path) -> tuple[Numbers, Numbers, ImageFormat]:
    """An image file: its pixels, the planes that are coded, and its type and range.

    The planes are in [0, 1] if there is one, or else luma and chroma.
    """
    from fost import images

    pixels = images.read(path)
    form = images.ImageFormat.of(pixels)
    unit = form.to_unit(pixels)
    return pixels, images.to_luma_chroma(unit) if _has_colours(unit) else unit, form


def image_from_planes(planes: Numbers, form: ImageFormat) -> Numbers:
    """The image with these planes, in its own type and range."""
    from fost import images

    return form.from_unit(images.from_luma_chroma(planes) if _has_colours(planes) else planes)


def _has_colours(planes: Numbers) -> bool:
    return planes.ndim == 3 and planes.shape[2] == 3


def image_blocks(
    planes: Numbers, patch_shape: Shape, stride: Shape | None, path: Path
) -> Iterator[Numbers]:
    """The patches of an image in blocks of rows; `path` is named in errors."""
    from fost.restoration.arrays import split_channels
    from fost.restoration.patch_grid import PatchGrid
    from fost.restoration.patches import patch_blocks

    channels = split_channels(planes, None if planes.ndim == 2 else -1)
    with error_prefix(f"cannot use {str(path)!r}"):
        grid = PatchGrid.over(channels.shape[1:], patch_shape, stride, "image", len(channels))
        for _, block in patch_blocks(channels, grid):
            yield block


@contextmanager
def dask_cluster(address: str | None) -> Iterator[None]:
    """Compute Dask arrays on the cluster of a scheduler, if there is an address."""
    if address is None:
        yield
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise UserError("--scheduler needs Dask: pip install 'fost[dask]'") from error
    try:
        client = Client(address)
    except (OSError, ValueError) as error:
        raise UserError(f"cannot connect to a Dask scheduler at {address!r}: {error}") from error
    with client:
        yield


def _dask_array(path: Path, array: SlicedArray) -> Any:
    import dask
    import dask.array as da

    place, (n_signals, n_features) = str(path.resolve()), array.shape
    if path.suffix.lower() == ".zarr":
        return da.from_array(open_array(place), chunks=getattr(array, "chunks", "auto"))
    step = max(1, _CHUNK_BYTES // (n_features * array.dtype.itemsize))
    parts = [
        da.from_delayed(
            dask.delayed(_read_rows)(place, start, start + step),
            shape=(min(step, n_signals - start), n_features),
            dtype=array.dtype,
        )
        for start in range(0, n_signals, step)
    ]
    return da.concatenate(parts)


def _read_rows(path: str, start: int, stop: int) -> Numbers:
    """Runs on the workers of a cluster."""
    import numpy as np

    return np.array(open_array(path)[slice(start, stop), :])
