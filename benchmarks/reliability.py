"""Spread of errors over seeds, by base and number of starts, and counts of ConvergenceWarning.

    python -m benchmarks.reliability ecg.dat [--seeds 3] [--skip-unions]

where ecg.dat is the file that ``scipy.datasets.electrocardiogram`` downloads. Dictionaries are
learned on one half of the signals and evaluated on the other half: the second half of the
recording, patches of other places, other digits. Results have the mean, minimum and maximum of the
held-out relative error over the seeds, and the mean CPU time of a fit. Then every estimator is
fitted with its default parameters, until there are 100 fits, and fits with a ConvergenceWarning are
counted.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import skimage.color
import skimage.data
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

import fost
from benchmarks import electrocardiogram
from benchmarks.results import Results
from fost.model_selection.candidates import relative_error

Array = NDArray[np.float64]
# Training signals, held-out signals, entries per code and the shape of a signal.
Split = tuple[Array, Array, int, tuple[int, ...]]

IMAGES = ("camera", "moon", "brick", "grass", "coins", "astronaut")
PATCHES_PER_IMAGE = 2000
N_FITS = 100
OPTIONS: dict[str, dict[str, Any]] = {
    "none": {"base": "none", "n_init": 1},
    "dct": {"base": "dct", "n_init": 1},
    "auto": {"base": "auto", "n_init": 1},
    "dct, 4 starts": {"base": "dct", "n_init": 4},
    "default": {},
}


def _grey(name: str) -> Array:
    image = getattr(skimage.data, name)()
    return np.asarray(skimage.color.rgb2gray(image) if image.ndim == 3 else image / 255.0)


def image_patches(seed: int) -> Array:
    """8 x 8 patches of six images at random places, means removed."""
    rng = np.random.default_rng(seed)
    rows = []
    for name in IMAGES:
        windows = np.lib.stride_tricks.sliding_window_view(_grey(name), (8, 8))
        i, j = (rng.integers(size, size=PATCHES_PER_IMAGE) for size in windows.shape[:2])
        rows.append(windows[i, j].reshape(-1, 64))
    Y = np.concatenate(rows)
    return np.asarray(Y - Y.mean(axis=1, keepdims=True))


def splits(path: str) -> dict[str, Split]:
    """Training and held-out signals by the name of the data."""
    train, held_out = electrocardiogram.windows(path)
    digits = datasets.load_digits().data
    digits = digits[np.random.default_rng(0).permutation(len(digits))]
    return {
        "ECG": (train, held_out, electrocardiogram.S, (electrocardiogram.N,)),
        "patches": (image_patches(0), image_patches(1), 4, (8, 8)),
        "digits": (digits[:898], digits[898:], 4, (8, 8)),
    }


def dictionaries(unions: bool) -> dict[str, Any]:
    """The estimators that are compared, without their base and starts."""
    found = {
        "128 rotations": fost.GivensDictionary(128),
        "bank of 8": fost.BankDictionary(8),
        "union of 8": fost.UnionDictionary(8),
    }
    return found if unions else {k: v for k, v in found.items() if not k.startswith("union")}


def spreads(data: dict[str, Split], n_seeds: int, unions: bool) -> Iterator[tuple[Any, ...]]:
    """A row for each data, structure and option; unions have three seeds at most."""
    for structure, estimator in dictionaries(unions).items():
        for name, (train, held_out, s, shape) in data.items():
            count = min(n_seeds, 3) if structure.startswith("union") else n_seeds
            for option, parameters in OPTIONS.items():
                if structure.startswith("union") and parameters.get("n_init", 1) > 1:
                    continue  # a union spends most of its time on the start
                errors, bases, began = [], set(), time.process_time()
                for seed in range(count):
                    own = clone(estimator).set_params(
                        n_nonzero_coefs=s, signal_shape=shape, random_state=seed, **parameters
                    )
                    own.fit(train)
                    errors.append(relative_error(held_out, own.dictionary_, s))
                    bases.add("none" if own.base_ is None else type(own.base_).__name__)
                seconds = (time.process_time() - began) / count
                chosen = ", ".join(sorted(bases))
                figures = (float(np.mean(errors)), min(errors), max(errors), seconds)
                yield name, structure, option, chosen, count, *figures


def default_fits() -> dict[str, dict[str, int]]:
    """Fits with default parameters by estimator, and those with a ConvergenceWarning."""
    tables = [
        StandardScaler().fit_transform(load().data)
        for load in (datasets.load_wine, datasets.load_breast_cancer, datasets.load_diabetes)
    ]
    sets = [*tables, datasets.load_digits().data, image_patches(0)[::6]]
    estimators = [
        fost.OrthonormalDictionary(),
        fost.HouseholderDictionary(),
        fost.GivensDictionary(),
        fost.BankDictionary(),
        fost.UnionDictionary(),
        fost.AutoDictionary(verbose=False),
        fost.baselines.KSVD(),
        fost.baselines.MOD(),
    ]
    counts = {type(each).__name__: {"fits": 0, "warnings": 0} for each in estimators}
    for k in range(N_FITS):
        estimator = estimators[k % len(estimators)]
        signals = sets[k // len(estimators) % len(sets)]
        rows = np.random.default_rng(k).choice(len(signals), len(signals) * 3 // 4, replace=False)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            clone(estimator).set_params(random_state=k).fit(signals[rows])
        row = counts[type(estimator).__name__]
        row["fits"] += 1
        row["warnings"] += any(issubclass(each.category, ConvergenceWarning) for each in caught)
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("ecg", help="the file of scipy.datasets.electrocardiogram")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--skip-unions", action="store_true")
    given = parser.parse_args()
    results = Results("reliability")
    columns = {"data": "", "structure": "", "base": "", "chosen": "", "seeds": "d"}
    columns |= {"mean error": ".3%", "least": ".3%", "largest": ".3%", "CPU s": ".2f"}
    table = results.table("spread", columns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for row in spreads(splits(given.ecg), given.seeds, not given.skip_unions):
            table.add(*row)
    table = results.table("convergence", {"estimator": "", "fits": "d", "warnings": "d"})
    for name, counts in default_fits().items():
        table.add(name, counts["fits"], counts["warnings"])
    results.save()


if __name__ == "__main__":
    main()
