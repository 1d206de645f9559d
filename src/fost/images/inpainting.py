"""Missing pixels of pictures, filled in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fost._progress import progress
from fost._random import RandomState, as_generator
from fost._typing import Numbers
from fost._validation import (
    check_choice,
    check_integer,
    check_number,
    check_pair,
    check_verbose,
)
from fost.images.adaptation import adapted, general
from fost.images.filling import fill
from fost.images.gaps import checked_steps, padded, picture_and_gaps
from fost.images.grid import Pair, patch_shape
from fost.images.pictures import PictureFormat, ranges_by_values, to_restore
from fost.images.pursued import by_pursuit
from fost.images.shrinkage import threshold_at
from fost.transforms import DCT, Coder

# Thresholds fall from the first to the last, in grey values from 0 to 1; the first is lower
# where little is missing, because the start is better then.
_FIRST, _LAST = 0.4, 0.005
# How far beyond the shrunk picture a pass goes: 1 is to it, 2 is as far again. Patterns are found
# by going far and often; irregular texture is better off with less.
_BOLD, _GENTLE = 1.7, 1.0
# Passes for a share f of missing pixels: this over (1 - f)^2, within limits; and how many times
# fewer gentle ones.
_PASSES, _FEWEST, _MOST, _FEWER = 22, 40, 80, 4
# The share of observed pixels that tell how much of both to take, and how many it takes. Holes that
# are wider than this power of two are not like single pixels, which say nothing about them.
_HIDDEN, _LEAST_HIDDEN, _WIDEST = 0.03, 64, 2
# More passes than this are refused: all their thresholds are computed at the start.
_MOST_ASKED = 10**6
# Above this share of missing pixels, patches of 16 x 16 pixels are better than those of 8 x 8.
_LARGE = 0.6
_ROTATIONS_PER_PIXEL = 1
_ITERATIONS = 2
_PATCHES_PER_PIXEL = 64
# The importance of an atom in pursuit is its typical coefficient to this power, which was chosen
# on pictures of scikit-image by tools/choose_exponent.py.
_PRIOR = 0.2


def inpaint(
    image: ArrayLike,
    missing: ArrayLike | None = None,
    dictionary: Coder | None = None,
    n_nonzero_coefs: int = 6,
    stride: Pair | None = None,
    *,
    method: str = "shrinkage",
    patch: Pair | None = None,
    max_iter: int | None = None,
    prior: float = _PRIOR,
    random_state: RandomState = 0,
    verbose: bool = False,
) -> Numbers:
    """Fill in the missing pixels of a picture.

    The method "shrinkage" starts from a smooth fill and passes over overlapping patches again
    and again: transform, drop coefficients below a threshold that falls from pass to pass,
    transform back, and take over the missing pixels. Half-way a transform is learned from what
    has been found, so that nothing but the damaged picture is needed. This is done boldly, which
    suits patterns, and gently, which suits what has none; how much of both is taken is found by
    pixels that are hidden for that.

    The method "pursuit" codes each patch by orthogonal matching pursuit on its observed pixels,
    once. With patches that do not overlap, a dictionary learned from clean data and ``prior=0``
    it is one reading of the experiment of the paper.

    Parameters
    ----------
    image : array-like of shape (height, width) or (height, width, channels)
        What it holds where pixels are missing does not matter; NaN is fine there. The masked
        pixels of a masked array are missing.
    missing : array-like of bool of shape (height, width) or that of the image
        True where a pixel is missing. May be left out for a masked array.
    dictionary : Transform, Bank or, for the method "pursuit", Union, optional
        For patches in rows, means removed. Of a bank, all members are used for a patch, most of
        all those that suit it ("shrinkage"), or any of their atoms ("pursuit"). If None, one is
        learned from the picture, or a general one is used where too little of it is left.
    n_nonzero_coefs : int
        Entries per code, of the method "pursuit".
    stride : int or pair of int, optional
        Steps from one patch to the next. If None, a quarter of a patch for "pursuit"; for
        "shrinkage" a patch down and one pixel across, from another random place in every pass.
    method : {"shrinkage", "pursuit"}
    patch : int or pair of int, optional
        Height and width of a patch. If None, that of the dictionary if it is square, else 8, or
        16 for "shrinkage" where more than 60 % of the pixels are missing.
    max_iter : int, optional
        Passes of "shrinkage", for those in a hurry: all bold, and no pixels are hidden. If None, 40
        to 80 bold ones, more the more is missing, and a quarter as many gentle ones.
    prior : float
        Of "pursuit": how much it prefers atoms that other patches use with large coefficients,
        from 0 (not at all) to 1. A first pursuit finds out which these are. The default is the
        best for patches that overlap; where they do not, 0.6 is better.
    random_state : int, Generator, RandomState or None
        For the places of patches and those to learn from.
    verbose : bool
        Show progress on stderr.

    Returns
    -------
    ndarray
        Of the type and shape of the image; observed pixels are what they were.

    Examples
    --------
    >>> import fost, numpy as np
    >>> clean = np.add.outer(np.linspace(0, 0.5, 64), np.linspace(0, 0.5, 64))
    >>> missing = np.random.default_rng(0).random(clean.shape) < 0.4
    >>> restored = fost.images.inpaint(np.where(missing, np.nan, clean), missing)
    >>> bool(np.abs(restored - clean).max() < 0.01)
    True
    """
    picture, gaps = picture_and_gaps(image, missing)
    check_choice(method, "method", ("shrinkage", "pursuit"))
    prior = check_number(prior, "prior", 0, 1)
    verbose = check_verbose(verbose)
    if max_iter is not None:
        max_iter = check_integer(max_iter, "max_iter", 0, _MOST_ASKED)
    if stride is not None:
        stride = check_pair(stride, "stride")
    n_nonzero_coefs = check_integer(n_nonzero_coefs, "n_nonzero_coefs", 1, 2**31 - 1)
    random = as_generator(random_state)
    by_atoms = method == "pursuit"
    patch_shape(patch, dictionary, by_atoms)  # checked also where nothing is missing
    if not gaps.any():
        return picture.copy()
    # What lies under the gaps says nothing about the range of the picture.
    seen = picture[~gaps][None] if ranges_by_values(picture.dtype) else picture
    form = PictureFormat.of(seen)
    known = np.where(gaps, picture.dtype.type(0), picture)
    unit = to_restore(form, known)
    out = np.empty_like(unit)
    for channel in range(1 if picture.ndim == 2 else picture.shape[2]):
        where: Any = ... if picture.ndim == 2 else (..., channel)
        plane, holes = np.ascontiguousarray(unit[where]), np.ascontiguousarray(gaps[where])
        if method == "shrinkage":
            shape = _shape(patch, dictionary, holes)
            out[where] = _by_shrinkage(
                plane, holes, dictionary, shape, stride, max_iter, random, verbose
            )
        else:
            shape = patch_shape(patch, dictionary, by_atoms)
            chosen = dictionary if dictionary is not None else general(shape)
            out[where] = by_pursuit(plane, holes, chosen, shape, stride, n_nonzero_coefs, prior)
    return np.where(gaps, form.from_unit(out), picture)


def _by_shrinkage(
    image: Numbers,
    missing: NDArray[np.bool_],
    dictionary: Coder | None,
    shape: tuple[int, int],
    stride: Pair | None,
    max_iter: int | None,
    random: np.random.Generator,
    verbose: bool,
) -> Numbers:
    height, width = image.shape
    steps = checked_steps(stride, (shape[0], 1), shape)
    known, holes = padded(image, shape), padded(missing, shape)
    start, n_scales = fill(known, holes)
    if max_iter is not None:
        passes = Passes(shape, steps, max_iter, _BOLD)
        return passes.run(start, holes, dictionary, random, verbose)[0][:height, :width]
    share = float(missing.mean())
    wanted = max(_PASSES / max(1 - share, 0.05) ** 2, 5 * n_scales)
    bold = Passes(shape, steps, round(min(max(wanted, _FEWEST), _MOST)), _BOLD)
    hidden = ~holes & (random.random(holes.shape) < _HIDDEN)
    if n_scales > _WIDEST or hidden.sum() < _LEAST_HIDDEN:
        return bold.run(start, holes, dictionary, random, verbose)[0][:height, :width]
    start, _ = fill(known, holes | hidden)
    gentle = Passes(shape, steps, bold.count // _FEWER, _GENTLE)
    far, learned = bold.run(start, holes | hidden, dictionary, random, verbose)
    near, _ = gentle.run(start, holes | hidden, dictionary, random, verbose, learned)
    return blended(near, far, known, hidden)[:height, :width]


@dataclass(frozen=True)
class Passes:
    """Passes over all patches with a threshold that falls from one to the next."""

    shape: tuple[int, int]
    steps: tuple[int, int]
    count: int
    relaxation: float

    def run(
        self,
        start: Numbers,
        holes: NDArray[np.bool_],
        dictionary: Coder | None,
        random: np.random.Generator,
        verbose: bool,
        learned: Coder | None = None,
    ) -> tuple[Numbers, Coder | None]:
        """What becomes of a start, and the transform that was learned half-way, if one was.

        Without a dictionary, the second half of the passes uses one that is learned, unless that
        has been done already.
        """
        estimate = start.copy()
        transform: Coder = dictionary if dictionary is not None else DCT(self.shape)
        first = _LAST + (_FIRST - _LAST) * float(holes.mean())
        relaxation = holes * estimate.dtype.type(self.relaxation)
        with progress("iteration", self.count, verbose) as advance:
            for k, level in enumerate(np.geomspace(first, _LAST, self.count)):
                if dictionary is None and k == self.count // 2:
                    learned = learned or _adapted(estimate, holes, self.shape, random)
                    transform = learned
                tops, lefts = (
                    _starts(size, side, step, random)
                    for size, side, step in zip(estimate.shape, self.shape, self.steps, strict=True)
                )
                grid = self.shape, tops, lefts
                sums, weights = threshold_at(estimate, transform, *grid, float(level))
                sums /= weights
                sums -= estimate
                sums *= relaxation if k < self.count - 1 else holes
                estimate += sums
                advance(k + 1, "")
        return estimate, learned


def blended(near: Numbers, far: Numbers, known: Numbers, hidden: NDArray[np.bool_]) -> Numbers:
    """What lies between two estimates and is nearest to known pixels that were hidden from both."""
    way = (far - near)[hidden].astype(np.float64)
    length = float(way @ way)
    share = float((known - near)[hidden].astype(np.float64) @ way) / length if length > 0 else 0.0
    mixed: Numbers = near + near.dtype.type(min(max(share, 0.0), 1.0)) * (far - near)
    return mixed


def _adapted(
    estimate: Numbers,
    holes: NDArray[np.bool_],
    shape: tuple[int, int],
    random: np.random.Generator,
) -> Coder:
    """A transform learned from what has been found, or a general one where that is too little."""
    n = shape[0] * shape[1]
    learned = adapted(
        estimate,
        shape,
        random,
        _ROTATIONS_PER_PIXEL * n,
        _ITERATIONS,
        trusted=~holes,
        most=_PATCHES_PER_PIXEL * n,
    )
    return learned or general(shape)


def _shape(
    patch: Pair | None, dictionary: Coder | None, missing: NDArray[np.bool_]
) -> tuple[int, int]:
    if patch is None and dictionary is None and missing.mean() > _LARGE:
        return 16, 16
    return patch_shape(patch, dictionary)


def _starts(size: int, side: int, step: int, random: np.random.Generator) -> NDArray[np.int32]:
    """Places `step` apart from a random one on, with the first and the last possible one."""
    last = size - side
    offset = int(random.integers(step))
    return np.unique(np.r_[0, np.arange(offset, last + 1, step), last]).astype(np.int32)
