"""Pictures: reading and writing them, cutting them into patches and putting them together.

Everything but `read` and `write` needs NumPy alone; these two need the extra ``fost[images]``.
"""

from fost.images.patches import Assembler, assemble, blocks, patches
from fost.images.pictures import PictureFormat, from_luma_chroma, psnr, to_luma_chroma
from fost.images.restoring import denoise, inpaint, noise_level
from fost.io.images import read, write
from fost.restoration import pretrained

__all__ = [
    "Assembler",
    "PictureFormat",
    "assemble",
    "blocks",
    "denoise",
    "from_luma_chroma",
    "inpaint",
    "noise_level",
    "patches",
    "pretrained",
    "psnr",
    "read",
    "to_luma_chroma",
    "write",
]
