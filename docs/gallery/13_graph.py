"""
A filter on a terrain mesh
==========================

An elevation model of the Jacksboro fault (Tennessee), which is part of Matplotlib, becomes a mesh
of triangles. A filter that removes noise from measured heights is a symmetric matrix, which couples
every node with every other one. A short chain of rotations applies almost the same filter in far
fewer operations.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.linalg
from matplotlib.cbook import get_sample_data
from matplotlib.tri import Triangulation

import fost

# %%
# Nodes are random pixels of a part of the elevation model; a pixel is about 90 m wide.
elevation = get_sample_data("jacksboro_fault_dem.npz")["elevation"][:80, :80].astype(float)
n = 440
rng = np.random.default_rng(0)
rows, columns = np.divmod(rng.choice(elevation.size, n, replace=False), elevation.shape[1])
heights = elevation[rows, columns]
mesh = Triangulation(90 * columns, -90 * rows)

# %%
# The weight of an edge falls with its length. H is the filter :math:`(I + L)^{-1}`.
a, b = mesh.edges.T
length = np.hypot(mesh.x[a] - mesh.x[b], mesh.y[a] - mesh.y[b])
W = np.zeros((n, n))
W[a, b] = W[b, a] = np.exp(-length / 500)
L = np.diag(W.sum(axis=1)) - W
H = scipy.linalg.inv(np.eye(n) + L)
H = (H + H.T) / 2

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
# Filter noisy heights: transform, scale, transform back. The mean height is removed before.
noisy = heights + 50 * rng.standard_normal(n)
mean = noisy.mean()
exact = mean + H @ (noisy - mean)
fast = mean + U.inverse(U.forward(noisy[None] - mean) * w)[0]
for name, values in (("noisy", noisy), ("exact filter", exact), (f"{g} rotations", fast)):
    print(f"{name}: root mean square error {np.sqrt(np.mean((values - heights) ** 2)):.1f} m")

figure, axes = plt.subplots(1, 4, figsize=(11, 3.2), layout="constrained")
titles = ("heights", "with noise", "exact filter", f"{g} rotations")
for ax, values, title in zip(axes, (heights, noisy, exact, fast), titles, strict=True):
    shown = ax.tripcolor(mesh, values, shading="gouraud", vmin=heights.min(), vmax=heights.max())
    ax.triplot(mesh, color="white", linewidth=0.2)
    ax.set(xticks=[], yticks=[], title=title, aspect="equal")
figure.colorbar(shown, ax=axes, label="height in m")
