"""
A filter on a graph
===================

Superpixels of a photograph are the nodes of a graph, and neighbouring ones of similar colour are
connected. A filter that smooths colours on such a graph is a symmetric matrix, which couples every
superpixel with every other one. A short chain of rotations applies almost the same filter in far
fewer operations.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.linalg
from skimage import data
from skimage.segmentation import slic

import fost

image = data.astronaut()[::2, ::2] / 255
labels = slic(image, n_segments=300, start_label=0)
n = labels.max() + 1
counts = np.bincount(labels.ravel(), minlength=n)
colours = np.stack(
    [np.bincount(labels.ravel(), image[..., c].ravel(), n) / counts for c in range(3)], axis=1
)

# %%
# The weight of an edge falls with the difference of the colours; H is the heat kernel.
W = np.zeros((n, n))
for a, b in ((labels[1:], labels[:-1]), (labels[:, 1:], labels[:, :-1])):
    W[a[a != b], b[a != b]] = W[b[a != b], a[a != b]] = 1
W *= np.exp(-np.square(colours[:, None] - colours[None]).sum(axis=-1) / 0.1)
L = np.diag(W.sum(axis=1)) - W
H = scipy.linalg.expm(-L)

# %%
# Factorise the matrix that will be applied: eigenvectors for the Laplacian serve the filter worse.
g = int(n * np.log2(n) / 2)
w, U = fost.eigh(H, g, effort="full")
V = fost.eigh(L, g, effort="full").U
from_laplacian = V.matrix * np.diag(V.matrix.T @ H @ V.matrix) @ V.matrix.T
for name, approximation in (
    ("the filter", U.matrix * w @ U.matrix.T),
    ("the Laplacian", from_laplacian),
):
    error = np.linalg.norm(H - approximation) / np.linalg.norm(H)
    print(f"{g} rotations from {name}: error {100 * error:.1f} %")
print(f"operations: {2 * U.flops + n} instead of {n * (2 * n - 1)}")

# %%
# The filtered colours: transform, scale, transform back.
exact = H @ colours
fast = U.inverse(U.forward(np.ascontiguousarray(colours.T)) * w).T
figure, axes = plt.subplots(1, 3, figsize=(9, 3.3), layout="constrained")
for ax, values, title in zip(
    axes, (colours, exact, fast), ("superpixels", "exact filter", f"{g} rotations"), strict=True
):
    ax.imshow(np.clip(values[labels], 0, 1))
    ax.set(xticks=[], yticks=[], title=title)
