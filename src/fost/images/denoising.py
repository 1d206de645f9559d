"""Noise out of pictures, by shrinking overlapping patches in a transform's domain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import chi2

from fost._random import RandomState, as_generator
from fost._typing import Numbers
from fost._validation import check_choice, check_flag, check_number, check_pair
from fost.images.adaptation import adapted, general
from fost.images.grid import Grid, Pair, patch_shape
from fost.images.patches import patches
from fost.images.pictures import (
    PictureFormat,
    as_float,
    check_picture,
    from_luma_chroma,
    to_luma_chroma,
    to_restore,
)
from fost.images.shrinkage import threshold, wiener
from fost.restoration.best import refined
from fost.transforms import DCT, Coder

# A coefficient is kept where it exceeds so many standard deviations of the noise.
_THRESHOLD = 2.6
_ROTATIONS_PER_PIXEL = 4
_ITERATIONS = 5
# Beyond this, in units of the picture's range, noise leaves nothing of it; squares stay small.
_LOUDEST = 1e8
# Larger patches beside those of 8 x 8: better where a picture is smooth. (More weight for them
# gains there and loses elsewhere.)
_WIDE = 16
# The noise level is estimated from the highest frequencies of the quietest patches: from the
# frequencies of this one on, and this share of patches.
_HIGH = 4
_QUIETEST = 0.1


def denoise(
    image: ArrayLike,
    sigma: float | None = None,
    dictionary: Coder | None = None,
    stride: Pair = 1,
    *,
    patch: Pair | None = None,
    second_pass: bool = True,
    quality: str | None = None,
    random_state: RandomState = 0,
) -> Numbers:
    """Remove white noise from a picture.

    Every patch is transformed, small coefficients are set to zero, and the patches are put back,
    those with few coefficients left counting more. The transform is learned from a first result;
    patches of 16 x 16 pixels in the DCT are added to those of 8 x 8, for the smooth parts. A
    second pass repeats this with Wiener's filter, which takes the result of the first for the
    truth. For the best quality that is only the beginning: patches that resemble each other are
    then filtered in groups, each under a Gaussian of its own (`fost.restoration`).

    Parameters
    ----------
    image : array-like of shape (height, width) or (height, width, channels)
        Three channels are red, green and blue, and are treated as luma and chroma; other numbers
        of channels one by one.
    sigma : float, optional
        The standard deviation of the noise, in the numbers of the picture. If None it is
        estimated by `noise_level`.
    dictionary : Transform or Bank, optional
        For patches in rows, such as `fost.learn` gives, and then no other is used. Of a bank all
        members are used for a patch, most of all those that suit it. If None, one is learned
        from the picture.
    stride : int or pair of int
        Steps from one patch to the next. 1 is best; larger ones are faster.
    patch : int or pair of int, optional
        Height and width of a patch, and then no others are used. If None, that of the dictionary
        if it is square, else 8 and 16.
    second_pass : bool
        Whether the picture is filtered once more; it gains 0.1 to 0.4 dB for twice the time.
    quality : {"best", "fast"}, optional
        "best" looks at similar patches together, which gains 0.5 to 0.6 dB in the mean for
        five times the time; "fast" at each patch alone. If None, "fast" where a dictionary, a
        stride, a patch or the second pass is chosen, else "best".
    random_state : int, Generator, RandomState or None
        For the choice of the patches to learn from.

    Returns
    -------
    ndarray
        Of the type and shape of the image, values in its range: that of its type, and for floats
        and integers of more than 16 bits the one that `PictureFormat.of` finds.

    Examples
    --------
    >>> import fost, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> clean = np.add.outer(np.linspace(0, 0.5, 64), np.linspace(0, 0.5, 64))
    >>> noisy = np.clip(clean + 0.1 * rng.standard_normal(clean.shape), 0, 1)
    >>> restored = fost.images.denoise(noisy, sigma=0.1)
    >>> fost.images.psnr(clean, restored) > fost.images.psnr(clean, noisy) + 10
    True
    """
    picture = check_finite(image)
    random = as_generator(random_state)
    shape = patch_shape(patch, dictionary)
    form = PictureFormat.of(picture)
    second_pass = check_flag(second_pass, "second_pass")
    steps = check_pair(stride, "stride")
    plain = dictionary is None and patch is None and steps == (1, 1) and second_pass
    if quality is None:
        quality = "best" if plain else "fast"
    check_choice(quality, "quality", ("best", "fast"))
    sigma = noise_level(picture) if sigma is None else check_number(sigma, "sigma", 0)
    if sigma == 0:
        return picture.copy()
    level = min(sigma / form.scale, _LOUDEST)
    planes = to_planes(to_restore(form, picture, level))
    noisy = np.stack(planes) if quality == "best" else None
    for plane in planes:
        padded = pad(plane, shape)
        if dictionary is None:
            views = _views(padded, level, shape, steps, patch is None, random)
        else:
            views = [_View(dictionary, Grid.over(padded.shape, shape, steps))]
            _check_stride(views[0].grid)
        clean = _denoise_plane(padded, level, views, second_pass)
        plane[...] = clean[: plane.shape[0], : plane.shape[1]]
    if noisy is not None:
        planes = _refined(noisy, planes, level)
    return form.from_unit(from_planes(planes, picture.ndim))


def _refined(noisy: Numbers, planes: list[Numbers], sigma: float) -> list[Numbers]:
    """Better planes, by groups that are found in luma, or in each channel by itself."""
    if len(planes) == 3:
        return list(refined(noisy, np.stack(planes), sigma))
    return [refined(z[None], plane[None], sigma)[0] for z, plane in zip(noisy, planes, strict=True)]


@dataclass(frozen=True)
class _View:
    """One way of looking at a picture: patches of a shape in a transform's domain."""

    transform: Coder
    grid: Grid


