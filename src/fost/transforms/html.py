"""Representation of coders in notebooks: cost, and an image of the atoms."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode
from html import escape
from math import ceil, isqrt, sqrt

import numpy as np
from numpy.typing import NDArray

from fost._typing import Floats
from fost.transforms.base import Chain
from fost.transforms.coder import Coder, dense_flops

_MAX_ATOMS = 64  # in the image
_MAX_FEATURES = 4096  # of signals for which atoms are shown
_IMAGE_SIDE = 240  # longer side on the screen, in pixels
_SEPARATOR = 255  # grey value between atoms


def coder_html(coder: Coder) -> str:
    """A few lines of HTML without scripts and style sheets."""
    shown = min(coder.n_atoms, _MAX_ATOMS)
    dense = dense_flops(coder.n_features)
    lines = [
        f"<code>{escape(repr(coder))}</code>",
        f"{coder.flops:,} operations per signal (dense: {dense:,}), "
        f"{coder.n_parameters:,} parameters",
    ]
    if coder.n_features <= _MAX_FEATURES:
        some = f"the first {shown} of " if shown < coder.n_atoms else ""
        lines.append(f"{_atoms_image(coder, shown)}<br>{some}{coder.n_atoms:,} atoms")
    return f"<div>{'<br>'.join(lines)}</div>"


def _atoms_image(coder: Coder, count: int) -> str:
    codes = np.eye(count, coder.n_atoms)
    mosaic = _mosaic(coder.decode(codes), signal_shape(coder))
    height, width = mosaic.shape
    scale = _IMAGE_SIDE / max(height, width)
    source = b64encode(png(mosaic)).decode("ascii")
    return (
        f'<img alt="atoms" width="{max(1, round(width * scale))}" '
        f'height="{max(1, round(height * scale))}" style="image-rendering: pixelated" '
        f'src="data:image/png;base64,{source}">'
    )


def signal_shape(coder: Coder) -> tuple[int, ...]:
    """The shape of the first stage, such as a DCT; otherwise a square if n is a square number."""
    first = coder.members[0]
    base = first.stages[0] if isinstance(first, Chain) else first
    known = getattr(base, "shape", None)
    if isinstance(known, tuple):
        return known
    n = coder.n_features
    side = isqrt(n)
    return (side, side) if side**2 == n and side > 1 else (n,)


def _mosaic(atoms: Floats, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """Grey values of atoms, scaled by their largest entries: tiles, or rows if not images."""
    largest = np.abs(atoms).max(axis=1, keepdims=True)
    grey = np.rint(127.5 + 127.5 * atoms / np.where(largest > 0, largest, 1)).astype(np.uint8)
    if len(shape) != 2:
        return grey
    height, width = shape
    columns = ceil(sqrt(len(grey)))
    rows = ceil(len(grey) / columns)
    mosaic = np.full((rows * (height + 1) - 1, columns * (width + 1) - 1), _SEPARATOR, np.uint8)
    for k, tile in enumerate(grey.reshape(-1, height, width)):
        top, left = (k // columns) * (height + 1), (k % columns) * (width + 1)
        mosaic[top : top + height, left : left + width] = tile
    return mosaic


def png(grey: NDArray[np.uint8]) -> bytes:
    """A PNG file of grey values."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        checksum = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)

    height, width = grey.shape
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)  # 8 bits of grey
    rows = np.concatenate([np.zeros((height, 1), np.uint8), grey], axis=1)  # filter type 0
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows.tobytes(), 9))
    return b"\x89PNG\r\n\x1a\n" + body + chunk(b"IEND", b"")
