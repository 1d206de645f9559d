"""The inpainting experiment of figures 6 and 7: 40 % of the pixels are missing.

The paper states that dictionaries are learned on the clean image, from non-overlapping 8 x 8
patches, with s = 6. It does not state the pursuit, the mean of a patch, the number of iterations,
or the pixels over which errors are measured. Here orthogonal matching pursuit on the observed
pixels computes the codes, and errors are measured over the missing pixels. Two choices of the mean
and two of K are compared.
"""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fost
from reproduction.algorithms import Settings, run
from reproduction.data import Grey, ImageSet, assemble, patches, signals
from reproduction.printed import INPAINTING

METHODS = ("Q-DLA", "H14", "DCT + 64 rotations")
# The mean of a patch: over its observed pixels, or over all pixels of the clean image.
OBSERVED, CLEAN = "observed", "clean"
SHARE_MISSING = 0.4
# Chosen by `python -m tools.choose_exponent` on images of scikit-image; those of the paper had no
# part in it.
EXPONENT = 0.6
_MIN_WEIGHT = 1e-3
_FIELDS = ("image", "method", "mean", "iterations", "weighted", "operations", "mae", "rmse",
           "mae_spread", "rmse_spread", "paper_mae", "paper_rmse", "shown")  # fmt: skip


def inpainting(image: str, images: ImageSet, settings: Settings) -> list[dict[str, Any]]:
    """Inpaint an image with several dictionaries, under each choice of mean and K.

    Errors are mean absolute and root mean squared ones for grey values from 0 to 1, averaged over
    masks; spreads are the largest minus the smallest. `shown` is the image inpainted with the
    first mask, as a data URI; it is empty for variants that the page does not show.
    """
    if image not in images:
        return []
    name, clean = images.name(image), images[image]
    if name == "man":  # the paper's copy has the full range of grey values
        low, high = clean.min(), clean.max()
        clean = np.rint(255 * (clean - low) / max(high - low, 1))
    masks = [random_mask(clean.shape, seed) for seed in range(settings.masks)]
    empty = dict.fromkeys(_FIELDS) | {"image": name, "mean": "", "weighted": False}
    rows: list[dict[str, Any]] = [
        empty | {"method": "original", "shown": jpeg(clean)},
        empty | {"method": "40 % missing", "shown": jpeg(np.where(masks[0], 0, clean))},
    ]
    Y, s = signals(clean), settings.inpainting_sparsity
    for method in METHODS:
        paper = (None, None) if images.bundled else INPAINTING[name].get(method, (None, None))
        # K of Table I for H14 is taken to be that of H12.
        table = {"Q-DLA": "Q-DLA", "H14": "H12"}.get(method)
        ks = (settings.iterations, settings.table_k(table) if table else settings.iterations)
        for k in dict.fromkeys(ks):
            found = run(method, Y, settings, s, k)
            final = k == settings.iterations
            variants = [(OBSERVED, False), (CLEAN, False)] + [(OBSERVED, True)] * final
            for mean, weighted in variants:
                atoms = found.dictionary.matrix.T
                exponent = EXPONENT if weighted else 0
                filled = [fill(clean, m, atoms, s, mean=mean, exponent=exponent) for m in masks]
                row = empty | {"method": method, "mean": mean, "iterations": k}
                row |= {"weighted": weighted, "operations": found.operations}
                row |= _errors(clean, masks, filled)
                row |= {"paper_mae": paper[0], "paper_rmse": paper[1]}
                row["shown"] = jpeg(filled[0]) if final and mean == OBSERVED else ""
                rows.append(row)
    return rows


def _errors(clean: Grey, masks: list[NDArray[np.bool_]], filled: list[Grey]) -> dict[str, float]:
    errors = []
    for mask, image in zip(masks, filled, strict=True):
        absolute = np.abs(image - clean)[mask] / 255
        errors.append((absolute.mean(), np.sqrt(np.square(absolute).mean())))
    values = (*np.mean(errors, axis=0), *np.ptp(errors, axis=0))
    names = ("mae", "rmse", "mae_spread", "rmse_spread")
    return {name: float(value) for name, value in zip(names, values, strict=True)}


def random_mask(shape: tuple[int, ...], seed: int) -> NDArray[np.bool_]:
    """True for 40 % of the pixels."""
    return np.random.default_rng(seed).random(shape) < SHARE_MISSING


def fill(
    image: Grey,
    mask: NDArray[np.bool_],
    atoms: Grey,
    s: int,
    *,
    mean: str = OBSERVED,
    exponent: float = 0.0,
) -> Grey:
    """Inpaint patch by patch, by orthogonal matching pursuit on the observed pixels.

    If `exponent` is not 0, patches are coded twice. The second time, each atom is scaled by its
    root mean squared coefficient of the first time to this power. Pursuit then prefers atoms that
    matter in the whole image over atoms that happen to fit a few observed pixels.
    """
    missing = patches(mask.astype(np.float64)) > 0
    rows = patches(np.where(mask, 0, image)) / 255
    means = rows.sum(axis=1, keepdims=True) / np.maximum((~missing).sum(axis=1, keepdims=True), 1)
    if mean == CLEAN:
        means = patches(image).mean(axis=1, keepdims=True) / 255
    Y = rows - means
    codes = fost.omp(Y, atoms, s, missing=missing)
    if exponent > 0:
        energies = np.bincount(codes.indices, weights=codes.data**2, minlength=len(atoms))
        weights = np.sqrt(energies / max(energies.max(), np.finfo(float).tiny))
        atoms = atoms * np.maximum(weights, _MIN_WEIGHT)[:, None] ** exponent
        codes = fost.omp(Y, atoms, s, missing=missing)
    filled = 255 * np.where(missing, codes @ atoms + means, rows)
    return np.clip(assemble(filled, image.shape), 0, 255)


def jpeg(image: Grey) -> str:
    """A grey image with values from 0 to 255, as a data URI."""
    from PIL import Image

    buffer = io.BytesIO()
    pixels = np.clip(np.rint(image), 0, 255).astype(np.uint8)
    Image.fromarray(pixels).save(buffer, "JPEG", quality=82, optimize=True)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()
