"""The images of the paper, or stand-ins from scikit-image, and their patches as signals."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fost import images
from reproduction.printed import FIGURE_SET, IMAGES

Grey = NDArray[np.float64]

SIDE = 8
# The size in pixels that reproduces the paper's numbers; all other images are 512 x 512.
_SMALL = ("cameraman", "house")
# Weights of red, green and blue in luma (ITU-R BT.601), as in MATLAB's rgb2gray.
_LUMA = np.array([0.299, 0.587, 0.114])
_STAND_INS = ("camera", "astronaut", "brick", "grass", "gravel")
# The stand-in for each image that a figure names.
_ROLES = {"peppers": "camera", "boat": "gravel", "couple": "astronaut", "barb": "brick",
          "man": "astronaut"}  # fmt: skip


@dataclass(frozen=True)
class ImageSet:
    """Grey images by name, with values from 0 to 255 and sides that are multiples of 8 pixels.

    Attributes
    ----------
    pixels : dict of str to ndarray of shape (height, width)
    missing : tuple of str
        Images of the paper that were not found.
    bundled : bool
        Whether these are scikit-image's images and not the paper's.
    notes : tuple of str
        Conversions made while reading.
    own : tuple of str
        The user's images, which the paper does not have. They are columns of Table I, and the
        curves are about them if couple, peppers and boat are all missing.
    """

    pixels: dict[str, Grey]
    missing: tuple[str, ...] = ()
    bundled: bool = False
    notes: tuple[str, ...] = ()
    own: tuple[str, ...] = ()

    def name(self, image: str) -> str:
        """The name here of an image of the paper: its own, or that of its stand-in."""
        return _ROLES.get(image, image) if self.bundled else image

    def __contains__(self, image: str) -> bool:
        return self.name(image) in self.pixels

    def __getitem__(self, image: str) -> Grey:
        return self.pixels[self.name(image)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.pixels)

    @property
    def of_figures(self) -> tuple[str, ...]:
        """The available ones of couple, peppers and boat, or their stand-ins, or own images."""
        return tuple(self.name(image) for image in FIGURE_SET if image in self) or self.own

    def figure_signals(self) -> Grey | None:
        """The patches of the images of figures together; None if there are none."""
        return signals(*(self.pixels[n] for n in self.of_figures)) if self.of_figures else None

    @property
    def checksums(self) -> dict[str, str]:
        """SHA-256 of the pixels of each image."""
        return {
            name: hashlib.sha256(repr(p.shape).encode() + p.tobytes()).hexdigest()
            for name, p in self.pixels.items()
        }


def find_images(folder: str | Path | None = None, own: Sequence[str | Path] = ()) -> ImageSet:
    """Read the paper's images from a folder, and own images from files.

    Files in the folder are found by name, in any format and case: ``peppers.png``, ``Boat.tiff``.
    Own images are named like their files. Colours are converted to grey. Without a folder and own
    images, scikit-image's stand in.

    Raises
    ------
    ValueError
        If the folder has none of the paper's images, an image cannot be read, or an own image has
        the name of another.
    """
    if own:
        found = find_images(folder) if folder is not None else ImageSet({}, IMAGES)
        read: dict[str, Grey] = {}
        remarks = list(found.notes)
        for path in map(Path, own):
            if path.stem in (*IMAGES, *read):
                raise ValueError(f"own images must have names of their own, got {path.stem!r}")
            read[path.stem] = _read(path, path.stem, remarks, own=True)
        return ImageSet(found.pixels | read, found.missing, notes=tuple(remarks), own=tuple(read))
    if folder is None:
        return ImageSet({name: 255 * bundled_image(name) for name in _STAND_INS}, IMAGES, True)
    files = sorted(path for path in Path(folder).iterdir() if path.is_file())
    pixels: dict[str, Grey] = {}
    notes: list[str] = []
    for name in IMAGES:
        candidates = [path for path in files if path.stem.lower() == name]
        if candidates:
            pixels[name] = _read(candidates[0], name, notes)
        if len(candidates) > 1:
            notes.append(f"{name}: {candidates[0].name} is used, {candidates[1].name} is not")
    if not pixels:
        raise ValueError(f"no image of the paper in {str(folder)!r}: {', '.join(IMAGES)}")
    return ImageSet(pixels, tuple(n for n in IMAGES if n not in pixels), notes=tuple(notes))


def bundled_image(name: str) -> Grey:
    """An image that comes with scikit-image, as grey values from 0 to 1."""
    import skimage.color
    import skimage.data

    image = getattr(skimage.data, name)()
    if image.ndim == 3:
        image = np.round(255 * skimage.color.rgb2gray(image))
    return np.asarray(image, dtype=np.float64) / 255


def _read(path: Path, name: str, notes: list[str], own: bool = False) -> Grey:
    """Grey values from 0 to 255, cut to multiples of 8 pixels; conversions go to `notes`."""
    grey = _eight_bit_range(np.asarray(images.read(path)))
    if grey.ndim == 3:
        if (grey != grey[..., :1]).any():
            notes.append(f"{name}: colours were converted to grey")
        grey = np.rint(grey[..., :3] @ _LUMA)
    size = 256 if name in _SMALL else 512
    if grey.shape != (size, size) and not own:
        shape = " x ".join(map(str, grey.shape))
        notes.append(f"{name}: {shape} pixels, the paper's has {size} x {size}")
    height, width = (SIDE * (length // SIDE) for length in grey.shape)
    if not height or not width:
        raise ValueError(f"{str(path)!r} is smaller than {SIDE} x {SIDE} pixels")
    return np.ascontiguousarray(grey[:height, :width])


def _eight_bit_range(image: NDArray[Any]) -> Grey:
    """Values from 0 to 255; floats are in [0, 1] unless they exceed 1."""
    if image.dtype == bool:
        return 255.0 * image
    if image.dtype.kind in "iu":
        return image * (255 / np.iinfo(image.dtype).max)
    return np.asarray(image * (1.0 if image.max() > 1 else 255.0), dtype=np.float64)


def patches(image: Grey) -> Grey:
    """Non-overlapping 8 x 8 patches in rows, each vectorised column by column.

    This is the order of the paper's code. The initialisation of QH depends on it.
    """
    height, width = image.shape
    blocks = image.reshape(height // SIDE, SIDE, width // SIDE, SIDE).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(blocks.reshape(-1, SIDE * SIDE))


def assemble(rows: Grey, shape: tuple[int, ...]) -> Grey:
    """The image of the given patches, the inverse of `patches`."""
    height, width = shape
    blocks = rows.reshape(height // SIDE, width // SIDE, SIDE, SIDE).transpose(0, 3, 1, 2)
    return np.ascontiguousarray(blocks.reshape(height, width))


def signals(*grey: Grey) -> Grey:
    """The patches of images, divided by 255, with their means removed."""
    Y = np.concatenate([patches(image) for image in grey]) / 255
    return np.asarray(Y - Y.mean(axis=1, keepdims=True))
