"""
Inpainting of an image
======================

Two thirds of the pixels are missing. The observed third suffices to learn a transform and to
estimate the others.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage import data

from fost import images, restoration

image = data.astronaut()[:256, 100:356]
mask = np.random.default_rng(0).random(image.shape[:2]) < 2 / 3
damaged = np.where(mask[..., None], np.uint8(0), image)
restored = restoration.inpaint(damaged, mask, channel_axis=-1)

figure, axes = plt.subplots(1, 3, figsize=(9, 3.3), layout="constrained")
shown = {"original": image, "a third of the pixels": damaged, "restored": restored}
for ax, (title, pixels) in zip(axes, shown.items(), strict=True):
    ax.imshow(pixels)
    ax.set(xticks=[], yticks=[])
    ax.set_title(title)
print(f"{images.psnr(image, restored):.1f} dB")
