"""
First steps: handwritten digits
===============================

Images of 8 x 8 pixels, 64 numbers each, are to be described by eight numbers. The discrete
cosine transform is made for smooth images; a transform that is learned from digits knows what
digits look like, and is as fast.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import fost

digits = load_digits().data
signals = digits - digits.mean(axis=0)
train, test = signals[::2], signals[1::2]


def error(coder):
    """The share of the energy of the test signals that eight coefficients miss."""
    rest = test - coder.decode(coder.encode(test, 8))
    return np.sum(rest**2) / np.sum(test**2)


# %%
# Learning takes the signals in rows, a structure and the number of coefficients. There
# are three structures here. The first has 24 Householder reflectors. The second is a bank of eight
# transforms, and each digit uses the best one. The third is a union, whose codes mix atoms of all
# eight.
base = fost.DCT((8, 8))
coders = {
    "DCT": base,
    "24 reflectors": fost.learn(train, fost.Reflectors(24), 8).transform,
    "bank of 8": fost.learn(
        train, fost.BankOf(fost.Rotations(64), 8), 8, base=base, random_state=0
    ).transform,
    "union of 8": fost.learn(
        train, fost.UnionOf(fost.Rotations(64), 8), 8, base=base, random_state=0
    ).transform,
}
for name, coder in coders.items():
    print(f"{name:14} {coder.encode_flops(8):7,} operations   error {error(coder):6.1%}")

# %%
# The same digits, seen through eight coefficients of each.
chosen = test[:8]
figure, axes = plt.subplots(len(coders) + 1, len(chosen), figsize=(7, 5), layout="constrained")
rows = {"as it is": chosen}
rows |= {name: coder.decode(coder.encode(chosen, 8)) for name, coder in coders.items()}
for line, (name, images) in zip(axes, rows.items(), strict=True):
    for ax, image in zip(line, images + digits.mean(axis=0), strict=True):
        ax.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
        ax.set(xticks=[], yticks=[])
    line[0].set_ylabel(name, rotation=0, ha="right", va="center")
