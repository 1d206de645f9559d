"""The examples of docs/restoration.md run, and say what is true."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

TEXT = (Path(__file__).resolve().parents[2] / "docs/restoration.md").read_text("utf-8")


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # some write files
    names: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL):
        exec(code, names)
    clean, gaps = names["clean"], names["gaps"]
    assert np.std(names["denoised"] - clean) < 0.3 * np.std(names["noisy"] - clean)
    assert names["level"] == pytest.approx(0.2, rel=0.1)
    assert np.abs(names["filled"] - clean)[gaps].mean() < 0.02
    assert names["counts"].mean() == pytest.approx(5, rel=0.1)
