"""``fost fill``: missing entries of arrays and tables."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fost
from fost.cli.signals import number_columns
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


@pytest.mark.parametrize("header", [True, False])
def test_a_table_with_and_without_a_header(run: Run, header: bool) -> None:
    X = signals_with_missing().astype(np.float64)[:, :4]
    pd.DataFrame(X, columns=list("abcd")).to_csv("table.csv", index=False, header=header)
    report = json.loads(run("fill", "table.csv", "-o", "filled.csv", "--json").stdout)
    assert report["n_signals"] == len(X)
    filled = pd.read_csv("filled.csv", header=0 if header else None)
    assert list(filled.columns) == (list("abcd") if header else [0, 1, 2, 3])
    np.testing.assert_allclose(filled.to_numpy()[~np.isnan(X)], X[~np.isnan(X)])
    assert filled.notna().to_numpy().all()


def write_identifiers(count: int = 30) -> list[list[str]]:
    """Write a table of texts that change if they are read as numbers; returns its cells."""
    rows = [["id", "zip", "key", "a", "b"]]
    for k, (a, b) in enumerate(np.random.default_rng(0).standard_normal((count, 2))):
        rows.append([f"{k:05}", "02139", str(2**53 + 3 + 2 * k), f"{a:.3f}0", f"{a + b:.2e}"])
    rows[3][2] = rows[4][4] = ""
    Path("table.csv").write_text("".join(",".join(row) + "\n" for row in rows))
    return rows


def test_all_but_imputed_cells_are_copied_as_text(run: Run) -> None:
    rows = write_identifiers()
    run("fill", "table.csv", "-o", "filled.csv", "--exclude", "id", "--exclude", "key")
    filled = [line.split(",") for line in Path("filled.csv").read_text().splitlines()]
    assert np.isfinite(float(filled[4][4]))
    filled[4][4] = ""
    assert filled == rows


def test_excluded_columns_are_exact_in_parquet_files(run: Run) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = write_identifiers()
    run("fill", "table.csv", "-o", "text.parquet", "--exclude", "id", "--exclude", "key")
    frame = pd.read_parquet("text.parquet")
    assert frame["id"].tolist() == [row[0] for row in rows[1:]]
    keys = [int(row[2]) if row[2] else None for row in rows[1:]]
    frame["key"] = pd.array(keys, dtype="Int64")
    frame.to_parquet("table.parquet")
    run("fill", "table.parquet", "-o", "filled.parquet", "--exclude", "key")
    assert parquet.read_table("filled.parquet")["key"].to_pylist() == keys


def test_columns_that_are_not_filled_are_named(run: Run) -> None:
    frame = pd.DataFrame(signals_with_missing()[:, :3], columns=list("abc"))
    frame["alcohol"] = ["n/a?", "", *["1.5"] * (len(frame) - 2)]
    frame["name"] = "text"
    frame["nothing"] = np.nan
    frame.to_csv("table.csv", index=False)
    lines = run("fill", "table.csv", "-o", "filled.csv").stderr.splitlines()
    assert lines == [
        "fost: warning: the column 'alcohol' of 'table.csv' is not used: text in 1 of 500 cells",
        "fost: warning: the column 'nothing' of 'table.csv' is not used: it has no entries",
    ]
    excluded = ("--exclude", "alcohol", "--exclude", "nothing")
    assert run("fill", "table.csv", "-o", "other.csv", *excluded).stderr == ""


def test_columns_of_other_types_are_named_if_they_are_incomplete() -> None:
    frame = pd.DataFrame({"a": np.arange(3.0), "flag": [True, False, True]})
    frame["complete"] = frame["date"] = pd.Timestamp("2026-01-01")
    frame.loc[1, "date"] = pd.NaT
    frame["mixed"] = np.array([True, None, False])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert number_columns(frame, [], Path("table.parquet")) == ["a"]
    dates, flags = (str(warning.message) for warning in caught)
    assert "'date' of 'table.parquet' is not used: its type is datetime64, not a number" in dates
    assert "'mixed' of 'table.parquet' is not used: its type is boolean, not a number" in flags


def test_a_single_column_is_refused(fail: Callable[..., str]) -> None:
    np.save("line.npy", np.arange(9.0))
    np.save("column.npy", np.arange(9.0)[:, None])
    pd.DataFrame({"a": [1.0, np.nan], "name": ["x", "y"]}).to_csv("column.csv", index=False)
    for name in ("column.npy", "column.csv"):
        message = fail("fill", name, "-o", "out" + name[-4:])
        assert f"cannot fill '{name}': missing entries are predicted from other col" in message
        assert "fost inpaint fills recordings" in message
    assert "fost inpaint fills recordings" in fail("fill", "line.npy", "-o", "out.npy")


def test_errors_are_one_line(fail: Callable[..., str]) -> None:
    np.save("empty.npy", np.full((5, 3), np.nan))
    pd.DataFrame({"name": ["a", "b"]}).to_csv("names.csv", index=False)
    Path("semicolons.csv").write_text("a;b\n1;2\n")
    assert "not by semicolons" in fail("fill", "semicolons.csv", "-o", "out.csv")
    assert "every feature observed" in fail("fill", "empty.npy", "-o", "out.npy")
    assert "no columns of numbers" in fail("fill", "names.csv", "-o", "out.csv")
    assert "are converted to .npy or .zarr" in fail("fill", "empty.npy", "-o", "out.csv")
    assert "are converted to .csv or .parquet" in fail("fill", "names.csv", "-o", "out.npy")
    assert "not .npy, .zarr, .csv" in fail("fill", "image.png", "-o", "out.npy")
    assert "exists already" in fail("fill", "empty.npy", "-o", "signals.npy")
    assert "No such file" in fail("fill", "nowhere.npy", "-o", "out.npy")
    assert "No such file" in fail("fill", "nowhere.csv", "-o", "out.csv")
