"""
In a solver: compressed sensing with FISTA
==========================================

A transform is a linear operator, also for SciPy and PyLops. Here are signals measured by half
as many random numbers as they have entries; FISTA finds the sparsest signal that fits. It needs
nothing of the transform but ``x @ U`` and ``x @ U.T``.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import fost

digits = load_digits().data / 16
mean = digits.mean(axis=0)
train, test = digits[::2] - mean, digits[1:200:2] - mean
rng = np.random.default_rng(0)
A = rng.standard_normal((32, 64)) / np.sqrt(32)
measured = test @ A.T


def fista(U, weight=0.02, iterations=300):
    """Signals with ||A y - b||^2 / 2 + weight ||U^T y||_1 least, one per row."""
    step = 1 / np.linalg.norm(A, 2) ** 2
    x = z = np.zeros_like(test)
    t = 1.0
    for _ in range(iterations):
        gradient = ((z @ U.T) @ A.T - measured) @ A @ U
        moved = z - step * gradient
        new = np.sign(moved) * np.maximum(np.abs(moved) - step * weight, 0)
        t, before = (1 + np.sqrt(1 + 4 * t**2)) / 2, t
        z = new + (before - 1) / t * (new - x)
        x = new
    return x @ U.T


# %%
transforms = {
    "pixels": fost.Dense(np.eye(64)),
    "DCT": fost.DCT((8, 8)),
    "learned": fost.learn(train, fost.Reflectors(24), 8).transform,
}
found = {name: fista(U) for name, U in transforms.items()}
for name, signals in found.items():
    print(f"{name:8} relative error {np.sum((signals - test) ** 2) / np.sum(test**2):.1%}")

# %%
figure, axes = plt.subplots(4, 8, figsize=(7, 3.9), layout="constrained")
for line, (name, signals) in zip(axes, {"as it is": test, **found}.items(), strict=True):
    for ax, signal in zip(line, signals, strict=False):
        ax.imshow((signal + mean).reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[])
    line[0].set_ylabel(name, rotation=0, ha="right", va="center")
