"""The examples of docs/gaps.md run in order."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

TEXT = (Path(__file__).resolve().parents[2] / "docs/gaps.md").read_text("utf-8")


def test_examples_run() -> None:
    names: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL):
        exec(code, names)
    filled, Y, missing = names["filled"], names["Y"], names["missing"]
    assert np.isfinite(filled).all()
    error = np.sqrt(np.mean((filled - Y)[missing] ** 2))
    assert error < 1  # the standard deviation of the random walks is 4
    assert names["std"][missing].min() > 0
