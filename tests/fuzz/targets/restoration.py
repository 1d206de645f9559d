"""Signals, pictures and volumes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fost import restoration
from tests.fuzz import forms
from tests.fuzz.judge import Fuzz
from tests.fuzz.targets import target
from tests.fuzz.targets.images import TYPES, check_restored

Array = NDArray[Any]
SIDES = {1: (1, 2, 9, 31, 64, 150), 2: (1, 5, 8, 17), 3: (1, 4, 5, 9)}
PATCHES = {1: (None, 16, (5,), 1), 2: (None, 4, (3, 5)), 3: (None, 2, (1, 3, 2), [2, 4, 4])}


def some_samples(fuzz: Fuzz, finite: bool = True) -> tuple[Any, Array, int, int | None]:
    """An array in some form, what it is, how many axes it has, and which is that of channels."""
    ndim = int(fuzz.pick((1, 2, 3)))
    shape = [int(fuzz.pick(SIDES[ndim])) for _ in range(ndim)]
    axis = None
    if fuzz.chance(0.3):
        axis = int(fuzz.rng.integers(-ndim - 1, ndim + 1))
        shape.insert(axis % (ndim + 1), int(fuzz.pick((1, 2, 3))))
    unit = np.clip(0.5 + 0.3 * np.sin(np.indices(shape).sum(axis=0) / 3), 0, 1)
    unit = np.clip(unit + 0.1 * fuzz.rng.standard_normal(shape), 0, 1)
    if fuzz.spoil():
        made, what = forms.bad(fuzz.rng, unit, finite=finite, columns=False)
        fuzz.bad.append(f"array is {what}")
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
        return fuzz.wrong("patch", 0, -1, (1,) * (ndim + 1), "8", 1.5, np.nan, {}, 2**40)
    return fuzz.pick(PATCHES[ndim])


def some_tile(fuzz: Fuzz, ndim: int) -> Any:
    if fuzz.spoil():
        return fuzz.wrong("tile", 0, -1, (3,) * (ndim + 1), "8", 1.5, np.nan, {})
    return fuzz.pick((None, None, 4, (7,) * ndim, 10**6))


@target(3)
def denoise_arrays(fuzz: Fuzz) -> None:
    given, array, ndim, axis = some_samples(fuzz)
    sigma = None if fuzz.chance(0.3) else fuzz.number("sigma", 0, 0.2, least=0)
    fuzz.bad = [b for b in fuzz.bad if b != "sigma=None"]
    options = {
        "channel_axis": some_axis(fuzz, axis),
        "patch": some_patch(fuzz, ndim),
        "second_pass": fuzz.flag(),
        "random_state": fuzz.random_state(),
        "tile": some_tile(fuzz, ndim),
    }
    restored = fuzz.call(restoration.denoise, given, sigma, **options)
    check_restored(fuzz, restored, array)


def _by_denoiser(array: Any, sigma: Any, shape: Any, channel_axis: Any, patch: Any) -> Array:
    made = restoration.Denoiser(shape, channel_axis=channel_axis, patch=patch)
    return made(array, sigma)


@target(2)
def denoiser(fuzz: Fuzz) -> None:
    given, array, ndim, axis = some_samples(fuzz)
    if array.dtype.itemsize > 8:
        fuzz.doubtful.append("wide floats")
    options = {"channel_axis": some_axis(fuzz, axis), "patch": some_patch(fuzz, ndim)}
    sigma = fuzz.number("sigma", 0, 0.2, least=0)
    restored = fuzz.call(_by_denoiser, given, sigma, shape=array.shape, **options)
    fuzz.expect(restored.shape == array.shape and np.isfinite(restored).all(), "finite samples")


@target(2)
def inpaint_arrays(fuzz: Fuzz) -> None:
    given, array, ndim, axis = some_samples(fuzz)
    missing: Any = fuzz.rng.random(array.shape) < 0.3
    index = [0] * array.ndim
    if axis is not None:
        index[axis] = slice(None)  # type: ignore[call-overload]
    missing[tuple(index)] = False
    if fuzz.bad == ["array is masked"]:
        fuzz.bad, fuzz.doubtful = [], [*fuzz.doubtful, "perhaps nothing is seen"]
    elif fuzz.bad == ["array is not finite"]:
        fuzz.bad, fuzz.doubtful = [], [*fuzz.doubtful, "perhaps what is not finite is missing"]
    if fuzz.spoil():
        wrong = (np.ones_like(missing), missing * 1.0, "mask", missing[None], [[True], []], 3)
        missing = fuzz.wrong("missing", *wrong)
    method = fuzz.choice("method", ("shrinkage", "gaussian", "pursuit"), (("gaussian",),))
    options: dict[str, Any] = {"max_iter": fuzz.optional("max_iter", 0, 3, 2**31 - 1)}
    if method != "shrinkage":
        options = {}
        fuzz.bad = [b for b in fuzz.bad if not b.startswith("max_iter")]
    options |= {"channel_axis": some_axis(fuzz, axis), "patch": some_patch(fuzz, ndim)}
    options |= {"n_nonzero_coefs": 1, "tile": some_tile(fuzz, ndim)}
    restored = fuzz.call(restoration.inpaint, given, missing, method=method, **options)
    if not fuzz.doubtful:
        fuzz.expect(np.array_equal(restored[~missing], array[~missing]), "observed samples stay")
        fuzz.expect(restored.dtype.newbyteorder("=") == array.dtype, "type of the array")
        fuzz.expect(array.dtype.kind != "f" or np.isfinite(restored).all(), "finite samples")


@target(2)
def noise_level_of_arrays(fuzz: Fuzz) -> None:
    given, _, _, axis = some_samples(fuzz)
    level = fuzz.call(restoration.noise_level, given, channel_axis=some_axis(fuzz, axis))
    fuzz.expect(isinstance(level, float) and 0 <= level < np.inf, f"a level, {level}")


@target(3)
def patches_of_arrays(fuzz: Fuzz) -> None:
    given, array, ndim, axis = some_samples(fuzz, finite=False)
    sides = list(array.shape)
    if axis is not None:
        sides.pop(axis)
    shape: Any = tuple(int(fuzz.rng.integers(1, min(k, 9) + 1)) for k in sides)
    if fuzz.spoil():
        shape = fuzz.wrong("shape", 0, 10**6, (1,) * (ndim + 1), "a", 1.5, None)
    stride = fuzz.pick((None, 1))
    function = fuzz.pick((restoration.patches, restoration.blocks))
    rows = fuzz.call(
        function,
        given,
        shape,
        stride,
        channel_axis=some_axis(fuzz, axis),
        then=lambda made: made if function is restoration.patches else _joined(made),
    )
    again = restoration.assemble(rows, array.shape, shape, stride, channel_axis=axis)
    fuzz.expect(np.allclose(again, array.astype(rows.dtype), rtol=1e-5), "there and back again")
    assembler = restoration.Assembler(array.shape, shape, stride, channel_axis=axis)
    fuzz.expect(assembler.n_patches == len(rows), "as many patches")


def _joined(made: Any) -> Array:
    return np.concatenate([block for _, block in made])
