"""``fost learn`` and ``fost encode`` of arrays with missing entries."""

from __future__ import annotations

import json

import numpy as np
import pytest

import fost
from fost.learning import as_training_data
from tests.cli.conftest import Run
from tests.imputation.test_fit import with_missing

LEARN = ("learn", "--structure", "householder", "--size", "3", "-s", "3", "--quiet")


def save_missing() -> tuple[np.ndarray, np.ndarray]:
    """Write signals with NaN, and a mask for the same signals without NaN."""
    Y = np.load("signals.npy")
    X = with_missing(Y)
    np.save("missing.npy", X)
    np.save("mask.npy", np.isnan(X))
    return X, Y


def test_learn_with_nan_and_with_a_mask(run: Run) -> None:
    X, _ = save_missing()
    run(*LEARN, "missing.npy", "-o", "nan.safetensors")
    run(*LEARN, "signals.npy", "--missing", "mask.npy", "-o", "mask.safetensors")
    expected = fost.learn(X, fost.Reflectors(3), 3, missing="nan").transform
    assert fost.load("nan.safetensors") == expected
    assert fost.load("mask.safetensors") == expected


def test_several_arrays_have_a_mask_each(run: Run) -> None:
    X, Y = save_missing()
    for k in range(2):
        np.save(f"part{k}.npy", Y[k::2])
        np.save(f"mask{k}.npy", np.isnan(X[k::2]))
    masks = [word for k in range(2) for word in ("--missing", f"mask{k}.npy")]
    run(*LEARN, "part0.npy", "part1.npy", *masks, "-o", "parts.safetensors")
    joined = np.concatenate([X[::2], X[1::2]])
    expected = fost.learn(joined, fost.Reflectors(3), 3, missing="nan").transform
    np.testing.assert_allclose(fost.load("parts.safetensors").matrix, expected.matrix, atol=1e-8)


@pytest.mark.parametrize("options", [[], ["--max-error", "0.5"]])
def test_codes_by_pursuit(run: Run, options: list[str]) -> None:
    X, _ = save_missing()
    run(*LEARN, "signals.npy", "-o", "new.safetensors")
    command = ("encode", "new.safetensors", "missing.npy", "-o", "codes.npz", "--json", *options)
    report = json.loads(run(*command).stdout)
    model = fost.load("new.safetensors")
    rule = {"max_error": 0.5} if options else {"n_nonzero_coefs": 3}
    expected = model.encode(X, missing="nan", **rule)  # type: ignore[arg-type]
    with np.load("codes.npz") as file:
        np.testing.assert_array_equal(file["data"], expected.data)
        np.testing.assert_array_equal(file["indices"], expected.indices)
    left = np.nan_to_num(X - model.decode(expected))
    lost = np.sum(left**2) / np.nansum(X**2)
    assert report["relative_error"] == pytest.approx(lost, rel=1e-6)
    if not options:
        told = as_training_data(X, "nan").relative_error(model, 3)
        assert report["relative_error"] == pytest.approx(told, rel=1e-6)
    run(
        "encode", "new.safetensors", "signals.npy", "--missing", "mask.npy", "-o", "m.npz", *options
    )
    with np.load("m.npz") as file:
        np.testing.assert_array_equal(file["data"], expected.data)


def test_usage_of_a_bank(run: Run) -> None:
    save_missing()
    run(
        "learn",
        "--structure",
        "bank",
        "--n-members",
        "2",
        "missing.npy",
        "-o",
        "b.safetensors",
        "-q",
    )
    report = json.loads(run("info", "b.safetensors", "--json").stdout)
    assert sum(report["usage"]) == pytest.approx(1)


def test_the_best_structure_with_missing_entries(run: Run) -> None:
    save_missing()
    options = ("--structure", "auto", "--max-iter", "2", "--n-members", "1", "--json")
    for more in ((), ("--threshold", "1.5")):
        report = json.loads(
            run("learn", "missing.npy", "-o", "a", "--force", *options, *more).stdout
        )
        assert 0 < report["relative_error"] < 1
        assert fost.load("a").n_features == 16
