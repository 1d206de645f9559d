"""Missing samples of signals, pictures and volumes, filled in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fost._random import RandomState, as_generator
from fost._typing import Numbers
from fost._validation import (
    check_choice,
    check_each,
    check_integer,
    check_number,
    check_verbose,
)
from fost.restoration.adaptation import general
from fost.restoration.arrays import channels_back, channels_first
from fost.restoration.expected import by_gaussian
from fost.restoration.formats import ArrayFormat, ranges_by_values, to_restore
from fost.restoration.gaps import Mask, array_and_gaps
from fost.restoration.grid import Sizes, patch_shape
from fost.restoration.passes import by_shrinkage
from fost.restoration.pursued import by_pursuit
from fost.transforms import Coder

# More passes than this are refused: all their thresholds are computed at the start.
_MOST_ASKED = 10**6
# Above this share of missing samples, pictures are better off with larger patches.
_LARGE, _LARGE_SHAPES = 0.6, {1: (64,), 2: (16, 16), 3: (4, 8, 8)}
# Longer windows tell more of what is to be expected.
_EXPECTED: dict[int, tuple[int, ...]] = {1: (128,)}
# The importance of an atom in pursuit is its typical coefficient to this power, which was chosen
# on pictures of scikit-image by tools/choose_exponent.py.
PRIOR = 0.2
METHODS = ("shrinkage", "pursuit", "gaussian")


def inpaint(
    array: ArrayLike,
    missing: ArrayLike | None = None,
    dictionary: Coder | None = None,
    n_nonzero_coefs: int = 6,
    stride: Sizes | None = None,
    *,
    channel_axis: int | None = None,
    method: str | None = None,
    patch: Sizes | None = None,
    max_iter: int | None = None,
    prior: float = PRIOR,
    random_state: RandomState = 0,
    verbose: bool = False,
) -> Numbers:
    """Fill in the missing samples of a signal, a picture or a volume.

    The method "shrinkage" starts from a smooth fill and passes over overlapping patches again
    and again: transform, drop coefficients below a threshold that falls from pass to pass,
    transform back, and take over the missing samples. Half-way a transform is learned from what
    has been found, so that nothing but the damaged array is needed. This is done boldly, which
    suits patterns, and gently, which suits what has none; how much of both is taken is found by
    samples that are hidden for that.

    The method "gaussian" learns from all patches, gaps and all, what is usual for them (see
    `fost.gaps`), and fills each by what is to be expected given its observed samples. It is the
    best for signals, where autoregressions compete with it: observed samples, hidden in gaps like
    the others, choose.

    The method "pursuit" codes each patch by orthogonal matching pursuit on its observed samples,
    once.

    Parameters
    ----------
    array : array-like of one to three axes, and one more for channels
        What it holds where samples are missing does not matter; NaN is fine there. The masked
        samples of a masked array are missing.
    missing : array-like of bool of the shape of the array, or that of one channel
        True where a sample is missing. May be left out for a masked array.
    dictionary : Transform, Bank or, for the method "pursuit", Union, optional
        For patches in rows, means removed. Of a bank, all members are used for a patch, most of
        all those that suit it ("shrinkage"), or any of their atoms ("pursuit"). If None, one is
        learned from the array, or a general one is used where too little of it is left.
    n_nonzero_coefs : int
        Entries per code, of the method "pursuit".
    stride : int or sequence of int, optional
        Steps from one patch to the next. If None, a quarter of a patch for "pursuit" and an eighth
        for "gaussian"; for "shrinkage" a patch, but one sample along the last axis, from another
        random place in every pass.
    channel_axis : int, optional
        The axis of channels, which are filled one by one. If None, there is none.
    method : {"shrinkage", "gaussian", "pursuit"}, optional
        If None, "gaussian" for signals without a dictionary, else "shrinkage".
    patch : int or sequence of int, optional
        The shape of a patch. If None, that of the dictionary if its sides are equal, else 64
        samples (128 for "gaussian"), 8 x 8 pixels (16 x 16 for "shrinkage" where more than 60 %
        are missing) or 4 x 8 x 8 voxels.
    max_iter : int, optional
        Passes of "shrinkage", for those in a hurry: all bold, and no samples are hidden. If None,
        40 to 80 bold ones, more the more is missing, and up to 40 more as long as they pay; and a
        quarter as many gentle ones.
    prior : float
        Of "pursuit": how much it prefers atoms that other patches use with large coefficients,
        from 0 (not at all) to 1.
    random_state : int, Generator, RandomState or None
        For the places of patches and those to learn from.
    verbose : bool
        Show progress on stderr.

    Returns
    -------
    ndarray
        Of the type and shape of the array; observed samples are what they were.

    Examples
    --------
    >>> import fost, numpy as np
    >>> clean = np.sin(np.arange(3000) / 9)
    >>> missing = np.random.default_rng(0).random(3000) < 0.4
    >>> restored = fost.restoration.inpaint(np.where(missing, np.nan, clean), missing)
    >>> bool(np.abs(restored - clean).max() < 0.05)
    True
    """
    samples, gaps = array_and_gaps(array, missing, channel_axis)
    ndim = samples.ndim - (channel_axis is not None)
    if method is None:
        method = "gaussian" if ndim == 1 and dictionary is None else "shrinkage"
    way = Way.checked(
        ndim, method, dictionary, patch, stride, n_nonzero_coefs, max_iter, prior, verbose
    )
    return way.filled(samples, gaps, channel_axis, as_generator(random_state))


@dataclass(frozen=True)
class Way:
    """How gaps are filled, in arguments that have been checked."""

    method: str
    dictionary: Coder | None
    patch: Sizes | None
    stride: Sizes | None
    n_nonzero_coefs: int
    max_iter: int | None
    prior: float
    verbose: bool

    @classmethod
    def checked(
        cls,
        ndim: int,
        method: str,
        dictionary: Coder | None,
        patch: Sizes | None,
        stride: Sizes | None,
        n_nonzero_coefs: int,
        max_iter: int | None,
        prior: float,
        verbose: bool,
        methods: tuple[str, ...] = METHODS,
    ) -> Way:
        check_choice(method, "method", methods)
        prior = check_number(prior, "prior", 0, 1)
        verbose = check_verbose(verbose)
        if max_iter is not None:
            max_iter = check_integer(max_iter, "max_iter", 0, _MOST_ASKED)
        if stride is not None:
            stride = check_each(stride, "stride", ndim)
        n_nonzero_coefs = check_integer(n_nonzero_coefs, "n_nonzero_coefs", 1, 2**31 - 1)
        # Checked also where nothing is missing.
        patch_shape(patch, dictionary, ndim, unions=method == "pursuit")
        if method == "gaussian" and dictionary is not None:
            raise ValueError("dictionary must be None for method='gaussian', which learns its own")
        return cls(method, dictionary, patch, stride, n_nonzero_coefs, max_iter, prior, verbose)

    def filled(
        self,
        samples: Numbers,
        gaps: Mask,
        channel_axis: int | None,
        random: np.random.Generator,
        name: str = "array",
    ) -> Numbers:
        """Samples with their gaps filled, which errors call `name`."""
        if not gaps.any():
            return samples.copy()
        # What lies under the gaps says nothing about the range of the array.
        seen = samples[~gaps] if ranges_by_values(samples.dtype) else samples
        form = ArrayFormat.around(seen, name)
        known = np.where(gaps, samples.dtype.type(0), samples)
        # A gap may hide a peak, which is to be expected from what is beside it.
        free = self.method == "gaussian"
        unit = form.unit_of(known) if free else to_restore(form, known)
        channels = channels_first(unit, channel_axis)
        planes = zip(channels, channels_first(gaps, channel_axis), strict=True)
        whole = [self._plane(plane, holes, random) for plane, holes in planes]
        filled = form.of_unit(channels_back(whole, channel_axis), bounded=not free)
        return np.where(gaps, filled, samples)

    def _plane(self, plane: Numbers, holes: Mask, random: np.random.Generator) -> Numbers:
        plane, holes = np.ascontiguousarray(plane), np.ascontiguousarray(holes)
        shape = patch_shape(self.patch, self.dictionary, plane.ndim, self.method == "pursuit")
        if self.method == "gaussian":
            shape = _EXPECTED.get(plane.ndim, shape) if self.patch is None else shape
            return by_gaussian(plane, holes, shape, self.stride, random)
        if self.method == "pursuit":
            chosen = self.dictionary if self.dictionary is not None else general(shape)
            sparsity = self.n_nonzero_coefs
            return by_pursuit(plane, holes, chosen, shape, self.stride, sparsity, self.prior)
        if self.patch is None and self.dictionary is None and holes.mean() > _LARGE:
            shape = _LARGE_SHAPES[plane.ndim]
        rest = self.max_iter, random, self.verbose
        return by_shrinkage(plane, holes, self.dictionary, shape, self.stride, *rest)
