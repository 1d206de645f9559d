"""Damaged and forged files: ``python -m tests.damage COUNT SEED``.

Takes one valid file of each kind (models of all kinds, checkpoints, codes, arrays, pictures) and
sparse arrays and pickles of transforms, damages them, and does with them what one does with such
files. That must end in a result that makes sense, or in ValueError, TypeError, OSError or
MemoryError; for commands, in exit code 0 or in one line and exit code 2. The work is done in a
process of its own with bounds on its memory and its time, and goes on in another one where it
dies. What is forged has its checksums made right, so that it gets past them.
"""

from __future__ import annotations

import faulthandler
import io
import json
import logging
import os
import pickle
import subprocess
import sys
import tempfile
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
import scipy.sparse

import fost
from fost import images
from fost.transforms import storage
from fost.transforms.registry import unpickle

# Bytes beyond what the process has when it starts, and seconds, for one file.
MEMORY = 2**31
SECONDS = 60
# What a library may raise for a bad file, and for bad arguments.
CLEAN = (ValueError, TypeError, OSError, MemoryError)

Random = np.random.Generator
N, S = 16, 3


# Valid things, and what one does with them ---------------------------------------------------


@dataclass(frozen=True)
class Kind:
    """Files of a kind: valid ones, ways to damage them, and what is done with them."""

    suffix: str
    valid: list[bytes]
    forge: Callable[[bytes, Random], bytes]
    use: Callable[[Path], str]


def transforms() -> list[Any]:
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((3, N))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    angles = rng.uniform(0, 6, 5)
    turns = np.array([[np.cos(angles), np.sin(angles)], [-np.sin(angles), np.cos(angles)]])
    pairs = np.array([rng.choice(N, 2, replace=False) for _ in range(5)])
    givens = fost.Givens(pairs, turns.transpose(2, 0, 1), N)
    dense = fost.Dense(np.linalg.qr(rng.standard_normal((N, N)))[0])
    chain = fost.Chain([fost.DCT((4, 4)), givens, fost.Householder(vectors)])
    return [
        fost.Householder(vectors),
        givens,
        fost.DCT((4, 4)),
        dense,
        chain,
        fost.Bank([chain, fost.Chain([fost.DCT((4, 4)), dense])]),
        fost.Bank([givens, givens, fost.DCT(N)]),
        fost.Bank([fost.Hadamard((4, 4)).T, fost.Wavelet((4, 4), "db2") @ chain.T]),
    ]


STRUCTURES = [
    fost.Orthonormal(),
    fost.Reflectors(3),
    fost.Reflectors("auto", orthogonal=True),
    fost.Rotations(5),
    fost.Rotations("auto"),
    fost.BankOf(fost.Rotations(4), 2),
]


def signals() -> np.ndarray:
    return np.cumsum(np.random.default_rng(1).standard_normal((60, N)), axis=1)


def picture() -> np.ndarray:
    y, x = np.mgrid[:18, :22]
    return np.rint(127 + 60 * np.sin(x / 3) * np.cos(y / 4) + 40 * (x > y)).astype(np.uint8)


def learn(structure: Any, path: Path) -> Any:
    state = np.random.Generator(
        np.random.MT19937(3) if "Reflectors" in repr(structure) else np.random.Philox(3)
    )
    return fost.learn(
        signals(), structure, S, max_iter=4, tol=0, random_state=state, checkpoint=path
    )


def use_model(path: Path) -> str:
    """Loads it, looks at it, and transforms signals there and back."""
    said = command("info", str(path), "--json")
    transform = fost.load(path)
    fost.transforms.read_metadata(path)
    n = transform.n_features
    if n * transform.n_atoms <= 2**16:
        Y = np.random.default_rng(2).standard_normal((5, n))
        for U in getattr(transform, "members", [transform]):
            check(np.allclose(U.inverse(U.forward(Y)), Y, atol=1e-3), "not orthonormal")
        codes = transform.encode(Y, min(3, n))
        check(np.isfinite(transform.decode(codes)).all(), "not finite")
    return said


