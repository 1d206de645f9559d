"""Transforms in .safetensors files: safe to load from strangers, readable by others.

A file holds the arrays of the transform under their names (``vectors``, or
``members.1.vectors`` for the second member of a chain) and, in its metadata,

``format``      "fost"
``version``     "1"
``structure``   JSON: the kind of transform and its arguments that are not arrays
``checksum``    SHA-256 of the structure and the arrays, so that damage is noticed
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

from fost._files import write_atomically
from fost.transforms.base import Transform
from fost.transforms.chain import Chain
from fost.transforms.dct import DCT
from fost.transforms.dense import Dense
from fost.transforms.givens import Givens
from fost.transforms.householder import Householder

FORMAT = "fost"
VERSION = "1"

_KINDS: dict[str, type[Transform]] = {
    cls.kind: cls for cls in (Householder, Givens, DCT, Dense, Chain)
}


def save(transform: Transform, path: str | os.PathLike[str]) -> None:
    """Write a transform to a file (see `Transform.save`)."""
    arrays: dict[str, NDArray[Any]] = {}
    structure = json.dumps(_describe(transform, "", arrays), sort_keys=True)
    metadata = {
        "format": FORMAT,
        "version": VERSION,
        "structure": structure,
        "checksum": _checksum(structure, arrays),
    }
    write_atomically(path, safetensors.numpy.save(arrays, metadata))


def load(path: str | os.PathLike[str]) -> Transform:
    """Read a transform that `Transform.save` wrote.

    Raises
    ------
    ValueError
        If the file is damaged or not a transform of fost. Nothing in a file is ever executed.

    Examples
    --------
    >>> import fost, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "transform.safetensors")
    >>> fost.DCT((8, 8)).save(path)
    >>> fost.load(path)
    DCT(n_features=64, shape=(8, 8), flops=672)
    """
    name = os.fspath(path)
    with open(path, "rb"):  # a missing or forbidden file is an OSError, as everywhere
        pass
    try:
        with safetensors.safe_open(name, framework="numpy") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != FORMAT:
                raise ValueError("it was not written by fost")
            if metadata.get("version") != VERSION:
                raise ValueError(
                    f"it has version {metadata.get('version')!r} of the format, "
                    f"this fost reads version {VERSION!r}"
                )
            arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        structure = metadata.get("structure", "")
        if metadata.get("checksum") != _checksum(structure, arrays):
            raise ValueError("its checksum does not match, it is damaged")
        return _build(json.loads(structure), "", arrays)
    except MemoryError:
        raise
    except Exception as error:  # whatever is wrong with a file is the file's fault
        raise ValueError(f"cannot load a transform from {name!r}: {error}") from error


def _describe(transform: Transform, prefix: str, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """The structure of a transform as plain data; its arrays are added to `arrays`."""
    described: dict[str, Any] = {"kind": transform.kind}
    for name, value in transform._arguments().items():
        if isinstance(value, np.ndarray):
            arrays[prefix + name] = value
        elif isinstance(transform, Chain):
            described[name] = [
                _describe(member, f"{prefix}{name}.{k}.", arrays) for k, member in enumerate(value)
            ]
        else:
            described[name] = value
    return described


def _build(described: dict[str, Any], prefix: str, arrays: dict[str, NDArray[Any]]) -> Transform:
    arguments = dict(described)
    kind = _KINDS.get(name := arguments.pop("kind", None))
    if kind is None:
        raise ValueError(f"there is no kind of transform called {name!r}")
    if kind is Chain:
        members = arguments["members"]
        return Chain(_build(m, f"{prefix}members.{k}.", arrays) for k, m in enumerate(members))
    # Arrays of this transform are those with its prefix and no dots behind it.
    for key, array in arrays.items():
        if key.startswith(prefix) and "." not in key[len(prefix) :]:
            arguments[key[len(prefix) :]] = array
    return kind(**arguments)


def _checksum(structure: str, arrays: dict[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(structure.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
