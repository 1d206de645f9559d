"""Denoising and inpainting of signals, images and volumes by sparse coding of patches."""

from fost.restoration.denoising import Denoiser, denoise
from fost.restoration.inpainting import inpaint
from fost.restoration.noise import estimate_sigma
from fost.restoration.patch_specs import pretrained
from fost.restoration.patches import assemble, patches

__all__ = [
    "Denoiser",
    "assemble",
    "denoise",
    "estimate_sigma",
    "inpaint",
    "patches",
    "pretrained",
]
