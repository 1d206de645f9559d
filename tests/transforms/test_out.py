"""Preallocated results of `forward`, `inverse` and `decode`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import fost
from tests import cases

N = 16
COLLECTIONS: dict[str, type[Any]] = {"bank": fost.Bank, "union": fost.Union}
Codes = Callable[[Any], Any]


def make_coder(kind: str) -> Any:
    rng = np.random.default_rng(0)
    if kind in COLLECTIONS:
        members = [cases.make_transform(each, N, rng) for each in ("dct", "dense", "chain")]
        return COLLECTIONS[kind](members)
    return cases.make_transform(kind, N, rng)


def make_signals(shape: tuple[int, ...], dtype: Any = np.float64) -> NDArray[Any]:
    return np.random.default_rng(1).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("shape", [(N,), (40, N), (3, 5, N), (0, N)])
@pytest.mark.parametrize("dtype", cases.DTYPES)
@pytest.mark.parametrize("kind", cases.KINDS)
def test_transforms_write_into_out(kind: str, dtype: Any, shape: tuple[int, ...]) -> None:
    transform, Y = make_coder(kind), make_signals(shape, dtype)
    for apply in (transform.forward, transform.inverse):
        expected, out = apply(Y), np.full_like(Y, np.nan)
        assert apply(Y, out=out) is out
        assert cases.same_bits(out, expected)


@pytest.mark.parametrize("kind", cases.KINDS)
def test_out_may_be_the_input(kind: str) -> None:
    transform, Y = make_coder(kind), make_signals((40, N))
    for apply in (transform.forward, transform.inverse):
        expected, out = apply(Y), Y.copy()
        assert apply(out, out=out) is out
        assert cases.same_bits(out, expected)
        both = np.concatenate([Y, Y[:1]])
        apply(both[:-1], out=both[1:])  # shifted by one row
        assert cases.same_bits(both[1:], expected)


@pytest.mark.parametrize("form", [np.asarray, lambda codes: codes], ids=["dense", "sparse"])
@pytest.mark.parametrize("n_entries", [1, 8])
@pytest.mark.parametrize("dtype", cases.DTYPES)
@pytest.mark.parametrize("kind", [*cases.KINDS, *COLLECTIONS])
def test_decode_writes_into_out(kind: str, dtype: Any, n_entries: int, form: Codes) -> None:
    coder, Y = make_coder(kind), make_signals((40, N), dtype)
    codes = coder.encode(Y, n_entries)
    given = codes.toarray() if form is np.asarray else codes
    expected, out = coder.decode(given), np.full_like(Y, np.nan)
    assert coder.decode(given, out=out) is out
    assert cases.same_bits(out, expected)


@pytest.mark.parametrize("kind", ["bank", "union"])
def test_members_decode_into_out(kind: str) -> None:
    coder, Y = make_coder(kind), make_signals((40, N))
    codes = coder.encode(Y, 3)
    expected, out = coder._decode_by_transforms(codes), np.full_like(Y, np.nan)
    assert coder._decode_by_transforms(codes, out) is out
    assert cases.same_bits(out, expected)


@pytest.mark.parametrize("kind", ["dct", "dense", "bank", "union"])
def test_decode_into_the_memory_of_the_codes(kind: str) -> None:
    coder, Y = make_coder(kind), make_signals((40, N))
    codes = coder.encode(Y, N)
    expected = coder.decode(codes)
    memory = np.empty((40, N))
    memory.ravel()[: codes.nnz] = codes.data
    codes.data = memory.ravel()[: codes.nnz]
    assert cases.same_bits(coder.decode(codes, out=memory), expected)


@pytest.mark.parametrize("layout", ["C order", "memory-mapped"])
def test_layouts_of_out_that_are_accepted(layout: str) -> None:
    transform, Y = make_coder("chain"), make_signals((40, N))
    out = cases.LAYOUTS[layout](Y)
    assert transform.forward(Y, out=out) is out
    assert cases.same_bits(np.asarray(out), transform.forward(Y))


BAD_OUT = {
    "list": (lambda Y: Y.tolist(), TypeError, "out must be an ndarray, got list"),
    "masked array": (np.ma.masked_array, TypeError, "out must be an ndarray, got MaskedArray"),
    "fewer rows": (lambda Y: Y[1:].copy(), ValueError, r"out must have shape \(5, 16\), got \(4"),
    "one axis": (lambda Y: Y.ravel(), ValueError, r"out must have shape \(5, 16\), got \(80,\)"),
    "other type": (lambda Y: Y.astype(np.float32), TypeError, "out must have dtype float64, got"),
    "byte-swapped": (cases.LAYOUTS["byte-swapped"], TypeError, "out must have dtype float64"),
    "Fortran order": (np.asfortranarray, ValueError, "out must be C-contiguous and aligned, got"),
    "unaligned": (cases.unaligned, ValueError, "out must be C-contiguous and aligned, got"),
    "read-only": (cases.read_only, ValueError, "out must be writable, got a read-only array"),
}


@pytest.mark.parametrize("case", BAD_OUT)
@pytest.mark.parametrize("kind", ["chain", "bank", "union"])
def test_invalid_out_is_refused(kind: str, case: str) -> None:
    make, error, message = BAD_OUT[case]
    coder, Y = make_coder(kind), make_signals((5, N))
    codes, out = coder.encode(Y, 2), make(Y.copy())
    calls = [lambda: coder.decode(codes, out=out), lambda: coder.decode(codes.toarray(), out=out)]
    if kind == "chain":
        calls += [lambda: coder.forward(Y, out=out), lambda: coder.inverse(Y, out=out)]
        calls += [lambda: coder._decode_by_transforms(codes, out)]
    for call in calls:
        with pytest.raises(error, match=message):
            call()


def test_errors_name_the_input_even_if_it_is_overwritten() -> None:
    transform, Y = make_coder("dct"), make_signals((40, N))
    Y[3, 2] = np.nan
    with pytest.raises(ValueError, match="Y contains NaN or infinity"):
        transform.forward(Y, out=Y)


def test_general_dictionaries_decode_into_out() -> None:
    dictionary = fost.baselines.GeneralDictionary(make_signals((24, N)))
    codes = dictionary.encode(make_signals((40, N)), 3)
    expected, out = dictionary.decode(codes), np.full((40, N), np.nan)
    assert dictionary.decode(codes, out=out) is out
    assert cases.same_bits(out, expected)
    with pytest.raises(ValueError, match="out must be writable"):
        dictionary.decode(codes, out=cases.read_only(out))
