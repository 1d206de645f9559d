"""``fost inpaint`` and ``fost denoise``: pictures, signals and volumes made whole or clean."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fost.cli import options
from fost.cli.console import check_output, show
from fost.cli.errors import UserError, complain, writing
from fost.cli.restore_samples import Files, denoise_samples, inpaint_samples

if TYPE_CHECKING:
    from fost._typing import Numbers

Picture = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="A picture; or a signal or volume: .npy, .zarr, .wav, TIFF with --volume.",
        show_default=False,
    ),
]
Volume = Annotated[
    bool, typer.Option("--volume", help="All pages of a TIFF are the slices of a volume.")
]
ChannelAxis = Annotated[
    int | None,
    typer.Option(
        "--channel-axis", metavar="N", help="Of .npy and .zarr: the axis of channels, if any."
    ),
]
Stride = Annotated[
    int | None,
    typer.Option(
        "--stride",
        metavar="N",
        min=1,
        help="Steps from patch to patch: 1 is best and slowest.",
    ),
]


class Quality(StrEnum):
    """The qualities of `fost.restoration.denoise`."""

    best = "best"
    fast = "fast"


class Method(StrEnum):
    """The methods of `fost.restoration.inpaint` for images."""

    shrinkage = "shrinkage"
    pursuit = "pursuit"


def inpaint(
    picture: Picture,
    output: options.Output,
    mask: Annotated[
        Path | None,
        typer.Option(
            "--mask",
            metavar="MASK",
            help="A file of the same size: where it is not black, or not 0, something is missing; "
            "a picture of more than two values where it is above half of its range. 'alpha' is "
            "where the picture itself is transparent.",
        ),
    ] = None,
    missing_value: Annotated[
        float | None,
        typer.Option(
            "--missing-value",
            metavar="V",
            help="Without a mask: what has this value is missing (pixels: in all channels).",
        ),
    ] = None,
    model: options.ModelOption = None,
    sparsity: Annotated[
        int,
        typer.Option("--sparsity", "-s", metavar="S", min=1, help="Entries per code, for pursuit."),
    ] = 6,
    method: Annotated[
        Method,
        typer.Option(
            "--method",
            help="Repeated shrinkage of overlapping patches, or matching pursuit of each patch.",
        ),
    ] = Method.shrinkage,
    stride: Stride = None,
    volume: Volume = False,
    channel_axis: ChannelAxis = None,
    threads: options.Threads = None,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Fill in the missing pixels of a picture, or samples of a signal or volume.

    Which are missing says a mask, or a value that they have, which may be nan. The others stay as
    they are, and so do the type and the range. --method and --sparsity are for pictures.
    """
    from fost import restoration
    from fost.cli.masks import read_mask, read_opaque
    from fost.cli.samples import holds_samples

    if (mask is None) == (missing_value is None):
        raise UserError("one of --mask and --missing-value must say which pixels are missing")
    if holds_samples(picture, volume):
        options.set_threads(threads)
        kinds = Files(picture, output, force, volume, channel_axis)
        inpaint_samples(kinds, mask, missing_value, model, stride, as_json, quiet)
        return
    check_output(output, force)
    options.set_threads(threads)
    image = read_opaque(picture, mask)
    missing = (
        read_mask(mask, picture, image) if mask is not None else _from_value(image, missing_value)
    )
    count, total = int(missing.sum()), missing.size
    if count == total:
        raise UserError(f"all pixels of {str(picture)!r} are missing, there is nothing to go by")
    _check_type(output, image)
    if count == 0:
        complain("warning: no pixel is missing")
    dictionary = _dictionary(model)
    start = time.perf_counter()
    try:
        shown = not quiet and sys.stderr.isatty()
        restored = restoration.inpaint(
            image,
            missing,
            n_nonzero_coefs=sparsity,
            stride=stride,
            channel_axis=_channel_axis(image),
            method=method.value,
            verbose=shown,
            **dictionary,
        )
    except ValueError as error:
        raise UserError(f"cannot inpaint {str(picture)!r}: {error}") from error
    seconds = time.perf_counter() - start
    _write(output, restored)
    lines = {"filled in": f"{count:,} of {total:,} pixels ({count / total:.1%})"}
    data = {"n_missing": count, "n_pixels": total, "sparsity": sparsity}
    _report(lines, data, image, output, seconds, as_json, quiet)