def use_checkpoint(path: Path) -> str:
    # The file says which structure it is of; another one is refused, which is an outcome too.
    content = path.read_bytes()
    wanted = [s for s in STRUCTURES if repr(s).encode() in content.replace(b'\\"', b'"')]
    result = learn(wanted[0] if wanted else STRUCTURES[0], path)
    check(np.isfinite(result.errors).all(), "errors are not finite")
    for U in getattr(result.transform, "members", [result.transform]):
        check(np.abs(U.matrix.T @ U.matrix - np.eye(N)).max() < 1e-3, "not orthonormal")
    return "result"


def use_codes(path: Path) -> str:
    """Decodes them, as a picture and as an array: one of the two is wrong."""
    here = path.parent
    said = []
    for model, output in (("picture.safetensors", "out.tiff"), ("array.safetensors", "out.npy")):
        said.append(command("decode", str(here / model), str(path), "-o", str(here / output)))
        if said[-1] == "result":
            made = images.read(here / output) if output[-1] == "f" else np.load(here / output)
            check(made.dtype.kind in "biuf", "not numbers")
            os.remove(here / output)
    return "result" if "result" in said else said[0]


def use_array(path: Path) -> str:
    model = str(path.parent / "array.safetensors")
    return command("encode", model, str(path), "-o", str(path.parent / "c.npz"))


def use_picture(path: Path) -> str:
    model = str(path.parent / "picture.safetensors")
    said = command("encode", model, str(path), "-o", str(path.parent / "c.npz"))
    images.read(path)
    return said


def use_sparse(path: Path) -> str:
    """A sparse array that was made of what is in the file, whether or not it is one."""
    form, shape, parts = pickle.loads(path.read_bytes())
    codes = SPARSE[form]((6, N))
    for name, value in parts.items():
        if name != "_dict":
            setattr(codes, name, value)
        else:
            codes._dict = value
    codes._shape = shape
    for U in (fost.DCT(N), fost.Dense(np.eye(N))):
        decoded = U.decode(codes)
        check(decoded.shape == (shape[0], N) and np.isfinite(decoded).all(), "wrong result")
    return "result"


def use_pickle(path: Path) -> str:
    """The arguments of a pickled transform."""
    kind, arguments = pickle.loads(path.read_bytes())
    transform = unpickle(kind, arguments)
    Y = np.random.default_rng(2).standard_normal((5, transform.n_features))
    check(np.allclose(transform.inverse(transform.forward(Y)), Y, atol=1e-3), "not orthonormal")
    return "result"


def command(*arguments: str) -> str:
    said, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(said), redirect_stderr(errors):
        try:
            code = commands().main([*arguments, "--force"], "fost", standalone_mode=False)
        except Exception as error:
            raise Failure(f"a traceback: {error!r}") from error
    if code == 0:
        return "result"
    lines = [line for line in errors.getvalue().splitlines() if "fost: warning:" not in line]
    check(code == 2, f"exit code {code}: {lines}")
    check(len(lines) == 1 and lines[0].startswith("fost: "), f"not one line: {lines}")
    check(not said.getvalue(), "a result and an error")
    return "memory" if "not enough memory" in lines[0] else "refused"


@cache
def commands() -> Any:
    import typer.main

    from fost.cli.app import app

    return typer.main.get_command(app)


class Failure(AssertionError):
    """An outcome that must not be."""


def check(holds: Any, what: str) -> None:
    if not holds:
        raise Failure(what)


# Ways to damage things -----------------------------------------------------------------------

