"""
Data larger than memory
=======================

Learning needs sums over the signals only, so that signals may be anywhere: in a memory map, in
Zarr, on a cluster. This example has a hundred thousand signals in a file. With a checkpoint, an
interrupted run continues where it stopped.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import fost

folder = Path(tempfile.mkdtemp())
rng = np.random.default_rng(0)
file = np.lib.format.open_memmap(
    folder / "signals.npy", mode="w+", dtype=np.float32, shape=(100_000, 64)
)
for start in range(0, len(file), 10_000):  # ten blocks, never all in memory
    file[start : start + 10_000] = np.cumsum(rng.standard_normal((10_000, 64)), axis=1)
file.flush()

# %%
# The same call as for an array.
signals = np.load(folder / "signals.npy", mmap_mode="r")
result = fost.learn(
    signals,
    fost.Rotations(64),
    4,
    base=fost.DCT(64),
    max_iter=10,
    random_state=0,
    checkpoint=folder / "run.checkpoint",
)
figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
ax.plot(range(1, result.n_iter + 1), result.errors, "o-")
ax.set(xlabel="iteration", ylabel="relative error")
ax.yaxis.set_major_formatter("{x:.2%}")

# %%
# Codes of a file, block by block.
first = result.transform.encode(signals[:20_000], 4)
print(type(first).__name__, first.shape, f"{first.nnz:,} numbers")
