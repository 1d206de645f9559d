"""Which warnings fail a test: those of fost, not what other libraries announce."""

from __future__ import annotations

import warnings

import pytest

ANNOUNCEMENTS = [DeprecationWarning, PendingDeprecationWarning, FutureWarning]


@pytest.mark.parametrize("category", [*ANNOUNCEMENTS, UserWarning, RuntimeWarning])
@pytest.mark.parametrize("module", ["fost", "fost.cli.app"])
def test_warnings_of_fost_are_errors(category: type[Warning], module: str) -> None:
    with pytest.raises(category, match="of fost"):
        warnings.warn_explicit("of fost", category, "file.py", 1, module=module)


@pytest.mark.parametrize("category", ANNOUNCEMENTS)
@pytest.mark.parametrize("module", ["click.core", "fostering"])
def test_announcements_of_others_are_told(category: type[Warning], module: str) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.warn_explicit("of others", category, "file.py", 1, module=module)
    assert [warning.category for warning in told] == [category]


def test_other_warnings_are_errors_wherever_they_come_from() -> None:
    with pytest.raises(RuntimeWarning, match="of others"):
        warnings.warn_explicit("of others", RuntimeWarning, "file.py", 1, module="numpy")
