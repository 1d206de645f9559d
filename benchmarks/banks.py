"""Banks and unions on mixed patches: errors and costs.

    python -m benchmarks.banks            # banks, beside K-SVD
    python -m benchmarks.banks --unions   # unions, beside K-SVD
    python -m benchmarks.banks --large    # unions of patches of 16 x 16 pixels
    python -m benchmarks.banks --auto     # the choices of AutoDictionary
    python -m benchmarks.banks --restore  # denoising and inpainting with learned dictionaries

Half of the patches of each image are for training, the other half is held out. With ``--quick``
everything is smaller, and nothing is saved.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fost
from benchmarks.harness import threads
from benchmarks.results import Results
from reproduction.data import bundled_image, find_images, signals
from reproduction.printed import TABLE_ONE

S = 4
LARGE, LARGE_S = 16, 16
SIZES = (1, 2, 4, 8, 16, 32)
BUNDLED = ("camera", "astronaut", "brick", "grass", "gravel", "moon", "coins")
FOLDER = Path(__file__).parents[2] / "shared" / "images"
COLUMNS = {
    "dictionary": "",
    "operations": ",",
    "ns per patch": ".0f",
    "training error": ".2%",
    "held-out error": ".2%",
}
PAPER = ("peppers", "boat", "barb", "couple", "man")


def mixed(patch: int = 8) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Training and held-out patches; the paper's images where ../shared/images has them."""
    files = (FOLDER / f"{name}.png" for name in PAPER)
    images = [fost.images.read(file) / 255 for file in files if file.exists()]
    images += [bundled_image(name) for name in BUNDLED]
    random = np.random.default_rng(0)
    halves: tuple[list[Any], list[Any]] = ([], [])
    for image in images:
        Y = patches(image, patch)
        order = random.permutation(len(Y))
        halves[0].append(Y[order[::2]])
        halves[1].append(Y[order[1::2]])
    train, test = (np.concatenate(half).astype(np.float32) for half in halves)
    return train, test


def restoration(results: Results) -> None:
    """PSNR of restored images of the paper, with dictionaries learned from all other images."""
    base = fost.DCT((8, 8))
    others = [bundled_image(name) for name in BUNDLED]
    Y = np.concatenate([patches(image) for image in others]).astype(np.float32)
    options: dict[str, Any] = {"base": base, "max_iter": 30, "random_state": 0}
    single = fost.learn(Y, fost.Rotations(256), S, **options).transform
    bank = fost.learn(Y, fost.BankOf(fost.Rotations(64), 8), S, **options).transform
    random = np.random.default_rng(1)
    names = ("DCT", "DCT + 256 rotations", "bank of 8 x (DCT + 64 rotations)")
    table = results.table("restoration", {"image": "", **dict.fromkeys(names, ".2f")})

    def row(name: str, clean: NDArray[Any], restore: Callable[..., NDArray[Any]]) -> None:
        coders = (base, single, bank)
        found = (fost.images.psnr(clean, restore(transform=each)) for each in coders)
        table.add(name, *found)

    for name in ("barb", "boat", "peppers"):
        clean = fost.images.read(FOLDER / f"{name}.png") / 255
        for sigma in (10, 25, 50):
            noisy = np.clip(clean + sigma / 255 * random.standard_normal(clean.shape), 0, 1)
            denoise = partial(fost.restoration.denoise, noisy, sigma / 255)
            row(f"{name}, noise {sigma}", clean, denoise)
        for share in (0.4, 0.8):
            missing = random.random(clean.shape) < share
            inpaint = partial(fost.restoration.inpaint, clean, missing)
            row(f"{name}, {share:.0%} missing", clean, inpaint)
        missing = random.random(clean.shape) < 0.4
        inpaint = partial(fost.restoration.inpaint, clean, missing, method="pursuit")
        row(f"{name}, 40% missing, pursuit", clean, inpaint)


