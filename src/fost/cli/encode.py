"""``fost encode``: signals to sparse codes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fost._progress import progress
from fost.cli import options
from fost.cli.console import check_output, show
from fost.cli.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scipy.sparse import csr_array

    from fost._typing import Numbers
    from fost.cli.codes import Codes
    from fost.cli.models import Model
    from fost.cli.signals import Rows
    from fost.selection import Rule


def encode(
    model: options.Model,
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="A picture, or an .npy or .zarr array with signals in rows.",
            show_default=False,
        ),
    ],
    output: options.Output,
    sparsity: Annotated[
        int | None,
        typer.Option(
            "--sparsity",
            "-s",
            metavar="S",
            min=1,
            help="Entries per code; what the model was learned for if not given. With --tol or "
            "--threshold, at most so many, and if not given as many as that takes.",
        ),
    ] = None,
    tol: Annotated[
        float | None,
        typer.Option(
            "--tol",
            metavar="E",
            min=0.0,
            help="As few entries as make the squared error of a signal or patch at most this; "
            "pictures are in the range from 0 to 1.",
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold", metavar="T", min=0.0, help="All entries of a magnitude above this."
        ),
    ] = None,
    missing: options.Missing = None,
    values: Annotated[
        str | None,
        typer.Option(
            "--values",
            metavar="TYPE",
            help="float16 stores coefficients and means in half of the space, to three digits; "
            "by default they keep their type.",
        ),
    ] = None,
    scheduler: options.Scheduler = None,
    threads: options.Threads = None,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Encode a picture or an array of signals: a few coefficients per patch or signal.

    The file of codes is an .npz file without pickles: the codes, as scipy.sparse.load_npz reads
    them, the mean of each patch, and what `fost decode` needs to make the picture again. The
    patches of a picture do not overlap. What is missing of an array, NaN or by --missing, does not
    count: its codes are those of pursuit on the rest.

    It is a file to compute with, and no picture codec: a JPEG of the same PSNR is several times
    as small, since it also quantises coefficients and codes them by their probabilities.
    """
    from fost.cli.cluster import connected
    from fost.cli.half import in_half_precision
    from fost.cli.models import load_model
    from fost.cli.signals import is_array

    if output.suffix.lower() != ".npz":
        raise UserError(f"cannot write {str(output)!r}: files of codes are called .npz")
    if values not in (None, "float16"):
        raise UserError(f"--values must be float16, got {values!r}")
    check_output(output, force)
    options.set_threads(threads)
    loaded = load_model(model)
    rule = _rule(sparsity, tol, threshold, loaded)
    start = time.perf_counter()
    if not is_array(data) and (scheduler is not None or missing):
        option = "--missing" if scheduler is None else "--scheduler"
        raise UserError(f"{option} is for arrays, not for pictures")
    with connected(scheduler):
        if not is_array(data):
            codes = encode_picture(loaded, data, rule, quiet)
        else:
            encoded = encode_array if scheduler is None else encode_on_cluster
            codes = encoded(loaded, data, missing or [], rule, quiet)
    if values is not None:
        codes = in_half_precision(loaded, data, codes)
    size = codes.save(output)
    seconds = time.perf_counter() - start
    lines, facts = _reported(codes)
    lines |= {
        "time": f"{seconds:.1f} s",
        "written": f"{output} ({size:,} bytes)",
    }
    facts |= {"seconds": seconds, "output": output, "bytes": size}
    show(lines, facts, as_json=as_json, quiet=quiet)


def _rule(sparsity: int | None, tol: float | None, threshold: float | None, model: Model) -> Rule:
    """What the options ask for."""
    from fost.selection import check_rule

    n = model.transform.n_features
    if sparsity is not None and sparsity > n:
        raise UserError(f"--sparsity must be at most the {n} features of the model, got {sparsity}")
    if tol is None and threshold is None:
        threshold = None if sparsity else model.threshold
        sparsity = sparsity or model.sparsity
    try:
        return check_rule(sparsity, tol, threshold, n)
    except ValueError as error:
        raise UserError(f"--tol, --threshold: {error}") from error


def encode_array(model: Model, path: Path, masks: list[Path], rule: Rule, quiet: bool) -> Codes:
    """The codes of signals in the rows of an array, of which a part is in memory at a time."""
    from fost.cli.signals import load_signals

    signals = load_signals([path], None, None, (8, 8), masks=masks)
    _check_features(model, signals.rows, path)
    source, count = signals.source, signals.n_signals
    codes, error = _encoded(
        model, source.stream.blocks(), count, rule, path, quiet, source.has_missing
    )
    return _codes_of_array(model, codes, rule, error)


