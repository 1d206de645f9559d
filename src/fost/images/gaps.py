"""Pictures with gaps: masks, and what both ways of filling them need."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fost._validation import check_array, check_pair
from fost.images.grid import Pair
from fost.images.pictures import check_picture


def picture_and_gaps(
    image: ArrayLike, missing: ArrayLike | None
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The picture and where it has gaps: those of a mask, of `missing`, or of both."""
    if not isinstance(image, np.ma.MaskedArray):
        if missing is None:
            raise ValueError("missing must be given for an image that is no masked array")
        picture = check_picture(image, "image")
        return picture, check_gaps(missing, picture)
    picture = check_picture(image.data, "image")
    gaps = np.ma.getmaskarray(image)
    if missing is not None:
        gaps = gaps | _checked_mask(missing, picture)
    return picture, check_gaps(gaps, picture)


def check_gaps(missing: ArrayLike, picture: NDArray[Any]) -> NDArray[np.bool_]:
    """A mask of the shape of the picture, and a picture that is finite elsewhere."""
    mask = _checked_mask(missing, picture)
    observed = ~mask
    if not observed.reshape(-1, 1 if picture.ndim == 2 else picture.shape[2]).any(axis=0).all():
        raise ValueError("missing is True for all pixels: there is nothing to go by")
    if picture.dtype.kind == "f" and not np.isfinite(picture[observed]).all():
        raise ValueError("image contains NaN or infinity where it is not missing")
    return mask


def _checked_mask(missing: ArrayLike, picture: NDArray[Any]) -> NDArray[np.bool_]:
    """A mask of the shape of the picture."""
    mask = check_array(missing, "missing")
    if mask.dtype != np.bool_:
        raise TypeError(f"missing must be boolean, got dtype {mask.dtype}")
    if mask.shape not in (picture.shape, picture.shape[:2]):
        raise ValueError(f"missing must have the shape of image, {picture.shape}, got {mask.shape}")
    if mask.ndim < picture.ndim:
        mask = np.broadcast_to(mask[..., None], picture.shape)
    return mask


def checked_steps(
    stride: Pair | None, default: tuple[int, int], shape: tuple[int, int]
) -> tuple[int, int]:
    """Steps from patch to patch that leave no pixel out."""
    steps = default if stride is None else check_pair(stride, "stride")
    if not all(k <= n for k, n in zip(steps, shape, strict=True)):
        raise ValueError(f"stride must be between 1 and the patch, {shape}, got {stride!r}")
    return steps


def padded(plane: NDArray[Any], shape: tuple[int, int]) -> NDArray[Any]:
    """A copy at least as large as a patch, by repeating the last row and column."""
    missing = [max(0, want - have) for want, have in zip(shape, plane.shape, strict=True)]
    return np.pad(plane, [(0, k) for k in missing], mode="edge") if any(missing) else plane.copy()
