"""What the tests are run on: transforms, signals and layouts, from sizes and a seed."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.typing import NDArray

import fost

Array = NDArray[Any]
Rng = np.random.Generator

# Tiles are 4 to 32 signals wide (times up to 17 with a dense stage): counts around them.
COUNTS = (0, 1, 7, 8, 9, 31, 32, 33, 65, 1000)
DTYPES = (np.float32, np.float64)
KINDS = ("identity", "householder", "givens", "dct", "dense", "chain", "dense chain")
KINDS += ("hadamard", "wavelet", "transposed")
SIGNALS = (
    "normal",
    "integers",
    "mostly zero",
    "zero rows",
    "constant",
    "huge",
    "denormal",
    "all scales",
)

n_features = st.integers(1, 300)
n_signals = st.sampled_from(COUNTS)
seeds = st.integers(0, 2**32 - 1)
dtypes = st.sampled_from(DTYPES)
kinds = st.sampled_from(KINDS)
signal_kinds = st.sampled_from(SIGNALS)


def random_vectors(rng: Rng, m: int, n: int) -> Array:
    """Unit rows in random directions."""
    vectors = rng.standard_normal((m, n))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def random_blocks(rng: Rng, g: int) -> Array:
    """2 x 2 rotations [[c, s], [-s, c]] and reflections [[c, s], [s, -c]], half of each."""
    angle, sign = rng.uniform(0, 2 * np.pi, g), rng.choice([-1, 1], g)
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([np.stack([c, s], 1), np.stack([-sign * s, sign * c], 1)], 1)


def random_pairs(rng: Rng, g: int, n: int) -> Array:
    """Pairs of two different features, in either order."""
    first = rng.integers(0, n, g)
    return np.stack([first, (first + rng.integers(1, n, g)) % n], axis=1)


def random_orthonormal(rng: Rng, n: int) -> Array:
    return np.linalg.qr(rng.standard_normal((n, n)))[0]


def random_shape(rng: Rng, n: int) -> tuple[int, ...]:
    """Axes whose lengths multiply to n."""
    shape = []
    while n > 1 and len(shape) < 3:
        divisors = [k for k in range(1, n + 1) if n % k == 0]
        shape.append(int(rng.choice(divisors)))
        n //= shape[-1]
    return (*shape, n)


def make_transform(kind: str, n: int, rng: Rng) -> fost.Transform:
    match kind:
        case "identity":
            return fost.Householder(np.zeros((0, n)))
        case "householder":
            return fost.Householder(random_vectors(rng, int(rng.integers(0, min(n, 20) + 1)), n))
        case "givens":
            if n == 1:  # has no pairs
                return make_transform("identity", n, rng)
            g = int(rng.integers(1, 3 * n))
            return fost.Givens(random_pairs(rng, g, n), random_blocks(rng, g), n)
        case "dct":
            return fost.DCT(random_shape(rng, n))
        case "dense":
            return fost.Dense(random_orthonormal(rng, n))
        case "chain":
            return fost.Chain([make_transform(k, n, rng) for k in ("dct", "givens", "householder")])
        case "dense chain":
            return fost.Chain([make_transform(k, n, rng) for k in ("dct", "dense", "householder")])
        case "hadamard" | "wavelet" if n % 2 or (kind == "hadamard" and n & (n - 1)):
            return make_transform("identity", n, rng)
        case "hadamard":
            return fost.Hadamard(random_shape(rng, n))
        case "wavelet":
            shape = random_shape(rng, n)
            name = str(rng.choice(["haar", "db2", "db4", "db7", "coif2"]))
            return fost.Wavelet(n if any(k % 2 and k > 1 for k in shape) else shape, name)
        case "transposed":
            return make_transform(str(rng.choice(KINDS[:-1])), n, rng).T
    raise ValueError(kind)


def make_signals(kind: str, count: int, n: int, dtype: Any, rng: Rng) -> Array:
    """Rows of the given kind; "normal" ones have unit norm."""
    Y = rng.standard_normal((count, n))
    match kind:
        case "normal":
            Y /= np.linalg.norm(Y, axis=1, keepdims=True)
        case "integers":  # many exact ties
            Y = rng.integers(-2, 3, (count, n)).astype(np.float64)
        case "mostly zero":
            Y[rng.random((count, n)) < 0.9] = 0
        case "zero rows":
            Y[rng.random(count) < 0.5] = 0
        case "constant":
            Y = np.repeat(rng.integers(-1, 2, (count, 1)) * 0.1, n, axis=1)
        case "huge":
            Y *= 1e30
        case "denormal":
            Y *= 1e-40 if dtype == np.float32 else 1e-310
        case "all scales":
            Y *= 10.0 ** rng.integers(-30, 31, (count, n))
        case _:
            raise ValueError(kind)
    return Y.astype(dtype)


def unaligned(Y: Array) -> Array:
    buffer = np.empty(Y.nbytes + 1, np.uint8)
    out = buffer[1:].view(Y.dtype).reshape(Y.shape)
    out[...] = Y
    return out


def record_field(Y: Array) -> Array:
    """Strides that are not a multiple of the size of an entry."""
    records = np.zeros(Y.shape, dtype=[("flag", np.int8), ("value", Y.dtype)])
    records["value"] = Y
    return records["value"]


def memory_mapped(Y: Array) -> Array:
    if not Y.size:
        return Y.copy()
    with tempfile.TemporaryFile() as file:
        out = np.memmap(file, dtype=Y.dtype, mode="w+", shape=Y.shape)
    out[...] = Y
    return out


def read_only(Y: Array) -> Array:
    out = Y.copy()
    out.flags.writeable = False
    return out


def inside(Y: Array, rows: slice, columns: slice, order: Any = "C") -> Array:
    """Y as a part of a larger array."""
    out = np.full((3 * Y.shape[0] + 3, 3 * Y.shape[1] + 3), np.nan, Y.dtype, order)
    out = out[rows, columns][: Y.shape[0], : Y.shape[1]]
    out[...] = Y
    return out


# Arrays of equal values that lie differently in memory.
LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "C order": lambda Y: Y.copy(order="C"),
    "Fortran order": lambda Y: Y.copy(order="F"),
    "read-only": read_only,
    "rows reversed": lambda Y: Y[::-1].copy()[::-1],
    "columns reversed": lambda Y: Y[:, ::-1].copy()[:, ::-1],
    "all reversed, Fortran order": lambda Y: Y[::-1, ::-1].copy(order="F")[::-1, ::-1],
    "every second column": lambda Y: inside(Y, slice(None), slice(1, None, 2)),
    "every third row": lambda Y: inside(Y, slice(2, None, 3), slice(None)),
    "every second row, Fortran order": lambda Y: inside(Y, slice(0, None, 2), slice(None), "F"),
    "inner rows and columns": lambda Y: inside(Y, slice(1, None), slice(2, None)),
    "unaligned": unaligned,
    "field of records": record_field,
    "byte-swapped": lambda Y: Y.astype(Y.dtype.newbyteorder()),
    "memory-mapped": memory_mapped,
}


def same_bits(a: Array, b: Array) -> bool:
    """Whether two arrays are equal to the last bit, the sign of zeros included."""
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def same_codes(a: Any, b: Any) -> bool:
    """Whether two csr_arrays are equal to the last bit."""
    return a.shape == b.shape and all(
        same_bits(getattr(a, name), getattr(b, name)) for name in ("data", "indices", "indptr")
    )


def device(name: str, folder: Path) -> Path:
    """A device that can be written to: "null" or "full".

    Never the system's own where it could be replaced: a fault in what is tested would take it
    away from all other programs. Who may do that may also make one in a folder of tests.
    """
    if os.access("/dev", os.W_OK):
        path = folder / f"device-{name}"
        try:
            os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, {"null": 3, "full": 7}[name]))
            path.open("wb").close()
        except OSError as error:
            pytest.skip(f"no devices can be made here: {error}")
        return path
    path = Path("/dev", name)
    if not path.is_char_device():
        pytest.skip(f"there is no {path}")
    return path
