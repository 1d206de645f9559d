"""
What a transform has learned
============================

The columns of a transform are its atoms: signals are sums of few of them. Rotations over the
DCT begin as cosines, and turn into what the data are made of.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage import data

import fost

image = data.brick() / 255
Y = fost.restoration.patches(image, 8, 4)
Y = Y - Y.mean(axis=1, keepdims=True)
base = fost.DCT((8, 8))
result = fost.learn(Y, fost.Rotations(256), 4, base=base, random_state=0)
print(result.transform)
for name, U in {"DCT": base, "learned": result.transform}.items():
    rest = Y - U.decode(U.encode(Y, 4))
    print(f"{name:8} relative error {np.sum(rest**2) / np.sum(Y**2):.2%}")

# %%
# The sixteen atoms that are used most, of the DCT and of the learned transform.
figure, axes = plt.subplots(4, 8, figsize=(7, 3.6), layout="constrained")
for block, (title, U) in zip(
    (axes[:, :4], axes[:, 4:]), {"DCT": base, "learned": result.transform}.items(), strict=True
):
    energies = np.sum(U.encode(Y, 4).power(2), axis=0)
    for ax, atom in zip(block.flat, U.matrix.T[np.argsort(-energies)], strict=False):
        reach = np.abs(atom).max()
        ax.imshow(atom.reshape(8, 8), cmap="RdBu_r", vmin=-reach, vmax=reach)
        ax.set(xticks=[], yticks=[])
    block[0, 1].set_title(title)
