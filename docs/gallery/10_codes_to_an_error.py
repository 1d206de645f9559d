"""
Codes to an error
=================

Where a quality is to be met, each signal takes as many coefficients as it needs: flat patches
one or two, edges and texture many.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage import data

import fost

image = data.camera() / 255
Y = fost.restoration.patches(image, 8, 8)
U = fost.learn(
    Y - Y.mean(axis=1, keepdims=True), fost.Rotations(64), 4, base=fost.DCT((8, 8)), random_state=0
).transform

codes = U.encode(Y, max_error=64 * 0.03**2)  # a root mean squared error of .03 per pixel
counts = np.diff(codes.indptr)
rest = np.sum((Y - U.decode(codes)) ** 2, axis=1)
print(f"{counts.mean():.1f} coefficients per patch, at most {counts.max()}")
print(f"largest error of a patch: {np.sqrt(rest.max() / 64):.4f}")

# %%
# Where the coefficients go.
figure, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
axes[0].imshow(image, cmap="gray")
shown = axes[1].imshow(counts.reshape(64, 64), cmap="magma")
figure.colorbar(shown, ax=axes[1], shrink=0.8)
for ax, title in zip(axes, ("the image", "coefficients per patch"), strict=True):
    ax.set(xticks=[], yticks=[], title=title)
