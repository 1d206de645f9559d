"""``fost encode``: sparse codes of an image or an array."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from fost._progress import progress
from fost.cli import options
from fost.cli.console import check_output, psnr_text, show_written
from fost.cli.decode import decode_image
from fost.cli.errors import UserError, error_prefix, writing
from fost.cli.models import Model, load_model
from fost.cli.signals import (
    Signals,
    Windows,
    check_array_options,
    dask_cluster,
    holds_signals,
    image_blocks,
    is_array,
    load_signals,
    read_planes,
)
from fost.io.arrays import open_array

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from fost._typing import Numbers
    from fost.coding.selection import SelectionRule
    from fost.io.codes import SavedCodes


def encode_command(
    model: options.ModelFile,
    data: Path,
    output: options.Output,
    n_nonzero_coefs: options.NonzeroCoefs = None,
    max_error: options.Nonnegative = None,
    threshold: options.Nonnegative = None,
    missing: options.Missing = None,
    exclude: options.Exclude = None,
    channel_axis: options.ChannelAxis = None,
    values: str | None = None,
    scheduler: options.Scheduler = None,
    threads: options.Threads = None,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Encode an image, an array of signals or a recording, with few coefficients per signal.

    The code file is an .npz file without pickles. It holds the codes, which
    scipy.sparse.load_npz reads, the mean of each patch, and everything that `fost decode` needs
    to restore the image. The patches of an image do not overlap. Missing entries of an array, NaN
    or given by --missing, are ignored: orthogonal matching pursuit codes the observed entries.

    Recordings are cut into windows of as many samples as the model has features, channel after
    channel. The windows do not overlap, and samples that do not fill the last window are left out,
    with a warning.

    Code files are for computation; they are not an image codec. A JPEG of the same PSNR is several
    times smaller, because it also quantises coefficients and uses entropy coding.

    Parameters
    ----------
    data : DATA
        An image; an .npy or .zarr array with signals in rows, or a .csv table with a column for
        each feature. Or a recording: .wav, other .csv, one-dimensional .npy or .zarr, or
        two-dimensional with --channel-axis.
    n_nonzero_coefs : S
        Entries per code; as for the training of the model if not given. With --max-error or
        --threshold it is the maximum.
    max_error : E
        Use as few entries as keep the squared error of each signal or patch at or below this. The
        limit is absolute; a relative one must be converted.
        Images are scaled to the range from 0 to 1. The samples of .wav files are not scaled: those
        of 16 bits are between -32768 and 32767.
    threshold : T
        Keep all entries whose magnitude is above this.
    values : TYPE
        float16 stores coefficients and means in half of the space, with three digits; by default
        they keep their type.
    """
    from fost.io import codes

    if output.suffix.lower() != ".npz":
        raise UserError(f"cannot write {str(output)!r}: the extension of code files is .npz")
    if values not in (None, "float16"):
        raise UserError(f"--values must be float16, got {values!r}")
    check_output(output, force)
    options.set_threads(threads)
    loaded = load_model(model)
    rule = _rule(n_nonzero_coefs, max_error, threshold, loaded)
    start = time.perf_counter()
    n = loaded.transform.n_features
    windows = Windows(n, None, exclude or [], channel_axis, for_codes=True)
    windows.check([data])
    if holds_signals(data):
        if is_array(data) and channel_axis is None and len(open_array(data).shape) != 1:
            windows = Windows()  # signals in rows
        with dask_cluster(scheduler):
            saved = _encode_array(
                loaded, data, windows, missing or [], rule, scheduler is not None, quiet
            )
    else:
        check_array_options(missing or [], scheduler is not None)
        saved, pixels = _encode_image(loaded, data, rule, quiet)
    if values is not None:
        with error_prefix("--values float16"):
            saved = codes.to_float16(saved)
    if saved.image is not None:
        psnr = _decoded_psnr(loaded, saved, pixels)
        saved = replace(saved, image=replace(saved.image, psnr=psnr))
    with writing(output):
        size = codes.save_codes(output, saved)
    lines, facts = _describe_codes(saved)
    lines["size"], facts["bytes"] = f"{size:,} bytes", size
    show_written(lines, facts, output, start, as_json=as_json, quiet=quiet)


def _rule(
    n_nonzero_coefs: int | None, max_error: float | None, threshold: float | None, model: Model
) -> SelectionRule:
    """The selection rule that the options ask for, or that of the training."""
    from fost.coding.selection import check_rule

    n = model.transform.n_features
    if n_nonzero_coefs is not None and n_nonzero_coefs > n:
        raise UserError(
            f"--n-nonzero-coefs must be at most the {n} features of the model, "
            f"got {n_nonzero_coefs}"
        )
    if max_error is None and threshold is None:
        threshold = None if n_nonzero_coefs else model.threshold
        n_nonzero_coefs = n_nonzero_coefs or model.n_nonzero_coefs
    with error_prefix("--max-error, --threshold"):
        return check_rule(n_nonzero_coefs, max_error, threshold, n)


def _encode_array(
    model: Model,
    path: Path,
    windows: Windows,
    masks: list[Path],
    rule: SelectionRule,
    on_cluster: bool,
    quiet: bool,
) -> SavedCodes:
    """The codes of the signals in a file, encoded block by block or on a cluster."""
    import numpy as np

    n = model.transform.n_features
    signals = load_signals([path], windows=windows, masks=masks, on_cluster=on_cluster)
    if signals.n_features != n:
        raise UserError(
            f"cannot use {str(path)!r}: its signals have {signals.n_features} entries, "
            f"the model was learned for {n}"
        )
    with error_prefix(f"cannot encode {str(path)!r}"):
        if on_cluster:
            codes, error = _encode_on_cluster(model, signals, rule, quiet)
        else:
            source = signals.source
            blocks = source.stream.blocks()
            codes, error = _encode_blocks(
                model, blocks, signals.n_signals, rule, quiet, source.has_missing
            )
    return _saved(model, codes, np.zeros(0), rule, error, codes.dtype.name)


