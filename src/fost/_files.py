"""Writing files so that nobody ever sees half of one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Write `content` to `path`: whatever happens, the old file or the new one is there.

    The content goes to a temporary file in the same folder, to the disk, and then takes the
    place of `path` in one step.
    """
    target = Path(path)
    handle, temporary = tempfile.mkstemp(
        dir=target.parent, prefix=f".{target.name}.", suffix=".part"
    )
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _default_mode())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _default_mode() -> int:
    """The permissions that open() would give a new file (mkstemp gives none to others)."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
