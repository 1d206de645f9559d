"""
The paper's algorithms
======================

QH-DLA learns all reflectors at once, H-DLA one after another, and Q-DLA any orthonormal matrix.
This script compares their errors by the number of reflectors.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage import data

import fost

Y = fost.restoration.patches(data.camera() / 255, 8)
Y -= Y.mean(axis=1, keepdims=True)


def rmse(structure):
    """Root mean squared error after 20 iterations, 4 coefficients per patch."""
    found = fost.learn(Y, structure, 4, max_iter=20, tol=0)
    return np.sqrt(found.error * np.mean(Y**2))


counts = (2, 4, 8, 12, 16)
kinds = {"QH: all reflectors at once": True, "H: one after another": False}
figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
for label, orthogonal in kinds.items():
    errors = [rmse(fost.Reflectors(m, orthogonal=orthogonal)) for m in counts]
    ax.plot(counts, errors, "o-", label=label)
    print(f"{label:28}", *(f"{error:.4f}" for error in errors))
dense = rmse(fost.Orthonormal())
ax.axhline(dense, color="0.5", linewidth=1, label="Q-DLA: any orthonormal matrix")
ax.set(xlabel="number of reflectors", ylabel="root mean squared error")
ax.legend()
