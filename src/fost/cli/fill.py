"""``fost fill``: imputation of missing entries in signals or in a table."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from fost._progress import progress
from fost.cli import options
from fost.cli.console import check_output, show_written
from fost.cli.errors import UserError, writing
from fost.cli.signals import is_array, number_columns, open_masks, open_rows, read_table
from fost.io.arrays import Samples, create_samples
from fost.io.atomic import atomic_writer

if TYPE_CHECKING:
    from fost._typing import Numbers

_TABLES = (".csv", ".parquet")
# The advice for arrays that are recordings.
_INPAINT = "fost inpaint fills recordings in .npy, .zarr and .wav files"


def fill_command(
    data: Path,
    output: options.Output,
    n_members: options.Count = None,
    missing: options.Missing = None,
    exclude: options.Exclude = None,
    checkpoint: options.Checkpoint = None,
    threads: options.Threads = None,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Fill in missing entries of signals or of a table, which are NaN or empty.

    A mixture of Gaussians is learned from the data, including rows with missing entries. Each
    missing entry becomes its conditional mean given the observed entries of the same row.
    Observed entries do not change. Arrays may be larger than memory, and interrupted learning
    resumes from its checkpoint. Recordings are filled by fost inpaint.

    In a table, columns of text and excluded columns do not change. A warning names columns that
    have both numbers and text, or no entries. Columns such as identifiers should be excluded, since
    they tell nothing about the others. Tables need pandas. Standard deviations are available in
    Python only.

    Parameters
    ----------
    data : DATA
        An .npy or .zarr array with signals in rows, or a .csv or .parquet table.
    n_members : K
        Gaussians of the mixture; one or several, chosen by the data, if not given.
    """
    table = data.suffix.lower() in _TABLES
    if not (table or is_array(data)):
        raise UserError(f"cannot read {str(data)!r}: not .npy, .zarr, .csv or .parquet")
    if not (output.suffix.lower() in _TABLES if table else is_array(output)):
        formats = " or ".join(_TABLES) if table else ".npy or .zarr"
        raise UserError(
            f"cannot write {str(output)!r}: {data.suffix} files are converted to {formats}"
        )
    check_output(output, force)
    if checkpoint is not None:
        check_output(checkpoint, force=True)
    options.set_threads(threads)
    start = time.perf_counter()
    if table:
        if missing or checkpoint is not None:
            option = "--missing" if missing else "--checkpoint"
            raise UserError(f"{option} is for arrays, not for tables")
        facts = _fill_table(data, output, n_members, exclude or [], quiet)
    else:
        if exclude:
            raise UserError("--exclude is for tables, not for arrays")
        facts = _fill_array(data, missing or [], output, n_members, checkpoint, quiet)
    share = facts["n_missing"] / max(1, facts["n_signals"] * facts["n_features"])
    lines = {
        "filled": f"{facts['n_missing']:,} missing entries ({share:.1%})",
        "of": f"{facts['n_signals']:,} rows, {facts['n_features']} columns",
        "by": f"{facts['n_members']} Gaussian{'s' if facts['n_members'] != 1 else ''}",
    }
    show_written(lines, facts, output, start, as_json=as_json, quiet=quiet)


def _fill_array(
    path: Path,
    masks: list[Path],
    output: Path,
    n_members: int | None,
    checkpoint: Path | None,
    quiet: bool,
) -> dict[str, int]:
    """Fill the rows of an array block by block; returns counts for the report."""
    import numpy as np

    from fost.imputation.fit import fit_mixture
    from fost.learning import CheckpointError
    from fost.streams import as_stream

    rows = open_rows(path, hint=_INPAINT)
    _check_columns(path, rows.shape[1])
    missing = open_masks(masks, [rows])[0] if masks else None
    with progress("learning", None, options.shown(quiet)):
        try:
            mixture = fit_mixture(rows, n_members, missing=missing, checkpoint=checkpoint)
        except CheckpointError:
            raise
        except ValueError as error:
            raise UserError(f"cannot fill {str(path)!r}: {error}") from error
    stream, done, count = as_stream(rows, missing=missing), 0, 0
    n_signals, n_features = (int(k) for k in rows.shape)
    like = Samples(np.broadcast_to(stream.dtype.type(0), rows.shape), None, "array")
    with (
        progress("filling", n_signals, options.shown(quiet)) as advance,
        writing(output),
        create_samples(output, like) as out,
    ):
        for block in stream.blocks():
            count += int(np.isnan(block).sum())
            out[done : done + len(block)] = mixture.fill(block)
            done += len(block)
            advance(done, "")
    return {
        "n_signals": n_signals,
        "n_features": n_features,
        "n_missing": count,
        "n_members": len(mixture.members),
    }


def _fill_table(
    path: Path, output: Path, n_members: int | None, exclude: list[str], quiet: bool
) -> dict[str, int]:
    """Fill the columns of a table that have numbers; returns counts for the report."""
    import numpy as np

    import fost

    table = read_table(path)
    columns = number_columns(table, exclude, path)
    _check_columns(path, len(columns))
    values: Numbers = table[columns].to_numpy(np.float64, na_value=np.nan)
    missing = np.isnan(values)
    with progress("filling", None, options.shown(quiet)):
        imputer = fost.Imputer(n_members).fit(values)
        filled = imputer.transform(values)
    from_csv, to_csv = (one.suffix.lower() == ".csv" for one in (path, output))
    if as_text := from_csv and to_csv:
        table = read_table(path, verbatim=True)
    elif exclude:
        source = read_table(path, verbatim=True)
        for name in source.columns:
            if str(name) in exclude:
                table[name] = source[name].where(table[name].notna())
    for k, name in enumerate(columns):
        where = missing[:, k]
        if where.any() and as_text:
            table.loc[where, name] = [repr(value) for value in filled[where, k].tolist()]
        elif where.any():
            table[name] = filled[:, k]
    with writing(output), atomic_writer(output) as file:
        if to_csv:
            has_names = not from_csv or isinstance(table.columns[0], str)
            table.to_csv(file, index=False, header=has_names)
        else:
            table.to_parquet(file, index=False)
    return {
        "n_signals": len(table),
        "n_features": len(columns),
        "n_missing": int(missing.sum()),
        "n_members": len(imputer.mixture_.members) if imputer.mixture_ else 0,
    }


def _check_columns(path: Path, count: int) -> None:
    """Raise a UserError for a single column, which has nothing to predict its entries from."""
    if count == 1:
        raise UserError(
            f"cannot fill {str(path)!r}: missing entries are predicted from other columns of "
            f"numbers, and there is only one; {_INPAINT}"
        )