@dataclass
class Row:
    """One dictionary, its costs, and its errors on training and held-out signals."""

    name: str
    flops: int
    coder: Any
    errors: tuple[float, float]
    nanoseconds: float = np.inf


def banks(results: Results, quick: bool) -> None:
    """Banks beside K-SVD."""
    train, test = mixed()
    _add(results, "banks", list(_rows(train, test, quick)), test, quick)


def unions(results: Results, quick: bool) -> None:
    """Unions beside K-SVD on the same patches, and on the images of the paper's Table I."""
    train, test = mixed()
    rows = [*_unions(train, test, quick), *_general(train, test, quick)]
    _add(results, "unions", rows, test, quick)
    images = find_images(FOLDER if FOLDER.is_dir() else None)
    headings = ("SK-SVD, printed", *(f"8 x {g} rotations" for g in (64, 128)))
    table = results.table("table_one", {"image": "", **dict.fromkeys(headings, ".4f")})
    for name in ("peppers", "boat", "barb", "couple"):
        if name in images:
            Y = signals(images[name])
            errors = [_learned_union(Y, 8, g)[1] for g in (64, 128)]
            cells = [np.sqrt(error * np.square(Y).mean()) for error in errors]
            table.add(name, TABLE_ONE["SK-SVD"][name], *cells)


def large(results: Results, quick: bool) -> None:
    """Patches of 16 x 16 pixels: unions beside K-SVD, with the CPU time of learning."""
    train, test = mixed(LARGE)
    base = fost.DCT((LARGE, LARGE))
    structure = fost.UnionOf(fost.Rotations(LARGE * LARGE), 2 if quick else 8)
    rows = [Row("DCT", base.flops, base, errors_of(base, train, test, LARGE_S))]
    with threads(1):
        for iterations in (1,) if quick else (1, 3, 10):
            start = time.process_time()
            options: dict[str, Any] = {"base": base, "max_iter": iterations, "random_state": 0}
            union = fost.learn(train, structure, LARGE_S, **options).transform
            seconds = time.process_time() - start
            name = f"{structure.n_members} x DCT + {LARGE * LARGE} rotations, {seconds:.0f} s"
            errors = errors_of(union, train, test, LARGE_S)
            rows.append(Row(name, union.encode_flops(LARGE_S), union, errors))
        for count, iterations in ((256, 10),) if quick else ((256, 20), (1024, 5), (1024, 20)):
            start = time.process_time()
            ksvd = fost.baselines.KSVD(count, LARGE_S, max_iter=iterations, random_state=0)
            ksvd.fit(train)
            seconds = time.process_time() - start
            name = f"K-SVD, {count:,} atoms, {seconds:.0f} s"
            flops = fost.diagnostics.batch_omp_flops(LARGE * LARGE, LARGE_S, count)
            errors = (-ksvd.score(train), -ksvd.score(test))
            rows.append(Row(name, flops, ksvd.dictionary_, errors))
    _add(results, "large", rows, test, quick, LARGE_S)


def measure(rows: list[Row], Y: NDArray[Any], s: int, repeats: int) -> None:
    """Nanoseconds per signal on one thread."""
    with threads(1):
        # Interleaved, so that other load slows all of them down alike.
        for _ in range(repeats):
            for row in rows:
                start = time.process_time()
                row.coder.encode(Y, s)
                nanoseconds = (time.process_time() - start) / len(Y) * 1e9
                row.nanoseconds = min(row.nanoseconds, nanoseconds)


def _add(
    results: Results, name: str, rows: list[Row], test: NDArray[Any], quick: bool, s: int = S
) -> None:
    """A table of costs and errors."""
    measure(rows, test, s, 3 if quick else 25)
    table = results.table(name, COLUMNS)
    for row in rows:
        table.add(row.name, row.flops, row.nanoseconds, *row.errors)


