"""An array in all the forms that somebody might hand over, good and bad."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import dask.array
import numpy as np
import pandas as pd
import scipy.sparse
from numpy.typing import NDArray

from tests import cases

Array = NDArray[Any]
Rng = np.random.Generator
INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
PRECISE = ["f4", "f8", "g"]
ANY = ["f4", "f4", "f8", "f2", "g", "bool", *INTEGERS]
FORMATS = ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"]


class Blocks:
    """Rows in blocks of at most three, whenever it is iterated."""

    def __init__(self, *blocks: Any) -> None:
        self.blocks = blocks

    def __iter__(self) -> Iterator[Any]:
        return iter(self.blocks)

    @classmethod
    def of(cls, values: Array) -> Blocks:
        return cls(*(values[k : k + 3] for k in range(0, len(values), 3)))


class Like:
    """Something that NumPy makes an array of, or that raises on the way."""

    def __init__(self, made: Any) -> None:
        self.made = made

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if isinstance(self.made, Exception):
            raise self.made
        return self.made if dtype is None else np.asarray(self.made, dtype)


class Subclass(np.ndarray[Any, Any]):
    pass


def good(rng: Rng, values: Array, lazy: bool, precise: bool = False) -> tuple[Any, Array]:
    """Values in a good form, and the float32 or float64 that fost should compute with.

    `precise` has no form that changes values by more than rounding to float32.
    """
    if rng.random() < 0.3:
        return values, values
    if rng.random() < 0.6:
        return _typed(rng, values, PRECISE if precise else ANY)
    plain = (
        values.astype(np.float32) if _fits(values, np.float32) and rng.random() < 0.3 else values
    )
    rows = len(plain) > 0
    makers: list[Callable[[], Any]] = [
        lambda: np.ma.array(plain),
        lambda: plain.view(Subclass),
        lambda: Like(plain),
        lambda: memoryview(np.ascontiguousarray(plain)),
        lambda: np.broadcast_to(plain, plain.shape),
    ]
    if rows and plain.dtype == np.float64:
        makers += [plain.tolist, lambda: tuple(map(tuple, plain)), lambda: list(plain)]
    if plain.ndim == 2:
        makers.append(lambda: pd.DataFrame(plain))
    if rows and plain.ndim == 2:
        makers.append(lambda: dask.array.from_array(plain, chunks=(3, max(1, plain.shape[1] // 2))))
        if lazy:
            makers += [lambda: Blocks.of(plain), lambda: Blocks(plain[:0], plain, plain[:0])]
    return _one_of(rng, makers)(), plain


def _typed(rng: Rng, values: Array, kinds: list[str]) -> tuple[Array, Array]:
    """Of any real type, in any layout."""
    kind = _one_of(rng, kinds)
    if kind == "bool":
        made = values > 0
    elif kind in INTEGERS:
        info = np.iinfo(kind)
        # Of 64 bits only what float64 holds: the rest is rounded, and by whom is not the question.
        bounds = max(info.min, -(2**53)), min(info.max, 2**53)
        made = np.clip(np.rint(np.clip(values, -1e15, 1e15) * 4), *bounds).astype(kind)
    else:
        made = values.astype(kind if _fits(values, kind) else "f8")
    plain = made.astype(np.float32 if np.can_cast(made.dtype, np.float32) else np.float64)
    if made.ndim == 2 and rng.random() < 0.6:
        made = _one_of(rng, list(cases.LAYOUTS.values()))(made)
    return made, plain


def bad(
    rng: Rng,
    values: Array,
    *,
    finite: bool = True,
    axes: bool = True,
    columns: bool = True,
    objects: bool = True,
    sparse: bool = True,
) -> tuple[Any, str]:
    """Something in the place of an array that must be refused, and what it is.

    Where they are false, the flags say that NaN, another number of axes or of columns, objects
    and strings that are numbers, or sparse arrays are no mistakes.
    """
    makers: dict[str, Callable[[], Any]] = {
        "complex": lambda: values + 1j,
        "strings": lambda: np.full(values.shape or (1,), "a"),
        "dates": lambda: np.zeros(values.shape, "datetime64[s]"),
        "records": lambda: np.zeros(values.shape, [("a", "f8"), ("b", "i4")]),
        "ragged": lambda: [[1.0, 2.0], [3.0]],
        "ragged arrays": lambda: [np.ones(2), np.ones((3, 2))],
        "None": lambda: None,
        "text": lambda: "signals",
        "bytes": lambda: b"signals",
        "a number": lambda: 3.0,
        "no axes": lambda: np.array(3.0),
        "an empty list": lambda: [],
        "a dict": lambda: {"a": [1.0]},
        "a set": lambda: {1.0, 2.0},
        "an iterator": lambda: iter(values.tolist()),
        "a class": lambda: np.ndarray,
        "a list of objects": lambda: [[object()]],
        "a list in itself": _in_itself,
        "an array that cannot be made (ValueError)": lambda: Like(ValueError("no such thing")),
        "an array that cannot be made (TypeError)": lambda: Like(TypeError("no such thing")),
        "an array that cannot be made (KeyError)": lambda: Like(KeyError("no such thing")),
        "an array that is none": lambda: Like("text"),
        "a frame of words": lambda: pd.DataFrame({"a": ["b", "c"]}),
        "huge integers": lambda: [[10**400] * max(1, values.shape[-1] if values.ndim else 1)],
    }
    if axes:
        makers["one axis"] = lambda: values.ravel()[:3]
        makers["too many axes"] = lambda: values[None, None, None]
    if objects:
        makers["objects"] = lambda: values.astype(object)
        makers["numbers as text"] = lambda: values.astype(str)
    if sparse and values.ndim == 2:
        kind, shape = _one_of(rng, FORMATS), _one_of(rng, ["array", "matrix"])
        makers[f"sparse {kind} {shape}"] = lambda: getattr(scipy.sparse, f"{kind}_{shape}")(values)
    if columns and values.ndim == 2:
        makers["too wide"] = lambda: np.pad(values, [(0, 0), (0, 1)])
        makers["too narrow"] = lambda: values[:, 1:]
        makers["blocks of two widths"] = lambda: Blocks(values, np.pad(values, [(0, 0), (0, 1)]))
    if values.size:
        if finite:
            makers["not finite"] = lambda: _spoilt(rng, values)
            makers["beyond float64"] = lambda: _beyond(values)
        makers["masked"] = lambda: _masked(rng, values)
    what = _one_of(rng, list(makers))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return makers[what](), what


def _spoilt(rng: Rng, values: Array) -> Array:
    spoilt = values.astype(_one_of(rng, ["f2", "f4", "f8", "g"]))
    spoilt.flat[rng.integers(spoilt.size)] = _one_of(rng, [np.nan, np.inf, -np.inf])
    return spoilt


def _masked(rng: Rng, values: Array) -> Any:
    mask = rng.random(values.shape) <= 0.5
    mask.flat[0] = True
    return np.ma.array(values, mask=mask)


def _beyond(values: Array) -> Any:
    beyond = values.astype(np.longdouble)
    beyond.flat[-1] = np.longdouble("1e400")
    # Where long doubles are doubles it is infinite already.
    return beyond


def _in_itself() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


def _fits(values: Array, dtype: Any) -> bool:
    """Whether values stay finite in a type."""
    with np.errstate(all="ignore"):
        return bool(np.isfinite(values.astype(dtype)).all())


def _one_of(rng: Rng, choices: list[Any]) -> Any:
    return choices[int(rng.integers(len(choices)))]
