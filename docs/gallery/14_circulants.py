"""
Shapes at any time: circulant dictionaries
==========================================

A window of a recording may begin anywhere in a heartbeat. A general dictionary needs an atom for
each position of each shape. A circulant dictionary stores a shape once, as a kernel, and its atoms
are all circular shifts of the kernels.
"""

import matplotlib.pyplot as plt
import numpy as np
import pywt
from numpy.lib.stride_tricks import sliding_window_view

import fost

recording = pywt.data.ecg().astype(float)
windows = sliding_window_view(recording, 64)
windows = windows - windows.mean(axis=1, keepdims=True)
train, test = windows[:500], windows[564:]

# %%
# All dictionaries are learned on the first half and judged on the second.

s = 4
models = {
    f"{count} circulants": fost.CirculantDictionary(count, s, random_state=0)
    for count in (1, 2, 4, 6)
}
models["DCT + 64 rotations"] = fost.GivensDictionary(64, s, base=fost.DCT(64), random_state=0)
models["K-SVD, 64 atoms"] = fost.baselines.KSVD(64, s, random_state=0)
for name, model in models.items():
    model.fit(train)
    n_parameters = model.dictionary_.n_parameters
    print(f"{name:20} {n_parameters:6,} parameters {-model.score(test):7.2%} error")

# %%
# The kernels are shapes of the recording.
kernels = models["4 circulants"].dictionary_.kernels
figure, axes = plt.subplots(1, 4, figsize=(8, 2), sharey=True, layout="constrained")
for ax, kernel in zip(axes, kernels, strict=True):
    ax.plot(np.roll(kernel, 32 - np.argmax(np.abs(kernel))))
    ax.set(xlabel="sample")

# %%
# The error does not depend on where a window begins: shifting it circularly shifts its code.
circulant, single = models["4 circulants"].dictionary_, models["DCT + 64 rotations"].dictionary_
window = test[100]
shifts = np.array([np.roll(window, k) for k in range(64)])
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
for name, coder in {"4 circulants": circulant, "DCT + 64 rotations": single}.items():
    rest = shifts - coder.decode(coder.encode(shifts, s))
    ax.plot(np.sum(rest**2, axis=1) / np.sum(window**2), label=name)
ax.set(xlabel="circular shift", ylabel="relative error")
ax.legend()
