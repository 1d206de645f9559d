"""Checksums of what fost computes, to show that a change of the code changes no bit.

    python -m benchmarks.checksums > before.txt

and again afterwards, on the same machine: results depend on its instruction set and its BLAS.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fost
from fost.restoration import denoise, inpaint

_Arrays = list[NDArray[Any]]


def _signals(n_signals: int, n: int, seed: int = 0) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    Y = np.cumsum(rng.standard_normal((n_signals, n)), axis=1)
    Y[::3] = 8 * rng.standard_normal((len(Y[::3]), n)) * (rng.random((len(Y[::3]), n)) < 0.2)
    return np.asarray(Y - Y.mean(axis=1, keepdims=True))


def _learned(structure: fost.Structure, n: int = 64, **options: Any) -> _Arrays:
    Y = _signals(3000, n)
    options = {"base": None, "max_iter": 8, "tol": 0, "random_state": 0, **options}
    found = fost.learn(Y, structure, 4, **options)
    coder = found.transform
    single = coder.encode(Y.astype(np.float32), 4)
    codes = coder.encode(Y, 12)
    return [
        found.errors,
        coder.matrix,
        codes.data,
        codes.indices,
        coder.decode(codes),
        single.data,
        single.indices,
        coder.decode(single),
    ]


def _pictures() -> _Arrays:
    rows, columns = np.mgrid[:64, :80]
    clean = 120 + 60 * np.sin(rows / 5) * np.cos(columns / 7)
    noisy = clean + 20 * np.random.default_rng(0).standard_normal(clean.shape)
    missing = np.random.default_rng(1).random(clean.shape) < 0.4
    filled = inpaint(clean, missing)
    return [denoise(noisy, 20.0), filled, denoise(noisy.astype(np.float32), 20.0)]


def _fitted() -> _Arrays:
    Y = _signals(800, 16)
    auto = fost.AutoDictionary(3, 16, max_iter=5, random_state=0, verbose=False).fit(Y)
    online = fost.HouseholderDictionary(3, 3, random_state=0).partial_fit(Y).partial_fit(Y[::-1])
    ksvd = fost.baselines.KSVD(24, 3, max_iter=4, random_state=0).fit(Y)
    errors = np.array([row.held_out_error for row in auto.frontier_])
    return [auto.components_, errors, online.components_, ksvd.components_]


def _pursued() -> _Arrays:
    Y = _signals(500, 32)
    atoms = np.random.default_rng(2).standard_normal((64, 32))
    missing = np.random.default_rng(3).random(Y.shape) < 0.3
    codes = [fost.omp(Y, atoms, 5), fost.omp(Y, atoms, 5, missing=missing, normalize=True)]
    return [part for code in codes for part in (code.data, code.indices)]


RUNS: dict[str, Callable[[], _Arrays]] = {
    "Q": lambda: _learned(fost.Orthonormal()),
    "H6": lambda: _learned(fost.Reflectors(6)),
    "H auto": lambda: _learned(fost.Reflectors("auto")),
    "QH6": lambda: _learned(fost.Reflectors(6, orthogonal=True)),
    "rotations": lambda: _learned(fost.Rotations(40)),
    "rotations over DCT": lambda: _learned(fost.Rotations("auto"), base=fost.DCT((8, 8))),
    "reflectors over DCT": lambda: _learned(fost.Reflectors(3), n=60, base=fost.DCT(60)),
    "bank of rotations": lambda: _learned(fost.BankOf(fost.Rotations(20), 4), base=fost.DCT(64)),
    "bank of Q": lambda: _learned(fost.BankOf(fost.Orthonormal(), 3), init="farthest"),
    "bank of reflectors": lambda: _learned(fost.BankOf(fost.Reflectors(2), 2), init="subsets"),
    "300 features": lambda: _learned(fost.Orthonormal(), n=300, base=fost.DCT(300)),
    "pictures": _pictures,
    "estimators": _fitted,
    "omp": _pursued,
}


def main() -> None:
    for name, run in RUNS.items():
        digest = hashlib.sha256()
        for array in run():
            digest.update(np.ascontiguousarray(array).tobytes())
        print(f"{name:<22}{digest.hexdigest()[:16]}", flush=True)


if __name__ == "__main__":
    main()
