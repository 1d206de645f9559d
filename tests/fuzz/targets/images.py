"""Pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fost import images
from tests.fuzz import forms
from tests.fuzz.judge import Fuzz
from tests.fuzz.targets import target
from tests.fuzz.targets.transforms import a_path

Array = NDArray[Any]
TYPES = ("u1", "u1", "u2", "i1", "i2", "i4", "i8", "u4", "u8", "f2", "f4", "f8", "f8", "g", "bool")


def some_picture(
    fuzz: Fuzz, name: str = "image", channels: int | None = None, finite: bool = True
) -> tuple[Any, Array]:
    """A picture in some form, and the array that it is."""
    height, width = (int(fuzz.pick((1, 2, 5, 8, 9, 12, 17, 20))) for _ in range(2))
    if channels is None:
        shape: tuple[int, ...] = fuzz.pick(((height, width), (height, width, fuzz.pick((1, 2, 3)))))
    else:
        shape = (height, width, channels)
    unit = np.clip(np.add.outer(np.linspace(0, 1, height), np.linspace(0, 1, width)) / 2, 0, 1)
    unit = np.broadcast_to(unit.reshape(height, width, *[1] * (len(shape) - 2)), shape)
    unit = np.clip(unit + 0.1 * fuzz.rng.standard_normal(shape), 0, 1)
    if fuzz.spoil():
        made, what = forms.bad(fuzz.rng, unit, finite=finite, columns=False)
        fuzz.bad.append(f"{name} is {what}")
        return made, unit
    kind = np.dtype(fuzz.pick(TYPES))
    if kind.kind in "iu":
        # Wide integers hold what pictures are: NumPy's default type for 8 or 16 bits.
        high = np.iinfo(kind).max if kind.itemsize <= 2 else fuzz.pick((255, 65535, 2**31 - 1))
        picture = np.rint(unit * high).astype(kind)
        if kind.itemsize > 2:
            fuzz.doubtful.append("wide integers")
    elif kind.kind == "b":
        picture = unit > 0.5
    else:
        scale = fuzz.pick((1, 1, 255, 1e-3, 1e4, 1e30 if kind.itemsize > 2 else 1, 1e-30, 1e200))
        scale = scale if np.isfinite(np.array(scale, kind)) else 1
        if not 1e-3 <= scale <= 1e4:
            fuzz.doubtful.append("scaled picture")
        picture = (unit * scale - fuzz.pick((0, 0, scale / 2))).astype(kind)
    return _in_some_form(fuzz, picture), picture


def _in_some_form(fuzz: Fuzz, picture: Array) -> Any:
    return fuzz.pick(
        (
            lambda p: p,
            lambda p: p.copy("F"),
            lambda p: p[::-1].copy()[::-1],
            lambda p: np.repeat(p, 2, axis=1)[:, ::2],
            lambda p: p.tolist() if p.dtype in (np.float64, np.int64, np.bool_) else p,
            lambda p: np.ma.array(p),
            lambda p: p.astype(p.dtype.newbyteorder()),
            lambda p: forms.Like(p),
        )
    )(picture)


def some_dictionary(fuzz: Fuzz) -> tuple[Any, Any]:
    """A dictionary for patches, or None, and the shape of a patch, or None."""
    patch = fuzz.pick((None, None, 4, (3, 5), [2, 2], np.int64(3), 8, 1))
    if fuzz.spoil():
        wrong = (0, -1, (3,), "8", (2, 2, 2), 1.5, (4, 4.5), (8.9, 8.9), np.nan, {}, (None, 2))
        patch = fuzz.wrong("patch", *wrong)
    n = 16 if patch is None or fuzz.bad else int(np.prod(np.broadcast_to(patch, 2)))
    if fuzz.spoil():
        return fuzz.not_a_transform("dictionary", n), patch
    if fuzz.chance(0.4):
        return fuzz.pick((fuzz.transform(n), fuzz.bank(n))), patch
    return None, patch


def side_of(patch: Any, dictionary: Any) -> int:
    if dictionary is not None and patch is None:
        return 4
    return 8 if patch is None or isinstance(patch, str | dict | float) else int(np.min(patch))


def check_restored(fuzz: Fuzz, restored: Array, picture: Array) -> None:
    fuzz.expect(restored.shape == picture.shape, "shape of the picture")
    fuzz.expect(restored.dtype.newbyteorder("=") == picture.dtype, "type of the picture")
    if picture.dtype.kind == "f":
        fuzz.expect(np.isfinite(restored).all(), "finite pixels")
        low, high = min(0.0, float(picture.min())), max(1.0, float(picture.max()))
        room = 1e-2 * (high - low)
        fuzz.expect(low - room <= restored.min() and restored.max() <= high + room, "range")


@target(2)
def denoise(fuzz: Fuzz) -> None:
    dictionary, patch = some_dictionary(fuzz)
    image, picture = some_picture(fuzz)
    span = float(np.ptp(picture.astype(np.float64))) or 1.0
    sigma = None if fuzz.chance(0.3) else fuzz.number("sigma", 0, span / 5, least=0)
    fuzz.bad = [b for b in fuzz.bad if b != "sigma=None"]
    side = max(1, side_of(patch, dictionary) if not fuzz.bad else 1)
    options = {
        "stride": fuzz.pair("stride", side, 2**31 - 1),
        "patch": patch,
        "second_pass": fuzz.flag(),
        "quality": None if fuzz.chance(0.3) else fuzz.choice("quality", ("best", "fast")),
        "random_state": fuzz.random_state(),
    }
    restored = fuzz.call(images.denoise, image, sigma, dictionary, **options)
    check_restored(fuzz, restored, picture)
    if sigma is not None and picture.size >= 64 and sigma <= span / 5:
        change = np.abs(restored.astype(np.float64) - picture.astype(np.float64)).mean()
        fuzz.expect(change <= 0.5 * span, "a picture that is like the one with noise")


@target(2)
def inpaint(fuzz: Fuzz) -> None:
    dictionary, patch = some_dictionary(fuzz)
    image, picture = some_picture(fuzz)
    missing: Any = fuzz.rng.random(fuzz.pick((picture.shape, picture.shape[:2]))) < 0.3
    missing.flat[0] = False
    if picture.ndim == 3:
        missing[0, 0] = False
    if fuzz.spoil():
        wrong = (np.ones_like(missing), missing * 1.0, None, "mask", missing[None], [[True], []], 3)
        missing = fuzz.wrong("missing", *wrong)
        if missing is None and isinstance(image, np.ma.MaskedArray):  # which says what is missing
            fuzz.bad.remove("missing=None")
            missing = np.ma.getmaskarray(image)
    method = fuzz.choice("method", ("shrinkage", "pursuit"))
    side = max(1, side_of(patch, dictionary) if not fuzz.bad else 1)
    n = side * side
    options: dict[str, Any] = {"patch": patch, "random_state": fuzz.random_state()}
    if method == "pursuit":
        options["n_nonzero_coefs"] = fuzz.integer("n_nonzero_coefs", 1, min(n, 3), max(n, 300))
        options["prior"] = fuzz.number("prior", 0, 1, least=0, most=1)
    else:
        options["max_iter"] = fuzz.optional("max_iter", 0, 3, 2**31 - 1)
    options["stride"] = None if fuzz.chance(0.3) else fuzz.pair("stride", side, 2**31 - 1)
    if options["stride"] is None:
        fuzz.bad = [b for b in fuzz.bad if b != "stride=None"]
    seen = None
    if getattr(missing, "shape", None) in (picture.shape, picture.shape[:2]):
        gaps = missing if missing.ndim == picture.ndim else missing[..., None]
        seen = np.broadcast_to(gaps == 0, picture.shape)
        if fuzz.bad == ["image is not finite"] and np.isfinite(np.asarray(image)[seen]).all():
            fuzz.bad, picture = [], np.where(seen, image, 0.5)
        elif fuzz.bad == ["image is masked"]:  # what is masked is missing, too
            fuzz.bad, fuzz.doubtful = [], [*fuzz.doubtful, "perhaps nothing is seen"]
            seen = seen & ~np.ma.getmaskarray(image)
    restored = fuzz.call(images.inpaint, image, missing, dictionary, method=method, **options)
    assert seen is not None
    check_restored(fuzz, restored, picture)
    fuzz.expect(np.array_equal(restored[seen], picture[seen]), "observed pixels stay")


@target(2)
def noise_level(fuzz: Fuzz) -> None:
    image, _ = some_picture(fuzz)
    level = fuzz.call(images.noise_level, image)
    fuzz.expect(isinstance(level, float) and 0 <= level < np.inf, f"a level, {level}")


@target(4)
def patches(fuzz: Fuzz) -> None:
    image, picture = some_picture(fuzz, finite=False)
    sides = picture.shape[:2]
    shape = fuzz.pair("shape", min(*sides, 8), max(sides))
    stride = None if fuzz.chance(0.3) else fuzz.pair("stride", 1, 2**31 - 1)
    if stride is None:
        fuzz.bad = [b for b in fuzz.bad if b != "stride=None"]
    function = fuzz.pick((images.patches, images.blocks))
    if function is images.patches:
        rows = fuzz.call(function, image, shape, stride)
    else:
        count = fuzz.optional("rows_per_block", 1, 5, 2**31 - 1)
        join = lambda made: np.concatenate([block for _, block in made])  # noqa: E731
        rows = fuzz.call(function, image, shape, stride, count, then=join)
    height, width = (int(k) for k in np.broadcast_to(shape, 2))
    fuzz.expect(rows.shape[1] == height * width, "pixels of a patch")
    first = picture[:height, :width].reshape(height, width, -1)[..., 0].ravel()
    fuzz.expect(np.array_equal(rows[0], first.astype(rows.dtype)), "the first patch")
    again = images.assemble(rows, picture.shape, (height, width), stride)
    want = picture.astype(rows.dtype)
    room = 1e-5 * np.abs(want).max()
    fuzz.expect((np.abs(again - want) <= room).all(), "patches make the picture again")


@target(2)
def assemble(fuzz: Fuzz) -> None:
    height, width, side = (int(k) for k in fuzz.rng.integers(1, 9, 3))
    picture = fuzz.rng.random((max(height, side), max(width, side)))
    # What is not finite is kept, as `patches` does.
    rows, plain = fuzz.array("patches", images.patches(picture, side), precise=True, finite=False)
    image_shape: Any = picture.shape
    if fuzz.spoil():
        wrong = ((), (3,), None, 5, "ab", (2.5, 3), (0, 4), (-1, 4), (2**40, 2**40), (1, 1, 1, 1))
        image_shape = fuzz.wrong("image_shape", *wrong)
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
    shape = fuzz.pick((None, side, (side, side)))
    made = fuzz.call(images.assemble, rows, image_shape, shape, None, weights)
    fuzz.close(made, picture.astype(made.dtype), "the picture", 10)


@target(2)
def assembler(fuzz: Fuzz) -> None:
    picture = fuzz.rng.random((7, 7))
    made = fuzz.call(images.Assembler, picture.shape, fuzz.pair("shape", 4, 7), 1)
    side = tuple(int(k) for k in made._grid.shape)
    for where, block in images.blocks(picture, side, 1, 2):
        if fuzz.spoil():
            wrong = (
                None,
                3,
                slice(0, 10**9),
                slice(None),
                slice(-1, 5),
                "all",
                slice(0, 1.5),
                (0, 1),
            )
            where = fuzz.wrong("where", *wrong)
        rows, _ = fuzz.array("patches", block, finite=False)
        fuzz.call(made.add, where, rows)
    made.result()


@target(3)
def psnr(fuzz: Fuzz) -> None:
    reference, plain = some_picture(fuzz, "reference")
    other = plain if fuzz.chance(0.3) else plain[::-1]
    data_range = fuzz.number("data_range", 1, 300, least=1e-300)
    if data_range is None:  # then it follows from the type, if that has a range
        fuzz.bad.remove("data_range=None")
        if plain.dtype.kind == "f" and not (plain.min() >= 0 and plain.max() <= 1):
            fuzz.doubtful.append("data_range")
    if fuzz.spoil():
        other = fuzz.wrong("image", plain[:0], plain[None], None, "a", np.nan * plain)
    found = fuzz.call(images.psnr, reference, other, data_range)
    if fuzz.doubtful or data_range is None:
        return
    mean = np.mean((plain.astype(np.float64) - other.astype(np.float64)) ** 2)
    want = 10 * np.log10(float(data_range) ** 2 / mean) if mean > 0 else np.inf
    fuzz.expect(found == want or abs(found - want) < 1e-6, f"decibels: {found}, not {want}")


@target(3)
def picture_format(fuzz: Fuzz) -> None:
    image, picture = some_picture(fuzz, finite=False)
    form = fuzz.call(images.PictureFormat.of, image)
    unit = form.to_unit(image)
    fuzz.expect(np.isfinite(unit).all() and unit.min() >= -1e-6 and unit.max() <= 1 + 1e-6, "unit")
    back = form.from_unit(unit)
    fuzz.expect(back.dtype == picture.dtype.newbyteorder("="), "type")
    room = 1e-3 * (float(picture.max()) - float(picture.min())) + (
        0 if back.dtype.kind == "f" else 1
    )
    gap = np.abs(back.astype(np.float64) - picture.astype(np.float64)).max()
    fuzz.expect(gap <= room, "there and back again")


@target(2)
def luma_chroma(fuzz: Fuzz) -> None:
    channels = 3
    if fuzz.spoil():
        channels = fuzz.wrong("image", 1, 2, 4)
    image, picture = some_picture(fuzz, channels=channels, finite=False)
    there = fuzz.pick((images.to_luma_chroma, images.from_luma_chroma))
    back = images.from_luma_chroma if there is images.to_luma_chroma else images.to_luma_chroma
    again = back(fuzz.call(there, image)).reshape(len(picture), -1)
    want = picture.reshape(len(picture), -1)
    fuzz.close(again, want.astype(again.dtype), "there and back again", 10)


@target(1)
def pretrained(fuzz: Fuzz) -> None:
    name = fuzz.choice("name", ("patches-8x8", "patches-16x16"), (None, "patches-9x9"))
    made = fuzz.call(images.pretrained, name)
    fuzz.expect(made.n_features in (64, 256), "a transform")


@target(2)
def files(fuzz: Fuzz) -> None:
    image, picture = some_picture(fuzz)
    suffix = fuzz.pick((".png", ".tiff", ".tif", ".jpg", ".bmp", ".webp", ".gif"))
    if suffix not in (".tiff", ".tif") or picture.dtype.itemsize > 8:
        fuzz.doubtful.append("kinds of files hold few types")
    if fuzz.spoil():
        suffix = fuzz.wrong("path", "", ".xyz", ".txt", ".PNGG")
    good = fuzz.folder / f"picture{suffix}"
    fuzz.call(images.write, a_path(fuzz, good), image, names=(good.stem,))
    found = fuzz.call(images.read, a_path(fuzz, good), names=(good.stem,))
    if suffix in (".tiff", ".tif", ".png") and picture.ndim == 2:
        fuzz.expect(np.array_equal(found, picture), "what was written")
    fuzz.expect(found.ndim in (2, 3) and found.size, "a picture")
