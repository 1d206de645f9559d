"""Pictures: reading and writing them, cutting them into patches and putting them together.

Everything but `read` and `write` needs NumPy alone; these two need the extra ``fost[images]``.
"""

from fost.images.files import read, write
from fost.images.patches import Assembler, assemble, blocks, patches
from fost.images.pictures import PictureFormat, from_luma_chroma, psnr, to_luma_chroma

__all__ = [
    "Assembler",
    "PictureFormat",
    "assemble",
    "blocks",
    "from_luma_chroma",
    "patches",
    "psnr",
    "read",
    "to_luma_chroma",
    "write",
]
