"""Which transform suits an array: a general one, or one that is learned from the array."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import as_file, files
from math import prod

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from fost._typing import Numbers
from fost._validation import check_choice
from fost.learning import Structure
from fost.learning.bank import BankOf
from fost.learning.learn import LearningOptions, learn_part
from fost.learning.rotations import Rotations
from fost.transforms import DCT, Coder, Transform, load

PRETRAINED: dict[tuple[int, ...], str] = {(8, 8): "patches-8x8", (16, 16): "patches-16x16"}
# Patches that learning looks at: at most so many, and at least so many times the number of
# samples in one, below which it would learn these patches by heart.
_MOST = 16384
_LEAST = 16


def pretrained(name: str) -> Transform:
    """A general transform for patches of pictures, learned from many of them.

    Parameters
    ----------
    name : {"patches-8x8", "patches-16x16"}
        For patches in rows, means removed, as `patches` cuts them.

    Returns
    -------
    Transform
        The 2-D DCT and learned rotations. It was learned by fost from pictures that come with
        scikit-image; ``restoration/dictionaries/README.md`` in the package says which. A transform
        learned from pictures of one kind does better on that kind.

    Examples
    --------
    >>> import fost
    >>> fost.images.pretrained("patches-8x8").flops
    2208
    """
    return _loaded(check_choice(name, "name", tuple(PRETRAINED.values())))


@cache
def _loaded(name: str) -> Transform:
    resource = files("fost.restoration") / "dictionaries" / f"{name}.safetensors"
    with as_file(resource) as path:
        transform = load(path)
    assert isinstance(transform, Transform)
    return transform


def general(shape: tuple[int, ...]) -> Transform:
    """A transform for patches of any picture: a pretrained one, or the DCT for other shapes."""
    name = PRETRAINED.get(shape)
    return pretrained(name) if name else DCT(shape)


def adapted(
    arrays: Sequence[Numbers],
    shape: tuple[int, ...],
    random: np.random.Generator,
    n_rotations: int,
    max_iter: int,
    trusted: Sequence[NDArray[np.bool_]] | None = None,
    most: int = _MOST,
    n_members: int = 1,
) -> Coder | None:
    """A transform learned from at most so many patches of arrays; None where there are too few.

    With several members, a bank. Patches that lie on samples none of which are `trusted` teach
    nothing and do not count. Ctrl-C ends the whole work: what learning has so far is no answer
    here.
    """
    n = prod(shape)
    counts = [tuple(m - k + 1 for m, k in zip(a.shape, shape, strict=True)) for a in arrays]
    ends = np.cumsum([prod(count) for count in counts])
    places = int(ends[-1])
    if places < _LEAST * n:
        return None
    chosen = random.choice(places, most, replace=False) if places > most else np.arange(places)
    rows = []
    for k, (array, count) in enumerate(zip(arrays, counts, strict=True)):
        first = ends[k] - prod(count)
        here = chosen[(chosen >= first) & (chosen < ends[k])] - first
        at = np.unravel_index(here, count)
        if trusted is not None:
            seen = sliding_window_view(trusted[k], shape)[at].reshape(len(here), -1).any(axis=1)
            at = tuple(index[seen] for index in at)
        rows.append(sliding_window_view(array, shape)[at].reshape(-1, n))
    Y = np.concatenate(rows)
    Y = Y - Y.mean(axis=1, keepdims=True)
    Y = Y[Y.any(axis=1)]
    if len(Y) < _LEAST * n:
        return None
    one = Rotations(n_rotations)
    structure: Structure = one if n_members == 1 else BankOf(one, n_members)
    options = LearningOptions(
        structure=structure,
        n_nonzero_coefs=max(1, n // 16),
        base=DCT(shape),
        init="base" if n_members == 1 else None,
        max_iter=max_iter,
        random_state=random,
    )
    return learn_part(Y, options).transform
