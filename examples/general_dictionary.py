"""
A general dictionary beside fast transforms
===========================================

Stagewise K-SVD learns free atoms and codes by matching pursuit: fewer coefficients for the same
error, at many times the cost. How much better is it on one picture, and how much slower?

Run as ``python examples/general_dictionary.py [FOLDER]``; the figure goes to the folder.
"""

import sys
import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from skimage import data

import fost

S = 4
Y = fost.restoration.patches(data.camera() / 255, 8)
Y = (Y - Y.mean(axis=1, keepdims=True)).astype(np.float32)
rng = np.random.default_rng(0)
order = rng.permutation(len(Y))
train, test = Y[order[::2]], Y[order[1::2]]

ESTIMATORS = {
    "H12": fost.HouseholderDictionary(12, S, random_state=0),
    "2-D DCT + 64 rotations": fost.GivensDictionary(64, S, base=fost.DCT((8, 8)), random_state=0),
    "Q-DLA": fost.OrthonormalDictionary(S),
    "SK-SVD, 64 atoms": fost.baselines.StagewiseKSVD(64, S, random_state=0),
    "K-SVD, 128 atoms": fost.baselines.KSVD(128, S, tol=0, random_state=0),
}


def seconds(function, repeats=5):
    """The best of several runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


# %%
# Learn on one half of the patches, judge on the other. A dictionary that adapts more closely
# to its training signals does not do as much better on new ones.

fost.set_num_threads(1)
many = np.tile(test, (10, 1))
rows = []
print(f"{'':<24} {'learning':>9} {'coding':>12} {'error on':>10} {'error on':>10}")
print(f"{'':<24} {'s':>9} {'ns/signal':>12} {'its own %':>10} {'others %':>10}")
for name, estimator in ESTIMATORS.items():
    start = time.perf_counter()
    estimator.fit(train)
    learning = time.perf_counter() - start
    coding = seconds(lambda e=estimator: e.dictionary_.encode(many, S)) / len(many) * 1e9
    own, others = (-100 * estimator.score(half) for half in (train, test))
    rows.append((name, coding, own, others))
    print(f"{name:<24} {learning:>9.2f} {coding:>12.0f} {own:>10.2f} {others:>10.2f}")

# %%
# The same as a picture: to the left is faster, down is better.

fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for name, coding, own, others in rows:
    (line,) = ax.plot([coding, coding], [own, others], "-", lw=1)
    ax.plot(coding, own, "o", mfc="none", color=line.get_color())
    ax.plot(coding, others, "o", color=line.get_color(), label=name)
ax.set(xscale="log", xlabel="coding, ns per signal (one thread)", ylabel="relative error, %")
ax.set_title("camera, 8 x 8 patches, 4 coefficients: new signals (full) and its own (empty)")
ax.title.set_fontsize(10)
ax.grid(alpha=0.3)
ax.legend(fontsize=9)
folder = Path(sys.argv[1] if len(sys.argv) > 1 else "examples/output")
folder.mkdir(parents=True, exist_ok=True)
fig.savefig(folder / "general_dictionary.png", dpi=130)
print("\nThe figure is general_dictionary.png")
