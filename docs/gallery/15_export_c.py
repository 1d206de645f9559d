"""
A transform on a microcontroller: C export
==========================================

A transform for windows of an electrocardiogram becomes one C header without dependencies. The
program below encodes each window on the device and sends six coefficients instead of 64 samples.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pywt
from numpy.lib.stride_tricks import sliding_window_view

import fost

windows = sliding_window_view(pywt.data.ecg().astype(np.float32), 64)
train, test = windows[:449], windows[512::64]
mean = train.mean(axis=0)
U = fost.learn(train - mean, fost.Rotations(64), 6, base=fost.DCT(64), random_state=0).transform

# %%
# The header has tables of the rotations, and functions that encode and decode a signal.
folder = Path(tempfile.mkdtemp())
size = fost.export.to_c(U, folder / "ecg.h", name="ecg")
print(f"{size.tables} bytes of tables and {size.stack} bytes of stack, dense: {4 * 64**2} bytes")

# %%
# This program reads windows without their mean, and writes the restored windows.
(folder / "main.c").write_text("""
#include <stdio.h>
#include "ecg.h"

int main(void) {
  float signal[ECG_N], value[6];
  ecg_index index[6];
  while (fread(signal, sizeof signal, 1, stdin) == 1) {
    int count = ecg_encode(signal, 6, index, value);
    ecg_decode(index, value, count, signal);
    fwrite(signal, sizeof signal, 1, stdout);
  }
  return 0;
}
""")
compiler = shutil.which("cc") or shutil.which("gcc")
centred = (test - mean).astype(np.float32)
restored = U.decode(U.encode(centred, 6))
if compiler:
    command = [compiler, "-O2", "main.c", "-o", "main", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    sent = subprocess.run([folder / "main"], input=centred.tobytes(), capture_output=True)
    in_c = np.frombuffer(sent.stdout, np.float32).reshape(centred.shape)
    print(f"largest difference between C and Python: {np.abs(in_c - restored).max():.1g}")

# %%
# The windows one after the other, as the receiver sees them.
error = np.sum((centred - restored) ** 2) / np.sum(centred**2)
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.plot(test.ravel(), label="recording", linewidth=3, alpha=0.4)
ax.plot((restored + mean).ravel(), label=f"6 of 64 coefficients, error {error:.1%}", linewidth=1)
ax.set(xlabel="sample", ylabel="amplitude")
ax.legend(loc="upper center")
