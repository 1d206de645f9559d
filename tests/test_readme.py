"""The examples of the README run, in order, and do what their comments say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

README = Path(__file__).parents[1] / "README.md"


def test_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 3
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in blocks:
        exec(block, names)
    assert repr(names["U"]) == "Chain(n_features=64, members=[DCT, Givens], flops=1158)"
    assert names["codes"].nnz == 4 * len(names["Y"])
    assert names["auto"].dictionary_.flops <= 1500
