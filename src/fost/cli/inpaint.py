"""``fost inpaint``: missing pixels of an image, or samples of a signal or volume."""

from __future__ import annotations

import time
import warnings
from enum import StrEnum
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fost.cli import options
from fost.cli.console import output_files
from fost.cli.denoise import (
    load_transform,
    open_input,
    report_restored,
    show_progress,
    show_reports,
)
from fost.cli.errors import UserError, error_prefix, print_line, writing
from fost.io.arrays import Samples, create_samples, file_format, open_samples

if TYPE_CHECKING:
    from fost._typing import Numbers
    from fost.io.images import ValueMask

# The value of --mask for the image's own alpha channel; a file of that name is ./alpha.
_ALPHA = "alpha"


class Method(StrEnum):
    """The values of `method` of `fost.restoration.inpaint`."""

    shrinkage = "shrinkage"
    gaussian = "gaussian"
    pursuit = "pursuit"


def inpaint_command(
    paths: options.SamplesFiles,
    output: options.OutputOrFolder,
    mask: str | None = None,
    missing_value: float | None = None,
    transform: options.TransformFile = None,
    n_nonzero_coefs: Annotated[int, typer.Option("--n-nonzero-coefs", "-s", min=1)] = 6,
    method: Method | None = None,
    stride: options.Count = None,
    volume: options.Volume = False,
    channel_axis: options.ChannelAxis = None,
    threads: options.Threads = None,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Fill in missing pixels of an image, or missing samples of a signal or volume.

    Observed pixels and samples, the type and the range do not change. Signals and volumes may be
    larger than memory.

    Parameters
    ----------
    mask : MASK
        A file of the same size that is not black, or not 0, where pixels or samples are missing. An
        image of more than two values is true above half of its range. A folder has a mask of the
        same name for each FILE. 'alpha' stands for the transparent pixels of FILE.
    missing_value : V
        Instead of a mask: the value of missing samples, or of all channels of missing pixels. It
        may be nan.
    transform : MODEL
        Use the model in this file, of --structure givens, householder, orthonormal or bank. The
        method pursuit accepts any structure. If not given, a transform is learned from FILE.
    n_nonzero_coefs : S
        Entries per code for the method pursuit.
    method : NAME
        shrinkage (of overlapping patches, repeated), gaussian (the conditional mean of a mixture)
        or pursuit (orthogonal matching pursuit of each patch). The default is gaussian for
        signals without --transform, and shrinkage otherwise.
    stride : N
        Step from patch to patch: 1 is the best and the slowest.
    channel_axis : N
        The axis of channels in an .npy or .zarr array, or in a TIFF with --volume.
    """
    from fost import restoration

    if (mask is None) == (missing_value is None):
        raise UserError("give either --mask or --missing-value to say what is missing")
    options.set_threads(threads)
    reports = []
    for path, target in output_files(paths, output, force):
        with warnings.catch_warnings():
            if mask == _ALPHA:  # the alpha channel is used after all
                warnings.filterwarnings("ignore", ".*alpha.*", UserWarning)
            samples = open_input(path, target, volume, channel_axis, mask != _ALPHA)
        missing = _open_mask(mask, missing_value, path, samples, volume)
        count, size = _count(missing), prod(missing.shape)
        what = "pixel" if samples.format == "image" else "sample"
        if count == 0:
            print_line(f"warning: no {what} is missing")
        elif size > count > size / 2:
            print_line(
                f"warning: {count / size:.1%} of the {what}s of {str(path)!r} are missing; "
                "is the mask inverted?"
            )
        coder, patch_shape = load_transform(transform, samples, method == Method.pursuit)
        start = time.perf_counter()
        with (
            writing(target),
            create_samples(target, samples) as out,
            error_prefix(f"cannot inpaint {str(path)!r}"),
        ):
            restoration.inpaint(
                samples.array,
                missing,
                transform=coder,
                n_nonzero_coefs=n_nonzero_coefs,
                stride=stride,
                channel_axis=samples.channel_axis,
                method=method,
                patch_shape=patch_shape,
                out=out,
                verbose=show_progress(quiet),
            )
        lines = {"filled in": f"{count:,} of {size:,} {what}s ({count / size:.1%})"}
        facts = {"n_missing": count, f"n_{what}s": size}
        reports.append(report_restored(samples, lines, facts, target, start, as_json, quiet))
    show_reports(reports, as_json)


def _open_mask(
    mask: str | None, value: float | None, path: Path, samples: Samples, volume: bool
) -> Numbers | ValueMask:
    """The mask of missing pixels or samples: from a file, from alpha, or where a value is."""
    import numpy as np

    from fost import images
    from fost.io.images import ValueMask, mask_from_image, read_alpha_mask

    is_image = samples.format == "image"
    if mask is None:
        assert value is not None
        found = ValueMask(samples.array, value)
        if not is_image:
            return found
        pixels = found[:, :]
        return np.asarray(pixels.all(axis=2) if pixels.ndim == 3 else pixels)
    if mask == _ALPHA and is_image:
        with error_prefix("--mask alpha"):
            return read_alpha_mask(path)
    file = Path(mask)
    if file.is_dir() and file.suffix.lower() != ".zarr":
        file = file / path.name
        mask = str(file)
    if not is_image and file_format(file, volume) == "image":
        own = " or TIFF" if samples.format == "stack" else ""
        raise UserError(f"the mask {mask!r} must be an .npy or .zarr{own} file for these samples")
    marks = open_samples(file, volume)
    if marks.format != "image":
        return ValueMask(marks.array, 0, equal=False)
    if marks.shape[:2] != samples.shape[:2]:
        sizes = (f"{shape[1]} x {shape[0]}" for shape in (marks.shape, samples.shape))
        raise UserError("the mask {!r} has {} pixels, the image has {}".format(mask, *sizes))
    pixels = np.asarray(marks.array)
    form = images.ImageFormat.of(pixels)
    return mask_from_image(pixels, (form.low + form.high) / 2, mask)


def _count(mask: Numbers | ValueMask) -> int:
    from fost.io.images import ValueMask

    return mask.count() if isinstance(mask, ValueMask) else int(mask.sum())
