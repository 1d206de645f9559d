"""Pictures made whole or clean: `fost.restoration` for pictures, whose third axis are colours."""

from __future__ import annotations

from typing import Literal

from numpy.typing import ArrayLike

from fost._random import RandomState
from fost._typing import Numbers
from fost.images.patches import Pair
from fost.images.pictures import channel_axis_of
from fost.io.images import check_image
from fost.restoration.cleaning import Cleaning
from fost.restoration.denoising import denoised
from fost.restoration.gaps import Gapped
from fost.restoration.inpainting import PRIOR, filled
from fost.restoration.noise import level_in
from fost.restoration.sources import Source
from fost.restoration.ways import Way
from fost.transforms import Coder

_METHODS = ("shrinkage", "pursuit")


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
    verbose: bool = False,
) -> Numbers:
    """Remove white noise from a picture.

    Every patch is transformed, small coefficients are set to zero, and the patches are put back,
    those with few coefficients left counting more. The transform is learned from a first result;
    patches of 16 x 16 pixels in the DCT are added to those of 8 x 8, for the smooth parts. A
    second pass repeats this with Wiener's filter, which takes the result of the first for the
    truth. For the best quality that is only the beginning: patches that resemble each other are
    then filtered in groups, each under a Gaussian of its own.

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
    verbose : bool
        Show progress on stderr.

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
    source = _as_source(image)
    options = source.channel_axis, patch, second_pass, quality
    way = Cleaning.checked(2, sigma, dictionary, stride, *options, name="image")
    result: Numbers = denoised(source, way, random_state, None, None, verbose)
    return result


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
    return level_in(_as_source(image))


def inpaint(
    image: ArrayLike,
    missing: ArrayLike | Literal["nan"] | None = None,
    dictionary: Coder | None = None,
    n_nonzero_coefs: int = 6,
    stride: Pair | None = None,
    *,
    method: str = "shrinkage",
    patch: Pair | None = None,
    max_iter: int | None = None,
    prior: float = PRIOR,
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
    missing : array-like of bool of shape (height, width) or that of the image; or "nan"
        True where a pixel is missing; ``"nan"``: where the image is NaN. May be left out for a
        masked array.
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
        Passes of "shrinkage", for those in a hurry: all bold, and no pixels are hidden. If None, 36
        to 80 bold ones, more the more is missing, and up to 40 more as long as they pay; and a
        quarter as many gentle ones.
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
    gapped = Gapped.of(image, missing, None, "image", _as_source)
    options = patch, stride, n_nonzero_coefs, max_iter, prior
    way = Way.checked(2, method, dictionary, *options, methods=_METHODS)
    result: Numbers = filled(gapped, way, random_state, None, None, verbose, "pixels")
    return result


def _as_source(image: ArrayLike, name: str = "image", _: int | None = None) -> Source:
    picture = check_image(image, name)
    return Source(picture, name, channel_axis_of(picture.ndim))
