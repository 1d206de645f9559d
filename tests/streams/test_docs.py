"""The examples of docs/scale.md run in order."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"


def test_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 4
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    results = []
    for block in blocks:
        exec(block, names)
        results.append(names["result"])
    for other in results[1:3]:
        np.testing.assert_allclose(other.errors, results[0].errors, rtol=0, atol=1e-8)
    assert results[3].start_error == pytest.approx(names["first"].error, rel=0.05)
    assert names["codes"].compute().nnz == 4 * len(names["Y"])