NUMBERS = [0, 1, -1, 2, 7, N, N + 1, 255, 2**16, 10**8, 2**30, 2**31 - 1, 2**31, 2**32, -(2**31)]
NUMBERS += [2**53, 2**62, 2**63 - 1, 2**63, 2**64, -(2**63), 10**30]
REALS = [0.0, -0.0, 1e-310, 0.5, 1.5, 1e5, 1e30, 1e300, 1.7e308, float("nan"), float("inf")]
TEXTS = ["", "O", "|O", "<f8", ">i4", "f4,f4", "U9", "M8[s]", "csr", "image", "array", "auto"]
TEXTS += ["float128", "x" * 3000, "\x00", "\x1b[2J", "{{script}}", "\ud800", "8x8", "dct", "bank"]
TYPES = ["<f4", "<f8", ">f8", "<f2", "<i4", "<i8", "|u1", "<u8", "|b1", "<c16", "|S3", "<U2"]
SPARSE: dict[str, Any] = {
    name: getattr(scipy.sparse, f"{name}_{kind}")
    for name, kind in zip(
        ("csr", "csc", "bsr", "coo", "lil", "dok", "dia"), ("array", "matrix") * 4, strict=False
    )
}


def pick(rng: Random, options: Any) -> Any:
    return options[int(rng.integers(len(options)))]


def nasty(rng: Random, depth: int = 0) -> Any:
    """Something that JSON can hold."""
    kind = int(rng.integers(8 if depth < 3 else 5))
    simple = [None, True, pick(rng, NUMBERS), pick(rng, REALS), pick(rng, TEXTS)]
    if kind < 5:
        return simple[kind]
    if kind == 5:
        return [nasty(rng, depth + 1)] * int(pick(rng, [0, 1, 2, 3, 70, 2000]))
    if kind == 6:
        return {pick(rng, TEXTS): nasty(rng, depth + 1)}
    return [nasty(rng, depth + 1), nasty(rng, depth + 1)]