def _encode_on_cluster(
    model: Model, signals: Signals, rule: SelectionRule, quiet: bool
) -> tuple[csr_array, float]:
    import dask
    import numpy as np

    from fost.learning.statistics import error_from_energy
    from fost.streams.dask import explained_errors
    from fost.transforms import PursuitCoder

    if isinstance(model.transform, PursuitCoder):
        raise UserError(
            "--scheduler is for transforms and banks, but the model is coded by pursuit"
        )
    codes = _encode_rows(model, signals.rows, rule, signals.missing)
    with progress("encoding", None, options.shown(quiet)), explained_errors():
        if signals.missing is not None:
            (codes,) = dask.compute(codes)
            return codes, signals.source.relative_error(model.transform, rule)
        codes, total = dask.compute(codes, (signals.rows.astype(np.float64) ** 2).sum())
    kept = float(np.sum(np.square(codes.data, dtype=np.float64)))
    return codes, error_from_energy(kept, float(total))


def _encode_image(
    model: Model, path: Path, rule: SelectionRule, quiet: bool
) -> tuple[SavedCodes, Numbers]:
    """The codes of the patches of an image, which do not overlap, and its pixels."""
    import numpy as np

    from fost.io.codes import EncodedImage

    patch_shape = model.patch_shape("an image")
    pixels, planes, form = read_planes(path)
    means: list[Numbers] = []

    def blocks() -> Iterable[Numbers]:
        for block in image_blocks(planes, patch_shape, None, path):
            means.append(block.mean(axis=1))
            yield block - means[-1][:, None]

    count = -(-planes.size // (patch_shape[0] * patch_shape[1]))  # approximate, for progress
    with error_prefix(f"cannot encode {str(path)!r}"):
        codes, error = _encode_blocks(model, blocks(), count, rule, quiet)
    image = EncodedImage(pixels.shape, patch_shape, form.low, form.high, None)
    saved = _saved(model, codes, np.concatenate(means), rule, error, form.dtype.name)
    return replace(saved, image=image), pixels


def _saved(
    model: Model, codes: csr_array, means: Numbers, rule: SelectionRule, error: float, dtype: str
) -> SavedCodes:
    from fost.io.codes import SavedCodes
    from fost.transforms.storage import checksum

    return SavedCodes(codes, means, checksum(model.transform), rule.s, error, dtype)


def _decoded_psnr(model: Model, saved: SavedCodes, pixels: Numbers) -> float | None:
    """The PSNR of the decoded image; None if it equals the original."""
    from fost import images

    assert saved.image is not None
    scale = saved.image.high - saved.image.low
    psnr = images.psnr(pixels, decode_image(model, saved, quiet=True), scale)
    return psnr if isfinite(psnr) else None


def _encode_rows(model: Model, rows: object, rule: SelectionRule, missing: object) -> csr_array:
    return model.transform.encode(
        rows, rule.s, max_error=rule.max_error, threshold=rule.threshold, missing=missing
    )


def _encode_blocks(
    model: Model,
    blocks: Iterable[Numbers],
    count: int,
    rule: SelectionRule,
    quiet: bool,
    has_missing: bool = False,
) -> tuple[csr_array, float]:
    """The codes of all blocks, and their relative error on the observed entries."""
    import numpy as np
    from scipy.sparse import vstack

    from fost.learning.statistics import error_from_energy

    parts, total, kept, done = [], 0.0, 0.0, 0
    with progress("encoding", count, options.shown(quiet)) as advance:
        for block in blocks:
            codes = _encode_rows(model, block, rule, "nan" if has_missing else None)
            parts.append(codes)
            energy = float(np.nansum(np.square(block, dtype=np.float64)))
            total += energy
            if has_missing:
                residual = np.nan_to_num(block - model.transform.decode(codes))
                kept += energy - float(np.sum(np.square(residual, dtype=np.float64)))
            else:
                kept += model.transform.energy_kept(block, codes)
            done += len(block)
            advance(done, "")
    stacked = parts[0] if len(parts) == 1 else vstack(parts, format="csr")
    return stacked, error_from_energy(kept, total)


def _describe_codes(saved: SavedCodes) -> tuple[dict[str, str], dict[str, object]]:
    """Codes in lines for people, and as data."""
    (n_signals, n_features), n_entries = saved.codes.shape, saved.codes.nnz
    each = f"{saved.n_nonzero_coefs} of {n_features} coefficients each"
    if n_entries < n_signals * saved.n_nonzero_coefs:
        each = f"{n_entries / max(1, n_signals):.3g} of {n_features} coefficients each on average"
    lines = {
        "encoded": f"{n_signals:,} {'patches' if saved.image else 'signals'}, {each}",
        "relative error": f"{saved.relative_error:.4%}",
    }
    facts: dict[str, object] = {
        "signals": saved.signals,
        "n_signals": n_signals,
        "n_features": n_features,
        "n_entries": n_entries,
        "n_nonzero_coefs": saved.n_nonzero_coefs,
        "relative_error": saved.relative_error,
    }
    if saved.image is not None:
        facts["psnr"] = saved.image.psnr
        lines["PSNR"] = psnr_text(saved.image.psnr)
    return lines, facts
