"""Missing samples of signals, pictures and volumes, filled in."""

from __future__ import annotations

from math import prod
from typing import Any

from fost._progress import steps
from fost._random import RandomState, as_generator
from fost._validation import check_each, check_verbose
from fost.restoration.formats import ArrayFormat
from fost.restoration.gaps import Gapped
from fost.restoration.grid import Sizes
from fost.restoration.sources import Target, is_dask
from fost.restoration.tiles import sides_for, tiles, with_channels
from fost.restoration.ways import Way
from fost.transforms import Coder

# Samples of a large array that tell how to fill all of it, about.
LEARNED_FROM = 2**20
# The importance of an atom in pursuit is its typical coefficient to this power, which was chosen
# on pictures of scikit-image by python -m tools.choose_exponent.
PRIOR = 0.2


def inpaint(
    array: Any,
    missing: Any = None,
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
    tile: Sizes | None = None,
    out: Any = None,
    verbose: bool = False,
) -> Any:
    """Fill in the missing samples of a signal, a picture or a volume.

    The method "shrinkage" starts from a smooth fill and passes over overlapping patches again
    and again: transform, drop coefficients below a threshold that falls from pass to pass,
    transform back, and take over the missing samples. Half-way a transform is learned from what
    has been found, so that nothing but the damaged array is needed. This is done boldly, which
    suits patterns, and gently, which suits what has none; how much of both is taken is found by
    samples that are hidden for that.

    The method "gaussian" learns from all patches, gaps and all, what is usual for them (see
    `fost.imputation`), and fills each by what is to be expected given its observed samples. It is
    the best for signals, where autoregressions compete with it: observed samples, hidden in gaps
    like the others, choose.

    The method "pursuit" codes each patch by orthogonal matching pursuit on its observed samples,
    once.

    Parameters
    ----------
    array : array-like of one to three axes, and one more for channels
        What it holds where samples are missing does not matter; NaN is fine there. The masked
        samples of a masked array are missing. Also one that is larger than memory: a memory map, an
        array of Zarr or HDF5, a path to a ``.npy`` or ``.zarr`` file, or a Dask array.
    missing : array-like of bool of the shape of the array, or that of one channel; or "nan"
        True where a sample is missing; ``"nan"``: where the array is NaN. May be left out for a
        masked array. It may be anything that the array may be.
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
        36 to 80 bold ones, more the more is missing, and up to 40 more as long as they pay; and a
        quarter as many gentle ones.
    prior : float
        Of "pursuit": how much it prefers atoms that other patches use with large coefficients,
        from 0 (not at all) to 1.
    random_state : int, Generator, RandomState or None
        For the places of patches and those to learn from.
    tile : int or sequence of int, optional
        Samples along each axis that are filled at a time, with what lies around them, so that
        memory stays bounded. If None, about 16 million in all. How to fill them is then learned
        from parts from all over the array. Around a hole as large as a tile more is looked at.
    out : ndarray, memory map or array of Zarr, optional
        Of the type and shape of the array; the result goes there.
    verbose : bool
        Show progress on stderr.

    Returns
    -------
    ndarray
        Of the type and shape of the array; observed samples are what they were. `out`, if that is
        given, and for a Dask array a lazy one, whose chunks are filled with what lies around them.

    Examples
    --------
    >>> import fost, numpy as np
    >>> clean = np.sin(np.arange(3000) / 9)
    >>> missing = np.random.default_rng(0).random(3000) < 0.4
    >>> restored = fost.restoration.inpaint(np.where(missing, np.nan, clean), "nan")
    >>> bool(np.abs(restored - clean).max() < 0.05)
    True
    """
    options = method, dictionary, patch, stride, n_nonzero_coefs, max_iter, prior
    if is_dask(array):
        from fost.restoration.lazy import filled_lazily

        if out is not None or tile is not None:
            raise ValueError("out and tile must be None for a Dask array, whose chunks are tiles")
        return filled_lazily(array, missing, channel_axis, *options, random_state=random_state)
    gapped = Gapped.of(array, missing, channel_axis)
    way = Way.checked(len(gapped.source.spatial), *options)
    return filled(gapped, way, random_state, tile, out, verbose)


def filled(
    gapped: Gapped,
    way: Way,
    random_state: RandomState,
    tile: Sizes | None,
    out: Any,
    verbose: bool,
    what: str = "samples",
) -> Any:
    """An array without gaps, wherever it is, tile by tile; `what` errors call its samples."""
    random = as_generator(random_state)
    verbose = check_verbose(verbose)
    source = gapped.source
    shape, channels, axis = source.spatial, source.channels, source.channel_axis
    sides = sides_for(shape, channels) if tile is None else check_each(tile, "tile", len(shape))
    places = list(tiles(shape, sides, way.overlap))
    survey = gapped.survey(what)
    target = Target(out, source)
    form = ArrayFormat.between(source.dtype, survey.low, survey.high, source.name)
    if len(places) == 1 or survey.total == 0:
        for part in source.parts() if survey.total == 0 else [places[0].core]:
            target.write(part, way.whole(*gapped.read(part), axis, form, random, verbose))
        return target.array
    with steps("filling, step", 1 + len(places), verbose) as done:
        shares = [float(count) / prod(shape) for count in survey.missing]
        fillers = way.learned(gapped.samples(LEARNED_FROM), axis, form, shares, random)
        done()
        for place in places:
            samples, gaps, around = gapped.read_around(place, way.overlap)
            inner = with_channels(around.inner, axis)
            if gaps[inner].any():
                samples = fillers(samples, gaps, place.number)
            target.write(place.core, samples[inner])
            done()
    return target.array
