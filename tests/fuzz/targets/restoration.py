"""Restoration of signals, images and volumes, and their patches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fost import restoration
from tests.fuzz import forms
from tests.fuzz.judge import Fuzz
from tests.fuzz.targets import target
from tests.fuzz.targets.images import TYPES, some_image

Array = NDArray[Any]
SIDES = {1: (1, 2, 9, 31, 64, 150), 2: (1, 5, 8, 17), 3: (1, 4, 5, 9)}
PATCHES = {1: (None, 16, (5,), 1), 2: (None, 4, (3, 5)), 3: (None, 2, (1, 3, 2), [2, 4, 4])}


def some_samples(fuzz: Fuzz, finite: bool = True) -> tuple[Any, Array, int, int | None]:
    """An array in some form, as a plain array, the number of its axes, and its channel axis."""
    ndim = int(fuzz.pick((1, 2, 3)))
    shape = [int(fuzz.pick(SIDES[ndim])) for _ in range(ndim)]
    axis = None
    if fuzz.chance(0.3):
        axis = int(fuzz.rng.integers(-ndim - 1, ndim + 1))
        shape.insert(axis % (ndim + 1), int(fuzz.pick((1, 2, 3))))
    unit = np.clip(0.5 + 0.3 * np.sin(np.indices(shape).sum(axis=0) / 3), 0, 1)
    unit = np.clip(unit + 0.1 * fuzz.rng.standard_normal(shape), 0, 1)
    if fuzz.spoil():
        made, what = forms.bad(fuzz.rng, unit, finite=finite, axes=False, columns=False)
        fuzz.bad.append(f"x is {what}")
        return made, unit, ndim, axis
    kind = np.dtype(fuzz.pick(TYPES))
    if kind.kind in "iu":
        high = np.iinfo(kind).max if kind.itemsize <= 2 else fuzz.pick((255, 65535, 2**31 - 1))
        array = np.rint(unit * high).astype(kind)
    else:
        array = unit > 0.5 if kind.kind == "b" else unit.astype(kind)
    if kind.kind in "iu" and kind.itemsize > 2:
        fuzz.doubtful.append("wide integers")
    return fuzz.pick((array, array.copy("F"), array[::-1].copy()[::-1])), array, ndim, axis


def some_axis(fuzz: Fuzz, axis: int | None) -> Any:
    return fuzz.wrong("channel_axis", 9, -9, 0.5, "last", (0,)) if fuzz.spoil() else axis


def some_patch(fuzz: Fuzz, ndim: int) -> Any:
    if fuzz.spoil():
        return fuzz.wrong("patch_shape", 0, -1, (1,) * (ndim + 1), "8", 1.5, np.nan, {}, 2**40)
    return fuzz.pick(PATCHES[ndim])


def some_tile(fuzz: Fuzz, ndim: int) -> Any:
    if fuzz.spoil():
        return fuzz.wrong("tile", 0, -1, (3,) * (ndim + 1), "8", 1.5, np.nan, {})
    return fuzz.pick((None, None, 4, (7,) * ndim, 10**6))


def some_transform(fuzz: Fuzz) -> tuple[Any, Any]:
    """A transform of patches of an image, or None, and the patch shape, or None."""
    patch = fuzz.pick((None, None, 4, (3, 5), [2, 2], np.int64(3), 8, 1))
    if fuzz.spoil():
        wrong = (0, -1, (3,), "8", (2, 2, 2), 1.5, (4, 4.5), (8.9, 8.9), np.nan, {}, (None, 2))
        patch = fuzz.wrong("patch_shape", *wrong)
    n = 16 if patch is None or fuzz.bad else int(np.prod(np.broadcast_to(patch, 2)))
    if fuzz.spoil():
        return fuzz.not_a_transform("transform", n), patch
    if fuzz.chance(0.4):
        return fuzz.pick((fuzz.transform(n), fuzz.bank(n))), patch
    return None, patch


def least_side(patch: Any, transform: Any) -> int:
    """The shortest side of a patch."""
    if transform is not None and patch is None:
        return 4
    return 8 if patch is None or isinstance(patch, str | dict | float) else int(np.min(patch))


def check_restored(fuzz: Fuzz, restored: Array, array: Array) -> None:
    fuzz.expect(restored.shape == array.shape, "shape of x")
    fuzz.expect(restored.dtype.newbyteorder("=") == array.dtype, "type of x")
    if array.dtype.kind == "f":
        fuzz.expect(np.isfinite(restored).all(), "finite samples")
        low, high = min(0.0, float(array.min())), max(1.0, float(array.max()))
        room = 1e-2 * (high - low)
        fuzz.expect(low - room <= restored.min() and restored.max() <= high + room, "range")


@target(3)
def denoise_arrays(fuzz: Fuzz) -> None:
    given, array, ndim, axis = some_samples(fuzz)
    sigma = None if fuzz.chance(0.3) else fuzz.number("sigma", 0, 0.2, least=0)
    fuzz.bad = [b for b in fuzz.bad if b != "sigma=None"]
    options = {
        "channel_axis": some_axis(fuzz, axis),
        "patch_shape": some_patch(fuzz, ndim),
        "second_pass": fuzz.flag(),
        "random_state": fuzz.random_state(),
        "tile": some_tile(fuzz, ndim),
    }
    restored = fuzz.call(restoration.denoise, given, sigma, **options)
    check_restored(fuzz, restored, array)


@target(2)
def denoise_counts_and_impulses(fuzz: Fuzz) -> None:
    given, array, ndim, axis = some_samples(fuzz)
    sigma = None if fuzz.chance(0.5) else fuzz.number("sigma", 0, 0.2, least=0)
    noise = fuzz.choice("noise", ("poisson", "impulse"))
    is_given = noise == "poisson" and fuzz.chance(0.5)
    gain = fuzz.number("gain", 0.01, 10, least=0) if is_given else None
    fuzz.bad = [b for b in fuzz.bad if b not in ("sigma=None", "gain=None")]
    options = {
        "noise": noise,
        "channel_axis": some_axis(fuzz, axis),
        "patch_shape": some_patch(fuzz, ndim),
        "tile": some_tile(fuzz, ndim),
    }
    restored = fuzz.call(restoration.denoise, given, sigma, gain=gain, **options)
    fuzz.expect(restored.shape == array.shape and np.isfinite(restored).all(), "finite samples")
    kept = options["noise"] == "impulse" or array.dtype.kind == "f"
    fuzz.expect(kept == (restored.dtype.newbyteorder("=") == array.dtype), "floats for counts")


@target(2)
def denoise_images(fuzz: Fuzz) -> None:
    transform, patch = some_transform(fuzz)
    image, pixels = some_image(fuzz, "x", axes=False)
    span = float(np.ptp(pixels.astype(np.float64))) or 1.0
    sigma = None if fuzz.chance(0.3) else fuzz.number("sigma", 0, span / 5, least=0)
    fuzz.bad = [b for b in fuzz.bad if b != "sigma=None"]
    side = max(1, least_side(patch, transform) if not fuzz.bad else 1)
    options = {
        "transform": transform,
        "stride": fuzz.pair("stride", side, 2**31 - 1),
        "channel_axis": None if pixels.ndim == 2 else -1,
        "patch_shape": patch,
        "second_pass": fuzz.flag(),
        "quality": None if fuzz.chance(0.3) else fuzz.choice("quality", ("best", "fast")),
        "random_state": fuzz.random_state(),
    }
    restored = fuzz.call(restoration.denoise, image, sigma, **options)
    check_restored(fuzz, restored, pixels)
    if sigma is not None and pixels.size >= 64 and sigma <= span / 5:
        change = np.abs(restored.astype(np.float64) - pixels.astype(np.float64)).mean()
        fuzz.expect(change <= 0.5 * span, "an image that is similar to the noisy one")


def _by_denoiser(x: Any, sigma: Any, shape: Any, channel_axis: Any, patch_shape: Any) -> Array:
    made = restoration.Denoiser(shape, channel_axis=channel_axis, patch_shape=patch_shape)
    return made(x, sigma)


@target(2)
def denoiser(fuzz: Fuzz) -> None:
    given, array, ndim, axis = some_samples(fuzz)
    if array.dtype.itemsize > 8:
        fuzz.doubtful.append("wide floats")
    options = {"channel_axis": some_axis(fuzz, axis), "patch_shape": some_patch(fuzz, ndim)}
    sigma = fuzz.number("sigma", 0, 0.2, least=0)
    restored = fuzz.call(_by_denoiser, given, sigma, shape=array.shape, **options)
    fuzz.expect(restored.shape == array.shape and np.isfinite(restored).all(), "finite samples")


@target(2)
def inpaint_arrays(fuzz: Fuzz) -> None:
    given, array, ndim, axis = some_samples(fuzz)
    mask: Any = fuzz.rng.random(array.shape) < 0.3
    index = [0] * array.ndim
    if axis is not None:
        index[axis] = slice(None)  # type: ignore[call-overload]
    mask[tuple(index)] = False
    if fuzz.bad == ["x is masked"]:
        fuzz.bad, fuzz.doubtful = [], [*fuzz.doubtful, "perhaps no sample is observed"]
    elif fuzz.bad == ["x is not finite"]:
        fuzz.bad, fuzz.doubtful = [], [*fuzz.doubtful, "perhaps NaN is masked"]
    if fuzz.spoil():
        wrong = (np.ones_like(mask), mask * 1.0, "mask", mask[None], [[True], []], 3)
        mask = fuzz.wrong("mask", *wrong)
    method = fuzz.choice("method", ("shrinkage", "gaussian", "pursuit"), (("gaussian",),))
    options: dict[str, Any] = {"max_iter": fuzz.optional("max_iter", 0, 3, 2**31 - 1)}
    if method != "shrinkage":
        options = {}
        fuzz.bad = [b for b in fuzz.bad if not b.startswith("max_iter")]
    options |= {"channel_axis": some_axis(fuzz, axis), "patch_shape": some_patch(fuzz, ndim)}
    options |= {"n_nonzero_coefs": 1, "tile": some_tile(fuzz, ndim)}
    restored = fuzz.call(restoration.inpaint, given, mask, method=method, **options)
    if not fuzz.doubtful:
        fuzz.expect(np.array_equal(restored[~mask], array[~mask]), "unchanged observed samples")
        fuzz.expect(restored.dtype.newbyteorder("=") == array.dtype, "type of x")
        fuzz.expect(array.dtype.kind != "f" or np.isfinite(restored).all(), "finite samples")


@target(2)
def inpaint_images(fuzz: Fuzz) -> None:
    transform, patch = some_transform(fuzz)
    image, pixels = some_image(fuzz, "x", axes=False)
    mask: Any = fuzz.rng.random(fuzz.pick((pixels.shape, pixels.shape[:2]))) < 0.3
    mask.flat[0] = False
    if pixels.ndim == 3:
        mask[0, 0] = False
    if fuzz.spoil():
        wrong = (np.ones_like(mask), mask * 1.0, None, "mask", mask[None], [[True], []], 3)
        mask = fuzz.wrong("mask", *wrong)
        if mask is None and isinstance(image, np.ma.MaskedArray):  # which has a mask itself
            fuzz.bad.remove("mask=None")
            mask = np.ma.getmaskarray(image)
    method = fuzz.choice("method", ("shrinkage", "pursuit"))
    side = max(1, least_side(patch, transform) if not fuzz.bad else 1)
    n = side * side
    options: dict[str, Any] = {"patch_shape": patch, "random_state": fuzz.random_state()}
    options |= {"transform": transform, "channel_axis": None if pixels.ndim == 2 else -1}
    if method == "pursuit":
        options["n_nonzero_coefs"] = fuzz.integer("n_nonzero_coefs", 1, min(n, 3), max(n, 300))
        options["prior"] = fuzz.number("prior", 0, 1, least=0, most=1)
    else:
        options["max_iter"] = fuzz.optional("max_iter", 0, 3, 2**31 - 1)
    options["stride"] = None if fuzz.chance(0.3) else fuzz.pair("stride", side, 2**31 - 1)
    if options["stride"] is None:
        fuzz.bad = [b for b in fuzz.bad if b != "stride=None"]
    seen = None
    if getattr(mask, "shape", None) in (pixels.shape, pixels.shape[:2]):
        full = mask if mask.ndim == pixels.ndim else mask[..., None]
        seen = np.broadcast_to(full == 0, pixels.shape)
        if fuzz.bad == ["x is not finite"] and np.isfinite(np.asarray(image)[seen]).all():
            fuzz.bad, pixels = [], np.where(seen, image, 0.5)
        elif fuzz.bad == ["x is masked"]:  # masked samples are missing, too
            fuzz.bad, fuzz.doubtful = [], [*fuzz.doubtful, "perhaps no sample is observed"]
            seen = seen & ~np.ma.getmaskarray(image)
    restored = fuzz.call(restoration.inpaint, image, mask, method=method, **options)
    assert seen is not None
    check_restored(fuzz, restored, pixels)
    fuzz.expect(np.array_equal(restored[seen], pixels[seen]), "unchanged observed samples")


@target(3)
def estimate_sigma(fuzz: Fuzz) -> None:
    given, _, _, axis = some_samples(fuzz)
    options = {"channel_axis": some_axis(fuzz, axis), "spectrum": fuzz.flag()}
    sigma = fuzz.call(restoration.estimate_sigma, given, **options)
    fuzz.expect(isinstance(sigma, np.ndarray) == bool(options["spectrum"]), "a spectrum on request")
    fuzz.expect(np.all((sigma >= 0) & (sigma < np.inf)), f"a noise level, {sigma}")


@target(5)
def patches(fuzz: Fuzz) -> None:
    given, array, ndim, axis = some_samples(fuzz, finite=False)
    sides = list(array.shape)
    if axis is not None:
        sides.pop(axis)
    shape: Any = tuple(int(fuzz.rng.integers(1, min(k, 9) + 1)) for k in sides)
    if fuzz.spoil():
        shape = fuzz.wrong("patch_shape", 0, 10**6, (1,) * (ndim + 1), "a", 1.5, None)
    stride: Any = fuzz.pick((None, 1))
    if fuzz.spoil():
        stride = fuzz.wrong("stride", 0, -1, (1,) * (ndim + 1), "a", 1.5)
    channel_axis = some_axis(fuzz, axis)
    rows = fuzz.call(restoration.patches, given, shape, stride, channel_axis=channel_axis)
    first = np.moveaxis(array, axis, 0)[0] if axis is not None else array
    corner = first[tuple(slice(k) for k in shape)].ravel()
    fuzz.expect(np.array_equal(rows[0], corner.astype(rows.dtype)), "the first patch")
    again = restoration.assemble(rows, array.shape, shape, stride, channel_axis=axis)
    fuzz.expect(np.allclose(again, array.astype(rows.dtype), rtol=1e-5), "round trip")


@target(3)
def assemble(fuzz: Fuzz) -> None:
    height, width, side = (int(k) for k in fuzz.rng.integers(1, 9, 3))
    image = fuzz.rng.random((max(height, side), max(width, side)))
    # NaN and infinity are kept, as `patches` does.
    plain = restoration.patches(image, side)
    rows, plain = fuzz.array("patches", plain, precise=True, finite=False)
    shape: Any = image.shape
    if fuzz.spoil():
        wrong = ((), (3,), None, 5, "ab", (2.5, 3), (0, 4), (-1, 4), (2**40, 2**40), (1, 1, 1, 1))
        shape = fuzz.wrong("shape", *wrong)
    weights: Any = fuzz.pick((None, np.ones(len(plain)), np.full(plain.shape, 0.5)))
    if fuzz.spoil():
        wrong = (
            np.ones(3000),
            -np.ones(len(plain)),
            "w",
            3,
            [[1], [1, 2]],
            np.full(len(plain), np.nan),
        )
        weights = fuzz.wrong("weights", *wrong)
    patch = fuzz.pick((side, (side, side)))
    made = fuzz.call(restoration.assemble, rows, shape, patch, None, weights=weights)
    fuzz.close(made, image.astype(made.dtype), "the image", 10)


@target(1)
def pretrained(fuzz: Fuzz) -> None:
    name = fuzz.choice("name", ("patches-8x8", "patches-16x16"), (None, "patches-9x9"))
    made = fuzz.call(restoration.pretrained, name)
    fuzz.expect(made.n_features in (64, 256), "a transform")
