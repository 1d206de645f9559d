"""Images: files, numeric formats, colour transform and quality.

`fost.restoration` denoises and inpaints images, and extracts their patches: pass
``channel_axis=-1`` for colour images. Only `read` and `write` need the extra ``fost[images]``.
"""

from fost.images.pixels import ImageFormat, from_luma_chroma, psnr, to_luma_chroma
from fost.io.images import read, write

__all__ = [
    "ImageFormat",
    "from_luma_chroma",
    "psnr",
    "read",
    "to_luma_chroma",
    "write",
]