def denoise(
    picture: Picture,
    output: options.Output,
    sigma: Annotated[
        float | None,
        typer.Option(
            "--sigma",
            metavar="S",
            help="Standard deviation of the noise, in the numbers of the file (from 0 to 255 "
            "in 8 bits); estimated if not given.",
        ),
    ] = None,
    model: options.ModelOption = None,
    stride: Stride = None,
    quality: Annotated[
        Quality | None,
        typer.Option(
            "--quality",
            help="'best' looks at similar patches together, 'fast' at each alone; the default is "
            "'best', and 'fast' with --model or --stride.",
        ),
    ] = None,
    volume: Volume = False,
    channel_axis: ChannelAxis = None,
    threads: options.Threads = None,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Remove noise from a picture, a signal or a volume.

    The type and the range stay what they are.
    """
    from fost import restoration
    from fost.cli.samples import holds_samples
    from fost.cli.signals import read_picture

    if sigma is not None and not 0 <= sigma < float("inf"):
        raise UserError(f"--sigma must be a nonnegative number, got {sigma}")
    if holds_samples(picture, volume):
        options.set_threads(threads)
        kinds = Files(picture, output, force, volume, channel_axis)
        denoise_samples(kinds, sigma, model, stride, quality, as_json, quiet)
        return
    check_output(output, force)
    options.set_threads(threads)
    image = read_picture(picture)
    _check_type(output, image)
    dictionary = _dictionary(model)
    start = time.perf_counter()
    try:
        axis = _channel_axis(image)
        level = restoration.estimate_sigma(image, channel_axis=axis) if sigma is None else sigma
        restored = restoration.denoise(
            image,
            level,
            stride=stride or 1,
            channel_axis=axis,
            quality=quality,
            verbose=not quiet and sys.stderr.isatty(),
            **dictionary,
        )
    except ValueError as error:
        raise UserError(f"cannot denoise {str(picture)!r}: {error}") from error
    seconds = time.perf_counter() - start
    _write(output, restored)
    told = f"{level:.3g}" + (", estimated" if sigma is None else "")
    facts = {"sigma": level, "estimated": sigma is None}
    _report({"noise level": told}, facts, image, output, seconds, as_json, quiet)


def _from_value(image: Numbers, value: float | None) -> Numbers:
    """Where all channels have a value; NaN is one."""
    import numpy as np

    marked = np.isnan(image) if value is not None and np.isnan(value) else image == value
    return np.asarray(marked.all(axis=2) if image.ndim == 3 else marked)


def _dictionary(model: Path | None) -> dict[str, Any]:
    """The arguments that say which transform to use, and of which patches."""
    from fost.cli.models import load_model

    if model is None:
        return {}
    loaded = load_model(model)
    shape = loaded.patch_or_complain("restoring images")
    return {"transform": loaded.transform, "patch_shape": shape}


def _channel_axis(image: Numbers) -> int | None:
    return None if image.ndim == 2 else -1


def _check_type(output: Path, image: Numbers) -> None:
    from fost.images.files import check_writable

    check_writable(output, image.dtype, image.shape[2] if image.ndim == 3 else None)


def _write(output: Path, image: Numbers) -> None:
    from fost import images

    with writing(output):
        images.write(output, image)


def _report(
    lines: dict[str, str],
    data: Mapping[str, object],
    image: Numbers,
    output: Path,
    seconds: float,
    as_json: bool,
    quiet: bool,
) -> None:
    first = {"picture": f"{_size(image)} pixels, {image.dtype}"}
    last = {"time": f"{seconds:.1f} s", "written": str(output)}
    facts = {"shape": image.shape, "dtype": str(image.dtype), "seconds": seconds, "output": output}
    show({**first, **lines, **last}, {**data, **facts}, as_json=as_json, quiet=quiet)


def _size(image: Numbers) -> str:
    return f"{image.shape[1]} x {image.shape[0]}"
