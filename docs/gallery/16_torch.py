"""
A trainable layer of PyTorch
============================

A transform that was learned for sparsity is a good start for other tasks. This layer denoises
digits: it transforms, shrinks the coefficients and transforms back. Training adjusts its angles by
gradients, and the layer stays orthonormal.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import load_digits

import fost
import fost.torch

torch.manual_seed(0)
digits = load_digits().data / 16
mean = digits.mean(axis=0)
train, test = (
    torch.tensor(part - mean, dtype=torch.float32) for part in (digits[::2], digits[1::2])
)
U = fost.learn(train.numpy(), fost.Rotations(128), 8, base=fost.DCT((8, 8)), random_state=0)

# %%
# The threshold is a parameter too.
layer = fost.torch.Layer(U.transform, trainable=True)
threshold = torch.nn.Parameter(torch.tensor(0.2))


def denoise(noisy):
    """Keep coefficients above the threshold, by a smooth step that has a gradient."""
    coefficients = layer(noisy)
    kept = torch.sigmoid((coefficients.abs() - threshold) / 0.05)
    return layer.inverse(coefficients * kept)


noisy = test + 0.2 * torch.randn_like(test)
optimiser = torch.optim.Adam([*layer.parameters(), threshold], lr=0.005)
losses = []
for _ in range(200):
    loss = torch.mean((denoise(train + 0.2 * torch.randn_like(train)) - train) ** 2)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    with torch.no_grad():
        losses.append(torch.mean((denoise(noisy) - test) ** 2).sqrt().item())
print(f"held-out error {losses[0]:.4f} before, {losses[-1]:.4f} after training")

# %%
# The trained transform returns to fost, with the same operations as before.
print(layer.transform())
figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.plot(np.arange(len(losses)), losses)
ax.set(xlabel="step", ylabel="held-out error (RMSE)")
