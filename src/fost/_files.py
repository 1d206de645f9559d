"""Writing files so that nobody ever sees half of one, and reading what is a file."""

from __future__ import annotations

import errno
import os
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

# Where names of open files lead through, such as those of /dev/stdout.
_DESCRIPTORS = ("/proc/", "/dev/fd")


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Write `content` to `path`: whatever happens, the old file or the new one is there."""
    with replacing(path) as file:
        file.write(content)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of `path` when all went well.

    The content goes to a temporary file in the same folder, to the disk, and then takes the
    place of `path` in one step, with the permissions of the file that was there. Links stay
    links. Devices, pipes and what else is no file is written to as it is (see `is_special`).
    Errors name `path`.
    """
    if is_special(path):
        with _blaming(path, path), open(path, "wb") as file:
            yield file
        return
    target = Path(os.path.realpath(path))
    temporary = temporary_beside(target)
    with _blaming(path, temporary):
        try:
            old = _stat(target)
            # Nobody else may read what goes to the place of a file that they must not read.
            with open(temporary, "x+b", opener=_private if old else None) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            if old:
                _take_permissions(temporary, old)
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def is_special(path: str | os.PathLike[str]) -> bool:
    """Whether there is something that is written to and never replaced.

    A device, a pipe or a socket, or by another name a file that is open already, such as
    /dev/stdout. Folders are none.
    """
    found = _stat(path)
    if found is None or stat.S_ISDIR(found.st_mode):
        return False
    return not stat.S_ISREG(found.st_mode) or _names_a_descriptor(os.fspath(path))


def open_file(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file for reading; a pipe or a device, which may never end, is an OSError."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError(errno.EINVAL, "not a file but a device or a pipe", os.fspath(path))
    return open(path, "rb")


def temporary_beside(target: Path) -> Path:
    """A name in the same folder that nobody has."""
    return target.parent / f".fost-{uuid.uuid4().hex}.part"


def _stat(path: str | os.PathLike[str]) -> os.stat_result | None:
    """What the system knows about a file; None where there is none, or none within reach."""
    try:
        return os.stat(path)
    except OSError:  # opening it tells why
        return None


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _take_permissions(path: Path, old: os.stat_result) -> None:
    """Those of another file, and its owner and group as far as that is allowed."""
    if hasattr(os, "chown"):
        for owner in ((-1, old.st_gid), (old.st_uid, -1)):
            with suppress(OSError):
                os.chown(path, *owner)
    new = os.stat(path)
    mode = stat.S_IMODE(old.st_mode)
    if new.st_gid != old.st_gid:  # another group must not get what this one was allowed
        mode &= ~0o070 | (mode & 0o007) << 3
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        mode &= 0o777
    os.chmod(path, mode)


def _names_a_descriptor(path: str) -> bool:
    while os.path.islink(path):
        folder = os.path.realpath(os.path.dirname(path))
        if f"{folder}/".startswith(_DESCRIPTORS):
            return True
        path = os.path.join(folder, os.readlink(path))
    return False


@contextmanager
def _blaming(path: str | os.PathLike[str], used: str | os.PathLike[str]) -> Iterator[None]:
    """Errors of the system inside name `path`, where they name what was used for it, or none."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename not in (None, used, os.fspath(used)):
            raise
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from error
