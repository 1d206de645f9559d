"""``fost fill``: what is missing of signals or of a table."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fost._progress import progress
from fost.cli import options
from fost.cli.console import check_output, show
from fost.cli.errors import UserError, reading, writing

if TYPE_CHECKING:
    from fost._typing import DType, Floats, Numbers
    from fost.cli.signals import Rows
    from fost.imputation import Mixture

_TABLES = (".csv", ".parquet")


@dataclass(frozen=True)
class Filled:
    """What was filled, and by how many Gaussians."""

    n_signals: int
    n_features: int
    n_missing: int
    n_members: int


def fill(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="An .npy or .zarr array with signals in rows, or a .csv or .parquet table.",
            show_default=False,
        ),
    ],
    output: options.Output,
    members: Annotated[
        int | None,
        typer.Option(
            "--members",
            metavar="K",
            min=1,
            help="Gaussians of the mixture; one or several, whichever is better, if not given.",
        ),
    ] = None,
    missing: options.Missing = None,
    checkpoint: options.Checkpoint = None,
    threads: options.Threads = None,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Fill the gaps of signals or of a table, where entries are NaN or empty.

    What is usual is learned from the data itself, gaps and all, as a mixture of Gaussians; a gap
    gets its mean given what is observed of the same row. What is observed stays as it is. Arrays
    may be larger than memory; learning that was killed goes on from its checkpoint. Of a table,
    columns that are no numbers are left alone, and so are those without any number. Tables need
    pandas.
    """
    from fost.cli.signals import is_array

    tables = [path.suffix.lower() in _TABLES for path in (data, output)]
    if not tables[0] and not is_array(data):
        raise UserError(f"cannot read {str(data)!r}: not .npy, .zarr, .csv or .parquet")
    if tables[0] != tables[1] or not (tables[1] or is_array(output)):
        kinds = " or ".join(_TABLES) if tables[0] else ".npy or .zarr"
        raise UserError(f"cannot write {str(output)!r}: what was {data.suffix} becomes {kinds}")
    check_output(output, force)
    if checkpoint is not None:
        check_output(checkpoint, force=True)
    options.set_threads(threads)
    start = time.perf_counter()
    if tables[0]:
        if missing or checkpoint is not None:
            option = "--missing" if missing else "--checkpoint"
            raise UserError(f"{option} is for arrays, not for tables")
        filled = _fill_table(data, output, members, quiet)
    else:
        filled = _fill_array(data, missing or [], output, members, checkpoint, quiet)
    seconds = time.perf_counter() - start
    share = filled.n_missing / max(1, filled.n_signals * filled.n_features)
    lines = {
        "filled": f"{filled.n_missing:,} gaps ({share:.1%})",
        "of": f"{filled.n_signals:,} signals of {filled.n_features} features",
        "by": f"{filled.n_members} Gaussian{'s' if filled.n_members != 1 else ''}",
        "time": f"{seconds:.1f} s",
        "written": str(output),
    }
    facts = {**asdict(filled), "seconds": seconds, "output": output}
    show(lines, facts, as_json=as_json, quiet=quiet)


def _fill_array(
    path: Path,
    masks: list[Path],
    output: Path,
    members: int | None,
    checkpoint: Path | None,
    quiet: bool,
) -> Filled:
    """Fill the rows of an array, of which a part is in memory at a time."""
    from fost import imputation
    from fost.cli.gaps import masks_of
    from fost.cli.signals import open_array
    from fost.learning import CheckpointError

    rows = open_array(path)
    missing = masks_of(masks, [rows])[0] if masks else None
    with progress("learning", None, options.shown(quiet)):
        try:
            mixture = imputation.fit_mixture(rows, members, missing=missing, checkpoint=checkpoint)
        except CheckpointError as error:
            raise UserError(str(error)) from error
        except ValueError as error:
            raise UserError(f"cannot fill {str(path)!r}: {error}") from error
    n_missing = _write_array(mixture, rows, missing, output, quiet)
    return Filled(int(rows.shape[0]), int(rows.shape[1]), n_missing, len(mixture.members))


def _write_array(
    mixture: Mixture, rows: Rows, missing: Rows | None, output: Path, quiet: bool
) -> int:
    """Write filled signals; returns how many gaps there were."""
    import numpy as np

    from fost._files import replacing
    from fost.cli.signals import is_zarr
    from fost.streams import as_stream

    stream, count = as_stream(rows, missing=missing), 0
    with progress("filling", int(rows.shape[0]), options.shown(quiet)) as advance:

        def blocks() -> Iterator[Floats]:
            nonlocal count
            done = 0
            for block in stream.blocks():
                count += int(np.isnan(block).sum())
                yield mixture.fill(block)
                done += len(block)
                advance(done, "")

        with writing(output):
            if is_zarr(output):
                _write_zarr(blocks(), rows.shape, stream.dtype, output)
                return count
            header = {
                "descr": np.lib.format.dtype_to_descr(stream.dtype),
                "fortran_order": False,
                "shape": tuple(rows.shape),
            }
            with replacing(output) as file:
                np.lib.format.write_array_header_1_0(file, header)
                for block in blocks():
                    file.write(np.ascontiguousarray(block).data)
    return count


def _write_zarr(
    blocks: Iterator[Floats], shape: tuple[int, ...], dtype: DType, output: Path
) -> None:
    try:
        import zarr
    except ImportError as error:
        raise UserError("writing .zarr needs Zarr: pip install 'fost[dask]'") from error
    array, start = zarr.create_array(str(output), shape=shape, dtype=dtype, overwrite=True), 0
    for block in blocks:
        array[start : start + len(block)] = block
        start += len(block)


def _fill_table(path: Path, output: Path, members: int | None, quiet: bool) -> Filled:
    """Fill the columns of a table that have numbers in them."""
    import numpy as np

    import fost
    from fost._files import replacing

    table = _read_table(path)
    numbers = [
        name
        for name, kind in table.dtypes.items()
        if getattr(kind, "kind", "O") in "iuf" and table[name].notna().any()
    ]
    if not numbers:
        raise UserError(f"cannot fill {str(path)!r}: it has no columns of numbers")
    values: Numbers = table[numbers].to_numpy(np.float64, na_value=np.nan)
    gaps = np.isnan(values)
    with progress("filling", None, options.shown(quiet)):
        imputer = fost.Imputer(members).fit(values)
        filled = imputer.transform(values)
    for k, name in enumerate(numbers):
        if gaps[:, k].any():
            table[name] = filled[:, k]
    with writing(output), replacing(output) as file:
        if output.suffix.lower() == ".csv":
            table.to_csv(file, index=False)
        else:
            table.to_parquet(file, index=False)
    n_members = len(imputer.mixture_.members) if imputer.mixture_ else 0
    return Filled(len(table), len(numbers), int(gaps.sum()), n_members)


def _read_table(path: Path) -> Any:
    try:
        import pandas as pd  # type: ignore[import-untyped]
    except ImportError as error:
        raise UserError("tables need pandas: pip install pandas") from error
    with reading(path):
        try:
            return (pd.read_csv if path.suffix.lower() == ".csv" else pd.read_parquet)(path)
        except ImportError as error:
            raise UserError(f"cannot read {str(path)!r}: pandas needs pyarrow for it") from error
        except (ValueError, UnicodeDecodeError) as error:
            raise UserError(f"cannot read {str(path)!r}: {error}") from error