def changed_json(value: Any, rng: Random) -> Any:
    """Plain data with one place changed."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = pick(rng, list(value))
        if rng.random() < 0.07:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: changed_json(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.85:
        place = int(rng.integers(len(value)))
        if rng.random() < 0.15:
            return [
                *value[:place],
                *value[place : place + 1] * pick(rng, [0, 2, 500]),
                *value[place:],
            ]
        return [*value[:place], changed_json(value[place], rng), *value[place + 1 :]]
    if isinstance(value, int) and rng.random() < 0.4:
        return value + int(rng.integers(-3, 4))
    return nasty(rng)


def changed_text(text: str, rng: Random) -> str:
    """JSON with something changed, or nested too deeply."""
    if rng.random() < 0.04:
        depth = pick(rng, [20, 900, 100_000])
        opening, closing = pick(rng, [("[", "]"), ('{"members": [', "]}"),
                                      ('{"kind": "chain", "members": [', "]}")])  # fmt: skip
        return opening * depth + pick(rng, ["", text]) + closing * depth
    if rng.random() < 0.04:
        return text[: int(rng.integers(len(text) + 1))]
    return json.dumps(changed_json(json.loads(text), rng))


def changed_array(array: Any, rng: Random) -> np.ndarray:
    """Other numbers, another type or another shape."""
    array = np.array(array)
    for _ in range(int(rng.integers(1, 3))):
        way = int(rng.integers(7))
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                if way < 3 and array.size:
                    values = REALS if array.dtype.kind == "f" else NUMBERS
                    count = pick(rng, [1, 1, 2, array.size])
                    array.flat[rng.integers(array.size, size=count)] = pick(rng, values)
                elif way == 3:
                    array = array.astype(pick(rng, TYPES))
                elif way == 4:
                    array = np.concatenate(
                        [array, array[-1:]] if rng.random() < 0.5 else [array[:-1]]
                    )
                elif way == 5:
                    array = pick(
                        rng, [array.ravel(), array[None], array.T, array[:0], array[..., :0]]
                    )
                else:
                    array = np.tile(array, pick(rng, [2, 50]))
            except (ValueError, TypeError, OverflowError, IndexError):
                pass
    return np.ascontiguousarray(array)


def changed_bytes(content: bytes, rng: Random) -> bytes:
    """Flipped bits, missing ends, runs of something else."""
    data = bytearray(content)
    for _ in range(int(pick(rng, [1, 1, 2, 10]))):
        if not data:
            break
        place = int(rng.integers(len(data)))
        way = int(rng.integers(6))
        if way < 2:
            data[place] ^= 1 << int(rng.integers(8))
        elif way == 2:
            data[place] = pick(rng, [0, 1, 127, 128, 255])
        elif way == 3:
            data[place : place + 8] = int(pick(rng, NUMBERS) % 2**64).to_bytes(8, "little")
        elif way == 4:
            del data[place : place + int(pick(rng, [1, 8, len(data)]))]
        else:
            start = int(rng.integers(len(data)))
            data[place:place] = data[start : start + int(pick(rng, [1, 8, 100]))]
    return bytes(data)


def forged_model(content: bytes, rng: Random) -> bytes:
    """With its checksum made right; that of a checkpoint too."""
    size = int.from_bytes(content[:8], "little")
    header = dict(json.loads(content[8 : 8 + size])["__metadata__"])
    arrays = safetensors.numpy.load(content)
    text = "state" if "state" in header else "structure"
    for _ in range(int(rng.integers(1, 3))):
        if arrays and rng.random() < 0.45:
            name = pick(rng, sorted(arrays))
            way = rng.random()
            if way < 0.08:
                del arrays[name]
            elif way < 0.14:
                arrays[pick(rng, sorted(arrays)) + pick(rng, ["", ".0", "x"])] = arrays[name]
            else:
                arrays[name] = changed_array(arrays[name], rng)
        elif "metadata" in header and rng.random() < 0.2:
            header["metadata"] = changed_text(header["metadata"], rng)
        else:
            try:
                header[text] = changed_text(header[text], rng)
            except ValueError:
                break  # it is no JSON any more
    header[text] = header[text].encode(errors="replace").decode()
    arrays = {k: v for k, v in arrays.items() if v.dtype.kind not in "SUcV" and v.dtype.isnative}
    if rng.random() < 0.95:
        header["checksum"] = storage.digest(header[text], arrays)
    made = safetensors.numpy.save(arrays, header)
    if rng.random() < 0.1:  # shapes, types and places of arrays, which their checksum has too
        size = int.from_bytes(made[:8], "little")
        forged = json.dumps(changed_json(json.loads(made[8 : 8 + size]), rng)).encode()
        made = len(forged).to_bytes(8, "little") + forged + made[8 + size :]
    return made


def forged_array(content: bytes, rng: Random) -> bytes:
    """An .npy file with another header or with other numbers."""
    array = np.load(io.BytesIO(content))
    if rng.random() < 0.4:
        array = changed_array(array, rng)
    buffer = io.BytesIO()
    np.save(buffer, array)
    made = buffer.getvalue()
    return forged_header(made, rng) if rng.random() < 0.7 else made


def forged_header(content: bytes, rng: Random) -> bytes:
    length = int.from_bytes(content[8:10], "little")
    header, body = content[10 : 10 + length].decode("latin1"), content[10 + length :]
    fields = {"descr": "'<f8'", "fortran_order": "False", "shape": f"(60, {N})"}
    name = pick(rng, list(fields))
    deep = pick(rng, [10, 150, 3000])
    fields[name] = pick(
        rng,
        [
            repr(nasty(rng)),
            repr(tuple(int(pick(rng, NUMBERS)) for _ in range(int(rng.integers(4))))),
            repr(pick(rng, ["|O", "<f4", ">f8", "<i8", "|V8", "<U4", "<M8[D]", "|b1", "<c16"])),
            "[('a', '<f4'), ('b', '|O')]",
            "(" * deep + ")" * deep,
            "-" * deep + "1",
            "[" * deep,
            "{" + "1:{" * deep,
            "'''",
            "60L, 16L",
            "9" * deep,
            "0x1if 1else 2",
            "'\\d'",
        ],
    )
    header = "{" + ", ".join(f"'{key}': {value}" for key, value in fields.items()) + "}"
    raw = header.encode("utf-8", "replace") + b"\n"
    if rng.random() < 0.1:
        version = bytes([int(pick(rng, [0, 2, 3, 9])), 0])
        return content[:6] + version + len(raw).to_bytes(4, "little") + raw + body
    return content[:8] + (len(raw) % 2**16).to_bytes(2, "little") + raw + body


def forged_codes(content: bytes, rng: Random) -> bytes:
    """An .npz file whose parts, or whose list of parts, are not what they should be."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    arrays = {name[:-4]: np.load(io.BytesIO(data)) for name, data in members.items()}
    for _ in range(int(rng.integers(1, 3))):
        name = pick(rng, sorted(arrays))
        way = rng.random()
        if way < 0.05:
            members.pop(f"{name}.npy", None)
        elif way < 0.15:
            members[f"{name}.npy"] = forged_header(members.get(f"{name}.npy", b" " * 20), rng)
        elif way < 0.2:
            members[f"{name}.npy"] = changed_bytes(members.get(f"{name}.npy", b""), rng)
        else:
            if name == "metadata" or way < 0.5:
                name = "metadata"
                text = json.dumps(changed_json(json.loads(str(arrays[name])), rng))
                made = np.array(text.encode(errors="replace").decode())
                if way < 0.23:
                    deep = pick(rng, [500, 100_000])
                    made = np.array("[" * deep + "]" * deep)
            else:
                made = changed_array(arrays[name], rng)
            buffer = io.BytesIO()
            np.save(buffer, made)
            members[f"{name}.npy"] = buffer.getvalue()
    if rng.random() < 0.03:  # a bomb
        name = pick(rng, sorted(members))
        members[name] = members[name][:118] + bytes(int(pick(rng, [10**6, 10**8])))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            way = int(pick(rng, [0, 8, 8, 8, 12, 14] if rng.random() < 0.1 else [0, 8]))
            archive.writestr(zipfile.ZipInfo(name), data, compress_type=way)
            if rng.random() < 0.03:  # what the list at the end says, which is what is believed
                info = archive.getinfo(name)
                info.file_size = abs(int(pick(rng, NUMBERS))) % 2**32
                info.flag_bits |= int(pick(rng, [0, 1, 64]))
    return buffer.getvalue()


