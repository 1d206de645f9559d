"""Transforms in .safetensors files: safe to load from strangers, readable by others.

A file holds the arrays of the transform under their names (``vectors``, or
``stages.1.vectors`` for the second stage of a chain) and, in its metadata,

``format``      "fost"
``version``     "1"
``structure``   JSON: the kind of transform and its arguments that are not arrays
``checksum``    SHA-256 of the structure and the arrays, so that damage is noticed
``metadata``    JSON: names and strings that came with the transform; not always there
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
from fost._validation import check_flag, check_path
from fost.io.files import open_file, write_atomically
from fost.transforms.kinds import Described, class_of, kind_of

if TYPE_CHECKING:
    from fost.transforms.coder import Coder

FORMAT = "fost"
VERSION = "1"

# Banks have chains, and these, taken apart when they are made, transposes and transforms of others.
_DEEPEST = 16

_Arrays = Mapping[str, Floats]


def save(
    transform: Coder,
    path: str | os.PathLike[str],
    metadata: Mapping[str, str] | None = None,
    overwrite: bool = True,
) -> None:
    """Write a transform to a file (see `Transform.save`)."""
    check_path(path, "path")
    if not check_flag(overwrite, "overwrite") and os.path.lexists(path):
        raise FileExistsError(f"{os.fspath(path)!r} exists already")
    noted = {} if metadata is None else _checked_metadata(metadata)
    write(path, *_parts(transform), FORMAT, noted)


def write(
    path: str | os.PathLike[str],
    structure: str,
    arrays: dict[str, Floats],
    form: str,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write a file of a format, in one step."""
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
    """What `save` writes as the checksum: equal for equal transforms, whatever their file."""
    return digest(*_parts(transform))


def load(path: str | os.PathLike[str]) -> Coder:
    """Read a transform that `Transform.save` wrote, or a bank that `Bank.save` wrote.

    Raises
    ------
    ValueError
        If the file is damaged or not a transform of fost, or one of a kind that nobody defined:
        import the module that does first. Nothing in a file is ever executed.

    Examples
    --------
    >>> import fost, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "transform.safetensors")
    >>> fost.DCT((8, 8)).save(path)
    >>> fost.load(path)
    DCT(n_features=64, shape=(8, 8), flops=672)
    """
    with reading(path) as file:
        loaded: Coder = build(*checked_parts(file))
        return loaded


def read_metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    """The metadata that was given to `Transform.save`; empty where there was none.

    Raises
    ------
    ValueError
        If the file is damaged or not a transform of fost.

    Examples
    --------
    >>> import fost, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "transform.safetensors")
    >>> fost.DCT((8, 8)).save(path, metadata={"patch": "8x8"})
    >>> fost.transforms.read_metadata(path)
    {'patch': '8x8'}
    """
    with reading(path) as file:
        return _checked_metadata(json.loads(_checked_header(file).get("metadata", "{}")))


@contextmanager
def reading(path: str | os.PathLike[str], what: str = "a transform") -> Iterator[Any]:
    """An open file; whatever is wrong with it is a ValueError that says which file it is."""
    check_path(path, "path")
    open_file(path).close()  # a missing or forbidden file is an OSError, as everywhere
    name = os.fspath(path)
    try:
        with safetensors.safe_open(name, framework="numpy") as file:
            yield file
    except MemoryError:
        raise
    except safetensors.SafetensorError as error:
        raise ValueError(
            f"cannot load {what} from {name!r}: it is damaged or no .safetensors file ({error})"
        ) from error
    except Exception as error:
        raise ValueError(f"cannot load {what} from {name!r}: {error}") from error


def checked_parts(file: Any, form: str = FORMAT) -> tuple[Any, str, _Arrays]:
    """What `build` takes of an open file: its structure, no prefix, and its arrays."""
    header = _checked_header(file, form)
    arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    structure = header.get("structure", "")
    if header.get("checksum") != digest(structure, arrays):
        raise ValueError("its checksum does not match, it is damaged")
    return json.loads(structure), "", arrays


