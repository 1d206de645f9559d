"""
Sensors: an electrocardiogram
=============================

A recording is cut into windows, and each window is coded with few coefficients. The heart beats
in shapes of its own, which neither cosines nor wavelets have.
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
# The transforms are learned on the first half and judged on the second.
base = fost.DCT(64)
coders = {
    "DCT": base,
    "wavelet db4": fost.Wavelet(64, "db4"),
    "DCT + 128 rotations": lambda s: (
        fost.learn(train, fost.Rotations(128), s, base=base, random_state=0).transform
    ),
    "24 reflectors": lambda s: fost.learn(train, fost.Reflectors(24), s).transform,
}
counts = [2, 4, 6, 8, 12, 16]
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for name, made in coders.items():
    errors = []
    for s in counts:
        coder = made(s) if callable(made) else made
        rest = test - coder.decode(coder.encode(test, s))
        errors.append(np.sum(rest**2) / np.sum(test**2))
    ax.semilogy(counts, errors, "o-", label=name)
    print(f"{name:20}", *(f"{error:7.2%}" for error in errors))
ax.set(xlabel="coefficients per window of 64 samples", ylabel="relative error")
ax.legend()

# %%
# One window, from four of its 64 coefficients.
learned = coders["24 reflectors"](4)
window = test[100:101]
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.plot(window[0], "k", linewidth=3, alpha=0.3, label="recorded")
ax.plot(base.decode(base.encode(window, 4))[0], label="DCT")
ax.plot(learned.decode(learned.encode(window, 4))[0], label="24 reflectors")
ax.set(xlabel="sample", ylabel="signal")
ax.legend()
