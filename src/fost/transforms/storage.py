"""Transforms in .safetensors files, which are safe to load from untrusted sources.

A file has the arrays of the transform under their names (``vectors``, or ``stages.1.vectors`` for
the second stage of a chain). Rotations are

``pairs``        the smallest unsigned type for n features, shape (n_rotations, 2)
``blocks``       the first rows (c, s) of the blocks, or the blocks if their second rows differ from
                 (-s, c) and (s, -c) by rounding
``angles``       in compact files, instead of blocks: uint16, in units of 2 pi / 2^16
``reflections``  if there are any: one bit per block, packed by ``numpy.packbits``

In compact files, vectors and matrices are float16. The metadata of a file has the fields

``format``      "fost"
``version``     "2"; version "1", with entire blocks and wider indices, is read as well
``structure``   JSON: the kind of transform and its arguments that are not arrays
``checksum``    SHA-256 of the structure and the arrays, to detect damage
``metadata``    JSON: the metadata given to `Coder.save`, if any
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import safetensors
import safetensors.numpy

from fost._typing import Floats
from fost._validation import check_path
from fost.io.atomic import open_file, write_atomically
from fost.transforms.registry import Described, class_of, kind_of

if TYPE_CHECKING:
    from fost.transforms.coder import Coder

FORMAT = "fost"
VERSION = "2"
_READABLE = ("1", VERSION)

# Depth to which transforms may be nested in a file.
_MAX_DEPTH = 16

_Arrays = Mapping[str, Floats]


def write_model_file(
    path: str | os.PathLike[str],
    structure: str,
    arrays: dict[str, Floats],
    form: str,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write a file of a given format atomically."""
    header = {
        "format": form,
        "version": VERSION,
        "structure": structure,
        "checksum": digest(structure, arrays),
    }
    if metadata:
        header["metadata"] = json.dumps(metadata, sort_keys=True)
    write_atomically(path, safetensors.numpy.save(arrays, header))


def checksum(transform: Coder) -> str:
    """The checksum of a file of the transform; equal for equal transforms."""
    return digest(*model_parts(transform))


def load(path: str | os.PathLike[str]) -> Coder:
    """Read a transform, bank or union from a file that its `save` method wrote.

    Parameters
    ----------
    path : path
        Name of the file. Nothing in a file is ever executed.

    Returns
    -------
    Transform, Bank or Union

    Raises
    ------
    ValueError
        If the file is damaged or not a file of fost, or if its kind of transform is unknown. Import
        the module that defines the kind first.

    Examples
    --------
    >>> import fost, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "transform.safetensors")
    >>> fost.DCT((8, 8)).save(path)
    >>> fost.load(path)
    DCT(n_features=64, shape=(8, 8), flops=672)
    """
    with open_model_file(path) as file:
        return build(*read_model_parts(file))


def read_metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    """The metadata that was given to `save`; empty if there was none.

    Parameters
    ----------
    path : path
        Name of the file.

    Returns
    -------
    dict of str to str

    Raises
    ------
    ValueError
        If the file is damaged or not a file of fost.

    Examples
    --------
    >>> import fost, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "transform.safetensors")
    >>> fost.DCT((8, 8)).save(path, metadata={"patch": "8x8"})
    >>> fost.transforms.read_metadata(path)
    {'patch': '8x8'}
    """
    with open_model_file(path) as file:
        return check_metadata(json.loads(_checked_header(file).get("metadata", "{}")))


@contextmanager
def open_model_file(path: str | os.PathLike[str], what: str = "a transform") -> Iterator[Any]:
    """An open file; errors in the context become a ValueError that names the file."""
    check_path(path, "path")
    open_file(path).close()  # raises an OSError if the file is missing or forbidden
    name = os.fspath(path)
    try:
        with safetensors.safe_open(name, framework="numpy") as file:
            yield file
    except MemoryError:
        raise
    except safetensors.SafetensorError as error:
        raise ValueError(
            f"cannot load {what} from {name!r}: it is damaged or not a .safetensors file ({error})"
        ) from error
    except Exception as error:
        raise ValueError(f"cannot load {what} from {name!r}: {error}") from error


