"""Signals and volumes made whole or clean, for ``fost inpaint`` and ``fost denoise``.

They are read and written part by part, and may be larger than memory.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fost.cli.console import check_output, show
from fost.cli.errors import UserError, complain

if TYPE_CHECKING:
    from fost.cli.samples import Marked, Samples


@dataclass(frozen=True)
class Files:
    """What is read and written, and how the first is understood."""

    path: Path
    output: Path
    force: bool
    volume: bool
    channel_axis: int | None

    def opened(self) -> Samples:
        """The samples, after a look at where they go."""
        from fost.cli.samples import check_kinds, opened_samples

        check_kinds(self.path, self.output, self.volume)
        check_output(self.output, self.force)
        return opened_samples(self.path, self.channel_axis)


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
    from fost.cli.sample_files import writing_samples

    samples = files.opened()
    axis, start = samples.channel_axis, time.perf_counter()
    try:
        level = sigma
        if level is None:
            level = restoration.estimate_sigma(samples.array, channel_axis=axis)
        with writing_samples(files.output, samples) as out:
            restoration.denoise(
                samples.array,
                level,
                stride=stride or 1,
                channel_axis=axis,
                quality=quality,
                out=out,
                verbose=_shown(quiet),
                **_dictionary(model, samples),
            )
    except ValueError as error:
        raise _explained(error, f"cannot denoise {str(files.path)!r}") from error
    told = f"{level:.3g}" + (", estimated" if sigma is None else "")
    facts = {"sigma": level, "estimated": sigma is None}
    _report(files, samples, {"noise level": told}, facts, start, as_json, quiet)


def inpaint_samples(
    files: Files,
    mask: Path | None,
    missing_value: float | None,
    model: Path | None,
    stride: int | None,
    as_json: bool,
    quiet: bool,
) -> None:
    from fost import restoration
    from fost.cli.sample_files import writing_samples
    from fost.cli.samples import Marked

    samples = files.opened()
    axis, start = samples.channel_axis, time.perf_counter()
    if mask is not None:
        missing = _mask(mask, files.volume)
    else:
        assert missing_value is not None  # one of both is given
        missing = Marked(samples.array, missing_value)
    count, size = missing.count(), prod(missing.shape)
    if count == 0:
        complain("warning: no sample is missing")
    try:
        with writing_samples(files.output, samples) as out:
            restoration.inpaint(
                samples.array,
                missing,
                stride=stride,
                channel_axis=axis,
                out=out,
                verbose=_shown(quiet),
                **_dictionary(model, samples),
            )
    except ValueError as error:
        raise _explained(error, f"cannot inpaint {str(files.path)!r}") from error
    lines = {"filled in": f"{count:,} of {size:,} samples ({count / size:.1%})"}
    facts = {"n_missing": count, "n_samples": size}
    _report(files, samples, lines, facts, start, as_json, quiet)


def _shown(quiet: bool) -> bool:
    """Whether progress is, on stderr where somebody sees it."""
    return not quiet and sys.stderr.isatty()


def _explained(error: ValueError, what: str) -> ValueError:
    """An error of an argument as one of the file; others say already what they are about."""
    return error if isinstance(error, UserError) else UserError(f"{what}: {error}")


def _mask(mask: Path, volume: bool) -> Marked:
    """Where a mask is not 0."""
    from fost.cli.samples import Marked, holds_samples, opened_samples

    if not holds_samples(mask, volume):
        raise UserError(f"the mask {str(mask)!r} must be a file like that of the samples")
    return Marked(opened_samples(mask).array, 0, is_value=False)


def _dictionary(model: Path | None, samples: Samples) -> dict[str, Any]:
    """The arguments that say which transform to use, and of which patches."""
    from fost.cli.models import load_model

    if model is None:
        return {}
    loaded = load_model(model)
    flat = len(samples.shape) - (samples.channel_axis is not None) == 2
    return {"transform": loaded.transform, "patch_shape": loaded.patch if flat else None}


def _report(
    files: Files,
    samples: Samples,
    lines: dict[str, str],
    data: Mapping[str, object],
    start: float,
    as_json: bool,
    quiet: bool,
) -> None:
    """Say what was written."""
    seconds = time.perf_counter() - start
    first = {"samples": f"{samples.size}, {samples.dtype}"}
    last = {"time": f"{seconds:.1f} s", "written": str(files.output)}
    facts = {"shape": samples.shape, "dtype": str(samples.dtype), "seconds": seconds}
    facts["output"] = files.output
    show({**first, **lines, **last}, {**data, **facts}, as_json=as_json, quiet=quiet)
