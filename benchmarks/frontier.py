"""Held-out error against operations, bits and time, for all families of dictionaries.

    python -m benchmarks.frontier [PART ...]

measures the named parts, all by default. A part is a set of signals and a group of families, such
as patches_unions, and a table of benchmarks/results/frontier.json. docs/frontier.svg is drawn from
the tables of the mixed patches.

- patches: 8 x 8 pixels of twelve images, 4 coefficients, half of the patches held out
- image: the same of one image, barb if ../shared/images has it, else brick of scikit-image
- ecg: windows of 128 samples, 8 coefficients, the second half held out; left out without
  ../shared/signals/ecg.dat (see `benchmarks.electrocardiogram`)

Errors are medians over three seeds (five for circulants), with the lowest and the highest.
Operations include the pursuit. Bits are 16 per value, with indices. Nanoseconds are CPU time per
float32 signal on one thread, the minimum of interleaved runs. Without pyfaust its row is left out;
its time is never measured, since fost has no kernel for products of sparse factors.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

import fost
from benchmarks import electrocardiogram
from benchmarks.banks import FOLDER, mixed, patches
from benchmarks.harness import threads
from benchmarks.results import Results, Table, load
from benchmarks.svg import INK, SVG_STYLE, drawn_svg
from fost.diagnostics import batch_omp_flops
from reproduction.charts import PALETTE
from reproduction.data import bundled_image

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyfaust.fact import hierarchical
except ImportError:
    hierarchical = None

Array = NDArray[Any]
Learn = Callable[[int], Any]
ECG = FOLDER.parent / "signals" / "ecg.dat"
BITS = 16
ERROR = "held-out error, %"
FAUST = "FAuST of K-SVD"
MAX_ITER = 30  # of unions, whose later iterations change the error by less than the seeds do
SPARSE_MAX_ITER = 40  # likewise of sparse K-SVD
WAVELETS = ("haar", "db2", "db4", "sym8")
COLUMNS = {
    "family": "",
    "size": "",
    "operations": ",",
    "kbit": ".1f",
    "ns": ",.0f",
    ERROR: ".2f",
    "lowest": ".2f",
    "highest": ".2f",
    "CPU s to learn": ".2f",
}


@dataclass(frozen=True)
class Signals:
    """Training and held-out signals, with the number of coefficients and the shape of a signal."""

    train: Array
    test: Array
    s: int
    shape: tuple[int, ...]

    @property
    def base(self) -> fost.Transform:
        return fost.DCT(self.shape)

    def error(self, coder: Any) -> float:
        """The relative error of the held-out signals."""
        difference = self.test - coder.decode(coder.encode(self.test, self.s))
        return float(np.square(difference, dtype=float).sum() / np.square(self.test).sum())


@dataclass
class Row:
    """A family and size, how to learn it with a seed, and what was measured."""

    family: str
    size: str
    learn: Learn
    coder: Any = None
    errors: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    nanoseconds: float = np.inf

    def measure(self, signals: Signals, seeds: range) -> None:
        for seed in seeds:
            start = time.process_time()
            self.coder = self.learn(seed)
            self.seconds.append(time.process_time() - start)
            self.errors.append(100 * signals.error(self.coder))

    def costs(self, s: int) -> tuple[int, float]:
        """Operations and kilobits."""
        coder: Any = self.coder
        if isinstance(coder, Faust | fost.Coder):
            return coder.encode_flops(s), coder.storage_bits(BITS) / 1000
        n, count = coder.matrix.shape
        return batch_omp_flops(n, s, count), BITS * n * count / 1000


class Faust:
    """A product of sparse factors close to given atoms, found by pyfaust (palm4MSA)."""

    def __init__(self, atoms: Array) -> None:
        n, count = atoms.shape[1], len(atoms)
        # Two square factors and one of the size of the dictionary.
        sizes = (["rectmat", 3, n // 8, n // 4], {"rho": 0.8, "P": 0.3})
        factors = hierarchical(atoms.T.astype(np.float64), sizes)
        product = np.asarray(factors.toarray())
        self.atoms = np.ascontiguousarray((product / np.linalg.norm(product, axis=0)).T)
        self.n_entries, self.index_bits = int(factors.nnz_sum()), int(np.log2(count))

    def encode_flops(self, s: int) -> int:
        count, n = len(self.atoms), len(self.atoms[0])
        return batch_omp_flops(n, s, count) - 2 * n * count + 2 * self.n_entries

    def storage_bits(self, bits_per_value: int) -> int:
        return self.n_entries * (bits_per_value + self.index_bits)

    def encode(self, Y: Array, s: int) -> Any:
        return fost.omp(Y, self.atoms.astype(Y.dtype), s)

    def decode(self, codes: Any) -> Array:
        return np.asarray(codes @ self.atoms)


# Signals


@cache
def signals_of(name: str) -> Signals:
    if name == "ecg":
        return Signals(*electrocardiogram.windows(str(ECG)), electrocardiogram.S, (128,))
    if name == "patches":
        return Signals(*mixed(), 4, (8, 8))
    barb = FOLDER / "barb.png"
    Y = patches(fost.images.read(barb) / 255 if barb.exists() else bundled_image("brick"))
    order = np.random.default_rng(0).permutation(len(Y))
    train, test = (np.ascontiguousarray(Y[order[k::2]], dtype=np.float32) for k in (0, 1))
    return Signals(train, test, 4, (8, 8))


# Families


def transforms(signals: Signals) -> Iterator[Row]:
    """Codes by selection: single transforms and banks."""
    base, learned = signals.base, partial(_learned, signals)
    wavelets = [fost.Wavelet(signals.shape, name) for name in WAVELETS]
    best = min(wavelets, key=lambda U: _training_error(signals, U))
    yield Row("DCT", "", lambda _: base)
    yield Row("wavelet", best.name, lambda _: best)
    yield Row("Q-DLA", "", learned(fost.Orthonormal()))
    for m in (12, 24):
        yield Row("reflectors", f"{m}", learned(fost.Reflectors(m)))
    of_windows = len(signals.shape) == 1
    sizes = (16, 64, 128, 256) if of_windows else (16, 64, 256)
    for g in sizes:
        yield Row("DCT + rotations", f"{g}", learned(fost.Rotations(g), base=base))
    if _training_error(signals, best) < _training_error(signals, base):
        for g in sizes[1:]:
            structure: fost.Structure = fost.Rotations(g)
            yield Row(f"{best.name} + rotations", f"{g}", learned(structure, base=best))
    for count, g in [(2, 64), (8, 64), (16, 64), *[(8, 128)] * of_windows]:
        structure = fost.BankOf(fost.Rotations(g), count)
        yield Row("bank", f"{count} x {g}", learned(structure, base=base))


def unions(signals: Signals) -> Iterator[Row]:
    """Unions of rotations over the DCT."""
    of_patches = [(8, 64), (16, 16), (16, 32), (32, 16), (16, 64)]
    for count, g in (
        of_patches if len(signals.shape) == 2 else [(4, 64), (8, 64), (8, 128), (16, 16)]
    ):
        structure = fost.UnionOf(fost.Rotations(g), count)
        learn = _learned(signals, structure, base=signals.base, max_iter=MAX_ITER)
        yield Row("union", f"{count} x {g}", learn)


def sparse(signals: Signals) -> Iterator[Row]:
    """Sparse K-SVD."""
    of_patches = [(64, 6), (128, 4), (256, 4), (256, 8), (512, 4), (512, 6)]
    of_windows = [(64, 16), (128, 8), (128, 16), (256, 8), (256, 16)]
    for count, p in of_windows if len(signals.shape) == 1 else of_patches:
        options: dict[str, Any] = {"base": signals.base, "n_nonzero_coefs": signals.s}
        options["max_iter"] = SPARSE_MAX_ITER
        estimator = partial(fost.SparseKSVD, count, p, **options)
        yield Row("sparse K-SVD", f"{count} atoms, p = {p}", _fitted(signals, estimator))


def atoms(signals: Signals) -> Iterator[Row]:
    """K-SVD, and a product of sparse factors close to its atoms."""
    for count in (64, 128, 256):
        estimator = partial(fost.baselines.KSVD, count, signals.s)
        yield Row("K-SVD", f"{count} atoms", _fitted(signals, estimator))
    if hierarchical is not None:
        yield Row(FAUST, "128 atoms", partial(_faust, signals))


def circulants(signals: Signals) -> Iterator[Row]:
    """Circulant dictionaries."""
    for count in (1, 2, 4, 6):
        estimator = partial(fost.CirculantDictionary, count, signals.s)
        yield Row("circulants", f"{count}", _fitted(signals, estimator))


def _learned(signals: Signals, structure: fost.Structure, **options: Any) -> Learn:
    def learn(seed: int) -> fost.Coder:
        result = fost.learn(signals.train, structure, signals.s, random_state=seed, **options)
        return result.transform

    return learn


def _fitted(signals: Signals, estimator: Callable[..., Any]) -> Learn:
    return lambda seed: estimator(random_state=seed).fit(signals.train).dictionary_


def _faust(signals: Signals, seed: int) -> Faust:
    ksvd = fost.baselines.KSVD(128, signals.s, random_state=seed).fit(signals.train)
    return Faust(ksvd.components_)


def _training_error(signals: Signals, U: fost.Transform) -> float:
    kept = U.energy_kept(signals.train, U.encode(signals.train, signals.s))
    return -float(kept)


GROUPS: dict[str, Callable[[Signals], Iterator[Row]]] = {
    "transforms": transforms,
    "unions": unions,
    "sparse": sparse,
    "atoms": atoms,
}
PARTS = {f"{name}_{group}": (name, rows) for name in ("patches", "image", "ecg")
         for group, rows in GROUPS.items()}  # fmt: skip
PARTS["ecg_circulants"] = ("ecg", circulants)


# Measurements


def measured(part: str, results: Results, quick: bool) -> None:
    """The table of one part."""
    name, group = PARTS[part]
    signals = signals_of(name)
    rows = list(group(signals))
    seeds = range(1 if quick else 5 if group is circulants else 3)
    table = results.table(part, COLUMNS)
    with threads(1):
        for row in rows:
            row.measure(signals, seeds)
        measure_times(rows, signals, 3 if quick else 40)
    for row in rows:
        spread = np.median(row.errors), min(row.errors), max(row.errors)
        time_ = row.nanoseconds if np.isfinite(row.nanoseconds) else None
        cells = *row.costs(signals.s), time_, *spread, np.median(row.seconds)
        table.add(row.family, row.size, *cells)


def measure_times(rows: list[Row], signals: Signals, repeats: int) -> None:
    """Nanoseconds per signal, interleaved, so that other load slows all of them down alike."""
    Y = signals.test[:4096].astype(np.float32)
    timed = [row for row in rows if row.family != FAUST]
    for row in [row for _ in range(repeats) for row in timed]:
        for _ in range(5):  # the first call of a row finds other data in the caches
            start = time.process_time()
            row.coder.encode(Y, signals.s)
            taken = (time.process_time() - start) / len(Y) * 1e9
            row.nanoseconds = min(row.nanoseconds, taken)


# Figure

_NO_BITS = 0.2  # where the DCT is drawn on a logarithmic axis
# Marker and colour of each family in the figure. The DCT belongs to its rotations.
_STYLES = {
    "DCT + rotations": ("o", PALETTE[0]),
    "reflectors, Q-DLA": ("v", PALETTE[4]),
    "bank": ("s", PALETTE[2]),
    "union": ("D", PALETTE[1]),
    "sparse K-SVD": ("^", PALETTE[5]),
    "K-SVD": ("P", PALETTE[3]),
    FAUST: ("X", INK),
}
_SAME = {"DCT": "DCT + rotations"} | dict.fromkeys(("reflectors", "Q-DLA"), "reflectors, Q-DLA")
# The label of each axis, its ticks, and the places of the names of families.
_PANELS: dict[str, tuple[str, tuple[float, ...], dict[str, tuple[float, float]]]] = {
    "operations": (
        "operations per patch, with pursuit",
        (1e3, 2e3, 5e3, 1e4, 2e4, 5e4),
        {
            "DCT + rotations": (700, 23.8),
            "reflectors, Q-DLA": (9000, 22.2),
            "bank": (1560, 20.7),
            "K-SVD": (2.2e4, 14.3),
            FAUST: (9300, 17.3),
            "union": (2.85e4, 10.9),
            "sparse K-SVD": (2400, 13.6),
        },
    ),
    "kbit": (
        "kilobits of parameters, at 16 bits a value",
        (_NO_BITS, 1, 10, 100),
        {
            "DCT + rotations": (0.7, 23.4),
            "reflectors, Q-DLA": (40, 23.6),
            "bank": (4.2, 20.7),
            "K-SVD": (150, 14.4),
            FAUST: (62, 17.4),
            "union": (4.1, 12.0),
            "sparse K-SVD": (15, 14.5),
        },
    ),
    "ns": (
        "nanoseconds per patch, one thread",
        (10, 20, 50, 100, 200, 500, 1000),
        {
            "DCT + rotations": (14.3, 21.2),
            "reflectors, Q-DLA": (44, 22.2),
            "bank": (48, 19.5),
            "K-SVD": (255, 14.6),
            "union": (345, 10.8),
            "sparse K-SVD": (56, 14.3),
        },
    ),
}
_STRIP = 8.4, 1.5  # bottom and height


def drawn(tables: dict[str, Table]) -> str:
    """Three panels of the mixed patches as SVG, narrow enough for a phone."""
    parts = [tables[f"patches_{group}"] for group in GROUPS]
    rows: list[dict[str, Any]] = [
        dict(zip(COLUMNS, row, strict=True)) for part in parts for row in part.rows
    ]
    with mpl.rc_context(SVG_STYLE):
        figure = Figure(figsize=(5.4, 7.6), layout="constrained")
        for panel, cost in zip(figure.subplots(3, 1), _PANELS, strict=True):
            dots = [
                (max(row[cost], _NO_BITS), row[ERROR], _SAME.get(row["family"], row["family"]))
                for row in rows
                if row[cost] is not None and row["family"] != "wavelet"
            ]
            _draw(panel, sorted(dots), *_PANELS[cost])
        figure.supylabel("error of held-out patches, %", fontsize=10)
        return drawn_svg(figure)


def _draw(
    panel: Axes,
    dots: list[tuple[float, float, str]],
    label: str,
    ticks: tuple[float, ...],
    names: dict[str, tuple[float, float]],
) -> None:
    """Costs, errors and families, and a strip with the best family up to each cost."""
    limits = 0.85 * dots[0][0], 1.35 * dots[-1][0]
    panel.set(xscale="log", xlim=limits, ylim=(8.2, 26))
    for family, (mark, colour) in _STYLES.items():
        own = [dot for dot in dots if dot[2] == family]
        if own:
            style: dict[str, Any] = {"color": colour, "markersize": 6, "linewidth": 1.2}
            panel.plot([dot[0] for dot in own], [dot[1] for dot in own], mark, **style)
            line = _undominated(own)
            panel.plot([dot[0] for dot in line], [dot[1] for dot in line], **style)
            panel.text(*names[family], family, color=colour, fontsize=9)
    best = _undominated(dots)
    first = [dot for k, dot in enumerate(best) if k == 0 or dot[2] != best[k - 1][2]]
    ends = [*(dot[0] for dot in first[1:]), panel.get_xlim()[1]]
    widest: dict[str, tuple[float, float]] = {}
    for (start, _, family), end in zip(first, ends, strict=True):
        panel.broken_barh([(start, end - start)], _STRIP, color=_STYLES[family][1], alpha=0.3)
        widest[family] = max(widest.get(family, (0, 0)), (end / start, (start * end) ** 0.5))
    for family, (ratio, place) in widest.items():
        middle, name = _STRIP[0] + _STRIP[1] / 2, family.removeprefix("DCT + ")
        if ratio > 1.3 + 0.08 * len(name):  # there is room for it
            panel.text(place, middle, name, ha="center", va="center", fontsize=8, weight="bold")
    panel.set_xticks(ticks, ["0" if tick == _NO_BITS else f"{tick:,.0f}" for tick in ticks])
    panel.set(xlim=limits, yticks=[10, 15, 20, 25])
    panel.minorticks_off()
    panel.set_xlabel(label)
    panel.grid(alpha=0.2)
    panel.spines[["top", "right"]].set_visible(False)


def _undominated(dots: list[tuple[float, float, str]]) -> list[tuple[float, float, str]]:
    """Of dots by ascending cost, those with a lower error than all before them."""
    best: list[tuple[float, float, str]] = []
    for dot in dots:
        if not best or dot[1] < best[-1][1]:
            best.append(dot)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="one seed, and nothing is saved")
    arguments = parser.parse_args()
    sys.argv[1:] = []  # the tables of all parts have one source
    warnings.simplefilter("ignore", ConvergenceWarning)
    print("pyfaust is", "missing: its rows are left out" if hierarchical is None else "installed")
    for part in arguments.parts or list(PARTS):
        if PARTS[part][0] == "ecg" and not ECG.exists():
            print(f"{part} is left out: {ECG.name} is missing")
            continue
        results = Results("frontier")
        measured(part, results, arguments.quick)
        if not arguments.quick:
            results.save()
    tables = load("frontier").tables
    if not arguments.quick and all(f"patches_{group}" in tables for group in GROUPS):
        Path("docs/frontier.svg").write_text(drawn(tables), encoding="utf-8")


if __name__ == "__main__":
    main()
