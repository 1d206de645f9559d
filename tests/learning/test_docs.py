"""The examples of docs/gaps.md run in order."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

DOCS = Path(__file__).parents[2] / "docs" / "gaps.md"


def test_examples() -> None:
    blocks = re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(DOCS), "exec"), names)
    assert isinstance(names["codes"], np.ndarray)
