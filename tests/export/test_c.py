"""Exported C code, compiled and compared with fost."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fost
from benchmarks import cortex_m
from fost.export import Quantised, to_c
from fost.export.c import c_size
from tests import cases

WARNINGS = ("-Wall", "-Wextra", "-Werror", "-pedantic")
COMPILERS = {
    "gcc": ("gcc", "-std=c99", "-x", "c"),
    "clang": ("clang", "-std=c99", "-x", "c"),
    "g++": ("g++", "-std=c++17", "-x", "c++"),
}
WRAPPERS = """
#include "transform.h"
void forward(int count, const transform_value *y, transform_value *x)
{
    for (; count--; y += TRANSFORM_N, x += TRANSFORM_N)
        transform_forward(y, MEMBER x);
}
void inverse(int count, const transform_value *x, transform_value *y)
{
    for (; count--; y += TRANSFORM_N, x += TRANSFORM_N)
        transform_inverse(x, MEMBER y);
}
void code(int count, const transform_value *y, int s, transform_index *index,
          transform_value *value, int *counts, transform_value *z)
{
    for (; count--; y += TRANSFORM_N, z += TRANSFORM_N, index += s, value += s) {
        *counts = transform_encode(y, s, index, value);
        transform_decode(index, value, *counts++, z);
    }
}
"""


def models() -> dict[str, fost.Coder]:
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((24, 24)))[0]

    def givens(n: int, g: int) -> fost.Givens:
        return fost.Givens(cases.random_pairs(rng, g, n), cases.random_blocks(rng, g), n)

    def reflectors() -> fost.Householder:
        return fost.Householder(cases.random_vectors(rng, 3, 24))

    members = [fost.DCT(24) @ givens(24, 10), fost.DCT(24) @ givens(24, 12), fost.DCT(24)]
    wavelets = {"wavelet": fost.Wavelet(32, "db2")} if find_spec("pywt") else {}
    return {
        **wavelets,
        "one feature": fost.DCT(1),
        "identity": fost.Givens([], [], 5),
        "DCT 12": fost.DCT(12),
        "DCT 15": fost.DCT(15),
        "DCT 128": fost.DCT(128),
        "DCT 2x6x4": fost.DCT((2, 6, 4)),
        "DCT and rotations": fost.DCT((8, 8)) @ givens(64, 64),
        "Hadamard": fost.Hadamard(32),
        "transposed Hadamard": fost.Hadamard(8).T,
        "reflectors": reflectors(),
        "transposed reflectors": reflectors().T,
        "rotations, then a DCT": fost.Chain([givens(24, 30), fost.DCT((4, 6))]),
        "transposed rotations": givens(24, 20).T,
        "dense": fost.Dense(Q),
        "chain": fost.Chain([givens(24, 9), fost.DCT(24).T, reflectors(), fost.Dense(Q)]),
        "bank": fost.Bank(members),
        "bank without a base": fost.Bank([fost.Dense(Q), fost.DCT((4, 6)), reflectors()]),
    }


MODELS = models()


def compiler(name: str) -> tuple[str, ...]:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    return COMPILERS[name]


class Library:
    """The functions of an exported header for arrays of signals."""

    def __init__(self, coder: fost.Coder, folder: Path, **options: Any) -> None:
        to_c(coder, folder / "transform.h", **options)
        source, library = folder / "wrappers.c", folder / "wrappers.so"
        source.write_text(WRAPPERS.replace("MEMBER", "0," if coder.n_members > 1 else ""))
        build = [*compiler("gcc"), *WARNINGS, "-O2", "-shared", "-fPIC", "-o", library, source]
        subprocess.run(build, check=True)
        self._library = ctypes.CDLL(str(library))
        self.n_atoms = coder.n_atoms

    def apply(self, name: str, Y: np.ndarray) -> np.ndarray:
        out = np.empty_like(Y)
        getattr(self._library, name)(len(Y), _pointer(Y), _pointer(out))
        return out

    def code(self, Y: np.ndarray, s: int) -> tuple[np.ndarray, np.ndarray]:
        """Dense codes and decoded signals."""
        index, value = np.zeros((len(Y), s), np.uint16), np.zeros((len(Y), s), Y.dtype)
        counts, decoded = np.zeros(len(Y), np.int32), np.empty_like(Y)
        arrays = index, value, counts, decoded
        self._library.code(len(Y), _pointer(Y), s, *map(_pointer, arrays))
        codes = np.zeros((len(Y), self.n_atoms), Y.dtype)
        for k, count in enumerate(counts):
            assert (np.diff(index[k, :count].astype(int)) > 0).all()
            codes[k, index[k, :count]] = value[k, :count]
        return codes, decoded


def _pointer(array: np.ndarray) -> ctypes.c_void_p:
    assert array.flags.c_contiguous
    return ctypes.c_void_p(array.ctypes.data)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [*((name, "float32") for name in MODELS), ("chain", "float64"), ("bank", "float64")],
)
def test_floating_point_code_equals_fost(
    name: str, dtype: str, tmp_path: Path, rng: np.random.Generator
) -> None:
    coder = MODELS[name]
    library = Library(coder, tmp_path, dtype=dtype)
    n = coder.n_features
    Y = rng.standard_normal((400, n)).astype(dtype)
    # Sums of n rounded products: 2^-24 sqrt(n) is 7e-7 for the longest signals.
    tolerance = (1e-6 if dtype == "float32" else 2e-15) * np.linalg.norm(Y, axis=1)
    member = coder.members[0]
    X = library.apply("forward", Y)
    assert (np.linalg.norm(X - member.forward(Y.astype(float)), axis=1) <= tolerance).all()
    assert (np.linalg.norm(library.apply("inverse", X) - Y, axis=1) <= 2 * tolerance).all()
    s = min(4, n)
    codes, decoded = library.code(Y, s)
    expected = coder.encode(Y.astype(float), s)
    assert np.array_equal(codes != 0, expected.toarray() != 0)
    assert (np.linalg.norm(codes - expected.toarray(), axis=1) <= tolerance).all()
    assert (np.linalg.norm(decoded - coder.decode(expected), axis=1) <= 2 * tolerance).all()


@pytest.mark.parametrize(
    ("name", "max_digits"),
    [*((name, None) for name in MODELS), ("DCT and rotations", 2), ("bank", 2)],
)
def test_integer_code_equals_quantised(
    name: str, max_digits: int | None, tmp_path: Path, rng: np.random.Generator
) -> None:
    coder = MODELS[name]
    library = Library(coder, tmp_path, integers=True, max_digits=max_digits)
    quantised = Quantised(coder, max_digits=max_digits)
    most, n = quantised.max_input, coder.n_features
    Y = rng.integers(-most, most + 1, (100, n)).astype(np.int32)
    Y[0], Y[1] = most, -most
    Y[2:4] = most * np.sign(coder.members[0].matrix.T[[0, -1]])  # the largest coefficients
    X = library.apply("forward", Y)
    assert np.array_equal(X, quantised.forward(Y))
    assert np.array_equal(library.apply("inverse", X), Y)
    s = min(4, n)
    codes, decoded = library.code(Y, s)
    assert np.array_equal(codes, quantised.encode(Y, s).toarray())
    fixed_point = quantised.decode(quantised.encode(Y, s)) * 2**quantised.fraction_bits
    assert np.array_equal(decoded, fixed_point)


@pytest.mark.parametrize("options", [{}, {"integers": True, "max_digits": 2}], ids=str)
@pytest.mark.parametrize("program", COMPILERS)
def test_self_test_passes_without_warnings(
    program: str, options: dict[str, Any], tmp_path: Path
) -> None:
    command = compiler(program)
    for name in ("one feature", "DCT and rotations", "bank"):
        header, binary = tmp_path / "model.h", tmp_path / "model"
        to_c(MODELS[name], header, name="model", overwrite=True, **options)
        flags = (*WARNINGS, "-O1", "-DFOST_SELF_TEST", "-o", binary, header)
        subprocess.run([*command, *flags], check=True)
        assert subprocess.run([binary]).returncode == 0, name


def test_self_test_notices_another_transform(tmp_path: Path) -> None:
    header, binary = tmp_path / "model.h", tmp_path / "model"
    to_c(fost.DCT((8, 8)), header, name="model")
    text = header.read_text()
    changed = text.replace("9.238795", "9.238695")
    assert changed != text
    header.write_text(changed)
    build = [*compiler("gcc"), "-DFOST_SELF_TEST", "-o", binary, header]
    subprocess.run(build, check=True)
    assert subprocess.run([binary]).returncode == 1


@pytest.mark.parametrize("integers", [False, True])
@pytest.mark.parametrize("core", cortex_m.CORES)
def test_self_test_passes_on_microcontrollers(core: str, integers: bool, tmp_path: Path) -> None:
    if missing := cortex_m.missing():
        pytest.skip(f"{missing} is not installed")
    to_c(MODELS["DCT and rotations"], tmp_path / "model.h", integers=integers)
    flags = (*WARNINGS, "-Os", "-DFOST_SELF_TEST")
    program = cortex_m.build(core, tmp_path / "model.h", *flags)
    assert cortex_m.run(core, program) == (0, 0)


def test_c_of_patches_fits_a_small_microcontroller() -> None:
    size = c_size(MODELS["DCT and rotations"])
    assert size.tables <= 900  # 64 rotations of 10 bytes, a DCT of 8 entries and the order
    assert size.stack == 256
    assert c_size(fost.Dense(np.eye(64))).tables > 64 * 64 * 4


@pytest.mark.parametrize(
    "options", [{"bits": 10}, {"fraction_bits": 3}, {"max_digits": 2}], ids=str
)
def test_settings_of_integers_need_integers(options: dict[str, int], tmp_path: Path) -> None:
    ((name, value),) = options.items()
    message = rf"{name} must be \w+ without integers=True, got {value}"
    with pytest.raises(ValueError, match=message):
        to_c(fost.DCT(4), tmp_path / "x.h", **options)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
    to_c(fost.DCT(4), tmp_path / "x.h", integers=True, **options)  # type: ignore[arg-type]


def test_files_are_never_replaced_unless_wanted(tmp_path: Path) -> None:
    path = tmp_path / "transform.h"
    path.write_text("mine")
    with pytest.raises(FileExistsError, match="exists already"):
        to_c(fost.DCT(4), path)
    link = tmp_path / "link.h"
    os.symlink(tmp_path / "nowhere.h", link)
    with pytest.raises(FileExistsError, match="exists already"):
        to_c(fost.DCT(4), link)
    assert path.read_text() == "mine"
    to_c(fost.DCT(4), path, overwrite=True)
    assert "transform_forward" in path.read_text()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.h", "transform.h"]


@pytest.mark.parametrize("name", ["", "a b", "2d", "_x", "x;", "é", "a\n", "a" * 41])
def test_names_must_be_identifiers(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="name must be a C identifier"):
        to_c(fost.DCT(4), tmp_path / "x.h", name=name)
    assert not list(tmp_path.iterdir())


def test_headers_have_no_text_from_the_model(tmp_path: Path) -> None:
    class Évil(fost.Transform):
        """A transform with an argument that would end a comment."""

        def __init__(self, note: str) -> None:
            self._note = note

        @property
        def note(self) -> str:
            return self._note

        n_features = 4  # type: ignore[assignment]
        matrix = np.eye(4)  # type: ignore[assignment]

    to_c(Évil("*/ #error"), tmp_path / "x.h")
    text = (tmp_path / "x.h").read_bytes()
    assert b"#error" not in text
    assert max(text) < 128


@pytest.mark.parametrize(
    ("coder", "error", "message"),
    [
        (fost.Union([fost.DCT(4), fost.Hadamard(4)]), TypeError, "must be a transform or a Bank"),
        (np.eye(4), TypeError, "must be a transform or a Bank"),
        (fost.DCT(2**15), ValueError, "at most 16384 features"),
        (fost.DCT(257), ValueError, "largest odd factor is at most 255"),
    ],
)
def test_coders_that_have_no_c_code(
    coder: Any, error: type[Exception], message: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        to_c(coder, tmp_path / "x.h")
    assert not list(tmp_path.iterdir())
