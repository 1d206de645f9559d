"""Signals and volumes made whole or clean, for ``fost inpaint`` and ``fost denoise``."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fost._progress import progress
from fost.cli import options
from fost.cli.console import check_output, show
from fost.cli.errors import UserError, complain

if TYPE_CHECKING:
    from fost._typing import Numbers
    from fost.cli.samples import Samples


@dataclass(frozen=True)
class Files:
    """What is read and written, and how the first is understood."""

    path: Path
    output: Path
    force: bool
    volume: bool
    channel_axis: int | None

    def read(self) -> Samples:
        """The samples, after a look at where they go."""
        from fost.cli.samples import check_kinds, read_samples

        check_kinds(self.path, self.output, self.volume)
        check_output(self.output, self.force)
        return read_samples(self.path, self.channel_axis)


def denoise_samples(
    files: Files,
    sigma: float | None,
    model: Path | None,
    stride: int | None,
    quality: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    from fost import restoration

    samples = files.read()
    axis, start = samples.channel_axis, time.perf_counter()
    try:
        with progress("denoising", None, options.shown(quiet)):
            level = sigma
            if level is None:
                level = restoration.noise_level(samples.array, channel_axis=axis)
            steps, dictionary = stride or 1, _dictionary(model, samples)
            clean = restoration.denoise(
                samples.array, level, stride=steps, channel_axis=axis, quality=quality, **dictionary
            )
    except ValueError as error:
        raise UserError(f"cannot denoise {str(files.path)!r}: {error}") from error
    told = f"{level:.3g}" + (", estimated" if sigma is None else "")
    facts = {"sigma": level, "estimated": sigma is None}
    _finish(files, samples, clean, {"noise level": told}, facts, start, as_json, quiet)


def inpaint_samples(
    files: Files,
    mask: Path | None,
    missing_value: float | None,
    model: Path | None,
    stride: int | None,
    as_json: bool,
    quiet: bool,
) -> None:
    import numpy as np

    from fost import restoration

    samples = files.read()
    array, axis, start = samples.array, samples.channel_axis, time.perf_counter()
    missing = _marked(mask, files.volume) if mask is not None else array == missing_value
    if missing_value is not None and np.isnan(missing_value):
        missing = np.isnan(array) if array.dtype.kind == "f" else np.zeros(array.shape, bool)
    count = int(missing.sum())
    if count == 0:
        complain("warning: no sample is missing")
    try:
        with progress("filling", None, options.shown(quiet)):
            dictionary = _dictionary(model, samples)
            whole = restoration.inpaint(
                array, missing, stride=stride, channel_axis=axis, **dictionary
            )
    except ValueError as error:
        raise UserError(f"cannot inpaint {str(files.path)!r}: {error}") from error
    lines = {"filled in": f"{count:,} of {missing.size:,} samples ({count / missing.size:.1%})"}
    facts = {"n_missing": count, "n_samples": missing.size}
    _finish(files, samples, whole, lines, facts, start, as_json, quiet)


def _marked(mask: Path, volume: bool) -> Numbers:
    """Where a mask is not 0."""
    import numpy as np

    from fost.cli.samples import holds_samples, read_samples

    if not holds_samples(mask, volume):
        raise UserError(f"the mask {str(mask)!r} must be a file like that of the samples")
    return np.asarray(read_samples(mask).array != 0)


def _dictionary(model: Path | None, samples: Samples) -> dict[str, Any]:
    """The arguments that say which transform to use, and of which patches."""
    from fost.cli.models import load_model

    if model is None:
        return {}
    loaded = load_model(model)
    flat = samples.array.ndim - (samples.channel_axis is not None) == 2
    return {"dictionary": loaded.transform, "patch": loaded.patch if flat else None}


def _finish(
    files: Files,
    samples: Samples,
    restored: Numbers,
    lines: dict[str, str],
    data: Mapping[str, object],
    start: float,
    as_json: bool,
    quiet: bool,
) -> None:
    """Write what was restored, and say so."""
    from fost.cli.samples import write_samples

    seconds = time.perf_counter() - start
    write_samples(files.output, replace(samples, array=restored))
    array = samples.array
    first = {"samples": f"{samples.size}, {array.dtype}"}
    last = {"time": f"{seconds:.1f} s", "written": str(files.output)}
    facts = {"shape": array.shape, "dtype": str(array.dtype), "seconds": seconds}
    facts["output"] = files.output
    show({**first, **lines, **last}, {**data, **facts}, as_json=as_json, quiet=quiet)
