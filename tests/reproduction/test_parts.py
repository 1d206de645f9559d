"""The rows of every table and figure, against independent computations."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import fost
from reproduction import printed
from reproduction.algorithms import LEARNED, OUR_METHODS, PAPER_METHODS
from reproduction.data import ImageSet, signals
from reproduction.inpainting import EXPONENT, fill
from reproduction.remarks import TOLERANCE
from reproduction.table_one import same_digits
from tests.reproduction.conftest import TINY, make_image


@pytest.fixture(scope="module")
def rows(done: Any) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = done[1].rows
    return found


def test_the_printed_tables_are_complete() -> None:
    assert list(printed.TABLE_ONE) == list(PAPER_METHODS)
    assert len(printed.TABLE_IMAGES) == 12
    for method, cells in printed.TABLE_ONE.items():
        assert all(0.01 < value < 0.08 for value in cells.values()), method
    # Against typing errors: more reflectors never have a larger error, and Q-DLA is below QH32.
    for image in printed.TABLE_IMAGES:
        h6, h12, h32, q, qh32 = (
            printed.TABLE_ONE[name][image] for name in ("H6", "H12", "H32", "Q-DLA", "QH32")
        )
        assert h6 > h12 > h32, image
        assert q < qh32, image


def test_table_one(rows: Any) -> None:
    each = 2 * len(PAPER_METHODS) + len(OUR_METHODS)
    assert [r["image"] for r in rows["table-1"][::each]] == ["peppers", "boat", "barb", "couple"]
    for r in rows["table-1"]:
        assert 0 < r["rmse"] < 0.2
        assert (r["iterations"] is not None) == (r["method"] in LEARNED)
        if r["method"] in PAPER_METHODS:
            assert r["paper"] == printed.TABLE_ONE[r["method"]][r["image"]]
            assert r["difference"] == pytest.approx(r["rmse"] / r["paper"] - 1)
        else:
            assert r["version"] == "reached"
            assert r["paper"] is r["difference"] is None


def test_both_versions_of_table_one_have_their_iterations(rows: Any) -> None:
    boat = {(r["version"], r["method"]): r for r in rows["table-1"] if r["image"] == "boat"}
    Y = signals(make_image(1).astype(float))
    for version, k in (("printed", 2), ("reached", 3)):
        cell = boat[version, "H6"]
        expected = fost.learn(Y, fost.Reflectors(6), 4, max_iter=k, tol=0).errors[-1]
        assert cell["iterations"] == k
        assert cell["rmse"] == pytest.approx(math.sqrt(expected * np.mean(Y**2)), rel=1e-12)
        assert cell["operations"] == 1536
    assert boat["printed", "Q-DLA"]["iterations"] == 1
    for method in ("1-D DCT", "SK-SVD"):
        assert boat["printed", method]["rmse"] == boat["reached", method]["rmse"]


def test_same_digits() -> None:
    assert same_digits({"rmse": 0.03714, "paper": 0.0371})
    assert not same_digits({"rmse": 0.03716, "paper": 0.0371})
    assert not same_digits({"rmse": 0.03714, "paper": None})


def test_table_two(rows: Any) -> None:
    assert [r["n_reflectors"] for r in rows["table-2"]] == [1, 2, 3, 4, 6, 8, 12, 16, 20, 24]
    for r in rows["table-2"]:
        assert r["counted_dense"] == pytest.approx(127 / (4 * r["n_reflectors"]))
        assert r["counted_cosine"] == pytest.approx(774 / (256 * r["n_reflectors"]))
        for name in ("measured_dense", "measured_cosine", "measured_scipy", "nanoseconds"):
            assert 0 < r[name] < 1e6


def test_eigenvalues_of_two_images(rows: Any, images: ImageSet) -> None:
    found = rows["figure-1"]
    assert list(dict.fromkeys(r["curve"] for r in found)) == ["peppers", "barb"]
    Y = signals(images["barb"])
    U = fost.learn(Y, fost.Reflectors(12, orthogonal=True), 4, max_iter=3, tol=0).transform
    X = U.encode(Y, 4).toarray()
    values = np.linalg.eigvalsh(X.T @ Y + Y.T @ X)
    ours = [r["eigenvalue"] for r in found if r["curve"] == "barb"]
    np.testing.assert_allclose(ours, values / np.abs(values).max(), atol=1e-8)
    assert [r["index"] for r in found[:64]] == list(range(1, 65))


@pytest.mark.parametrize(
    ("name", "curves"),
    [
        ("figure-4", ["s = 2", "s = 4", "s = 8", "s = 12"]),
        ("figure-5", ["m = 4", "m = 8", "m = 12", "m = 20", "m = 32"]),
    ],
)
def test_eigenvalues_by_sparsity_and_reflectors(rows: Any, name: str, curves: list[str]) -> None:
    assert list(dict.fromkeys(r["curve"] for r in rows[name])) == curves
    for curve in curves:
        values = [r["eigenvalue"] for r in rows[name] if r["curve"] == curve]
        assert values == sorted(values)
        assert max(map(abs, values)) == pytest.approx(1)
        negative = [r["eigenvalue"] for r in rows[name] if r["curve"] == curve and r["negative"]]
        assert negative
        assert max(negative) < 0


def test_error_by_iteration(rows: Any) -> None:
    for method in ("H12", "H32", "QH12", "QH32", "Q-DLA"):
        errors = [r["relative_error"] for r in rows["figure-2"] if r["method"] == method]
        assert len(errors) == TINY.iterations + 1
        assert all(b <= a + 1e-12 for a, b in pairwise(errors[1:])), method
    assert any(r["method"] == "SK-SVD" for r in rows["figure-2"])


def test_error_by_reflectors(rows: Any, images: ImageSet) -> None:
    found = rows["figure-3"]
    fixed = {r["method"]: r["relative_error"] for r in found if r["n_reflectors"] is None}
    assert list(fixed) == ["1-D DCT", "2-D DCT", "Q-DLA", "SK-SVD"]
    dense = {r["iterations"]: r["relative_error"] for r in found if r["method"] == "Q-DLA"}
    assert list(dense) == [3, 1]
    assert dense[3] < dense[1]
    Y = signals(*(images[name] for name in ("couple", "peppers", "boat")))
    dropped = np.sort(np.abs(fost.DCT((8, 8)).forward(Y)), axis=1)[:, :-4]
    assert fixed["2-D DCT"] == pytest.approx(np.sum(dropped**2) / np.sum(Y**2))
    for kind in ("H", "QH"):
        chosen = [r for r in found if r["method"] == kind]
        assert [r["n_reflectors"] for r in chosen] == list(TINY.reflectors)
        assert chosen[0]["relative_error"] > chosen[-1]["relative_error"]


def test_inpainting(rows: Any, images: ImageSet) -> None:
    for part, name in (("figure-6", "barb"), ("figure-7", "man")):
        found = rows[part]
        assert {r["image"] for r in found} == {name}
        assert [r["method"] for r in found[:2]] == ["original", "40 % missing"]
        for r in found[2:]:
            assert 0 < r["mae"] <= r["rmse"] < 0.5
            assert 0 <= r["mae_spread"] < r["mae"]
            expected = printed.INPAINTING[name].get(r["method"], (None, None))
            assert (r["paper_mae"], r["paper_rmse"]) == expected
        variants = {(r["method"], r["iterations"], r["mean"], r["weighted"]) for r in found[2:]}
        assert len(variants) == len(found) - 2 == 13
        for method, ks in (("Q-DLA", (3, 1)), ("H14", (3, 2)), ("DCT + 64 rotations", (3,))):
            for k in ks:
                assert {(method, k, mean, False) for mean in ("observed", "clean")} <= variants
            assert (method, 3, "observed", True) in variants
        assert sum(bool(r["shown"]) for r in found) == 2 + 2 * 3
    # One variant by an independent computation.
    barb = images["barb"]
    atoms = fost.learn(signals(barb), fost.Orthonormal(), 6, max_iter=1, tol=0).transform.matrix.T
    errors = []
    for seed in range(2):
        mask = np.random.default_rng(seed).random(barb.shape) < 0.4
        filled = fill(barb, mask, atoms, 6, mean="clean")
        errors.append(np.sqrt(np.mean(((filled - barb)[mask] / 255) ** 2)))
    (row,) = (
        r
        for r in rows["figure-6"]
        if (r["method"], r["iterations"], r["mean"]) == ("Q-DLA", 1, "clean")
    )
    assert row["rmse"] == pytest.approx(np.mean(errors), rel=1e-9)
    assert row["rmse_spread"] == pytest.approx(np.ptp(errors), rel=1e-6)


def test_the_clean_mean_is_that_of_all_pixels() -> None:
    image = make_image(2, 8).astype(float)
    mask = np.random.default_rng(1).random((8, 8)) < 0.4
    constant = np.full((1, 64), 1 / 8)
    filled = fill(image, mask, constant, 1, mean="clean")
    y, observed = image / 255, ~mask
    level = y.mean() + (y[observed] - y.mean()).mean()
    np.testing.assert_allclose(filled[mask], 255 * level)


def test_inpainting_keeps_observed_pixels_and_takes_the_best_atom() -> None:
    image = make_image(2, 8).astype(float)
    mask = np.random.default_rng(1).random((8, 8)) < 0.4
    atoms = fost.DCT((8, 8)).matrix.T
    filled = fill(image, mask, atoms, 1)
    np.testing.assert_allclose(filled[~mask], image[~mask])
    y, observed = image.flatten(order="F") / 255, ~mask.flatten(order="F")
    mean = y[observed].mean()
    best = np.argmax(np.abs(atoms[:, observed] @ (y[observed] - mean)))
    part = atoms[best, observed]
    estimate = mean + part @ (y[observed] - mean) / (part @ part) * atoms[best]
    expected = np.clip(255 * estimate.reshape(8, 8).T, 0, 255)
    np.testing.assert_allclose(filled[mask], expected[mask])


def test_inpainting_with_no_or_only_missing_pixels() -> None:
    image = make_image(3, 16).astype(float)
    atoms = fost.DCT((8, 8)).matrix.T
    mask = np.zeros(image.shape, dtype=bool)
    np.testing.assert_allclose(fill(image, mask, atoms, 3, exponent=EXPONENT), image)
    mask[:8, :8] = True
    assert (fill(image, mask, atoms, 3, exponent=EXPONENT)[:8, :8] == 0).all()


def test_running_times(rows: Any) -> None:
    found = {r["method"]: r for r in rows["times"]}
    assert {name: r["paper"] for name, r in found.items()} == printed.SECONDS
    assert all(r["seconds"] > 0 and r["seconds_one_thread"] > 0 for r in found.values())
    assert found["H8"]["n_iter"] == TINY.iterations
    assert found["H8"]["n_signals"] == 3 * 256


def test_remarks(rows: Any) -> None:
    assert {r["remark"] for r in rows["remarks"]} == {1, 2, 3, 4, 5}
    for r in rows["remarks"]:
        assert r["value"] >= -1e-12
        assert r["sentence"].endswith(".")
        if r["remark"] in (3, 4):
            assert r["holds"] == (r["value"] <= TOLERANCE)
        if r["remark"] in (1, 2):
            assert r["value"] <= 1


def test_the_example_in_the_plane(rows: Any) -> None:
    found = rows["example"]
    assert [r["reflector_helps"] for r in found] == [True, False, False]
    assert [r["determinant"] > 0 for r in found] == [False, True, True]
    assert not any(r["printed_condition"] for r in found)
    assert found[0]["reflector_gain"] > 0.2
    assert found[2]["reflector_gain"] == 0
    assert found[2]["orthonormal_gain"] > 0.1


def test_section_five(rows: Any) -> None:
    values = {(r["check"], r["case"]): r["value"] for r in rows["section-5"]}
    assert values["barb", "Q-DLA, K = 3"] < values["barb", "Q-DLA, K = 1"] < values["barb", "H6"]
    assert 0 <= values["unused", "K = 3"] <= 3
    assert values["barb", "Q-DLA in the paper"] == printed.TABLE_ONE["Q-DLA"]["barb"]
    assert values["order", "cyclic"] == pytest.approx(values["order", "random"], rel=0.1)
    assert 0 < values["coherence", "SK-SVD"] <= 1
