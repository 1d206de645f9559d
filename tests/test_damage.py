"""A few damaged files of each kind; ``python -m tests.damage COUNT SEED`` does more."""

from __future__ import annotations

import sys

import pytest

pytest.importorskip("tifffile", reason="the extra images is not installed")
pytest.importorskip("typer", reason="needs the command line")

from tests import damage

COUNT = 250


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory as Linux has them")
def test_damaged_files() -> None:
    outcomes, failures = damage.run(COUNT, seed=0)
    assert not failures, "\n".join(failures)
    assert sum(outcomes.values()) == COUNT
    # All kinds were there, and damaged enough that some were refused.
    assert {name.split(":")[0] for name in outcomes if "refused" in name} == set(damage.SHARES)