def _checked_header(file: Any, form: str = FORMAT) -> dict[str, str]:
    """What an open file says about itself, if it is one of fost's."""
    header: dict[str, str] = file.metadata() or {}
    if header.get("format") != form:
        raise ValueError("it was not written by fost" if form == FORMAT else "it has none")
    if header.get("version") != VERSION:
        raise ValueError(
            f"it has version {header.get('version')!r} of the format, "
            f"this fost reads version {VERSION!r}"
        )
    return header


def _checked_metadata(metadata: Any) -> dict[str, str]:
    if not isinstance(metadata, Mapping):
        raise TypeError(f"metadata must be a mapping, got {type(metadata).__name__}")
    for key, value in metadata.items():
        if not (isinstance(key, str) and isinstance(value, str)):
            raise TypeError(f"metadata must map strings to strings, got {key!r}: {value!r}")
    return dict(metadata)


def _parts(transform: Coder) -> tuple[str, dict[str, Floats]]:
    """The structure of a transform as JSON, and its arrays by name."""
    arrays: dict[str, Floats] = {}
    return json.dumps(describe(transform, "", arrays), sort_keys=True), arrays


def describe(coder: Described, prefix: str, arrays: dict[str, Floats]) -> dict[str, Any]:
    """The structure of a transform as plain data; its arrays are added to `arrays`."""
    described: dict[str, Any] = {"kind": kind_of(coder)}
    for name, value in coder.arguments().items():
        if isinstance(value, np.ndarray):
            arrays[prefix + name] = np.ascontiguousarray(value)  # all that safetensors can write
        else:
            described[name] = _plain(value, f"{prefix}{name}.", arrays)
    return described


def _plain(value: Any, prefix: str, arrays: dict[str, Floats]) -> Any:
    """An argument as JSON has it."""
    if isinstance(value, Described):
        return describe(value, prefix, arrays)
    if isinstance(value, tuple | list):
        return [_plain(entry, f"{prefix}{k}.", arrays) for k, entry in enumerate(value)]
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(
        f"cannot save {prefix[:-1]}: arguments must be arrays, numbers, strings, transforms or "
        f"tuples of these, got {type(value).__name__}"
    )


def build(described: Any, prefix: str, arrays: _Arrays, exact: bool = False) -> Coder:
    """Undoes `describe`; `exact` takes the arrays as they are, to the last bit."""
    # Arrays of a transform are those with its prefix and no dots behind it.
    owned: dict[str, dict[str, Floats]] = {}
    for key, array in arrays.items():
        owner, dot, name = key.rpartition(".")
        owned.setdefault(owner + dot, {})[name] = array
    if not isinstance(described, dict):
        raise ValueError(
            f"a transform is described by names and values, not by a {type(described).__name__}"
        )
    return cast("Coder", _built(described, prefix, owned, exact, _DEEPEST))


def _built(value: Any, prefix: str, owned: Mapping[str, _Arrays], exact: bool, depth: int) -> Any:
    """An argument: what has names is a transform, and so are the entries of a list."""
    if not isinstance(value, dict | list):
        return value
    if not depth:
        raise ValueError("its transforms are made of transforms too many times over")
    if isinstance(value, list):
        return tuple(
            _built(entry, f"{prefix}{k}.", owned, exact, depth - 1) for k, entry in enumerate(value)
        )
    arguments = dict(value)
    cls = class_of(arguments.pop("kind", None))
    for name, argument in arguments.items():
        arguments[name] = _built(argument, f"{prefix}{name}.", owned, exact, depth - 1)
    arguments |= owned.get(prefix, {})
    return cls.exactly(**arguments) if exact else cls(**arguments)


def digest(structure: str, arrays: dict[str, Floats]) -> str:
    """SHA-256 of a text and arrays with their names, as the files have it."""
    digest = hashlib.sha256(structure.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
