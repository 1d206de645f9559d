"""Atomic writing of files, and opening of regular files."""

from __future__ import annotations

import errno
import os
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

# Folders whose entries are links to open files; /dev/stdout leads there.
_DESCRIPTORS = ("/proc/", "/dev/fd")


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Write `content` to `path`: after any failure, the old file is still complete."""
    with atomic_writer(path) as file:
        file.write(content)


@contextmanager
def atomic_writer(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary file for writing that replaces `path` when the block ends without an error.

    The content goes to a temporary file in the same folder and is synced to disk. It then replaces
    `path` in one step, with the permissions of the old file. Symbolic links stay links. Devices and
    pipes are written to directly (see `is_special`). Errors name `path`.
    """
    if is_special(path):
        with _renamed_errors(path, path), open(path, "wb") as file:
            yield file
        return
    target = Path(os.path.realpath(path))
    temporary = temporary_beside(target)
    with _renamed_errors(path, temporary):
        try:
            old = _stat(target)
            # While a private file is replaced, nobody else may read its new content.
            with open(temporary, "x+b", opener=_private if old else None) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            if old:
                _copy_permissions(temporary, old)
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def is_special(path: str | os.PathLike[str]) -> bool:
    """Whether `path` exists and must be written to directly instead of being replaced.

    This holds for devices, pipes and sockets, and for names of open files such as /dev/stdout. It
    does not hold for folders.
    """
    found = _stat(path)
    if found is None or stat.S_ISDIR(found.st_mode):
        return False
    return not stat.S_ISREG(found.st_mode) or _names_a_descriptor(os.fspath(path))


def open_file(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file for reading; pipes and devices, which may never end, raise OSError."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError(errno.EINVAL, "not a file but a device or a pipe", os.fspath(path))
    return open(path, "rb")


def temporary_beside(target: Path) -> Path:
    """An unused file name in the folder of `target`."""
    return target.parent / f".fost-{uuid.uuid4().hex}.part"


def _stat(path: str | os.PathLike[str]) -> os.stat_result | None:
    """The status of a file; None where there is none or it cannot be reached."""
    try:
        return os.stat(path)
    except OSError:  # opening the file reports the reason
        return None


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _copy_permissions(path: Path, old: os.stat_result) -> None:
    """Give a file the mode of another one, and its owner and group as far as allowed."""
    if hasattr(os, "chown"):
        for owner in ((-1, old.st_gid), (old.st_uid, -1)):
            with suppress(OSError):
                os.chown(path, *owner)
    new = os.stat(path)
    mode = stat.S_IMODE(old.st_mode)
    if new.st_gid != old.st_gid:  # another group gets no more than everybody had
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
def _renamed_errors(path: str | os.PathLike[str], used: str | os.PathLike[str]) -> Iterator[None]:
    """Make errors of the system name `path` where they name `used` or no file at all."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename not in (None, used, os.fspath(used)):
            raise
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from error
