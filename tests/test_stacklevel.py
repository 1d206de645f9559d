"""Warnings of fost name the line that called fost, however deep inside they are raised."""

from __future__ import annotations

import warnings

import pytest

import fost._warnings
from fost._threads import single_threaded_blas
from fost._warnings import external_stacklevel


def test_stacklevel_is_one_for_a_caller_outside_fost():
    assert external_stacklevel() == 1


@pytest.mark.parametrize("depth", [0, 1, 5])
@pytest.mark.parametrize("decorated", [False, True])
def test_warning_names_the_first_frame_outside_fost(depth, decorated):
    # Code that is compiled under the name of a module of fost counts as part of fost.
    source = """
def warn(depth):
    if depth:
        warn(depth - 1)
    else:
        warnings.warn("text", UserWarning, stacklevel=external_stacklevel())

if decorated:
    warn = single_threaded_blas(warn)
"""
    names = {
        "warnings": warnings,
        "external_stacklevel": external_stacklevel,
        "single_threaded_blas": single_threaded_blas,
        "decorated": decorated,
    }
    exec(compile(source, fost._warnings.__file__, "exec"), names)
    with pytest.warns(UserWarning, match="text") as caught:
        names["warn"](depth)
    assert [warning.filename for warning in caught] == [__file__]


def test_frames_end_without_a_caller_outside_fost(monkeypatch):
    monkeypatch.setattr(fost._warnings, "_INTERNAL_PATHS", ("",))
    assert external_stacklevel() > 1
