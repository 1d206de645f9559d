"""Codes with coefficients in float16, and the errors that they then have."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from fost.cli.errors import UserError

if TYPE_CHECKING:
    from fost._typing import Numbers
    from fost.cli.codes import Codes
    from fost.cli.models import Model


def in_half_precision(model: Model, path: Path, codes: Codes) -> Codes:
    """The codes of a file in float16; errors and PSNR are those of what is decoded from them."""
    from fost.cli.signals import read_picture

    rounded = _rounded(codes)
    if rounded.picture is None:
        return rounded
    psnr = psnr_of(read_picture(path), model, rounded)
    return replace(rounded, picture=replace(rounded.picture, psnr=psnr))


def psnr_of(picture: Numbers, model: Model, codes: Codes) -> float | None:
    """That of what `fost decode` makes of codes; None where it is the same picture."""
    from fost import images
    from fost.cli.decode import decoded_picture

    assert codes.picture is not None
    scale = codes.picture.high - codes.picture.low
    psnr = images.psnr(picture, decoded_picture(model, codes, quiet=True), scale)
    return psnr if isfinite(psnr) else None


def _rounded(codes: Codes) -> Codes:
    import numpy as np

    values = codes.codes.data
    with np.errstate(over="ignore"):
        data, means = (
            numbers.astype(np.float16).astype(numbers.dtype) for numbers in (values, codes.means)
        )
    if not (np.isfinite(data).all() and np.isfinite(means).all()):
        largest = max(float(np.abs(each).max(initial=0)) for each in (values, codes.means))
        raise UserError(f"--values float16 holds numbers up to 65504, the codes have {largest:.6g}")
    kept, lost = (
        float(np.square(each, dtype=np.float64).sum()) for each in (values, values - data)
    )
    # What rounding loses is orthogonal to what the codes had lost already.
    share = lost / kept if kept > 0 else 0.0
    error = codes.relative_error + share * (1 - codes.relative_error)
    rounded = codes.codes.copy()
    rounded.data = data
    return replace(codes, codes=rounded, means=means, relative_error=error, values="float16")
