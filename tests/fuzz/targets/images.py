"""Images: pixel values and files."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fost import images
from tests.fuzz import forms
from tests.fuzz.judge import Fuzz
from tests.fuzz.targets import target
from tests.fuzz.targets.transforms import a_path

Array = NDArray[Any]
TYPES = ("u1", "u1", "u2", "i1", "i2", "i4", "i8", "u4", "u8", "f2", "f4", "f8", "f8", "g", "bool")


def some_image(
    fuzz: Fuzz,
    name: str = "image",
    channels: int | None = None,
    finite: bool = True,
    axes: bool = True,
) -> tuple[Any, Array]:
    """An image in some form, and as a plain array."""
    height, width = (int(fuzz.pick((1, 2, 5, 8, 9, 12, 17, 20))) for _ in range(2))
    if channels is None:
        shape: tuple[int, ...] = fuzz.pick(((height, width), (height, width, fuzz.pick((1, 2, 3)))))
    else:
        shape = (height, width, channels)
    unit = np.clip(np.add.outer(np.linspace(0, 1, height), np.linspace(0, 1, width)) / 2, 0, 1)
    unit = np.broadcast_to(unit.reshape(height, width, *[1] * (len(shape) - 2)), shape)
    unit = np.clip(unit + 0.1 * fuzz.rng.standard_normal(shape), 0, 1)
    if fuzz.spoil():
        made, what = forms.bad(fuzz.rng, unit, finite=finite, axes=axes, columns=False)
        fuzz.bad.append(f"{name} is {what}")
        return made, unit
    kind = np.dtype(fuzz.pick(TYPES))
    if kind.kind in "iu":
        # Images in wide integers, NumPy's default type, have values of 8 or 16 bits.
        high = np.iinfo(kind).max if kind.itemsize <= 2 else fuzz.pick((255, 65535, 2**31 - 1))
        pixels = np.rint(unit * high).astype(kind)
        if kind.itemsize > 2:
            fuzz.doubtful.append("wide integers")
    elif kind.kind == "b":
        pixels = unit > 0.5
    else:
        scale = fuzz.pick((1, 1, 255, 1e-3, 1e4, 1e30 if kind.itemsize > 2 else 1, 1e-30, 1e200))
        scale = scale if np.isfinite(np.array(scale, kind)) else 1
        if not 1e-3 <= scale <= 1e4:
            fuzz.doubtful.append("scaled image")
        pixels = (unit * scale - fuzz.pick((0, 0, scale / 2))).astype(kind)
    return _in_some_form(fuzz, pixels), pixels


def _in_some_form(fuzz: Fuzz, pixels: Array) -> Any:
    return fuzz.pick(
        (
            lambda p: p,
            lambda p: p.copy("F"),
            lambda p: p[::-1].copy()[::-1],
            lambda p: np.repeat(p, 2, axis=1)[:, ::2],
            lambda p: p.tolist() if p.dtype in (np.float64, np.int64, np.bool_) else p,
            lambda p: np.ma.array(p),
            lambda p: p.astype(p.dtype.newbyteorder()),
            lambda p: forms.Like(p),
        )
    )(pixels)


@target(3)
def psnr(fuzz: Fuzz) -> None:
    reference, plain = some_image(fuzz, "reference")
    other = plain if fuzz.chance(0.3) else plain[::-1]
    data_range = fuzz.number("data_range", 1, 300, least=1e-300)
    if data_range is None:  # the default follows from the type, if that has a range
        fuzz.bad.remove("data_range=None")
        if plain.dtype.kind == "f" and not (plain.min() >= 0 and plain.max() <= 1):
            fuzz.doubtful.append("data_range")
    if fuzz.spoil():
        other = fuzz.wrong("image", plain[:0], plain[None], None, "a", np.nan * plain)
    found = fuzz.call(images.psnr, reference, other, data_range)
    if fuzz.doubtful or data_range is None:
        return
    mean = np.mean((plain.astype(np.float64) - other.astype(np.float64)) ** 2)
    want = 10 * np.log10(float(data_range) ** 2 / mean) if mean > 0 else np.inf
    fuzz.expect(found == want or abs(found - want) < 1e-6, f"decibels: {found}, not {want}")


@target(3)
def image_format(fuzz: Fuzz) -> None:
    image, pixels = some_image(fuzz, finite=False)
    form = fuzz.call(images.ImageFormat.of, image)
    unit = form.to_unit(image)
    fuzz.expect(np.isfinite(unit).all() and unit.min() >= -1e-6 and unit.max() <= 1 + 1e-6, "unit")
    back = form.from_unit(unit)
    fuzz.expect(back.dtype == pixels.dtype.newbyteorder("="), "type")
    room = 1e-3 * (float(pixels.max()) - float(pixels.min())) + (0 if back.dtype.kind == "f" else 1)
    difference = np.abs(back.astype(np.float64) - pixels.astype(np.float64)).max()
    fuzz.expect(difference <= room, "round trip")


@target(2)
def luma_chroma(fuzz: Fuzz) -> None:
    channels = 3
    if fuzz.spoil():
        channels = fuzz.wrong("image", 1, 2, 4)
    image, pixels = some_image(fuzz, channels=channels, finite=False)
    there = fuzz.pick((images.to_luma_chroma, images.from_luma_chroma))
    back = images.from_luma_chroma if there is images.to_luma_chroma else images.to_luma_chroma
    again = back(fuzz.call(there, image)).reshape(len(pixels), -1)
    want = pixels.reshape(len(pixels), -1)
    fuzz.close(again, want.astype(again.dtype), "round trip", 10)


@target(2)
def files(fuzz: Fuzz) -> None:
    image, pixels = some_image(fuzz)
    suffix = fuzz.pick((".png", ".tiff", ".tif", ".jpg", ".bmp", ".webp", ".gif"))
    if suffix not in (".tiff", ".tif") or pixels.dtype.itemsize > 8:
        fuzz.doubtful.append("file formats support few types")
    if fuzz.spoil():
        suffix = fuzz.wrong("path", "", ".xyz", ".txt", ".PNGG")
    good = fuzz.folder / f"image{suffix}"
    fuzz.call(images.write, a_path(fuzz, good), image, names=(good.stem,))
    found = fuzz.call(images.read, a_path(fuzz, good), names=(good.stem,))
    if suffix in (".tiff", ".tif", ".png") and pixels.ndim == 2:
        fuzz.expect(np.array_equal(found, pixels), "the written image")
    fuzz.expect(found.ndim in (2, 3) and found.size, "an image")
