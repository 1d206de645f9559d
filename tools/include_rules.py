"""Include rules of the C++ core: which folder may include which headers, and why.

``violations(root)`` yields one line per violation in a checkout. ``tests/test_layout.py`` and
``tools/house.py`` call it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SUFFIXES = {".cpp", ".hpp", ".inl"}
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)

# Headers that declare types and constants only, and so instantiate no template.
C_HEADERS = frozenset({"cstddef", "cstdint"})
INTRINSICS = frozenset({"emmintrin.h", "immintrin.h"})


class Rule(NamedTuple):
    """The folders of the core and the system headers (None: any) that a folder may include."""

    folders: frozenset[str]
    system: frozenset[str] | None
    reason: str


RULES = {
    "types": Rule(
        frozenset({"types"}),
        C_HEADERS,
        "types are shared by code of all instruction sets and so must be plain data",
    ),
    "kernels": Rule(
        frozenset({"kernels", "types"}),
        C_HEADERS | INTRINSICS,
        "kernels are compiled once per instruction set: the linker may keep the AVX-512 copy of a "
        "standard template for all callers, which crashes on older processors",
    ),
    "runtime": Rule(
        frozenset({"runtime", "types"}),
        None,
        "threads, buffers and dispatch must not depend on the algorithms that use them",
    ),
    "plans": Rule(
        frozenset({"plans", "runtime", "types"}),
        None,
        "plans are prepared once and must not depend on the drivers that execute them",
    ),
    "drivers": Rule(
        frozenset({"drivers", "plans", "runtime", "types"}),
        None,
        "drivers call kernels through the table of types/kernel_table.hpp, and know no Python",
    ),
    "bindings": Rule(
        frozenset({"bindings", "drivers", "plans", "runtime", "types"}),
        None,
        "bindings convert arrays and call drivers; they contain no mathematics",
    ),
}


def check_file(path: str, text: str, files: frozenset[str]) -> Iterator[str]:
    """Violations of one file; `path` and `files` are relative to ``src/core``."""
    rule = RULES.get(path.split("/")[0])
    if rule is None or "/" not in path:
        yield f"src/core/{path}: files must be in one of the folders {', '.join(RULES)}"
        return
    for own, system in INCLUDE.findall(text):
        if own and own not in files:
            yield f'src/core/{path}: "{own}" is not a path relative to src/core'
        elif own and own.split("/")[0] not in rule.folders:
            yield f'src/core/{path} must not include "{own}": {rule.reason}'
        elif system and rule.system is not None and system not in rule.system:
            yield f"src/core/{path} must not include <{system}>: {rule.reason}"


def violations(root: Path) -> Iterator[str]:
    """All violations in the checkout at `root`."""
    core = root / "src" / "core"
    paths = sorted(path for path in core.rglob("*") if path.suffix in SUFFIXES)
    files = frozenset(path.relative_to(core).as_posix() for path in paths)
    for path in paths:
        yield from check_file(path.relative_to(core).as_posix(), path.read_text("utf-8"), files)
