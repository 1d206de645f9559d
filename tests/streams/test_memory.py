"""Signals larger than the memory that a process may use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the peak of memory, by Linux"
)

# The memory in MiB that learning may add to the peak of a process after all imports. Two blocks of
# 8 MiB that are read, one in use, and its results: 20 to 36, depending on the blocks that each
# thread's allocator keeps. A thread of fost has 0.2 MiB to work in, one of BLAS less than
# 1 MiB of copies of matrices of 64 columns; 32 of both took no more than one. Signals that stayed
# would take 120.
ROOM = 64

LEARN = """
import re, sys
import numpy as np, fost
from fost.streams import arrays
arrays._BLOCK_BYTES = 2**23
def peak():
    # Not ru_maxrss, which a process inherits from the one that started it.
    with open("/proc/self/status", encoding="utf-8") as file:
        return int(re.search(r"VmHWM:\\s+(\\d+)", file.read())[1]) / 2**10
fost.HouseholderDictionary(12, 4, max_iter=1).fit(np.eye(64)).score(np.eye(64))
class Blocks:
    def __iter__(self):
        for part in range(30):
            size = 2**14 * 64
            yield np.fromfile("float32", np.float32, size, offset=4 * size * part).reshape(-1, 64)
before = peak()
for Y in (
    np.memmap("float32", np.float32, "r").reshape(-1, 64),
    np.memmap("int16", np.int16, "r").reshape(-1, 64),
    np.memmap("gaps", np.float32, "r").reshape(-1, 64),
    Blocks(),
):
    fost.HouseholderDictionary(12, 4, max_iter=1).fit(Y).score(Y)
    print(type(Y).__name__, Y.nbytes / 2**20 if hasattr(Y, "nbytes") else "", peak() - before)
assert peak() - before < float(sys.argv[1]), peak() - before
"""


@pytest.mark.parametrize("n_threads", [1, 8])
def test_memory_stays_bounded(tmp_path: Path, n_threads: int) -> None:
    random = np.random.default_rng(0)
    # 120 MiB of float32; 60 MiB of int16, which would be 240 MiB of doubles.
    for dtype in (np.float32, np.int16):
        part = (100 * random.standard_normal((2**14, 64))).astype(dtype)
        with open(tmp_path / np.dtype(dtype).name, "wb") as file:
            for _ in range(30):
                file.write(part.data)
    part = random.standard_normal((2**14, 64)).astype(np.float32)
    part[::50, 7] = np.nan
    with open(tmp_path / "gaps", "wb") as file:
        for _ in range(30):
            file.write(part.data)
    # The given number of threads, not the number of cores.
    names = ("FOST_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
    subprocess.run(
        [sys.executable, "-c", LEARN, str(ROOM)],
        env={**os.environ, **dict.fromkeys(names, str(n_threads))},
        cwd=tmp_path,
        check=True,
    )


# Banks and unions learn from samples, whose rows are on almost all pages of a file. The sample of a
# union takes 12 MiB, with its copies and masks 44 in all. Pages of the file and of the mask that
# stayed would take 80 more.
ROOM_OF_SAMPLES = 72

SAMPLE = """
import re, sys
import numpy as np, fost
from fost.streams import arrays
arrays._BLOCK_BYTES = 2**22
def peak():
    with open("/proc/self/status", encoding="utf-8") as file:
        return int(re.search(r"VmHWM:\\s+(\\d+)", file.read())[1]) / 2**10
def learn(Y, missing=None):
    for collection in (fost.BankOf, fost.UnionOf):
        structure = collection(fost.Reflectors(1), 2)
        fost.learn(Y, structure, 1, missing=missing, max_iter=1, random_state=0)
Y = np.load("rows.npy", mmap_mode="r")
few = np.array(Y[:2000])
learn(few)
learn(few, np.zeros(few.shape, bool))
before = peak()
learn(Y)
print("rows", Y.nbytes / 2**20, peak() - before)
learn(Y, np.load("missing.npy", mmap_mode="r"))
print("rows and mask", peak() - before)
assert peak() - before < float(sys.argv[1]), peak() - before
"""


def test_samples_of_memory_maps_are_not_kept(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    rows = random.standard_normal((2**18, 64)).astype(np.float32)  # 64 MiB
    np.save(tmp_path / "rows.npy", rows)
    np.save(tmp_path / "missing.npy", random.random(rows.shape) < 0.01)  # 16 MiB
    subprocess.run(
        [sys.executable, "-c", SAMPLE, str(ROOM_OF_SAMPLES)],
        env={**os.environ, "FOST_NUM_THREADS": "1"},
        cwd=tmp_path,
        check=True,
    )


# The memory that restoration in tiles may add: a tile of 288 x 288 with its margin and 2^18
# training samples, about ten numbers each, are 21 MiB. A whole array takes 60 MiB for each
# of its copies.
ROOM_OF_TILES = 40

RESTORE = """
import re, sys
import numpy as np
from fost import restoration
from fost.restoration import denoising, inpainting, noise
def peak():
    with open("/proc/self/status", encoding="utf-8") as file:
        return int(re.search(r"VmHWM:\\s+(\\d+)", file.read())[1]) / 2**10
for module in (denoising, noise):  # the size of training regions
    module.MAX_SAMPLES = 2**18
inpainting.MAX_TRAINING_SAMPLES = 2**18
small, gaps = np.random.default_rng(0).random((64, 64)), np.eye(64, dtype=bool)
restoration.denoise(small, 0.1, tile=40)
restoration.inpaint(small, gaps, tile=40)
from fost.restoration import tiling
original = tiling.tile_sides
tiling.tile_sides = lambda shape, channels: original(shape, channels, 2**17)
Y = np.load("noisy.npy", mmap_mode="r")
out = np.lib.format.open_memmap("out.npy", "w+", Y.dtype, Y.shape)
before = peak()
restoration.denoise(Y, stride=4, tile=288, out=out)
print("denoise", Y.nbytes / 2**20, peak() - before)
restoration.inpaint(Y, np.load("gaps.npy", mmap_mode="r"), tile=288, max_iter=2, out=out)
print("inpaint", Y.nbytes / 2**20, peak() - before)
assert peak() - before < float(sys.argv[1]), peak() - before
"""


def test_restoring_stays_bounded(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    np.save(tmp_path / "noisy.npy", random.random((2800, 2800)))
    np.save(tmp_path / "gaps.npy", random.random((2800, 2800)) < 0.2)
    subprocess.run(
        [sys.executable, "-c", RESTORE, str(ROOM_OF_TILES)],
        env={**os.environ, "FOST_NUM_THREADS": "2"},
        cwd=tmp_path,
        check=True,
    )
