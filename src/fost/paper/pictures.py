"""The pictures: found by name in a folder, or stand-ins that come with scikit-image."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fost import images
from fost._typing import Numbers
from fost._validation import check_path
from fost.paper.printed import FIGURE_SET, PICTURES

SIDE = 8
# The size in pixels that makes the paper's figures come out; all others are 512 x 512.
_SMALL = ("cameraman", "house")
# Red, green and blue in luma, by ITU-R BT.601, as MATLAB's rgb2gray has them.
_LUMA = np.array([0.299, 0.587, 0.114])
_STAND_INS = ("camera", "astronaut", "brick", "grass", "gravel")
# Who stands in for whom in the figures that name pictures.
_ROLES = {"peppers": "camera", "boat": "gravel", "couple": "astronaut", "barb": "brick",
          "man": "astronaut"}  # fmt: skip


@dataclass(frozen=True)
class PictureSet:
    """Grey pictures by name, with values from 0 to 255.

    Attributes
    ----------
    pictures : dict of str to ndarray of shape (height, width)
        Cut to multiples of 8 pixels.
    missing : tuple of str
        The paper's pictures that are not there.
    bundled : bool
        Whether these are scikit-image's pictures and not the paper's.
    notes : tuple of str
        What was done to pictures on reading them, in words.

    Examples
    --------
    >>> import numpy as np
    >>> from fost import paper
    >>> pictures = paper.PictureSet({"peppers": np.zeros((64, 64))})
    >>> "peppers" in pictures, "barb" in pictures
    (True, False)
    """

    pictures: dict[str, NDArray[np.float64]]
    missing: tuple[str, ...] = ()
    bundled: bool = False
    notes: tuple[str, ...] = field(default=())

    @classmethod
    def checked(cls, pictures: Any) -> PictureSet:
        """Pictures as an argument."""
        if not isinstance(pictures, PictureSet):
            raise TypeError(f"pictures must be a PictureSet, got {type(pictures).__name__}")
        return pictures

    def __contains__(self, name: str) -> bool:
        return self._named(name) in self.pictures

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        return self.pictures[self._named(name)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.pictures)

    def __len__(self) -> int:
        return len(self.pictures)

    def _named(self, name: str) -> str:
        return _ROLES.get(name, name) if self.bundled else name

    def shown_as(self, name: str) -> str:
        """What a picture of the paper is called here: itself, or its stand-in."""
        return self._named(name)

    def only(self, names: Iterable[str]) -> PictureSet:
        """The pictures of these names that are there."""
        chosen = dict.fromkeys(self._named(name) for name in names)
        return replace(self, pictures={n: self.pictures[n] for n in chosen if n in self.pictures})

    @property
    def of_figures(self) -> tuple[str, ...]:
        """Of couple, peppers and boat those that are there, or their stand-ins."""
        return tuple(self._named(name) for name in FIGURE_SET if name in self)

    @property
    def checksums(self) -> dict[str, str]:
        """SHA-256 of the pixels of each picture."""
        return {
            name: hashlib.sha256(repr(p.shape).encode() + p.tobytes()).hexdigest()
            for name, p in self.pictures.items()
        }


def find_pictures(folder: str | os.PathLike[str] | None = None) -> PictureSet:
    """The paper's pictures in a folder, or scikit-image's without one.

    Parameters
    ----------
    folder : path, optional
        Files are found by name, whatever their format and case: ``peppers.png``, ``Boat.tiff``.
        Colours become grey.

    Returns
    -------
    PictureSet

    Raises
    ------
    ValueError
        If there is none of the paper's pictures in the folder, or one of them is no picture.

    Examples
    --------
    >>> from fost import paper
    >>> list(paper.find_pictures())  # those of scikit-image
    ['camera', 'astronaut', 'brick', 'grass', 'gravel']
    """
    if folder is None:
        from fost.demo import picture

        bundled = {name: 255 * picture(name) for name in _STAND_INS}
        return PictureSet(bundled, missing=PICTURES, bundled=True)
    check_path(folder, "folder")
    files = sorted(path for path in Path(folder).iterdir() if path.is_file())
    pictures: dict[str, NDArray[np.float64]] = {}
    notes = []
    for name in PICTURES:
        candidates = [path for path in files if path.stem.lower() == name]
        if not candidates:
            continue
        pictures[name], said = _read(candidates[0], name)
        notes += said
        if len(candidates) > 1:
            notes.append(f"{name}: {candidates[0].name} is used, {candidates[1].name} is not")
    if not pictures:
        raise ValueError(
            f"there is none of the paper's pictures in {str(folder)!r}: {', '.join(PICTURES)}"
        )
    missing = tuple(name for name in PICTURES if name not in pictures)
    return PictureSet(pictures, missing=missing, notes=tuple(notes))


def _read(path: Path, name: str) -> tuple[NDArray[np.float64], list[str]]:
    """A picture in grey values from 0 to 255, and what is to be said about it."""
    raw: Numbers = images.read(path)
    notes = []
    grey = _of_eight_bits(raw)
    if grey.ndim == 3:
        if (grey != grey[..., :1]).any():
            notes.append(f"{name}: colours were made grey")
        grey = np.rint(grey @ _LUMA)
    size = 256 if name in _SMALL else 512
    if grey.shape != (size, size):
        height, width = grey.shape
        notes.append(f"{name}: {height} x {width} pixels, the paper's has {size} x {size}")
    height, width = (SIDE * (length // SIDE) for length in grey.shape)
    if not height or not width:
        raise ValueError(f"{str(path)!r} is smaller than {SIDE} x {SIDE} pixels")
    return np.ascontiguousarray(grey[:height, :width]), notes


def _of_eight_bits(picture: Numbers) -> NDArray[np.float64]:
    """Values from 0 to 255, whatever the type of the file."""
    if picture.dtype == np.uint8:
        return picture.astype(np.float64)
    form = images.ImageFormat.of(picture)
    if picture.dtype.kind == "f" and form.low >= 0 and 1 < form.high <= 255:
        return picture.astype(np.float64)
    return 255 * form.to_unit(picture).astype(np.float64)


def patches(picture: NDArray[np.float64]) -> NDArray[np.float64]:
    """Non-overlapping 8 x 8 patches in rows, each vectorised column by column.

    The order is that of the paper's code; QH depends on it, by its start.
    """
    height, width = picture.shape
    blocks = picture.reshape(height // SIDE, SIDE, width // SIDE, SIDE).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(blocks.reshape(-1, SIDE * SIDE))


def assemble(rows: NDArray[np.float64], shape: tuple[int, int]) -> NDArray[np.float64]:
    """Undoes `patches`."""
    height, width = shape
    blocks = rows.reshape(height // SIDE, width // SIDE, SIDE, SIDE).transpose(0, 3, 1, 2)
    return np.ascontiguousarray(blocks.reshape(height, width))


def signals(*pictures: NDArray[np.float64]) -> NDArray[np.float64]:
    """The patches of pictures over 255, means removed.

    Examples
    --------
    >>> import numpy as np
    >>> from fost.paper.pictures import signals
    >>> Y = signals(np.arange(256.0).reshape(16, 16), np.zeros((8, 8)))
    >>> Y.shape, bool(abs(Y.sum(axis=1)).max() < 1e-12)
    ((5, 64), True)
    """
    Y = np.concatenate([patches(picture) for picture in pictures]) / 255
    return np.asarray(Y - Y.mean(axis=1, keepdims=True))
