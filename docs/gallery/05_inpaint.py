"""
Missing pixels of a picture
===========================

Two thirds of the pixels are gone. What is left suffices to learn a transform from, and to find
the others.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage import data

from fost import images, restoration

picture = data.astronaut()[:256, 100:356]
missing = np.random.default_rng(0).random(picture.shape[:2]) < 2 / 3
damaged = np.where(missing[..., None], np.uint8(0), picture)
whole = restoration.inpaint(damaged, missing)

figure, axes = plt.subplots(1, 3, figsize=(9, 3.3), layout="constrained")
shown = {"original": picture, "a third of it": damaged, "restored": whole}
for ax, (title, pixels) in zip(axes, shown.items(), strict=True):
    ax.imshow(pixels)
    ax.set(xticks=[], yticks=[])
    ax.set_title(title)
print(f"{images.psnr(picture, whole):.1f} dB")