def encode_on_cluster(
    model: Model, path: Path, masks: list[Path], rule: Rule, quiet: bool
) -> Codes:
    """The same by a Dask cluster; the codes come here."""
    import dask
    import numpy as np

    from fost.cli.signals import load_signals
    from fost.learning.statistics import error_from_energy
    from fost.streams.dask import explained_errors
    from fost.transforms import Union

    signals = load_signals([path], None, None, (8, 8), on_cluster=True, masks=masks)
    rows = signals.rows
    _check_features(model, rows, path)
    if isinstance(model.transform, Union):
        raise UserError("--scheduler is for transforms and banks, and the model is a union")
    total = (rows.astype(np.float64) ** 2).sum()
    with progress("encoding", None, options.shown(quiet)), explained_errors():
        try:
            if signals.missing is not None:
                codes = dask.compute(_coded(model, rows, rule, signals.missing))[0]
                lost = signals.source.relative_error(model.transform, rule)
                return _codes_of_array(model, codes, rule, lost)
            codes, total = dask.compute(_coded(model, rows, rule), total)
        except ValueError as error:
            raise UserError(f"cannot encode {str(path)!r}: {error}") from error
    kept = float(np.sum(np.square(codes.data, dtype=np.float64)))
    return _codes_of_array(model, codes, rule, error_from_energy(kept, float(total)))


def _check_features(model: Model, rows: Rows, path: Path) -> None:
    n = model.transform.n_features
    if rows.shape[1] != n:
        raise UserError(
            f"cannot use {str(path)!r}: its signals have {rows.shape[1]} entries, "
            f"the model was learned for {n}"
        )


def _codes_of_array(model: Model, codes: csr_array, rule: Rule, error: float) -> Codes:
    import numpy as np

    from fost.cli.codes import Codes
    from fost.transforms.storage import checksum

    name = checksum(model.transform)
    return Codes(codes, np.zeros(0), name, rule.s, error, codes.dtype.name, None)


def encode_picture(model: Model, path: Path, rule: Rule, quiet: bool) -> Codes:
    """The codes of a picture's patches, which do not overlap."""
    import numpy as np

    from fost.cli.codes import Codes, Picture
    from fost.cli.half import psnr_of
    from fost.cli.signals import picture_blocks, read_picture, unit_planes
    from fost.transforms.storage import checksum

    patch = model.patch_or_complain("a picture")
    picture = read_picture(path)
    planes, form = unit_planes(picture)
    means: list[Numbers] = []

    def blocks() -> Iterable[Numbers]:
        for _, block in picture_blocks(planes, patch, None, path):
            means.append(block.mean(axis=1))
            yield block - means[-1][:, None]

    count = -(-planes.size // (patch[0] * patch[1]))  # about, for the bar
    codes, error = _encoded(model, blocks(), count, rule, path, quiet)

    def made(psnr: float | None) -> Codes:
        what = Picture(picture.shape, patch, form.low, form.high, psnr)
        mean = np.concatenate(means)
        name = checksum(model.transform)
        return Codes(codes, mean, name, rule.s, error, form.dtype.name, what)

    return made(psnr_of(picture, model, made(None)))


def _coded(model: Model, rows: object, rule: Rule, missing: object = None) -> csr_array:
    return model.transform.encode(
        rows, rule.s, max_error=rule.max_error, threshold=rule.threshold, missing=missing
    )


def _encoded(
    model: Model,
    blocks: Iterable[Numbers],
    count: int,
    rule: Rule,
    path: Path,
    quiet: bool,
    gaps: bool = False,
) -> tuple[csr_array, float]:
    """The codes of all blocks, and their relative error; with gaps, on what is not NaN."""
    import numpy as np
    from scipy.sparse import vstack

    from fost.learning.statistics import error_from_energy

    parts, total, kept, done = [], 0.0, 0.0, 0
    with progress("encoding", count, options.shown(quiet)) as advance:
        for block in blocks:
            try:
                codes = _coded(model, block, rule, "nan" if gaps else None)
            except ValueError as error:
                raise UserError(f"cannot encode {str(path)!r}: {error}") from error
            parts.append(codes)
            whole = float(np.nansum(np.square(block, dtype=np.float64)))
            total += whole
            if gaps:
                left = np.nan_to_num(block - model.transform.decode(codes))
                kept += whole - float(np.sum(np.square(left, dtype=np.float64)))
            else:
                kept += model.transform.energy_kept(block, codes)
            done += len(block)
            advance(done, "")
    whole_codes = parts[0] if len(parts) == 1 else vstack(parts, format="csr")
    return whole_codes, error_from_energy(kept, total)


def _reported(codes: Codes) -> tuple[dict[str, str], dict[str, object]]:
    n_signals, n_features = codes.codes.shape
    what = "signals" if codes.picture is None else "patches"
    each = f"{codes.sparsity} of {n_features} coefficients each"
    if codes.codes.nnz < n_signals * codes.sparsity:
        mean = codes.codes.nnz / max(1, n_signals)
        each = f"{mean:.3g} of {n_features} coefficients each on average"
    lines = {
        "encoded": f"{n_signals:,} {what}, {each}",
        "relative error": f"{codes.relative_error:.4%}",
    }
    data: dict[str, object] = {
        "signals": "array" if codes.picture is None else "picture",
        "n_signals": n_signals,
        "n_features": n_features,
        "n_entries": codes.codes.nnz,
        "sparsity": codes.sparsity,
        "relative_error": codes.relative_error,
    }
    if codes.picture is not None:
        data["psnr"] = codes.picture.psnr
        lines["PSNR"] = psnr_text(codes.picture.psnr)
    return lines, data


def psnr_text(psnr: float | None) -> str:
    return "infinite, the picture is kept exactly" if psnr is None else f"{psnr:.2f} dB"