def forged_picture(content: bytes, rng: Random) -> bytes:
    """A PNG with other chunks, or a TIFF with other tags."""
    import zlib

    data = bytearray(content)
    if content[:4] == b"\x89PNG":
        where = pick(rng, [16, 20, 24, 25, 26, 28])  # width, height, depth, colours, methods
        if where < 24:
            data[where : where + 4] = (pick(rng, NUMBERS) % 2**32).to_bytes(4, "big")
        else:
            data[where] = int(rng.integers(256))
        data[29:33] = zlib.crc32(data[12:29]).to_bytes(4, "big")
        return bytes(data)
    start = int.from_bytes(data[4:8], "little")
    count = int.from_bytes(data[start : start + 2], "little")
    for _ in range(int(rng.integers(1, 3))):
        tag = start + 2 + 12 * int(rng.integers(count))
        place, size = pick(rng, [(0, 2), (2, 2), (4, 4), (8, 4), (8, 4), (8, 4)])
        number = int(pick(rng, [*NUMBERS, 3, 4, 5, 6, 8, 32773, 50000])) % 2 ** (8 * size)
        data[tag + place : tag + place + size] = number.to_bytes(size, "little")
    return bytes(data)


def forged_sparse(content: bytes, rng: Random) -> bytes:
    form, shape, parts = pickle.loads(content)
    for _ in range(int(rng.integers(1, 3))):
        if rng.random() < 0.1:
            shape = tuple(int(abs(pick(rng, NUMBERS)) % 2**40) for _ in shape)[:2]
            continue
        name = pick(rng, sorted(parts))
        value = parts[name]
        if name == "_dict":
            keys = [(int(pick(rng, NUMBERS)), int(pick(rng, NUMBERS))), (0, N), (5, 0), (6, 0)]
            value = {**value, pick(rng, keys): pick(rng, [1.0, 2])}
        elif getattr(value, "dtype", None) == np.dtype(object):
            value = value.copy()
            row = int(rng.integers(len(value)))
            value[row] = pick(rng, [[*value[row], pick(rng, NUMBERS)], [pick(rng, NUMBERS)] * 3, [],
                                    [*value[row], 1.5], None, "ab"])  # fmt: skip
            if rng.random() < 0.1:
                value = value[:-1]
        elif isinstance(value, tuple):
            value = tuple(changed_array(entry, rng) for entry in value)
        else:
            value = changed_array(value, rng)
        parts[name] = value
    return pickle.dumps((form, shape, parts))