def read_model_parts(file: Any, form: str = FORMAT) -> tuple[object, str, _Arrays]:
    """The arguments of `build` from an open file: structure, empty prefix, arrays."""
    header = _checked_header(file, form)
    arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    structure = header.get("structure", "")
    if header.get("checksum") != digest(structure, arrays):
        raise ValueError("its checksum does not match, it is damaged")
    return json.loads(structure), "", arrays


def _checked_header(file: Any, form: str = FORMAT) -> dict[str, str]:
    """The header of an open file, if it has the given format."""
    header: dict[str, str] = file.metadata() or {}
    if header.get("format") != form:
        raise ValueError("it was not written by fost" if form == FORMAT else "it has none")
    if header.get("version") not in _READABLE:
        raise ValueError(
            f"it has version {header.get('version')!r} of the format, "
            f"this fost reads versions {' and '.join(_READABLE)}"
        )
    return header


def check_metadata(metadata: object) -> dict[str, str]:
    """Metadata that a file can store."""
    if not isinstance(metadata, Mapping):
        raise TypeError(f"metadata must be a mapping, got {type(metadata).__name__}")
    for key, value in metadata.items():
        if not (isinstance(key, str) and isinstance(value, str)):
            raise TypeError(f"metadata must map strings to strings, got {key!r}: {value!r}")
    return dict(metadata)


def model_parts(transform: Coder, compact: bool = False) -> tuple[str, dict[str, Floats]]:
    """The structure of a transform as JSON, and its arrays by name."""
    arrays: dict[str, Floats] = {}
    return json.dumps(describe(transform, "", arrays, compact), sort_keys=True), arrays


def describe(
    coder: Described, prefix: str, arrays: dict[str, Floats], compact: bool = False
) -> dict[str, object]:
    """The structure of a transform as plain data; its arrays are added to `arrays`."""
    described: dict[str, object] = {"kind": kind_of(coder)}
    for name, value in coder._packed(compact).items():
        if isinstance(value, np.ndarray):
            arrays[prefix + name] = np.ascontiguousarray(value)  # as safetensors requires
        else:
            described[name] = _as_json(value, f"{prefix}{name}.", arrays, compact)
    return described


def _as_json(
    value: object, prefix: str, arrays: dict[str, Floats], compact: bool = False
) -> object:
    """An argument in a form that JSON has."""
    if isinstance(value, Described):
        return describe(value, prefix, arrays, compact)
    if isinstance(value, tuple | list):
        return [_as_json(entry, f"{prefix}{k}.", arrays, compact) for k, entry in enumerate(value)]
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(
        f"cannot save {prefix[:-1]}: arguments must be arrays, numbers, strings, transforms or "
        f"tuples of these, got {type(value).__name__}"
    )


def build(described: object, prefix: str, arrays: _Arrays, exact: bool = False) -> Coder:
    """The inverse of `describe`; `exact` keeps the arrays bit for bit."""
    # The arrays of a transform have its prefix and no dots after it.
    owned: dict[str, dict[str, Floats]] = {}
    for key, array in arrays.items():
        owner, dot, name = key.rpartition(".")
        owned.setdefault(owner + dot, {})[name] = array
    if not isinstance(described, dict):
        raise ValueError(
            f"the structure of a transform must be a JSON object, got {type(described).__name__}"
        )
    return cast("Coder", _built(described, prefix, owned, exact, _MAX_DEPTH))


def _built(
    value: object, prefix: str, owned: Mapping[str, _Arrays], exact: bool, depth: int
) -> object:
    """An argument from its JSON form: an object is a transform, a list is a tuple."""
    if not isinstance(value, dict | list):
        return value
    if not depth:
        raise ValueError(f"its transforms are nested more than {_MAX_DEPTH} levels deep")
    if isinstance(value, list):
        return tuple(
            _built(entry, f"{prefix}{k}.", owned, exact, depth - 1) for k, entry in enumerate(value)
        )
    arguments: dict[str, Any] = dict(value)
    cls = class_of(arguments.pop("kind", None))
    for name, argument in arguments.items():
        arguments[name] = _built(argument, f"{prefix}{name}.", owned, exact, depth - 1)
    arguments = cls._unpacked({**arguments, **owned.get(prefix, {})})
    return cls._exact(**arguments) if exact else cls(**arguments)


def digest(structure: str, arrays: dict[str, Floats]) -> str:
    """SHA-256 of a text and of named arrays."""
    digest = hashlib.sha256(structure.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
