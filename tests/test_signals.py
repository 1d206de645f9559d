"""Lists of blocks, functions that yield them, and paths, wherever signals are taken."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

import fost
from tests.learning.test_learn import correlated

Y = correlated(300, 8)


def blocks():
    yield from np.array_split(Y, 4)


def halves(count, rows=Y):
    return np.array_split(rows, count)


class Recording:
    def parts(self):
        return iter(np.array_split(Y, 3))


FORMS = {
    "a list": list(blocks()),
    "a tuple": tuple(blocks()),
    "equally many rows": [Y[:150], Y[150:]],
    "one block": [Y],
    "a generator function": blocks,
    "a method": Recording().parts,
    "a partial function": partial(halves, 5),
    "a lambda": lambda: [Y[:100], Y[100:]],
}


@pytest.fixture(params=[*FORMS, "str .npy", "Path .npy", "str .zarr", "Path .NPY"])
def form(request, tmp_path):
    if request.param in FORMS:
        return FORMS[request.param]
    kind, suffix = request.param.split()
    path = tmp_path / f"signals{suffix}"
    if suffix == ".zarr":
        zarr = pytest.importorskip("zarr")
        zarr.create_array(str(path), data=Y, chunks=(100, 8))
    else:
        with open(path, "wb") as file:
            np.save(file, Y)
    return str(path) if kind == "str" else path


def test_they_are_the_signals(form):
    """Codes of the same signals are the same, learned transforms but for the order of sums."""
    here, there = (fost.learn(signals, fost.Reflectors(3), 2) for signals in (Y, form))
    np.testing.assert_allclose(there.errors, here.errors, rtol=0, atol=1e-8)
    dct = fost.DCT(8)
    assert (dct.encode(form, 2) != dct.encode(Y, 2)).nnz == 0
    fitted = fost.OrthonormalDictionary(2, max_iter=5).fit(form)
    assert fitted.score(form) == pytest.approx(fitted.score(Y), rel=1e-9)
    assert np.array_equal(fitted.transform(form), fitted.transform(Y))


@pytest.mark.parametrize(
    ("wrong", "error", "match"),
    [
        (blocks(), TypeError, "is an iterator, which can be read only once"),
        (lambda: 3, TypeError, "is a function, which must yield blocks, but it returned int"),
        (lambda k: [Y], TypeError, "is a function, which must yield blocks without arguments"),
        ([Y, Y[:, :5]], ValueError, "must have equally many columns, got 8 and 5"),
        ([Y[0], Y[1, :5]], ValueError, r"\b[XY]\b"),
        ("signals", ValueError, r"path to a .npy or .zarr file, got 'signals'"),
        (Path("photo.png"), ValueError, "got 'photo.png'"),
    ],
)
def test_others_are_refused_with_what_to_do(wrong, error, match):
    for call in (
        lambda: fost.learn(wrong, fost.Orthonormal(), 2),
        lambda: fost.DCT(8).encode(wrong, 2),
        lambda: fost.OrthonormalDictionary(2).fit(wrong),
    ):
        with pytest.raises(error, match=match):
            call()


def test_files_that_are_no_arrays(tmp_path):
    with pytest.raises(FileNotFoundError):
        fost.learn(tmp_path / "none.npy", fost.Orthonormal(), 2)
    bad = tmp_path / "bad.npy"
    bad.write_bytes(b"nothing of NumPy's")
    with pytest.raises(ValueError, match=r"^Y must be an array of numbers: cannot .*bad\.npy"):
        fost.learn(bad, fost.Orthonormal(), 2)
    np.save(bad, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"^Y must be an array of numbers: cannot .*bad\.npy"):
        fost.learn(bad, fost.Orthonormal(), 2)
    np.save(bad, np.zeros(5))
    with pytest.raises(ValueError, match="Y must have shape"):
        fost.learn(bad, fost.Orthonormal(), 2)
