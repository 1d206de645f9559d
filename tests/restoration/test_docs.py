"""The examples of docs/restoration.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fost import restoration

TEXT = (Path(__file__).resolve().parents[2] / "docs/restoration.md").read_text("utf-8")


def test_examples_give_the_stated_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # examples write files
    names: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL):
        exec(code, names)
    clean, mask = names["clean"], names["mask"]
    assert np.std(names["denoised"] - clean) < 0.3 * np.std(names["noisy"] - clean)
    assert restoration.estimate_sigma(names["noisy"]) == pytest.approx(0.2, rel=0.1)
    assert np.abs(names["filled"] - clean)[mask].mean() < 0.02
    assert names["counts"].mean() == pytest.approx(5, rel=0.1)
