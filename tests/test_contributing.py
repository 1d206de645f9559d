"""The examples of CONTRIBUTING run."""

from __future__ import annotations

import pickle
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import fost
from fost.learning import as_source

PAGE = Path(__file__).parents[1] / "CONTRIBUTING.md"


def test_a_pass_over_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    text = PAGE.read_text(encoding="utf-8")
    (block,) = (b for b in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "UsesOf" in b)
    module = ModuleType("uses")
    monkeypatch.setitem(sys.modules, "uses", module)
    exec(block, module.__dict__)
    codes = fost.DCT(16).encode(module.Y, 4)
    np.testing.assert_array_equal(module.uses, np.count_nonzero(codes.toarray(), axis=0))
    measure = pickle.loads(pickle.dumps(module.UsesOf(fost.DCT(16), 4)))

    class Blocks:
        def __iter__(self):
            yield from np.array_split(module.Y, 7)

    np.testing.assert_array_equal(as_source(Blocks()).total(measure)[0], module.uses)


def test_what_it_names_is_there() -> None:
    root = PAGE.parent
    assert (root / "examples" / "butterfly.py").exists()
    for name in ("register", "Ladder", "Structure"):
        assert hasattr(fost.learning, name)
