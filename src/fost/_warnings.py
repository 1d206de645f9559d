"""Attribution of warnings to the code that called fost."""

from __future__ import annotations

import contextlib
import inspect
import os
from types import FrameType

# Decorators such as `single_threaded_blas` put frames of contextlib between those of fost.
_INTERNAL_PATHS = (os.path.dirname(__file__) + os.sep, contextlib.__file__)
# Pipelines and searches of scikit-learn call `fit`; users did not write these lines.
_CALLING_PACKAGES = ("sklearn", "joblib")


def external_stacklevel() -> int:
    """The `stacklevel` at which `warnings.warn` names the first caller outside fost.

    Frames of scikit-learn are skipped too, so that the warning names the user's line.

    A fixed number is wrong as soon as a function is moved or decorated, so the frames are counted.
    Python 3.12 can do the same with ``skip_file_prefixes``; fost supports 3.11.
    """
    frame = inspect.currentframe()
    level = 0
    while frame is not None and _is_internal(frame):
        frame = frame.f_back
        level += 1
    return max(1, level)


def _is_internal(frame: FrameType) -> bool:
    package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return frame.f_code.co_filename.startswith(_INTERNAL_PATHS) or package in _CALLING_PACKAGES
