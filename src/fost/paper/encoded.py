"""Pictures inside a page."""

from __future__ import annotations

import base64
import io

import numpy as np
from numpy.typing import NDArray


def jpeg(picture: NDArray[np.float64], quality: int = 82) -> str:
    """A grey picture, values from 0 to 255, as a data URI."""
    from PIL import Image

    buffer = io.BytesIO()
    pixels = np.clip(np.rint(picture), 0, 255).astype(np.uint8)
    Image.fromarray(pixels).save(buffer, "JPEG", quality=quality, optimize=True)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()
