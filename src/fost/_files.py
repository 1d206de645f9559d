"""Writing files so that nobody ever sees half of one."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Write `content` to `path`: whatever happens, the old file or the new one is there."""
    with replacing(path) as file:
        file.write(content)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of `path` when all went well.

    The content goes to a temporary file in the same folder, to the disk, and then takes the
    place of `path` in one step.
    """
    target = Path(os.path.realpath(path))  # a link stays a link
    temporary = temporary_beside(target)
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def temporary_beside(target: Path) -> Path:
    """A name in the same folder that nobody has."""
    return target.parent / f".fost-{uuid.uuid4().hex}.part"
