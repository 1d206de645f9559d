"""Which pixels of a picture are missing, by another picture or by its own transparency."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from fost.cli.errors import UserError, complain, reading

if TYPE_CHECKING:
    from fost._typing import Numbers

# What --mask is for the picture's own alpha channel; a file of that name is ./alpha.
ALPHA = Path("alpha")


def read_mask(mask: Path, picture: Path, image: Numbers) -> Numbers:
    """True where pixels of the picture are missing."""
    from fost.cli.signals import read_picture

    if str(mask) == str(ALPHA):
        return _transparent(picture)
    marks = read_picture(mask)
    if marks.shape[:2] != image.shape[:2]:
        raise UserError(
            f"the mask {str(mask)!r} has {_size(marks)} pixels, the picture has {_size(image)}"
        )
    return _marked(marks, mask)


def read_opaque(picture: Path, mask: Path | None) -> Numbers:
    """The picture; its transparency is no news where that is the mask."""
    from fost.cli.signals import read_picture

    with warnings.catch_warnings():
        if mask is not None and str(mask) == str(ALPHA):
            warnings.filterwarnings("ignore", ".*alpha.*", UserWarning)
        return read_picture(picture)


def _marked(marks: Numbers, path: Path) -> Numbers:
    """Where a mask of black and one other value is not black, and any other above half its range.

    Files of lossy kinds have grey around all that is white.
    """
    import numpy as np

    from fost import images

    values = np.unique(marks)
    if len(values) > 2 or (len(values) == 2 and values[0] != 0):
        form = images.ImageFormat.of(marks)
        half = (form.low + form.high) / 2
        complain(
            f"the mask {str(path)!r} has {len(values):,} values; pixels above {half:g}, half of "
            "its range, are missing"
        )
        marked = marks > half
    else:
        marked = marks != 0
    return np.asarray(marked.any(axis=2) if marks.ndim == 3 else marked)


def _transparent(picture: Path) -> Numbers:
    """Where a picture is more transparent than opaque."""
    import numpy as np
    from PIL import Image, ImageOps

    try:
        with reading(picture), Image.open(picture) as opened:
            image = ImageOps.exif_transpose(opened)
            if not image.has_transparency_data:
                raise UserError(f"--mask alpha: {str(picture)!r} has no alpha channel")
            return np.asarray(image.convert("RGBA"))[..., 3] < 128
    except (UserError, MemoryError):
        raise
    except Exception as error:  # decoders raise whatever a damaged file makes them
        raise UserError(f"--mask alpha: cannot read the alpha of {str(picture)!r}") from error


def _size(image: Numbers) -> str:
    return f"{image.shape[1]} x {image.shape[0]}"
