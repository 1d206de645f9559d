"""
Noise out of a picture
======================

Overlapping patches are transformed, small coefficients removed, and the patches put together
again. The transform is learned from the noisy picture itself.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage import data

from fost import images, restoration

picture = data.camera()[100:356, 100:356]
noisy = picture + 25 * np.random.default_rng(0).standard_normal(picture.shape)
noisy = np.clip(noisy, 0, 255).astype(np.uint8)
clean = restoration.denoise(noisy, sigma=25)

figure, axes = plt.subplots(1, 3, figsize=(9, 3.3), layout="constrained")
shown = {"original": picture, "noisy": noisy, "denoised": clean}
for ax, (title, pixels) in zip(axes, shown.items(), strict=True):
    ax.imshow(pixels, cmap="gray", vmin=0, vmax=255)
    ax.set(xticks=[], yticks=[])
    quality = "" if pixels is picture else f", {images.psnr(picture, pixels):.1f} dB"
    ax.set_title(title + quality)
