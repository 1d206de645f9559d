"""Several Python threads on the same objects, in a core that ThreadSanitizer watches.

Each thread has the core's own threads below it. What they find is compared with what one thread
finds; races are reported by the sanitizer, which ends the process with a code of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import fost
from fost import _core, restoration
from tests import cases

N_THREADS, REPEATS = 6, 3


def work_of(rng: np.random.Generator) -> dict[str, Callable[[], Any]]:
    """Everything in the core that runs on several threads, on objects that all threads share."""
    Y = rng.standard_normal((6_000, 64)).astype(np.float32)
    Z = rng.standard_normal((2_000, 300))
    chain = cases.make_transform("chain", 64, rng)
    dense = cases.make_transform("dense", 300, rng)
    bank = fost.Bank([chain, fost.DCT((8, 8)), fost.DCT(64)])
    atoms = rng.standard_normal((128, 64)).astype(np.float32)
    picture = rng.random((96, 96)).astype(np.float32)
    missing = rng.random((500, 64)) < 0.3
    codes = chain.encode(Y, 4)
    union = fost.Union([chain, fost.DCT(64)])
    incomplete = np.where(missing, np.nan, Y[:500])
    mixture = fost.imputation.fit_mixture(incomplete, max_iter=2)
    return {
        "forward": lambda: chain.forward(Y),
        "inverse": lambda: dense.inverse(Z),
        "encode": lambda: chain.encode(Y, 4).data,
        "encode, dense": lambda: dense.encode(Z, 12).data,
        "encode, bank": lambda: bank.encode(Y, 4).data,
        "encode, union": lambda: union.encode(Y[:1000], 4).data,
        "encode to an error": lambda: chain.encode(Y, max_error=0.5).data,
        "decode": lambda: chain.decode(codes),
        "fill": lambda: mixture.fill(incomplete),
        "learn": lambda: fost.learn(Y, fost.Reflectors(3), 4, max_iter=2).transform.matrix,
        "learn, rotations": lambda: (
            fost.learn(Y, fost.Rotations(9), 4, max_iter=2, random_state=0).errors
        ),
        "omp": lambda: fost.omp(Y[:2000], atoms, 4).data,
        "omp, missing": lambda: fost.omp(Y[:500], atoms, 4, missing=missing).data,
        "denoise": lambda: restoration.denoise(picture, 0.1, transform=fost.DCT((8, 8))),
        "denoise, groups": lambda: restoration.denoise(
            picture, 0.1, transform=fost.DCT((8, 8)), quality="best"
        ),
    }


def main() -> int:
    fost.set_num_threads(4)
    for isa in _core.available_isas():
        _core.set_isa(isa)
        expected = {name: work() for name, work in work_of(np.random.default_rng(0)).items()}
        shared = work_of(np.random.default_rng(0))  # plans that the threads below make themselves

        def round_of(k: int, shared: dict[str, Callable[[], Any]] = shared) -> dict[str, Any]:
            names = [*shared][k % len(shared) :] + [*shared][: k % len(shared)]
            return {name: shared[name]() for name in names}

        with ThreadPoolExecutor(N_THREADS) as pool:
            for found in pool.map(round_of, range(N_THREADS * REPEATS)):
                for name, result in found.items():
                    assert cases.same_bits(result, expected[name]), (isa, name)
        print(f"{isa}: {N_THREADS} threads agree with one, {len(expected)} kinds of work")
    return 0


if __name__ == "__main__":
    sys.exit(main())
