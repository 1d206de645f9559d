"""
Denoising of an image
=====================

Overlapping patches are transformed, small coefficients are set to zero, and the patches are
averaged. The transform is learned from the noisy image itself.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage import data

from fost import images, restoration

image = data.camera()[100:356, 100:356]
noisy = image + 25 * np.random.default_rng(0).standard_normal(image.shape)
noisy = np.clip(noisy, 0, 255).astype(np.uint8)
clean = restoration.denoise(noisy, sigma=25)

figure, axes = plt.subplots(1, 3, figsize=(9, 3.3), layout="constrained")
shown = {"original": image, "noisy": noisy, "denoised": clean}
for ax, (title, pixels) in zip(axes, shown.items(), strict=True):
    ax.imshow(pixels, cmap="gray", vmin=0, vmax=255)
    ax.set(xticks=[], yticks=[])
    quality = "" if pixels is image else f", {images.psnr(image, pixels):.1f} dB"
    ax.set_title(title + quality)