def _denoise_plane(image: Numbers, sigma: float, views: list[_View], second_pass: bool) -> Numbers:
    level = _THRESHOLD * sigma
    pilot = _mean([threshold(image, view.transform, view.grid, level) for view in views])
    if not second_pass:
        return pilot
    return _mean([wiener(image, pilot, view.transform, view.grid, sigma) for view in views])


def _views(
    image: Numbers,
    sigma: float,
    shape: tuple[int, int],
    stride: Pair,
    wide: bool,
    random: np.random.Generator,
) -> list[_View]:
    """A transform learned from a first result, and the DCT of larger patches."""
    grid = Grid.over(image.shape, shape, stride)
    _check_stride(grid)
    first = _mean([threshold(image, DCT(shape), grid, _THRESHOLD * sigma)])
    count = _ROTATIONS_PER_PIXEL * shape[0] * shape[1]
    learned = adapted(first, shape, random, count, _ITERATIONS) or general(shape)
    views = [_View(learned, grid)]
    if wide and min(image.shape) >= _WIDE:
        steps = (min(_WIDE, 4 * grid.stride[0]), grid.stride[1])
        views.append(_View(DCT((_WIDE, _WIDE)), Grid.over(image.shape, _WIDE, steps)))
    return views


def _mean(parts: list[tuple[Numbers, Numbers]]) -> Numbers:
    """The picture that sums and weights of all views make."""
    sums, weights = parts[0]
    for more, heavier in parts[1:]:
        sums += more
        weights += heavier
    sums /= weights
    return sums


def noise_level(image: ArrayLike) -> float:
    """The standard deviation of the white noise in a picture, estimated.

    What is left of a picture without noise at the highest frequencies is little in its quietest
    patches, so that the noise can be told from there: the energy of 16 coefficients of the 8 x 8
    DCT, compared with the distribution that noise gives it. Fine texture all over the picture is
    taken for noise.

    Parameters
    ----------
    image : array-like of shape (height, width) or (height, width, channels)

    Returns
    -------
    float
        In the numbers of the picture; over all channels together.

    Examples
    --------
    >>> import fost, numpy as np
    >>> noise = 5 * np.random.default_rng(0).standard_normal((256, 256))
    >>> bool(abs(fost.images.noise_level(noise) - 5) < 0.1)
    True
    """
    picture = as_float(check_finite(image))
    # Times a power of two, which is exact: squares of 1e200 overflow, those of 1e-200 vanish.
    _, exponent = np.frexp(np.abs(picture).max())
    picture = np.ldexp(picture, -exponent)
    planes = [picture] if picture.ndim == 2 else list(np.moveaxis(picture, -1, 0))
    rows = np.concatenate([patches(pad(plane, (8, 8)), 8, 4) for plane in planes])
    rows = rows - rows.mean(axis=1, keepdims=True)
    high = DCT((8, 8)).forward(rows).reshape(-1, 8, 8)[:, _HIGH:, _HIGH:].reshape(len(rows), -1)
    energies = np.square(high, dtype=np.float64).sum(axis=1)
    quietest = np.quantile(energies, _QUIETEST)
    return float(np.ldexp(np.sqrt(quietest / chi2.ppf(_QUIETEST, high.shape[1])), exponent))


def check_finite(image: ArrayLike) -> Numbers:
    """A picture without NaN and infinity."""
    picture = check_picture(image, "image")
    if picture.dtype.kind == "f" and not np.isfinite(picture).all():
        raise ValueError("image contains NaN or infinity")
    if picture.dtype.itemsize > 8 and np.abs(picture).max() > np.finfo(np.float64).max:
        raise ValueError("image is too large: float64 does not hold it")
    return picture


def to_planes(unit: Numbers) -> list[Numbers]:
    """The planes that are worked on: the picture, luma and chroma, or the channels."""
    if unit.ndim == 2:
        return [np.ascontiguousarray(unit)]
    coloured = to_luma_chroma(unit) if unit.shape[2] == 3 else unit
    return [np.array(plane, order="C") for plane in np.moveaxis(coloured, -1, 0)]


def from_planes(planes: list[Numbers], ndim: int) -> Numbers:
    """The picture of planes."""
    if ndim == 2:
        return planes[0]
    coloured = np.stack(planes, axis=-1)
    return from_luma_chroma(coloured) if len(planes) == 3 else coloured


def pad(plane: Numbers, shape: tuple[int, int]) -> Numbers:
    """At least as large as a patch, by repeating the last row and column."""
    missing = [max(0, want - have) for want, have in zip(shape, plane.shape, strict=True)]
    if not any(missing):
        return np.ascontiguousarray(plane)
    return np.pad(plane, [(0, k) for k in missing], mode="edge")


def _check_stride(grid: Grid) -> None:
    if any(step > size for step, size in zip(grid.stride, grid.shape, strict=True)):
        raise ValueError(
            f"stride must be at most the patch, {grid.shape}, to cover every pixel, "
            f"got {grid.stride}"
        )
