"""``fost export``: options and the printed sizes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import fost
from tests.cli.conftest import Run

Fail = Callable[..., str]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--max-digits", "2"], "max_digits must be None without integers=True, got 2"),
        (["--bits", "10"], "bits must be 8 without integers=True, got 10"),
        (["--fraction-bits", "3"], "fraction_bits must be 4 without integers=True, got 3"),
    ],
)
def test_settings_of_integers_need_integers(
    fail: Fail, folder: Path, words: list[str], message: str
) -> None:
    told = fail("export", "model.safetensors", "-o", "new.h", *words)
    assert told == f"fost: {message}"
    assert not (folder / "new.h").exists()


def test_largest_signal_value_of_integers(run: Run) -> None:
    largest = fost.export.Quantised(fost.DCT((8, 8)), fraction_bits=3).max_input
    words = ["export", "model.safetensors", "-o", "new.h", "--force"]
    integers = [*words, "--integers", "--fraction-bits", "3"]
    assert f"at most {largest:,} in magnitude" in run(*integers).stdout
    assert json.loads(run(*integers, "--json").stdout)["max_input"] == largest
    assert "in magnitude" not in run(*words).stdout
    assert json.loads(run(*words, "--json").stdout)["max_input"] is None


def test_work_arrays_are_no_promise_about_the_whole_stack(run: Run) -> None:
    text = run("export", "model.safetensors", "-o", "new.h", "--force").stdout
    assert "work arrays" in text
    assert "256 bytes on the stack" in text  # 64 numbers of float32
