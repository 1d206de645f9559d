from __future__ import annotations

import json
import os
import pathlib
import pickle
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors
import safetensors.numpy
from hypothesis import given
from numpy.typing import NDArray

import fost
from fost.transforms import registry, storage
from tests import cases

Array = NDArray[Any]


def make_chain(seed: int = 0) -> fost.Chain:
    """A chain with every kind of member."""
    rng = np.random.default_rng(seed)
    return fost.Chain(
        [
            fost.DCT((3, 4)),
            fost.Householder(cases.random_vectors(rng, 2, 12)),
            fost.Givens(cases.random_pairs(rng, 3, 12), cases.random_blocks(rng, 3), 12),
            fost.Dense(cases.random_orthonormal(rng, 12)),
        ]
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "transform.safetensors"


@given(kind=cases.kinds, n=cases.n_features, seed=cases.seeds)
def test_round_trip(tmp_path: Path, kind: str, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    transform = cases.make_transform(kind, n, rng)
    path = tmp_path / "transform.safetensors"
    transform.save(path)
    loaded = fost.load(path)
    assert type(loaded) is type(transform)
    assert loaded == transform
    assert repr(loaded) == repr(transform)
    Y = cases.make_signals("normal", 3, n, np.float64, rng)
    assert cases.same_bits(loaded.forward(Y), transform.forward(Y))


@pytest.mark.parametrize(
    "transform",
    [
        fost.DCT(1),
        fost.DCT((2, 3, 4)),
        fost.Householder(np.zeros((0, 3))),
        fost.Householder(np.zeros((2, 3))),
        fost.Dense([[-1.0]]),
        fost.Chain([fost.DCT(4)]),
        fost.Chain([fost.DCT(4), fost.Dense(np.eye(4)), fost.DCT((2, 2))]),
        make_chain(),
    ],
    ids=repr,
)
def test_round_trip_of_special_cases(path: Path, transform: fost.Transform) -> None:
    transform.save(path)
    assert fost.load(path) == transform


def test_a_chain_of_more_than_ten_stages_keeps_their_order(path: Path) -> None:
    rng = np.random.default_rng(0)
    chain = fost.Chain(fost.Householder(cases.random_vectors(rng, 1, 5)) for _ in range(25))
    chain.save(path)
    assert fost.load(path) == chain


def test_paths_of_any_type(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    for name in (path, str(path), path.name, pathlib.PurePath(path)):
        fost.DCT(4).save(name)
        assert fost.load(name) == fost.DCT(4)
        path.unlink()


def test_arrays_have_the_documented_names(path: Path) -> None:
    chain = make_chain()
    _, reflectors, rotations, dense = chain.stages
    assert isinstance(reflectors, fost.Householder)
    assert isinstance(rotations, fost.Givens)
    chain.save(path)
    expected = {
        "stages.1.vectors": reflectors.vectors,
        "stages.2.pairs": rotations.pairs.astype(np.uint8),
        "stages.2.blocks": rotations.blocks[:, 0],
        "stages.3.matrix": dense.matrix,
    }
    arrays = safetensors.numpy.load_file(path)
    assert arrays.keys() == expected.keys()
    for name, array in arrays.items():
        assert cases.same_bits(array, expected[name]), name
    reflectors.save(path)
    assert cases.same_bits(safetensors.numpy.load_file(path)["vectors"], reflectors.vectors)


@pytest.mark.parametrize(("n", "dtype"), [(256, np.uint8), (257, np.uint16), (70000, np.uint32)])
def test_rotations_are_small(path: Path, n: int, dtype: Any) -> None:
    rng = np.random.default_rng(1)
    rotations = fost.Givens(cases.random_pairs(rng, 9, n), cases.random_blocks(rng, 9), n)
    reflected = np.linalg.det(rotations.blocks) < 0
    assert reflected.any()
    rotations.save(path)
    arrays = safetensors.numpy.load_file(path)
    assert {name: (array.dtype, array.shape) for name, array in arrays.items()} == {
        "pairs": (dtype, (9, 2)),
        "blocks": (np.float64, (9, 2)),
        "reflections": (np.uint8, (2,)),
    }
    assert cases.same_bits(fost.load(path).blocks, rotations.blocks)  # type: ignore[attr-defined]


def test_blocks_with_rounding_errors_are_stored_entirely(path: Path) -> None:
    c, s = np.cos(1.0), np.sin(1.0)
    blocks = np.array([[[c, s], [-np.nextafter(s, 1), c]], [[1.0, -0.0], [-0.0, 1.0]]])
    rotations = fost.Givens([(0, 1), (2, 1)], blocks, 3)
    rotations.save(path)
    assert safetensors.numpy.load_file(path)["blocks"].shape == (2, 2, 2)
    assert cases.same_bits(fost.load(path).blocks, blocks)  # type: ignore[attr-defined]


def test_files_of_version_1(path: Path) -> None:
    rng = np.random.default_rng(0)
    pairs, blocks = cases.random_pairs(rng, 3, 12), cases.random_blocks(rng, 3)
    arrays = {"pairs": np.asarray(pairs, np.int32), "blocks": np.asarray(blocks)}
    write(path, {"kind": "givens", "n_features": 12}, arrays, version="1")
    assert fost.load(path) == fost.Givens(pairs, blocks, 12)


def test_damaged_reflections(path: Path) -> None:
    arrays = {
        "pairs": np.array([[0, 1]], np.uint8),
        "blocks": np.array([[0.6, 0.8]]),
        "reflections": np.zeros(2, np.uint8),
    }
    write(path, {"kind": "givens", "n_features": 2}, arrays)
    with pytest.raises(ValueError, match="reflections must have a bit for each of 1 blocks"):
        fost.load(path)


@given(kind=cases.kinds, n=cases.n_features, seed=cases.seeds)
def test_compact_files(tmp_path: Path, kind: str, n: int, seed: int) -> None:
    transform = cases.make_transform(kind, n, np.random.default_rng(seed))
    path = tmp_path / "transform.safetensors"
    transform.save(path, compact=True)
    loaded = fost.load(path)
    assert type(loaded) is type(transform)
    identity = np.eye(n)
    assert np.abs(loaded.matrix.T @ loaded.matrix - identity).max() < 1e-12
    # A rotation is off by at most 2 pi / 2^17. float16 has relative errors of 2^-11: a unit vector
    # is off by twice that with its new norm, its reflector by four times as much. A matrix is off
    # by 2^-11 sqrt(n), and its polar factor by at most twice that.
    inner = transform.T if kind == "transposed" else transform
    parts = inner.stages if isinstance(inner, fost.Chain) else (inner,)
    most = 1e-12
    for part in parts:
        if isinstance(part, fost.Givens):
            most += part.n_rotations * 2 * np.pi / 2**17
        elif isinstance(part, fost.Householder):
            most += part.n_reflectors * 2.0**-8
        elif isinstance(part, fost.Dense):
            most += 2.0**-10 * np.sqrt(n)
    assert np.linalg.norm(loaded.matrix - transform.matrix, 2) <= most


def test_a_compact_rotation_takes_four_bytes(path: Path) -> None:
    rng = np.random.default_rng(0)
    rotations = fost.Givens(cases.random_pairs(rng, 9, 12), cases.random_blocks(rng, 9), 12)
    rotations.save(path, compact=True)
    arrays = safetensors.numpy.load_file(path)
    assert arrays["pairs"].nbytes + arrays["angles"].nbytes == 4 * 9


def test_metadata_is_documented(path: Path) -> None:
    fost.DCT((8, 8)).save(path)
    with safetensors.safe_open(path, framework="numpy") as file:
        metadata = file.metadata()
    assert metadata.keys() == {"format", "version", "structure", "checksum"}
    assert (metadata["format"], metadata["version"]) == ("fost", "2")
    assert json.loads(metadata["structure"]) == {"kind": "dct", "shape": [8, 8]}


def test_saving_replaces_the_old_file(path: Path) -> None:
    make_chain().save(path)
    fost.DCT(4).save(path)
    assert fost.load(path) == fost.DCT(4)
    assert os.listdir(path.parent) == [path.name]


def test_a_loaded_transform_does_not_need_the_file(path: Path) -> None:
    make_chain().save(path)
    loaded = fost.load(path)
    path.write_bytes(bytes(path.stat().st_size))
    assert loaded == make_chain()


# Files that cannot be read.


def test_a_missing_file(path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        fost.load(path)
    with pytest.raises(FileNotFoundError):
        fost.load(path / "file")


def test_a_folder(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=tmp_path.name):
        fost.load(tmp_path)


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"1234567", b"Just some text, nothing more.\n", bytes(100)]
)
def test_files_of_another_kind(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    match = f"cannot load a transform from .*{path.name}.*damaged or not a .safetensors file"
    with pytest.raises(ValueError, match=match):
        fost.load(path)


@pytest.mark.parametrize("metadata", [None, {}, {"format": "pt"}, {"version": "1"}])
def test_safetensors_files_of_other_programs(path: Path, metadata: dict[str, str] | None) -> None:
    safetensors.numpy.save_file({"vectors": np.eye(3)}, path, metadata)
    with pytest.raises(ValueError, match=r"cannot load .*: it was not written by fost"):
        fost.load(path)


@pytest.mark.parametrize("version", ["3", "0", "", "1.0"])
def test_other_versions(path: Path, version: str) -> None:
    write(path, {"kind": "dct", "shape": [4]}, {}, version=version)
    message = f"it has version '{version}' of the format, this fost reads versions 1 and 2"
    with pytest.raises(ValueError, match=message):
        fost.load(path)


# Files that someone wrote by hand, with a checksum that is right.


def write(path: Path, structure: Any, arrays: dict[str, Array], **metadata: str) -> None:
    text = structure if isinstance(structure, str) else json.dumps(structure)
    known = {"format": "fost", "version": "1", "structure": text}
    known["checksum"] = storage.digest(text, arrays)
    try:
        data = safetensors.numpy.save(arrays, {**known, **metadata})
    except safetensors.SafetensorError as error:  # of complex numbers, by an old version
        pytest.skip(str(error))
    path.write_bytes(data)


def test_a_file_written_by_hand(path: Path) -> None:
    write(path, {"kind": "householder"}, {"vectors": np.eye(3, dtype=np.float32)})
    assert fost.load(path) == fost.Householder(np.eye(3))


def test_the_checksum_is_checked(path: Path) -> None:
    write(path, {"kind": "dct", "shape": [4]}, {}, checksum="0" * 64)
    with pytest.raises(ValueError, match="its checksum does not match, it is damaged"):
        fost.load(path)


BLOCK = np.eye(2)[None]
FORGED: dict[str, tuple[Any, dict[str, Array], str]] = {
    "vectors of norm 2": ({"kind": "householder"}, {"vectors": 2 * np.eye(3)}, "unit rows"),
    "integer vectors": ({"kind": "householder"}, {"vectors": np.full((1, 3), 7)}, "unit rows"),
    "complex vectors": (
        {"kind": "householder"},
        {"vectors": np.eye(3, dtype=np.complex64)},
        "vectors must be real numbers",
    ),
    "NaN": ({"kind": "householder"}, {"vectors": np.full((1, 3), np.nan)}, "vectors contains NaN"),
    "too many vectors": ({"kind": "householder"}, {"vectors": np.eye(4, 3)}, "at most"),
    "flat vectors": ({"kind": "householder"}, {"vectors": np.eye(3)[0]}, "vectors must have shape"),
    "vectors without features": ({"kind": "householder"}, {"vectors": np.zeros((0, 0))}, "feature"),
    "another name": ({"kind": "householder"}, {"vector": np.eye(3)}, ""),
    "no vectors": ({"kind": "householder"}, {}, ""),
    "one array too many": (
        {"kind": "householder"},
        {"vectors": np.eye(3), "matrix": np.eye(3)},
        "",
    ),
    "no orthonormal matrix": ({"kind": "dense"}, {"matrix": np.ones((3, 3))}, "orthonormal"),
    "no square matrix": ({"kind": "dense"}, {"matrix": np.eye(3)[:2]}, "square"),
    "pairs out of range": (
        {"kind": "givens", "n_features": 3},
        {"pairs": np.array([[0, 3]]), "blocks": BLOCK},
        "pairs must be between",
    ),
    "negative pairs": (
        {"kind": "givens", "n_features": 3},
        {"pairs": np.array([[-1, 1]]), "blocks": BLOCK},
        "pairs must be between",
    ),
    "pairs of floats": (
        {"kind": "givens", "n_features": 3},
        {"pairs": np.array([[0.0, 1.0]]), "blocks": BLOCK},
        "pairs must be integers",
    ),
    "no orthogonal blocks": (
        {"kind": "givens", "n_features": 3},
        {"pairs": np.array([[0, 1]]), "blocks": 2 * BLOCK},
        "blocks must be orthogonal",
    ),
    "fewer blocks": (
        {"kind": "givens", "n_features": 3},
        {"pairs": np.array([[0, 1], [1, 2]]), "blocks": BLOCK},
        "blocks must have shape",
    ),
    "n_features as text": (
        {"kind": "givens", "n_features": "3"},
        {"pairs": np.array([[0, 1]]), "blocks": BLOCK},
        "n_features must be an integer",
    ),
    "n_features infinite": (
        '{"kind": "givens", "n_features": Infinity}',
        {"pairs": np.array([[0, 1]]), "blocks": BLOCK},
        "n_features must be an integer",
    ),
    "no n_features": (
        {"kind": "givens"},
        {"pairs": np.array([[0, 1]]), "blocks": BLOCK},
        "",
    ),
    "shape of floats": ({"kind": "dct", "shape": [8.0]}, {}, "shape must be an integer"),
    "shape of text": ({"kind": "dct", "shape": "88"}, {}, "shape must be an integer"),
    "negative shape": ({"kind": "dct", "shape": [-8]}, {}, "shape must be between"),
    "huge shape": ({"kind": "dct", "shape": [10**9, 10**9]}, {}, "shape must have fewer"),
    "huge number": ('{"kind": "dct", "shape": [' + "9" * 5000 + "]}", {}, ""),
    "no shape": ({"kind": "dct"}, {}, ""),
    "empty shape": ({"kind": "dct", "shape": []}, {}, "shape must have at least one axis"),
    "null shape": ({"kind": "dct", "shape": None}, {}, "shape must be an integer"),
    "unknown argument": ({"kind": "dct", "shape": [8], "norm": "ortho"}, {}, ""),
    "unknown kind": (
        {"kind": "curves"},
        {},
        "there is no kind of transform called 'curves'; .*import",
    ),
    "kind of another type": ({"kind": ["dct"]}, {}, ""),
    "null kind": ({"kind": None}, {}, ""),
    "no kind": ({}, {}, ""),
    "empty chain": ({"kind": "chain", "stages": []}, {}, "stages must be at least one"),
    "chain without stages": ({"kind": "chain"}, {}, ""),
    "chain of text": ({"kind": "chain", "stages": "abc"}, {}, ""),
    "chain of null": ({"kind": "chain", "stages": None}, {}, ""),
    "chain of numbers": ({"kind": "chain", "stages": [1]}, {}, ""),
    "chain of two sizes": (
        {
            "kind": "chain",
            "stages": [{"kind": "dct", "shape": [4]}, {"kind": "dct", "shape": [5]}],
        },
        {},
        "stages must have the same n_features",
    ),
    "member without arrays": ({"kind": "chain", "stages": [{"kind": "dense"}]}, {}, ""),
    "member with a bad array": (
        {"kind": "chain", "stages": [{"kind": "dense"}]},
        {"stages.0.matrix": np.ones((2, 2))},
        "orthonormal",
    ),
    "chains in chains, less deep": (
        '{"kind": "chain", "stages": [' * 9 + '{"kind": "dct", "shape": [4]}' + "]}" * 9,
        {},
        "nested more than 16 levels deep",
    ),
    "chain with more than stages": (
        {"kind": "chain", "stages": [{"kind": "dct", "shape": [4]}], "n_features": 4},
        {},
        "unexpected keyword argument 'n_features'",
    ),
    "bank in a chain": (
        {
            "kind": "chain",
            "stages": [{"kind": "bank", "members": [{"kind": "dct", "shape": [4]}]}],
        },
        {},
        "stages must be transforms, got Bank",
    ),
    "no JSON": ("{", {}, ""),
    "empty JSON": ("", {}, ""),
    "a list": ("[]", {}, ""),
    "a number": ("1", {}, ""),
    "null": ("null", {}, ""),
    "a string": ('"dct"', {}, ""),
    "lists in lists": ("[" * 100_000 + "]" * 100_000, {}, ""),
    "chains in chains": (
        '{"kind": "chain", "stages": [' * 5000 + '{"kind": "dct", "shape": [4]}' + "]}" * 5000,
        {},
        "",
    ),
}


@pytest.mark.parametrize("case", FORGED)
def test_forged_files_are_refused(path: Path, case: str) -> None:
    structure, arrays, message = FORGED[case]
    write(path, structure, arrays)
    with pytest.raises(ValueError, match=f"cannot load a transform from .*: .*{message}"):
        fost.load(path)


def split(content: bytes) -> tuple[dict[str, Any], bytes]:
    """The header and the body of a .safetensors file."""
    size = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + size]), content[8 + size :]


def with_header(header: dict[str, Any], body: bytes) -> bytes:
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + body


# Types of safetensors that NumPy does not have, or that cannot be parameters.
@pytest.mark.parametrize(
    ("dtype", "bits"),
    [("BF16", 16), ("F8_E4M3", 8), ("F8_E5M2", 8), ("F8_E8M0", 8), ("F4", 4), ("C64", 64)],
)
def test_arrays_of_other_types_are_refused(path: Path, dtype: str, bits: int) -> None:
    size = 16 * bits // 8
    metadata = {"format": "fost", "version": "1", "structure": '{"kind": "householder"}'}
    header = {
        "__metadata__": {**metadata, "checksum": ""},
        "vectors": {"dtype": dtype, "shape": [4, 4], "data_offsets": [0, size]},
    }
    path.write_bytes(with_header(header, bytes(size)))
    with pytest.raises(ValueError, match="cannot load a transform"):
        fost.load(path)


# Files that were damaged.

Mutations = Iterator[tuple[str, bytes]]


def truncated(content: bytes, rng: np.random.Generator) -> Mutations:
    for length in [*range(0, 64), *range(64, len(content), 7), len(content) - 1]:
        yield f"the first {length} bytes", content[:length]
        yield f"the last {length} bytes", content[len(content) - length :]


def flipped(content: bytes, rng: np.random.Generator) -> Mutations:
    for bit in [*range(128), *rng.integers(0, 8 * len(content), 1500).tolist()]:
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        yield f"bit {bit} flipped", bytes(changed)


def overwritten(content: bytes, rng: np.random.Generator) -> Mutations:
    for _ in range(1000):
        first, count = int(rng.integers(0, len(content))), int(rng.integers(1, 40))
        fill = rng.choice([rng.bytes(count), bytes(count), b"\xff" * count, b'"' * count])
        changed = content[:first] + fill[:count] + content[first + count :]
        yield f"{count} bytes from {first} are {fill[:8]!r}", changed[: len(content)]


def resized(content: bytes, rng: np.random.Generator) -> Mutations:
    right = int.from_bytes(content[:8], "little")
    near = [right + k for k in range(-16, 17) if k]
    far = [0, 1, 2, 7, 2**31 - 1, 2**31, 2**32, 2**53, 2**63 - 1, 2**63, 2**64 - 8, 2**64 - 1]
    for length in [*near, *far, len(content), len(content) - 8]:
        yield f"header of {length} bytes", length.to_bytes(8, "little") + content[8:]


def rearranged(content: bytes, rng: np.random.Generator) -> Mutations:
    for _ in range(300):
        first, last = sorted(rng.integers(0, len(content) + 1, 2).tolist())
        chunk = content[first:last]
        yield f"without {first}:{last}", content[:first] + content[last:]
        yield f"{first}:{last} twice", content[:last] + chunk + content[last:]
        yield f"{first}:{last} moved to the end", content[:first] + content[last:] + chunk
        yield f"{first}:{last} backwards", content[:first] + chunk[::-1] + content[last:]
    yield "twice", content + content
    yield "a byte more", content + b"\0"


def replanned(content: bytes, rng: np.random.Generator) -> Mutations:
    """A valid header of JSON that does not fit the body."""
    header, body = split(content)
    names = [name for name in header if name != "__metadata__"]
    odd_values: list[Any] = [None, 0, -1, 1.5, "x", [], {}, [0], [0, 0], [-1, 5], [2**63, 2**64]]
    for name in names:
        for field in ("dtype", "shape", "data_offsets"):
            others = [header[other][field] for other in names]
            for value in [*odd_values, *others, [2**62, 4], "F32", "F64", "I32", "U8", "BOOL"]:
                changed = {**header, name: {**header[name], field: value}}
                yield f"{field} of {name} is {value!r}", with_header(changed, body)
        yield f"no {name}", with_header({k: v for k, v in header.items() if k != name}, body)
        yield f"{name} renamed", with_header({**header, "x": header[name]}, body)
        swapped = {**header, name: header[names[0]], names[0]: header[name]}
        yield f"{name} swapped with {names[0]}", with_header(swapped, body)
    for field in header["__metadata__"]:
        for value in [*odd_values, "", "fost", "1", "{}", "null", "[" * 50]:
            metadata = {**header["__metadata__"], field: value}
            changed = {**header, "__metadata__": metadata}
            yield f"{field} is {value!r}", with_header(changed, body)
    for value in odd_values:
        yield f"metadata is {value!r}", with_header({**header, "__metadata__": value}, body)
    yield "header twice", with_header(header, with_header(header, body))


@pytest.mark.parametrize(
    "mutate", [truncated, flipped, overwritten, resized, rearranged, replanned]
)
def test_damaged_files_are_refused(
    path: Path, mutate: Callable[[bytes, np.random.Generator], Mutations]
) -> None:
    original = make_chain()
    original.save(path)
    header, body = split(path.read_bytes())
    # safetensors writes its metadata in a random order; here it is always the same.
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    content = with_header(header, body)
    path.write_bytes(content)
    assert fost.load(path) == original
    refused = 0
    for case, damaged in mutate(content, np.random.default_rng(0)):
        path.write_bytes(damaged)
        try:
            loaded = fost.load(path)
        except ValueError:
            refused += 1
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a panic in Rust is no Exception
            raise AssertionError(f"{case}: {type(error).__name__}: {error}") from error
        else:
            assert loaded == original, f"{case}: gave another transform"
    assert refused > 40


# Saving that is cut short.


def test_a_failure_leaves_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_chain().save(path)

    def fail(*_: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        fost.DCT(4).save(path)
    monkeypatch.undo()
    assert os.listdir(path.parent) == [path.name]
    assert fost.load(path) == make_chain()


def test_saving_into_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        fost.DCT(4).save(tmp_path / "missing" / "transform.safetensors")
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_killed_process_leaves_a_whole_file(path: Path) -> None:
    transforms = [make_chain(seed) for seed in range(2)]
    transforms[0].save(path)
    rng = np.random.default_rng(0)
    for kill in range(20):
        before = path.stat().st_ino
        child = os.fork()
        if child == 0:
            try:
                while True:
                    for transform in transforms:
                        transform.save(path)
            finally:
                os._exit(1)
        while path.stat().st_ino == before:  # its first file may take long on a busy machine
            assert os.waitpid(child, os.WNOHANG) == (0, 0), "the child could not save"
            time.sleep(0.001)
        time.sleep(float(rng.uniform(0, 0.02)))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL, "the child could not save"
        assert fost.load(path) in transforms, f"kill {kill}"


def test_metadata_stays_with_the_transform(path: Path) -> None:
    metadata = {
        "patch": "8x8",
        "sparsity": "4",
        "note": "gr\u00fc\u00dfe \u2713 'quoted' \"twice\"",
    }
    make_chain().save(path, metadata=metadata)
    assert storage.read_metadata(path) == metadata
    assert fost.load(path) == make_chain()


def test_without_metadata_there_is_none(path: Path) -> None:
    for metadata in (None, {}):
        fost.DCT(4).save(path, metadata)
        assert storage.read_metadata(path) == {}


@pytest.mark.parametrize("metadata", [{"patch": 8}, {8: "patch"}, {"patch": None}, ["patch"]])
def test_metadata_must_be_strings(path: Path, metadata: Any) -> None:
    with pytest.raises(TypeError, match="metadata must"):
        fost.DCT(4).save(path, metadata)
    assert not path.exists()


def test_metadata_of_other_files(path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        storage.read_metadata(path)
    path.write_text("something else", encoding="utf-8")
    with pytest.raises(ValueError, match="cannot load a transform from"):
        storage.read_metadata(path)
    safetensors.numpy.save_file({"a": np.zeros(3)}, path)
    with pytest.raises(ValueError, match="it was not written by fost"):
        storage.read_metadata(path)
    header = {"format": "fost", "version": "1", "metadata": '{"patch": 8}'}
    safetensors.numpy.save_file({"a": np.zeros(3)}, path, header)
    with pytest.raises(ValueError, match="metadata must map strings to strings"):
        storage.read_metadata(path)


def test_the_checksum_depends_on_the_transform_only(path: Path) -> None:
    checksum = storage.checksum(make_chain())
    for metadata in (None, {"patch": "3x4"}):
        make_chain().save(path, metadata)
        with safetensors.safe_open(path, framework="numpy") as file:
            assert file.metadata()["checksum"] == checksum
        assert storage.checksum(fost.load(path)) == checksum
    assert storage.checksum(make_chain(1)) != checksum


def test_loading_takes_linear_time() -> None:
    """However many members there are: else loading would take the square of their number."""

    class Counted(dict[str, Array]):
        passes = 0

        def items(self) -> Any:
            self.passes += 1
            return super().items()

    arrays = Counted()
    bank = fost.Bank([make_chain(seed) for seed in range(20)])
    structure = storage.describe(bank, "best.", arrays)
    arrays.passes = 0
    for exact in (False, True):
        assert storage.build(structure, "best.", arrays, exact) == bank
    assert arrays.passes == 2


EXACT: dict[str, tuple[Any, dict[str, Any], str]] = {
    "pairs out of range": (
        fost.Givens,
        {"pairs": np.array([[0, 10**8]]), "blocks": BLOCK, "n_features": 3},
        "pairs must be between",
    ),
    "fewer blocks": (
        fost.Givens,
        {"pairs": np.array([[0, 1], [1, 2]]), "blocks": BLOCK, "n_features": 3},
        "blocks must have shape",
    ),
    "no rotation": (
        fost.Givens,
        {"pairs": np.array([[0, 1]]), "blocks": 2 * BLOCK, "n_features": 3},
        "blocks must be orthogonal",
    ),
    "vectors of norm 2": (fost.Householder, {"vectors": 2 * np.eye(3)}, "unit rows"),
    "flat vectors": (fost.Householder, {"vectors": np.eye(3)[0]}, "vectors must have shape"),
    "no orthonormal matrix": (fost.Dense, {"matrix": np.ones((3, 3))}, "orthonormal"),
    "no square matrix": (fost.Dense, {"matrix": np.eye(3)[:2]}, "square"),
    "NaN": (fost.Dense, {"matrix": np.full((2, 2), np.nan)}, "NaN"),
    "huge shape": (fost.DCT, {"shape": (2**20, 2**20)}, "fewer than"),
}


@pytest.mark.parametrize("case", EXACT)
def test_forged_pickles_are_refused(case: str) -> None:
    """Bit-exact arguments of pickles are validated too."""
    kind, arguments, message = EXACT[case]

    class Forged:
        def __reduce__(self) -> tuple[Any, ...]:
            return registry.unpickle, (kind, arguments)

    content = pickle.dumps(Forged())
    with pytest.raises(ValueError, match=message):
        pickle.loads(content)


def test_copies_are_bit_exact() -> None:
    rng = np.random.default_rng(0)
    rough = [
        fost.Householder._exact(cases.random_vectors(rng, 2, 12) * (1 + 1e-12)),
        fost.Dense._exact(cases.random_orthonormal(rng, 12) * (1 + 1e-12)),
        fost.Givens._exact(np.array([[0, 3]], np.int32), BLOCK * (1 + 1e-12), 12),
    ]
    for transform in rough:
        again = pickle.loads(pickle.dumps(transform))
        for name, value in transform.arguments().items():
            if isinstance(value, np.ndarray):
                assert cases.same_bits(again.arguments()[name], value)
                assert not again.arguments()[name].flags.writeable
