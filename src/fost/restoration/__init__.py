"""Signals, pictures and volumes made whole or clean: one restoration for one to three axes.

`fost.images` is the same for pictures, whose third axis are colours, and has their files.
"""

from fost.restoration.adaptation import pretrained
from fost.restoration.assembly import Assembler, assemble
from fost.restoration.denoiser import Denoiser
from fost.restoration.denoising import denoise
from fost.restoration.inpainting import inpaint
from fost.restoration.noise import noise_level
from fost.restoration.patches import blocks, patches

__all__ = [
    "Assembler",
    "Denoiser",
    "assemble",
    "blocks",
    "denoise",
    "inpaint",
    "noise_level",
    "patches",
    "pretrained",
]
