"""
The best structure for a budget
===============================

Reflectors or rotations, how many, one transform or several? `fost.AutoDictionary` tries them on
held-out signals and takes the best that a number of operations per signal can pay for.
"""

import matplotlib.pyplot as plt
from skimage import data

import fost

image = data.camera() / 255
Y = fost.restoration.patches(image, 8, 8)
Y = Y - Y.mean(axis=1, keepdims=True)
auto = fost.AutoDictionary(4, (8, 8), max_flops=2000, max_iter=10, tol=0, random_state=0).fit(Y)
print(auto.dictionary_)

# %%
# Everything that was tried: what costs more and is no better is not on the frontier.
figure, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
fost.plot_frontier(auto, ax=ax)