def forged_pickle(content: bytes, rng: Random) -> bytes:
    kind, arguments = pickle.loads(content)
    name = pick(rng, sorted(arguments))
    value = arguments[name]
    made = changed_array(value, rng) if isinstance(value, np.ndarray) else nasty(rng)
    return pickle.dumps((kind, {**arguments, name: made}))


# The kinds, and the run ----------------------------------------------------------------------


def kinds(folder: Path) -> dict[str, Kind]:
    """All kinds; what commands need beside the files is written to the folder."""
    models, states = [], []
    for k, transform in enumerate(transforms()):
        transform.save(
            folder / "made", {"patch_shape": "4x4", "usage": "0.5 0.5"} if k % 2 else None
        )
        models.append((folder / "made").read_bytes())
    for k, structure in enumerate(STRUCTURES):
        learn(structure, folder / f"state{k}")
        states.append((folder / f"state{k}").read_bytes())
        os.remove(folder / f"state{k}")
    fost.DCT((4, 4)).save(folder / "picture.safetensors", {"n_nonzero_coefs": "3"})
    transforms()[3].save(folder / "array.safetensors", {"n_nonzero_coefs": "3"})
    np.save(folder / "array.npy", signals())
    images.write(folder / "picture.png", picture())
    images.write(folder / "picture.tiff", np.stack([picture()] * 3, axis=2))
    for name, data in (
        ("picture", "picture.png"),
        ("picture", "picture.tiff"),
        ("array", "array.npy"),
    ):
        check(
            command("encode", str(folder / f"{name}.safetensors"), str(folder / data), "-o",
                    str(folder / f"{data}.npz")) == "result", "a valid file was refused",
        )  # fmt: skip
    sparse = []
    dense = np.where(np.arange(6 * N).reshape(6, N) % 5, 0.0, 1.5)
    for form, kind in SPARSE.items():
        codes = kind(dense)
        if form == "bsr":
            codes = codes.tobsr((2, 4))
        names = {"coo": ("data", "coords"), "lil": ("data", "rows"), "dia": ("data", "offsets")}
        names |= {"dok": ("_dict",)}
        found = {n: getattr(codes, n) for n in names.get(form, ("data", "indices", "indptr"))}
        sparse.append(pickle.dumps((form, (6, N), found)))
    arguments = [pickle.dumps((type(t), t.arguments())) for t in transforms()[:4]]
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    pictures = [files["picture.png"], files["picture.tiff"]]
    codes = [content for name, content in files.items() if name.endswith(".npz")]
    return {
        "model": Kind(".safetensors", models, forged_model, use_model),
        "checkpoint": Kind(".state", states, forged_model, use_checkpoint),
        "codes": Kind(".npz", codes, forged_codes, use_codes),
        "array": Kind(".npy", [files["array.npy"]], forged_array, use_array),
        "picture": Kind(".png", pictures, forged_picture, use_picture),
        "sparse": Kind(".pickle", sparse, forged_sparse, use_sparse),
        "pickle": Kind(".pickle", arguments, forged_pickle, use_pickle),
    }


# Pickles are forged only, since damaged ones may do anything.
SHARES = {"model": 5, "checkpoint": 3, "codes": 5, "array": 2, "picture": 2, "sparse": 3}
SHARES |= {"pickle": 1}
_NEVER_BROKEN = ("sparse", "pickle")


