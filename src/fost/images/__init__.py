"""Pictures: reading and writing them, cutting them into patches and putting them together.

Everything but `read` and `write` needs NumPy alone; these two need the extra ``fost[images]``.
"""

from fost.images.adaptation import pretrained
from fost.images.assembly import Assembler, assemble
from fost.images.denoising import denoise, noise_level
from fost.images.files import read, write
from fost.images.inpainting import inpaint
from fost.images.patches import blocks, patches
from fost.images.pictures import PictureFormat, from_luma_chroma, psnr, to_luma_chroma

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
