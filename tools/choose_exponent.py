"""Choose how much pursuit prefers important atoms: ``python -m tools.choose_exponent``.

An atom's importance is its root mean squared coefficient, to some power. The power is chosen on
photographs that come with scikit-image, so that the paper's pictures have no part in it: for each
picture the one that is best for all others is judged on it, and the best for all together is the
default of ``fost.restoration.inpaint(method="pursuit")`` and of the weighted rows of the
reproduction.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import fost
from reproduction.algorithms import Settings, run
from reproduction.data import SIDE, bundled_image, signals
from reproduction.inpainting import METHODS, fill, random_mask

PICTURES = (
    "camera", "astronaut", "brick", "grass", "gravel", "moon", "coins", "chelsea", "coffee",
    "rocket",
)  # fmt: skip
EXPONENTS = tuple(k / 10 for k in range(11))
MASKS = 2
# The middle of pictures that are filled by overlapping patches, in pixels.
_MIDDLE = 192

Errors = NDArray[np.float64]
Grey = NDArray[np.float64]


def patch_by_patch(grey: Grey) -> Errors:
    """The paper's experiment: dictionaries of the clean picture, patches side by side."""
    height, width = (SIDE * (length // SIDE) for length in grey.shape)
    grey = 255 * grey[:height, :width]
    settings = Settings()
    s = settings.inpainting_sparsity
    errors = np.zeros((len(METHODS), len(EXPONENTS)))
    for row, method in enumerate(METHODS):
        atoms = run(method, signals(grey), settings, s).dictionary.matrix.T
        for seed in range(MASKS):
            missing = random_mask(grey.shape, seed)
            for column, exponent in enumerate(EXPONENTS):
                filled = fill(grey, missing, atoms, s, exponent=exponent)
                errors[row, column] += np.mean(np.square(filled - grey)[missing])
    return np.sqrt(errors / errors[:, :1]).mean(axis=0)


def overlapping(grey: Grey) -> Errors:
    """``fost.restoration.inpaint(method="pursuit")``, which learns from the damaged picture."""
    top, left = ((length - _MIDDLE) // 2 for length in grey.shape)
    grey = grey[top : top + _MIDDLE, left : left + _MIDDLE]
    errors = np.zeros(len(EXPONENTS))
    for seed in range(MASKS):
        missing = random_mask(grey.shape, seed)
        for column, exponent in enumerate(EXPONENTS):
            filled = fost.restoration.inpaint(grey, missing, method="pursuit", prior=exponent)
            errors[column] += np.mean(np.square(filled - grey)[missing])
    return np.sqrt(errors / errors[0])


def report(title: str, measure: Callable[[Grey], Errors]) -> None:
    """Root mean squared errors over those without weights, and the choice."""
    table = np.array([measure(bundled_image(name)) for name in PICTURES])
    print(title)
    print(f"{'':<12}" + "".join(f"{exponent:>7.1f}" for exponent in EXPONENTS) + "  left out")
    for k, name in enumerate(PICTURES):
        others = np.delete(table, k, axis=0).mean(axis=0)
        chosen = int(np.argmin(others))
        line = "".join(f"{value:>7.3f}" for value in table[k])
        print(f"{name:<12}{line}  {EXPONENTS[chosen]:.1f} -> {table[k, chosen]:.3f}")
    means = table.mean(axis=0)
    print(f"{'mean':<12}" + "".join(f"{value:>7.3f}" for value in means))
    print(f"best: {EXPONENTS[int(np.argmin(means))]:.1f}\n", flush=True)


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["patches", "overlapping"]
    if "patches" in wanted:
        report("Patches side by side, dictionaries of the clean picture", patch_by_patch)
    if "overlapping" in wanted:
        report("Overlapping patches, learned from the damaged picture", overlapping)
