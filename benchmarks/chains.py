"""Better chains from the same number of rotations: pruned starts, and a prototype of insertions.

    python -m benchmarks.chains ecg.dat [starts] [insertions]

where ecg.dat is the file that ``scipy.datasets.electrocardiogram`` downloads.

- ``starts``: one start, and ``n_init=4``. Each further start drops half of the rotations of the
  start before, those whose removal costs least.
- ``insertions``: a round drops the same half of a converged chain. It inserts as many rotations
  where they gain most for the current codes, and learns until convergence. The chain with the
  smallest training error of six rounds counts.

Errors and ratios are geometric means over seeds. Noise of 1e-3 on the training windows of the ECG
leads to different local minima. Other signals are split into halves.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import sklearn.datasets
from numpy.typing import NDArray

import fost
from benchmarks.banks import mixed
from benchmarks.electrocardiogram import windows
from benchmarks.harness import threads
from benchmarks.quality import patches
from benchmarks.results import Results, Table
from fost.learning import as_training_data
from fost.learning.rotations import removal_losses
from fost.model_selection.candidates import relative_error
from fost.transforms import with_base
from reproduction.data import bundled_image

Array = NDArray[Any]
Chain = tuple[Array, Array]  # pairs and blocks of G_1, ..., G_g
Split = tuple[Array, Array, fost.Transform | None, int]  # training, held-out, base, s
KINDS = ("ECG", "digits", "digits, no base", "camera", "mixed patches")
FIRST_SEED = 100  # the share and the number of rounds were chosen with smaller seeds
NOISE = 1e-3
SHARES = (0.5, 1, 2)  # rotations per feature
ROUNDS = 6
STARTS = 4
STARTS_COLUMNS = {
    "signals": "",
    "rotations": ",",
    "held-out error, one start": ".2%",
    "four starts": ".2%",
    "ratio": ".3f",
    "ratio of CPU times": ".1f",
}
COLUMNS = {
    "signals": "",
    "rotations": ",",
    "training error": ".2%",
    "with insertions": ".2%",
    "held-out error": ".2%",
    "with insertions, held out": ".2%",
    "ratio": ".3f",
    "ratio of iterations": ".1f",
    "ratio of CPU times": ".1f",
    "Q-DLA, held out": ".2%",
}


def split(kind: str, path: str, seed: int) -> Split:
    """Training and held-out signals of one kind."""
    rng = np.random.default_rng(seed)
    if kind == "ECG":
        train, held_out = windows(path)
        return train + NOISE * rng.standard_normal(train.shape), held_out, fost.DCT(128), 8
    if kind.startswith("digits"):
        Y = np.asarray(sklearn.datasets.load_digits().data)
        Y = Y - Y.mean(axis=1, keepdims=True)
    else:
        Y = np.concatenate(mixed()) if kind == "mixed patches" else patches(bundled_image(kind))
    order = rng.permutation(len(Y))
    base = None if kind.endswith("no base") else fost.DCT((8, 8))
    return Y[order[::2]], Y[order[1::2]], base, 4


def proposals(M: Array, chain: Chain) -> list[tuple[float, int, int, int]]:
    """Insertions (gain, place, i, j).

    At place k, R = (G_k ... G_1) M (G_g ... G_(k+1)). Moving past a rotation changes the gains of
    its two features only.
    """
    found, R = [], M.copy()
    for pair, block in zip(chain[0][::-1], chain[1][::-1], strict=True):
        R[:, pair] = R[:, pair] @ block

    def propose(place: int, i: int) -> None:
        d = np.diag(R)
        rotation = np.hypot(d[i] + d, R[i] - R[:, i])
        gains = np.maximum(rotation, np.hypot(d[i] - d, R[i] + R[:, i])) - d[i] - d
        gains[i] = -1
        j = int(gains.argmax())
        found.append((float(gains[j]), place, i, j))

    for i in range(len(M)):
        propose(0, i)
    for k, (pair, block) in enumerate(zip(*chain, strict=True)):
        R[pair] = block @ R[pair]
        R[:, pair] = R[:, pair] @ block.T
        for i in pair:
            propose(k + 1, int(i))
    return found


def optimise_angles(M: Array, pairs: Array, blocks: Array) -> None:
    """One sweep that keeps the pairs of features."""
    R = M.copy()
    for pair, block in zip(pairs[:0:-1], blocks[:0:-1], strict=True):
        R[:, pair] = R[:, pair] @ block
    for k, pair in enumerate(pairs):
        U, _, Vt = np.linalg.svd(R[np.ix_(pair, pair)])
        blocks[k] = (U @ Vt).T
        R[pair] = blocks[k] @ R[pair]
        if k + 1 < len(pairs):
            R[:, pairs[k + 1]] = R[:, pairs[k + 1]] @ blocks[k + 1].T


def renewed(M: Array, chain: Chain) -> Chain:
    """The chain with half of its rotations replaced, n / 8 at once, without common features."""
    g, step = len(chain[0]), len(M) // 8
    losses = removal_losses(M, fost.Givens(*chain, len(M)))
    kept = np.sort(np.argsort(losses, kind="stable")[g // 2 :])
    pairs, blocks = chain[0][kept], chain[1][kept]
    while len(pairs) < g:
        used: set[int] = set()
        places: list[int] = []
        new: list[tuple[int, int]] = []
        for _, place, i, j in sorted(proposals(M, (pairs, blocks)), key=lambda each: -each[0]):
            if len(new) < min(step, g - len(pairs)) and used.isdisjoint((i, j)):
                used.update((i, j))
                places.append(place)
                new.append((i, j))
        pairs = np.insert(pairs, places, np.array(new, np.int32), axis=0)
        blocks = np.insert(blocks, places, np.eye(2), axis=0)
        optimise_angles(M, pairs, blocks)
    return pairs, blocks


def learn(data: Split, g: int) -> Array:
    """Training error, held-out error, iterations and CPU time, without and with insertions."""
    train, held_out, base, s = data
    begin = time.process_time()
    first = result = best = fost.learn(train, fost.Rotations(g), s, base=base, random_state=0)
    n_iter, times = result.n_iter, [time.process_time() - begin]
    for _ in range(ROUNDS):
        learned: Any = result.transform
        givens = learned if base is None else learned.stages[-1]
        M = as_training_data(train).statistic(base, givens, s).scaled
        chain = fost.Givens(*renewed(M, (givens.pairs, givens.blocks)), len(M))
        start = chain if base is None else with_base(base, chain)
        result = fost.learn(train, fost.Rotations(g), s, base=base, init=start)
        n_iter += result.n_iter
        best = min(best, result, key=lambda each: each.error)
    times.append(time.process_time() - begin)
    errors = [[each.error, relative_error(held_out, each.transform, s)] for each in (first, best)]
    return np.column_stack([errors, [first.n_iter, n_iter], times])


def learn_starts(data: Split, g: int) -> Array:
    """Held-out error and CPU time, with one start and with several."""
    train, held_out, base, s = data
    rows = []
    for count in (1, STARTS):
        begin = time.process_time()
        options = {"n_init": count, "random_state": 0}
        U = fost.learn(train, fost.Rotations(g), s, base=base, **options).transform  # type: ignore[arg-type]
        rows.append((time.process_time() - begin, relative_error(held_out, U, s)))
    return np.array(rows)


def starts(kind: str, data: list[Split], table: Table) -> None:
    """Rows for one kind of signals, one for each number of rotations."""
    for share in SHARES:
        g = int(share * data[0][0].shape[1])
        logs = np.mean([np.log(learn_starts(each, g)) for each in data], axis=0)
        times, errors = np.exp(logs).T
        table.add(kind, g, *errors, errors[1] / errors[0], times[1] / times[0])


def insertions(kind: str, data: list[Split], table: Table) -> None:
    """The same without and with insertions, beside Q-DLA."""
    dense = [fost.learn(Y, fost.Orthonormal(), s, base=base) for Y, _, base, s in data]
    errors = [
        relative_error(each[1], result.transform, each[3])
        for each, result in zip(data, dense, strict=True)
    ]
    for share in SHARES:
        g = int(share * data[0][0].shape[1])
        logs = np.mean([np.log(learn(each, g)) for each in data], axis=0)
        (train, held_out), (new_train, new_held_out) = np.exp(logs[:, :2])
        ratios = np.exp(logs[1] - logs[0])[1:]
        cells = (train, new_train, held_out, new_held_out, *ratios)
        table.add(kind, g, *cells, np.exp(np.mean(np.log(errors))))


PARTS = {"starts": (starts, STARTS_COLUMNS), "insertions": (insertions, COLUMNS)}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("ecg")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    results = Results("chains")
    with threads(1):
        for part in options.parts or PARTS:
            measure, columns = PARTS[part]
            table = results.table(part, columns)
            for kind in KINDS:
                seeds = range(FIRST_SEED, FIRST_SEED + options.seeds)
                measure(kind, [split(kind, options.ecg, seed) for seed in seeds], table)
    results.save()


if __name__ == "__main__":
    main()
