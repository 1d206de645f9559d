"""Checkpoint files, from which a run resumes with bit-identical results.

A checkpoint is a .safetensors file without pickles: notes in JSON and arrays, with a checksum over
both. The notes include the options of the run and the version of fost.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

from fost._typing import Numbers
from fost._validation import check_integer, check_shape
from fost._warnings import external_stacklevel
from fost.io.atomic import open_file, write_atomically
from fost.transforms import storage

Notes = dict[str, Any]
Arrays = dict[str, Numbers]

# Sums over the same signals in other blocks differ by less than this, relative to the largest.
_SAME_SIGNALS = 1e-8


class CheckpointError(ValueError):
    """A checkpoint that cannot be resumed: it is damaged, or of another run.

    Examples
    --------
    >>> import fost, numpy as np, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "learning.state")
    >>> Y = np.random.default_rng(0).standard_normal((50, 8))
    >>> result = fost.learn(Y, fost.Orthonormal(), 2, checkpoint=path)
    >>> try:
    ...     fost.learn(Y, fost.Orthonormal(), 3, checkpoint=path)
    ... except fost.learning.CheckpointError:
    ...     print("other options")
    other options
    """


class CheckpointFile:
    """A checkpoint file of a given format, which need not exist yet."""

    def __init__(self, path: str | os.PathLike[str], form: str, version: str) -> None:
        self.path = Path(os.fspath(path))
        self._format, self._version = form, version
        self._is_reliable = True  # until the file cannot be replaced

    @property
    def exists(self) -> bool:
        return self.path.exists()

    def read(self, options: Notes) -> tuple[Notes, Arrays]:
        """The notes and arrays of the file, whose options must be the given ones."""
        open_file(self.path).close()  # raises an OSError for folders and pipes
        with safetensors.safe_open(str(self.path), framework="numpy") as file:
            header = file.metadata() or {}
            if header.get("format") != self._format:
                raise ValueError(f"it is not a {self._format.replace('fost ', '')} of fost")
            if header.get("version") != self._version:
                raise ValueError(
                    f"it has version {header.get('version')!r} of the format, "
                    f"this fost reads version {self._version!r}"
                )
            arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        text = header.get("state", "")
        if header.get("checksum") != storage.digest(text, arrays):
            raise ValueError("its checksum does not match, it is damaged")
        notes = json.loads(text)
        self._check_options(notes["settings"], options)
        return notes, arrays

    def write(self, notes: Notes, arrays: Arrays) -> None:
        """Replace the file atomically.

        If that fails, a file of this run that exists remains, and a warning says so once.
        """
        text = json.dumps(notes, sort_keys=True, default=lambda array: array.tolist())
        header = {
            "format": self._format,
            "version": self._version,
            "state": text,
            "checksum": storage.digest(text, arrays),
        }
        had_file = self.exists
        try:
            write_atomically(self.path, safetensors.numpy.save(arrays, header))
        except OSError as error:
            if not had_file:
                raise
            if self._is_reliable:
                self._is_reliable = False
                warnings.warn(
                    f"cannot write the checkpoint {str(self.path)!r}: {error.strerror or error}; "
                    "learning continues, and the file keeps an earlier state",
                    stacklevel=external_stacklevel(),
                )

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Turn all errors of a damaged file into a CheckpointError that names the file."""
        try:
            yield
        except (CheckpointError, MemoryError, OSError):
            raise
        except Exception as error:
            reason = f"it has no {error}" if isinstance(error, KeyError) else str(error)
            raise CheckpointError(f"cannot resume from {str(self.path)!r}: {reason}") from error

    def check_signals(
        self, saved: NDArray[np.float64], own: NDArray[np.float64], what: str
    ) -> None:
        """Raises a CheckpointError if sums over the signals differ from the saved ones."""
        if np.abs(saved - own).max() > _SAME_SIGNALS * np.abs(own).max():
            raise CheckpointError(
                f"cannot resume from {str(self.path)!r}: it is of other signals: their {what} "
                "differ"
            )

    def _check_options(self, saved: Notes, own: Notes) -> None:
        for name, value in own.items():
            if saved.get(name) != value:
                what = "another version" if name == "fost" else "other signals or options"
                raise CheckpointError(
                    f"cannot resume from {str(self.path)!r}: it is of {what}: {name} was "
                    f"{saved.get(name)!r} and is now {value!r}"
                )


def finite_array(arrays: Arrays, name: str, shape: tuple[int | None, ...]) -> NDArray[np.float64]:
    """An array of a file: finite numbers in float64, of the given shape."""
    array = arrays[name]
    check_shape(array, name, shape)
    if array.dtype != np.float64 or not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite numbers in float64, got {array.dtype}")
    return array


def random_state_hash(random: np.random.Generator) -> str:
    """A hash of the state of a generator."""
    state = json.dumps(random.bit_generator.state, default=lambda array: array.tolist())
    return hashlib.sha256(state.encode()).hexdigest()


def restore_random(random: np.random.Generator, saved: object) -> None:
    """Set the state of a generator, which is checked first."""
    bits = random.bit_generator
    _check_random(saved, bits.state, "the state of random numbers")
    bits.state = saved  # type: ignore[assignment]


def _check_random(saved: object, own: object, name: str) -> None:
    """Raises a ValueError if `saved` cannot be a state of this generator.

    NumPy does not check: it would read numbers beyond the end of a generator's buffer.
    """
    if isinstance(own, dict):
        if not isinstance(saved, dict) or saved.keys() != own.keys():
            raise ValueError(f"{name} is that of another generator")
        for key, value in own.items():
            _check_random(saved[key], value, key)
    elif isinstance(own, np.ndarray):
        if not isinstance(saved, list) or len(saved) != len(own):
            raise ValueError(f"{name} must be {len(own)} numbers")
        limit = int(np.iinfo(own.dtype).max)
        for number in saved:
            check_integer(number, name, 0, limit)
    elif not isinstance(own, int):
        if saved != own:
            raise ValueError(f"{name} must be {own!r}, got {saved!r}")
    else:
        # States have at most 128 bits; `pos` counts the 624 numbers of MT19937, `buffer_pos`
        # the 4 of Philox.
        check_integer(saved, name, 0, {"pos": 624, "buffer_pos": 4}.get(name, 2**128 - 1))
