"""
Missing samples of recordings
=============================

Sensors drop out, often for several samples in a row. `fost.Imputer` fits a Gaussian mixture to
recordings with missing samples, and imputes these with error bars.
"""

import matplotlib.pyplot as plt
import numpy as np
import pywt
from numpy.lib.stride_tricks import sliding_window_view
from sklearn.impute import KNNImputer, SimpleImputer

import fost

recording = pywt.data.ecg().astype(float)
windows = sliding_window_view(recording, 64)[::3].copy()
rng = np.random.default_rng(0)
missing = np.zeros(windows.shape, dtype=bool)
for row in missing:
    for start in rng.integers(0, 56, 2):
        row[start : start + 8] = True
incomplete = np.where(missing, np.nan, windows)

# %%
# Root mean squared errors of the imputed samples.
imputers = {"mean": SimpleImputer(), "5 neighbours": KNNImputer(), "fost": fost.Imputer()}
filled = {name: imputer.fit_transform(incomplete) for name, imputer in imputers.items()}
for name, found in filled.items():
    error = np.sqrt(np.mean((found - windows)[missing] ** 2))
    print(f"{name:14} {error:6.1f}")

# %%
# One window, with error bars of two standard deviations.
mixture = fost.imputation.fit_mixture(incomplete, random_state=0)
means, deviations = mixture.fill(incomplete[60:61], return_std=True)
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
t = np.arange(64)
ax.fill_between(
    t, means[0] - 2 * deviations[0], means[0] + 2 * deviations[0], color="tab:orange", alpha=0.3
)
ax.plot(t, means[0], color="tab:orange", label="filled")
ax.plot(t, windows[60], "k--", linewidth=1, label="true")
ax.plot(t, incomplete[60], "k", linewidth=2, label="observed")
ax.set(xlabel="sample", ylabel="signal")
ax.legend()
