"""The examples of the README run, in order, and do what their comments say."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import fost

README = Path(__file__).parents[1] / "README.md"


def test_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 2
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        for block in blocks:
            exec(block, names)
    assert repr(names["U"]) == "Householder(n_features=64, n_reflectors=24, flops=6144)"
    assert names["codes"].nnz == 8 * len(names["test"])
    dct = fost.DCT((8, 8))
    rest = names["test"] - dct.decode(dct.encode(names["test"], 8))
    assert names["error"] < 0.5 * np.sum(rest**2) / np.sum(names["test"] ** 2)
    assert names["auto"].dictionary_.flops <= 4000


def test_pictures_are_there() -> None:
    """And are drawings that follow the colours of the page."""
    pages = [README, *(README.parent / "docs").rglob("*.md")]
    found = [
        page.parent / name
        for page in pages
        for name in re.findall(r"!\[[^\]]*\]\(([^)]+\.svg)\)", page.read_text(encoding="utf-8"))
    ]
    assert len(found) >= 3
    for picture in found:
        assert ElementTree.parse(picture).getroot().tag.endswith("svg")
        assert "prefers-color-scheme: dark" in picture.read_text(encoding="utf-8")
