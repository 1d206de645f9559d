"""``fost fill``: missing entries of arrays and tables."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

import fost
from tests.cli.conftest import Run
from tests.imputation.test_fit import with_missing


def signals_with_missing() -> np.ndarray:
    X = with_missing(np.load("signals.npy")).astype(np.float32)
    np.save("missing.npy", X)
    return X


def test_an_array(run: Run) -> None:
    X = signals_with_missing()
    report = json.loads(run("fill", "missing.npy", "-o", "filled.npy", "--json").stdout)
    filled = np.load("filled.npy")
    assert filled.dtype == np.float32
    np.testing.assert_allclose(filled, fost.imputation.fit_mixture(X).fill(X), rtol=1e-5, atol=1e-5)
    assert report["n_missing"] == np.isnan(X).sum()
    assert (report["n_signals"], report["n_features"]) == (500, 16)
    text = run("fill", "missing.npy", "-o", "other.npy", "--n-members", "1").stdout
    assert "1 Gaussian\n" in text


def test_a_mask(run: Run) -> None:
    X = signals_with_missing()
    np.save("mask.npy", np.isnan(X))
    run("fill", "missing.npy", "-o", "filled.npy", "--quiet")
    run("fill", "signals.npy", "--missing", "mask.npy", "-o", "masked.npy", "--quiet")
    np.testing.assert_array_equal(np.load("masked.npy"), np.load("filled.npy"))


def test_a_checkpoint(run: Run, fail: Callable[..., str]) -> None:
    signals_with_missing()
    run("fill", "missing.npy", "-o", "filled.npy", "--quiet", "--checkpoint", "state")
    run("fill", "missing.npy", "-o", "again.npy", "--quiet", "--checkpoint", "state")
    np.testing.assert_array_equal(np.load("again.npy"), np.load("filled.npy"))
    message = fail("fill", "signals.npy", "-o", "other.npy", "--checkpoint", "state")
    assert "cannot resume from 'state': it is of other signals" in message
    pd.DataFrame({"a": [1.0, np.nan]}).to_csv("table.csv", index=False)
    message = fail("fill", "table.csv", "-o", "other.csv", "--checkpoint", "state")
    assert "--checkpoint is for arrays, not for tables" in message


def test_zarr(run: Run) -> None:
    zarr = pytest.importorskip("zarr")
    X = signals_with_missing()
    array = zarr.create_array("missing.zarr", shape=X.shape, chunks=(100, 16), dtype=X.dtype)
    array[:] = X
    run("fill", "missing.zarr", "-o", "filled.zarr", "--quiet")
    run("fill", "missing.npy", "-o", "filled.npy", "--quiet")
    filled = zarr.open_array("filled.zarr", mode="r")[:]
    np.testing.assert_allclose(filled, np.load("filled.npy"), rtol=1e-5, atol=1e-5)


def test_a_table(run: Run) -> None:
    X = signals_with_missing().astype(np.float64)
    frame = pd.DataFrame(X[:, :4], columns=["a", "b", "c", "d"])
    frame.insert(1, "name", [f"row {k}" for k in range(len(frame))])
    frame["count"] = np.arange(len(frame))
    frame["nothing"] = np.nan
    frame.to_csv("table.csv", index=False)
    report = json.loads(run("fill", "table.csv", "-o", "filled.csv", "--json").stdout)
    filled = pd.read_csv("filled.csv")
    assert list(filled.columns) == list(frame.columns)
    assert filled[["a", "b", "c", "d"]].notna().to_numpy().all()
    assert filled["nothing"].isna().all()
    assert (filled["name"] == frame["name"]).all()
    assert (filled["count"] == frame["count"]).all()
    seen = frame["b"].notna()
    np.testing.assert_allclose(filled["b"][seen], frame["b"][seen])
    assert report["n_features"] == 5


def test_errors_are_one_line(fail: Callable[..., str]) -> None:
    np.save("empty.npy", np.full((5, 3), np.nan))
    pd.DataFrame({"name": ["a", "b"]}).to_csv("names.csv", index=False)
    assert "every feature observed" in fail("fill", "empty.npy", "-o", "out.npy")
    assert "no columns of numbers" in fail("fill", "names.csv", "-o", "out.csv")
    assert "are converted to .npy or .zarr" in fail("fill", "empty.npy", "-o", "out.csv")
    assert "are converted to .csv or .parquet" in fail("fill", "names.csv", "-o", "out.npy")
    assert "not .npy, .zarr, .csv" in fail("fill", "image.png", "-o", "out.npy")
    assert "exists already" in fail("fill", "empty.npy", "-o", "signals.npy")
    assert "No such file" in fail("fill", "nowhere.npy", "-o", "out.npy")
    assert "No such file" in fail("fill", "nowhere.csv", "-o", "out.csv")
