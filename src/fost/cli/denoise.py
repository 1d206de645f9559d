"""``fost denoise``: removal of noise from an image, a signal or a volume."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from fost.cli import options
from fost.cli.console import output_files, show, with_output
from fost.cli.errors import UserError, error_prefix, print_line, writing
from fost.cli.models import load_model
from fost.io.arrays import (
    ARRAY_SUFFIXES,
    TIFF_SUFFIXES,
    Samples,
    check_conversion,
    create_samples,
    open_samples,
)

if TYPE_CHECKING:
    from fost._typing import Numbers
    from fost.transforms import Coder


class Quality(StrEnum):
    """The values of `quality` of `fost.restoration.denoise`."""

    best = "best"
    fast = "fast"


class Noise(StrEnum):
    """The values of `noise` of `fost.restoration.denoise`."""

    gaussian = "gaussian"
    poisson = "poisson"
    impulse = "impulse"


def denoise_command(
    paths: options.SamplesFiles,
    output: options.OutputOrFolder,
    sigma: float | None = None,
    transform: options.TransformFile = None,
    stride: options.Count = None,
    quality: Quality | None = None,
    noise: Noise = Noise.gaussian,
    gain: float | None = None,
    volume: options.Volume = False,
    channel_axis: options.ChannelAxis = None,
    threads: options.Threads = None,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Remove noise from an image, a signal or a volume.

    The result has the type and the range of the input. Signals and volumes may be larger than
    memory. Poisson noise of integers becomes floats in .npy, .zarr and TIFF files; other files keep
    the type, with a warning.

    Parameters
    ----------
    sigma : S
        Standard deviation of the noise, in the units of the file (0 to 255 for 8 bits);
        estimated if not given. For poisson it is the read noise, 0 if not given.
    transform : MODEL
        Use the model in this file, of --structure givens, householder, orthonormal or bank; if not
        given, a transform is learned from FILE.
    stride : N
        Step from patch to patch: 1, the default, is the best and the slowest.
    quality : best|fast
        best filters groups of similar patches, fast filters each patch alone. The default is
        best, but fast with --transform or --stride.
    noise : gaussian|poisson|impulse
        poisson is for photon counts, impulse for salt and pepper.
    gain : G
        The value of a single count, for --noise poisson; estimated if not given.
    channel_axis : N
        The axis of channels in an .npy or .zarr array, or in a TIFF with --volume. It is for
        colours with equal noise: three channels are processed as red, green and blue.
    """
    from fost import restoration
    from fost.restoration.noise import estimate_gain

    if sigma is not None and not 0 <= sigma < float("inf"):
        raise UserError(f"--sigma must be a nonnegative number, got {sigma}")
    if gain is not None and not 0 < gain < float("inf"):
        raise UserError(f"--gain must be a positive number, got {gain}")
    if gain is not None and noise != Noise.poisson:
        raise UserError(f"--gain is for --noise poisson, got --noise {noise}")
    options.set_threads(threads)
    estimated = sigma is None and noise == Noise.gaussian
    reports = []
    for path, target in output_files(paths, output, force):
        samples = open_input(path, target, volume, channel_axis)
        coder, patch_shape = load_transform(transform, samples)
        start, level = time.perf_counter(), sigma
        with (
            writing(target),
            create_samples(target, _result(samples, target, noise)) as out,
            error_prefix(f"cannot denoise {str(path)!r}"),
        ):
            if estimated:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # `denoise` repeats them
                    level = restoration.estimate_sigma(
                        samples.array, channel_axis=samples.channel_axis
                    )
            restoration.denoise(
                samples.array,
                sigma,
                noise=noise,
                gain=gain,
                transform=coder,
                stride=stride or 1,
                channel_axis=samples.channel_axis,
                patch_shape=patch_shape,
                quality=quality,
                out=out,
                verbose=show_progress(quiet),
            )
            counts = gain
            if noise == Noise.poisson and gain is None:
                counts = estimate_gain(_parts(samples), sigma or 0.0, samples.channel_axis)
                counts = max(0.0, counts)
        lines = {} if noise == Noise.gaussian else {"noise": str(noise)}
        if counts is not None:
            lines["gain"] = f"{counts:.3g}" + (", estimated" if gain is None else "")
        if level is not None:
            lines["noise level"] = f"{level:.3g}" + (", estimated" if estimated else "")
        facts = {"noise": str(noise), "sigma": level, "estimated": estimated}
        facts |= {} if counts is None else {"gain": counts}
        reports.append(report_restored(samples, lines, facts, target, start, as_json, quiet))
    show_reports(reports, as_json)


def _parts(samples: Samples) -> list[Numbers]:
    """The regions from which `denoise` estimates the noise."""
    from fost.restoration.tiling import MAX_SAMPLES, open_reader

    reader = open_reader(samples.array, "x", samples.channel_axis)
    return [reader.read(part) for part in reader.regions(MAX_SAMPLES)]


def _result(samples: Samples, output: Path, noise: Noise) -> Samples:
    """Samples of the type of the result: mean counts are floats where the file can hold them."""
    import numpy as np

    from fost._validation import float_type

    if noise != Noise.poisson or samples.dtype.kind not in "biu":
        return samples
    suffix = output.suffix.lower()
    if suffix not in (*ARRAY_SUFFIXES, *TIFF_SUFFIXES) or samples.alpha is not None:
        print_line(
            f"warning: mean counts are rounded to {samples.dtype} in {str(output)!r}; .tif files "
            "without alpha, .npy and .zarr hold floats"
        )
        return samples
    zero = np.zeros((), float_type(samples.dtype))
    return replace(samples, array=np.broadcast_to(zero, samples.shape))


def open_input(
    path: Path, output: Path, volume: bool, channel_axis: int | None, keep_alpha: bool = True
) -> Samples:
    """Open an input of `fost denoise` or `fost inpaint` after a check of its output."""
    if path.suffix.lower() in (".csv", ".parquet"):
        raise UserError(f"cannot use {str(path)!r}: signals are .npy, .zarr or .wav files")
    check_conversion(path, output, volume)
    return open_samples(path, volume, channel_axis, keep_alpha)


def load_transform(
    path: Path | None, samples: Samples, allow_union: bool = False
) -> tuple[Coder | None, tuple[int, int] | None]:
    """The transform in a model file, and the shape of its patches if they are two-dimensional."""
    if path is None:
        return None, None
    from fost.transforms import PursuitCoder

    model = load_model(path)
    if isinstance(model.transform, PursuitCoder) and not allow_union:
        raise UserError(
            "--transform must be the model of a transform or a bank (--structure givens, "
            f"householder, orthonormal or bank), got {type(model.transform).__name__} in "
            f"{str(path)!r}"
        )
    patch_shape = model.known_patch_shape
    if samples.n_axes != 2 and patch_shape is not None:
        raise UserError(
            f"--transform must have patches of {samples.n_axes} axes for these samples, got "
            f"{options.format_shape(patch_shape)} in {str(path)!r}"
        )
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
