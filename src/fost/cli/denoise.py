"""``fost denoise``: removal of noise from an image, a signal or a volume."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from fost.cli import options
from fost.cli.console import output_files, show, with_output
from fost.cli.errors import UserError, error_prefix, writing
from fost.cli.models import load_model
from fost.io.arrays import Samples, check_conversion, create_samples, open_samples

if TYPE_CHECKING:
    from fost.transforms import Coder


class Quality(StrEnum):
    """The values of `quality` of `fost.restoration.denoise`."""

    best = "best"
    fast = "fast"


def denoise_command(
    paths: options.SamplesFiles,
    output: options.OutputOrFolder,
    sigma: float | None = None,
    transform: options.TransformFile = None,
    stride: options.Count = None,
    quality: Quality | None = None,
    volume: options.Volume = False,
    channel_axis: options.ChannelAxis = None,
    threads: options.Threads = None,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Remove noise from an image, a signal or a volume.

    The result has the type and the range of the input. Signals and volumes may be larger than
    memory.

    Parameters
    ----------
    sigma : S
        Standard deviation of the noise, in the units of the file (0 to 255 for 8 bits);
        estimated if not given.
    stride : N
        Step from patch to patch: 1, the default, is the best and the slowest.
    quality : best|fast
        best filters groups of similar patches, fast filters each patch alone. The default is
        best, but fast with --transform or --stride.
    """
    from fost import restoration

    if sigma is not None and not 0 <= sigma < float("inf"):
        raise UserError(f"--sigma must be a nonnegative number, got {sigma}")
    options.set_threads(threads)
    reports = []
    for path, target in output_files(paths, output, force):
        samples = open_input(path, target, volume, channel_axis)
        coder, patch_shape = load_transform(transform, samples)
        start, level = time.perf_counter(), sigma
        with (
            writing(target),
            create_samples(target, samples) as out,
            error_prefix(f"cannot denoise {str(path)!r}"),
        ):
            if level is None:
                level = restoration.estimate_sigma(samples.array, channel_axis=samples.channel_axis)
            restoration.denoise(
                samples.array,
                level,
                transform=coder,
                stride=stride or 1,
                channel_axis=samples.channel_axis,
                patch_shape=patch_shape,
                quality=quality,
                out=out,
                verbose=show_progress(quiet),
            )
        lines = {"noise level": f"{level:.3g}" + (", estimated" if sigma is None else "")}
        facts = {"sigma": level, "estimated": sigma is None}
        reports.append(report_restored(samples, lines, facts, target, start, as_json, quiet))
    show_reports(reports, as_json)


def open_input(
    path: Path, output: Path, volume: bool, channel_axis: int | None, keep_alpha: bool = True
) -> Samples:
    """Open an input of `fost denoise` or `fost inpaint` after a check of its output."""
    check_conversion(path, output, volume)
    return open_samples(path, volume, channel_axis, keep_alpha)


def load_transform(
    path: Path | None, samples: Samples
) -> tuple[Coder | None, tuple[int, int] | None]:
    """The transform in a model file, and the shape of its patches if they are two-dimensional."""
    if path is None:
        return None, None
    model = load_model(path)
    return model.transform, model.patch_shape("an image") if samples.n_axes == 2 else None


def show_progress(quiet: bool) -> bool:
    return not quiet and sys.stderr.isatty()


def report_restored(
    samples: Samples,
    lines: Mapping[str, str],
    facts: Mapping[str, object],
    output: Path,
    start: float,
    as_json: bool,
    quiet: bool,
) -> dict[str, object]:
    """Print what was restored, unless JSON is wanted, and return it."""
    shape, dtype = samples.shape, str(samples.dtype)
    if samples.format == "image":
        first = {"image": f"{shape[1]} x {shape[0]} pixels, {dtype}"}
    else:
        first = {"samples": f"{' x '.join(map(str, shape))}, {dtype}"}
    facts = {**facts, "shape": shape, "dtype": dtype}
    shown, result = with_output({**first, **lines}, facts, output, start)
    show(shown, result, as_json=False, quiet=quiet or as_json)
    return result


def show_reports(reports: list[dict[str, object]], as_json: bool) -> None:
    """Print the results of all files as JSON: an object, or a list of several."""
    if as_json:
        show({}, reports[0] if len(reports) == 1 else reports, as_json=True, quiet=False)
