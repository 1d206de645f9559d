"""The two inpainting figures: 40 % of the pixels are missing.

The paper says that dictionaries are learned on the clean picture, from non-overlapping 8 x 8
patches, and that s = 6. It names neither the pursuit, nor where the mean of a patch comes from,
nor the iterations, nor which pixels count. Here matching pursuit on the observed pixels finds the
codes and errors are over the missing ones; of the mean and of K there are two readings each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

import fost
from fost.paper.algorithms import Learned
from fost.paper.encoded import jpeg
from fost.paper.methods import run
from fost.paper.pictures import PictureSet, assemble, patches, signals
from fost.paper.printed import INPAINTING
from fost.paper.settings import Settings

METHODS = ("Q-DLA", "H14", "DCT + 64 rotations")
OBSERVED, CLEAN = "observed", "clean"
SHARE_MISSING = 0.4
# Chosen on pictures of scikit-image by tools/choose_exponent.py; those here had no part in it.
EXPONENT = 0.6
_LEAST_WEIGHT = 1e-3


@dataclass(frozen=True)
class InpaintingRow:
    """A picture filled in by one dictionary, in one reading of the experiment.

    Attributes
    ----------
    picture, method : str
        The methods "original" and "40 % missing" have no errors.
    mean : str
        Of what the mean of a patch is that of: "observed" pixels, or all of the "clean" patch.
    iterations : int or None
        K, while the dictionary was learned.
    weighted : bool
        Whether atoms were chosen by their correlation times their importance.
    operations : int or None
        Of the transform, per patch.
    mae, rmse : float or None
        Mean absolute and root mean squared error over the missing pixels, grey values from 0
        to 1: means over the masks.
    mae_spread, rmse_spread : float or None
        The largest less the smallest over the masks.
    paper_mae, paper_rmse : float or None
        The paper calls the second one MSE.
    image : str
        With the first mask, as a data URI; empty for readings that are not shown.

    Examples
    --------
    >>> from fost import paper
    >>> paper.InpaintingRow("barb", "Q-DLA", mean="observed", iterations=100).weighted
    False
    """

    picture: str
    method: str
    mean: str = ""
    iterations: int | None = None
    weighted: bool = False
    operations: int | None = None
    mae: float | None = None
    rmse: float | None = None
    mae_spread: float | None = None
    rmse_spread: float | None = None
    paper_mae: float | None = None
    paper_rmse: float | None = None
    image: str = ""


def inpainting(pictures: PictureSet, settings: Settings | None = None) -> list[InpaintingRow]:
    """Each picture with 40 % of its pixels missing, filled in by several dictionaries.

    Examples
    --------
    >>> import numpy as np
    >>> from fost import paper
    >>> picture = np.fromfunction(lambda i, j: 128 + 60 * np.sin(i / 5) * np.cos(j / 7), (128, 128))
    >>> pictures = paper.PictureSet(dict.fromkeys(["barb"], picture))
    >>> rows = paper.inpainting(pictures, paper.Settings(iterations=2, masks=1))
    >>> {"Q-DLA", "H14"} <= {row.method for row in rows}
    True
    """
    pictures, settings = PictureSet.checked(pictures), Settings.of(settings)
    rows = []
    for name in pictures:
        picture = pictures[name]
        if name == "man":  # the paper's copy has the full range of grey values
            picture = _stretched(picture)
        masks = [random_mask(picture.shape, seed) for seed in range(settings.masks)]
        damaged = np.where(masks[0], 0, picture)
        rows.append(InpaintingRow(name, "original", image=jpeg(picture)))
        rows.append(InpaintingRow(name, "40 % missing", image=jpeg(damaged)))
        Y, s = signals(picture), settings.inpainting_sparsity
        for method in METHODS:
            printed = (None, None) if pictures.bundled else _printed(name, method)
            for k in _iterations(method, settings):
                found = run(method, Y, settings, s, k)
                reached = k == settings.iterations
                for mean, weighted in _readings(reached):
                    errors, image = _filled(picture, masks, found, s, mean, weighted)
                    row = InpaintingRow(
                        name, method, mean, k, weighted, found.operations, *errors, *printed
                    )
                    shown = reached and mean == OBSERVED
                    rows.append(replace(row, image=image) if shown else row)
    return rows


def random_mask(shape: tuple[int, ...], seed: int) -> NDArray[np.bool_]:
    """True for 40 % of the pixels."""
    return np.random.default_rng(seed).random(shape) < SHARE_MISSING


def _iterations(method: str, settings: Settings) -> tuple[int, ...]:
    """What the algorithm reaches, and what Table I was computed with; H14 is taken for H12."""
    other = {"Q-DLA": "Q-DLA", "H14": "H12"}.get(method)
    if other is None:
        return (settings.iterations,)
    return tuple(dict.fromkeys((settings.iterations, settings.table_k(other))))


def _readings(reached: bool) -> tuple[tuple[str, bool], ...]:
    """Means, and whether atoms are weighted."""
    plain = ((OBSERVED, False), (CLEAN, False))
    return (*plain, (OBSERVED, True)) if reached else plain


def _filled(
    picture: NDArray[np.float64],
    masks: list[NDArray[np.bool_]],
    found: Learned,
    s: int,
    mean: str,
    weighted: bool,
) -> tuple[tuple[float, float, float, float], str]:
    """Mean errors and their spread over masks, and the picture filled in with the first."""
    atoms = found.dictionary.matrix.T
    errors, image = [], ""
    for missing in masks:
        filled = fill(picture, missing, atoms, s, mean=mean, exponent=EXPONENT if weighted else 0)
        left = np.abs(filled - picture)[missing] / 255
        errors.append((left.mean(), np.sqrt(np.square(left).mean())))
        image = image or jpeg(filled)
    centre, spread = np.mean(errors, axis=0), np.ptp(errors, axis=0)
    mae, rmse, mae_spread, rmse_spread = (float(value) for value in (*centre, *spread))
    return (mae, rmse, mae_spread, rmse_spread), image


def fill(
    picture: NDArray[np.float64],
    missing: NDArray[np.bool_],
    atoms: NDArray[np.float64],
    n_nonzero_coefs: int,
    *,
    mean: str = OBSERVED,
    exponent: float = 0.0,
) -> NDArray[np.float64]:
    """Fill in missing pixels, patch by patch, by matching pursuit on the observed ones.

    Parameters
    ----------
    picture : ndarray of shape (height, width)
        Values from 0 to 255; what it holds where pixels are missing matters to the clean mean
        alone.
    missing : ndarray of bool of the same shape
    atoms : ndarray of shape (n_atoms, 64)
        In rows.
    n_nonzero_coefs : int
        Entries per code, s.
    mean : {"observed", "clean"}
        The mean of a patch: of its observed pixels, or of all, which only an experiment knows.
    exponent : float
        If not 0, code twice; the second time atoms are scaled by the root mean squared
        coefficient that they had the first time, to this power, so that atoms which matter to
        the picture are chosen rather than those that happen to fit the few pixels that are left.

    Examples
    --------
    >>> import fost, numpy as np
    >>> from fost.paper.inpainting import fill
    >>> y, x = np.mgrid[:16, :16]
    >>> picture = 100 + 5.0 * x + 3.0 * y
    >>> missing = np.random.default_rng(0).random(picture.shape) < 0.4
    >>> filled = fill(picture, missing, fost.DCT((8, 8)).matrix.T, 6)
    >>> bool(abs(filled - picture).max() < 10)
    True
    """
    gaps = patches(missing.astype(np.float64)) > 0
    rows = patches(np.where(missing, 0, picture)) / 255
    seen = np.maximum((~gaps).sum(axis=1, keepdims=True), 1)
    means = rows.sum(axis=1, keepdims=True) / seen
    if mean == CLEAN:
        means = patches(picture).mean(axis=1, keepdims=True) / 255
    Y = rows - means
    codes = fost.omp(Y, atoms, n_nonzero_coefs, missing=gaps)
    if exponent > 0:
        energies = np.bincount(codes.indices, weights=codes.data**2, minlength=len(atoms))
        weights = np.sqrt(energies / max(energies.max(), np.finfo(float).tiny))
        atoms = atoms * np.maximum(weights, _LEAST_WEIGHT)[:, None] ** exponent
        codes = fost.omp(Y, atoms, n_nonzero_coefs, missing=gaps)
    filled = 255 * np.where(gaps, codes @ atoms + means, rows)
    return np.clip(assemble(filled, picture.shape), 0, 255)


def _printed(name: str, method: str) -> tuple[float, float] | tuple[None, None]:
    return INPAINTING.get(name, {}).get(method, (None, None))


def _stretched(picture: NDArray[np.float64]) -> NDArray[np.float64]:
    low, high = picture.min(), picture.max()
    return np.asarray(np.rint(255 * (picture - low) / max(high - low, 1)))
