"""Writing files so that nobody ever sees half of one."""

from __future__ import annotations

import os
import uuid
from pathlib import Path


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Write `content` to `path`: whatever happens, the old file or the new one is there.

    The content goes to a temporary file in the same folder, to the disk, and then takes the
    place of `path` in one step.
    """
    target = Path(os.path.realpath(path))  # a link stays a link
    temporary = target.parent / f".fost-{uuid.uuid4().hex}.part"
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