def damaged(found: dict[str, Kind], seed: int, case: int) -> tuple[str, bytes]:
    """The kind and the content of a damaged file, by its number."""
    rng = np.random.default_rng([seed, case])
    name = pick(rng, [name for name, share in SHARES.items() for _ in range(share)])
    kind = found[name]
    content = pick(rng, kind.valid)
    if name in _NEVER_BROKEN or rng.random() < 0.75:
        try:
            return name, kind.forge(content, rng)
        except Exception:  # some things cannot be written
            if name in _NEVER_BROKEN:
                return name, content
    return name, changed_bytes(content, rng)


def outcome(kind: Kind, name: str, content: bytes, folder: Path) -> str:
    """What becomes of a damaged file: "result", "refused", "memory", or a failure in words."""
    path = folder / f"damaged{kind.suffix}"
    path.write_bytes(content)
    before = set(os.listdir(folder))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            said = kind.use(path)
    except MemoryError:
        said = "memory"
    except CLEAN:
        said = "refused"
    except Exception as error:
        return f"FAILED {name}: {type(error).__name__}: {str(error)[:300]}"
    left = set(os.listdir(folder)) - before - {"c.npz"}
    return f"FAILED {name}: left behind {left}" if left else said


def work(first: int, count: int, seed: int) -> None:
    """The cases `first` to first + count - 1, a line on stdout before and after each."""
    import resource

    logging.getLogger("tifffile").disabled = True
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        found = kinds(folder)
        for kind in found.values():  # valid files first: all is imported before there is a limit
            for content in kind.valid:
                said = outcome(kind, "valid", content, folder)
                if said != "result":
                    sys.exit(f"a valid file was refused: {said}")
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        for case in range(first, first + count):
            name, content = damaged(found, seed, case)
            print(f"{case} begins {name}", flush=True)
            faulthandler.dump_traceback_later(SECONDS, exit=True)
            said = outcome(found[name], name, content, folder)
            faulthandler.cancel_dump_traceback_later()
            print(f"{case} ends {name} {said}".replace("\n", " "), flush=True)


def run(
    count: int, seed: int, tell: Callable[[str], None] = lambda text: None
) -> tuple[Counter[str], list[str]]:
    """All cases, in as many processes as it takes: outcomes by kind, and the failures."""
    outcomes: Counter[str] = Counter()
    failures: list[str] = []

    def fail(text: str) -> None:
        failures.append(text)
        tell(text)

    done = 0
    while done < count:
        first, began = done, None
        with tempfile.TemporaryFile("w+") as errors:
            worker = subprocess.Popen(
                [sys.executable, "-m", "tests.damage", "--work",
                 *map(str, (done, count - done, seed))],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                errors="replace",
            )  # fmt: skip
            with worker as child:
                assert child.stdout is not None
                for line in child.stdout:
                    number, step, name, *said = line.split(" ", 3)
                    if step == "begins":
                        began = f"case {number} of seed {seed}, a damaged {name.strip()}"
                        continue
                    done, began = int(number) + 1, None
                    result = said[0].strip()
                    outcomes[f"{name}: {result.split(' ')[0]}"] += 1
                    if done % 1000 == 0:
                        tell(f"{done} damaged files, {len(failures)} failures so far")
                    if result.startswith("FAILED"):
                        fail(f"case {number} of seed {seed}: {result}")
            code = worker.returncode
            errors.seek(0)
            told = errors.read()[-2000:]
        if began is not None:
            fail(f"{began} ended the process, {code}: {told}")
            done += 1
        elif code and done > first:  # memory that a case before has spoilt
            fail(f"the process of cases {first} to {done} ended, {code}: {told}")
        elif code:
            raise RuntimeError(f"the worker failed, {code}: {told}")
    return outcomes, failures


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--work"]:
        work(*map(int, arguments[1:]))
        return 0
    count, seed = (int(argument) for argument in (*arguments, "1000", "0")[:2])
    outcomes, failures = run(count, seed, lambda text: print(text, flush=True))
    for name, number in sorted(outcomes.items()):
        print(f"{name:<24}{number:>8}")
    print(f"{count} damaged files, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