def _rows(train: NDArray[Any], test: NDArray[Any], quick: bool) -> Iterator[Row]:
    base = fost.DCT((8, 8))
    yield Row("DCT", base.flops, base, errors_of(base, train, test))
    kinds: dict[str, tuple[fost.Structure, fost.Transform | None]] = {
        "dense": (fost.Orthonormal(), None),
        "DCT + 64 rotations": (fost.Rotations(64), base),
        "DCT + 16 rotations": (fost.Rotations(16), base),
        "H6": (fost.Reflectors(6), None),
    }
    for name, (structure, under) in kinds.items():
        for count in SIZES[:2] if quick else SIZES:
            options: dict[str, Any] = {"base": under, "max_iter": 50, "random_state": 0}
            bank = fost.learn(train, fost.BankOf(structure, count), S, **options).transform
            yield Row(f"{count} x {name}", bank.flops, bank, errors_of(bank, train, test))
    yield from _general(train, test, quick)


def _learned_union(Y: NDArray[Any], count: int, g: int) -> tuple[fost.Coder, float]:
    """A union over the DCT, and its error on what it was learned from."""
    structure = fost.UnionOf(fost.Rotations(g), count)
    result = fost.learn(Y, structure, S, base=fost.DCT((8, 8)), random_state=0)
    return result.transform, result.error


def _unions(train: NDArray[Any], test: NDArray[Any], quick: bool) -> Iterator[Row]:
    for count, g in ((2, 64),) if quick else ((4, 64), (8, 64), (8, 128), (16, 64)):
        union, error = _learned_union(train, count, g)
        errors = (error, _error(union, test))
        name = f"{count} x DCT + {g} rotations, OMP"
        yield Row(name, union.encode_flops(S), union, errors)


def _general(train: NDArray[Any], test: NDArray[Any], quick: bool) -> Iterator[Row]:
    for count in (64,) if quick else (64, 128, 256):
        ksvd = fost.baselines.KSVD(count, S, max_iter=50, random_state=0).fit(train)
        yield Row(
            f"K-SVD, {count} atoms, OMP",
            fost.diagnostics.batch_omp_flops(64, S, count),
            ksvd.dictionary_,
            (-ksvd.score(train), -ksvd.score(test)),
        )


def automatic(results: Results) -> None:
    """The choices of AutoDictionary for several limits of operations and members."""
    train, test = mixed()
    columns = {
        "max_flops": "",
        "max_members": "",
        "chosen": "",
        "held-out error": ".2%",
        "CPU seconds": ".1f",
    }
    table = results.table("auto", columns)
    for budget in (700, 1000, 1500, 3072, None):
        for most in (1, 8):
            auto = fost.AutoDictionary(
                S, (8, 8), budget, max_members=most, random_state=0, verbose=False
            )
            start = time.process_time()
            with threads(1):
                auto.fit(train)
            seconds = time.process_time() - start
            allowed = f"{budget:,}" if budget else "none"
            table.add(allowed, str(most), auto.chosen_.structure, -auto.score(test), seconds)


def patches(image: NDArray[Any], patch: int = 8) -> NDArray[Any]:
    """Patches side by side, without their means."""
    height, width = (k // patch * patch for k in image.shape)
    Y = fost.restoration.patches(image[:height, :width], patch)
    return np.asarray(Y - Y.mean(axis=1, keepdims=True))


def _error(coder: fost.Coder, Y: NDArray[Any], s: int = S) -> float:
    return float(1 - coder.energy_kept(Y, coder.encode(Y, s)) / np.square(Y, dtype=float).sum())


def errors_of(
    coder: fost.Coder, train: NDArray[Any], test: NDArray[Any], s: int = S
) -> tuple[float, float]:
    return _error(coder, train, s), _error(coder, test, s)


def main() -> None:
    quick = "--quick" in sys.argv
    results = Results("banks")
    if "--auto" in sys.argv:
        automatic(results)
    elif "--restore" in sys.argv:
        restoration(results)
    elif "--unions" in sys.argv:
        unions(results, quick)
    elif "--large" in sys.argv:
        large(results, quick)
    else:
        banks(results, quick)
    if not quick:
        results.save()


if __name__ == "__main__":
    main()
