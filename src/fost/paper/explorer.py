"""Reconstructions of pictures by m reflectors and by others, to look at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fost.paper.encoded import jpeg
from fost.paper.methods import run
from fost.paper.pictures import SIDE, PictureSet, assemble, patches, signals
from fost.paper.settings import Settings

FIXED = ("original", "1-D DCT", "2-D DCT", "DCT + 64 rotations", "Q-DLA")
# The middle of the picture that is shown, in pixels.
_SHOWN = 192


@dataclass(frozen=True)
class ExplorerRow:
    """A picture as a method codes it.

    Attributes
    ----------
    picture, method : str
    n_reflectors : int or None
    operations : int
        Per patch.
    rmse : float
        Over the whole picture, grey values from 0 to 1.
    image : str
        The middle of the picture, as a data URI.

    Examples
    --------
    >>> from fost import paper
    >>> paper.ExplorerRow("peppers", "H12", 12, 3072, rmse=0.0261, image="data:,").operations
    3072
    """

    picture: str
    method: str
    n_reflectors: int | None
    operations: int
    rmse: float
    image: str


def explorer(pictures: PictureSet, settings: Settings | None = None) -> list[ExplorerRow]:
    """Each picture coded with 4 coefficients per patch by H_m, QH_m and others.

    Examples
    --------
    >>> import numpy as np
    >>> from fost import paper
    >>> picture = np.fromfunction(lambda i, j: 128 + 60 * np.sin(i / 5) * np.cos(j / 7), (128, 128))
    >>> pictures = paper.PictureSet(dict.fromkeys(["peppers"], picture))
    >>> rows = paper.explorer(pictures, paper.Settings(iterations=2, explored=(1,)))
    >>> rows[0].method, rows[0].image[:22]
    ('original', 'data:image/jpeg;base64')
    """
    pictures, settings = PictureSet.checked(pictures), Settings.of(settings)
    methods: list[tuple[str, int | None]] = [(name, None) for name in FIXED]
    methods += [(f"{kind}{m}", m) for kind in ("H", "QH") for m in settings.explored]
    rows = []
    for name in pictures:
        picture = pictures[name]
        Y = signals(picture)
        means = patches(picture).mean(axis=1, keepdims=True)
        for method, m in methods:
            if method == "original":
                rows.append(ExplorerRow(name, method, None, 0, 0.0, jpeg(_middle(picture))))
                continue
            found = run(method, Y, settings)
            decoded = found.dictionary.decode(found.dictionary.encode(Y, settings.sparsity))
            shown = assemble(255 * decoded + means, picture.shape)
            rmse = float(np.sqrt(np.mean(np.square(Y - decoded))))
            rows.append(ExplorerRow(name, method, m, found.operations, rmse, jpeg(_middle(shown))))
    return rows


def _middle(picture: NDArray[np.float64]) -> NDArray[np.float64]:
    """The middle, on the grid of patches."""
    cuts = []
    for length in picture.shape:
        size = min(_SHOWN, length)
        begin = SIDE * ((length - size) // (2 * SIDE))
        cuts.append(slice(begin, begin + size))
    return picture[tuple(cuts)]
