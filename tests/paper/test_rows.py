"""Every table and figure as rows, against computations of its own."""

from __future__ import annotations

import base64
import io
import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import fost
from fost import paper
from fost.paper import printed
from fost.paper.inpainting import fill
from fost.paper.methods import AUTO_BUDGET, OUR_METHODS, PAPER_METHODS, learn
from fost.paper.pictures import assemble, patches, signals
from tests import test_paper_table
from tests.paper.conftest import NAMES, TINY, make_picture


def test_the_printed_tables_are_whole() -> None:
    assert list(printed.TABLE_ONE) == list(PAPER_METHODS)
    assert len(printed.TABLE_PICTURES) == 12
    for method, cells in printed.TABLE_ONE.items():
        assert all(0.01 < value < 0.08 for value in cells.values()), method
    for picture, cells in test_paper_table.PAPER.items():
        for name, value in cells.items():
            assert printed.TABLE_ONE["Q-DLA" if name == "Q" else name][picture] == value
    # Slips of the pen: more reflectors never have a larger error, and Q-DLA is below QH32.
    for picture in printed.TABLE_PICTURES:
        h6, h12, h32, q, qh32 = (
            printed.TABLE_ONE[name][picture] for name in ("H6", "H12", "H32", "Q-DLA", "QH32")
        )
        assert h6 > h12 > h32, picture
        assert q < qh32, picture


def test_signals_are_columns_of_patches_one_below_the_other() -> None:
    picture = make_picture(0, 24).astype(float)
    Y = signals(picture)
    block = picture[8:16, 16:24]
    np.testing.assert_allclose(Y[5], (block - block.mean()).flatten(order="F") / 255, atol=1e-15)
    np.testing.assert_array_equal(assemble(patches(picture), picture.shape), picture)


@pytest.mark.parametrize("method", ["1-D DCT", "2-D DCT", "H3", "QH3", "Q-DLA", "SK-SVD",
                                    "DCT + 16 rotations", "AutoDictionary"])  # fmt: skip
def test_the_error_of_a_method_is_that_of_its_codes(method: str) -> None:
    Y = signals(make_picture(1).astype(float))
    found = learn(method, Y, TINY)
    decoded = found.dictionary.decode(found.dictionary.encode(Y, 4))
    # SK-SVD learns in float32.
    assert found.rmse(Y) == pytest.approx(np.sqrt(np.mean((Y - decoded) ** 2)), rel=1e-4)
    assert found.operations <= AUTO_BUDGET or method in ("Q-DLA", "SK-SVD")


def test_unknown_methods() -> None:
    with pytest.raises(ValueError, match="there is no method 'H'"):
        learn("H", np.ones((3, 64)), TINY)


def test_table_one(done: Any) -> None:
    rows = done[1].rows["table-1"]
    assert [row.picture for row in rows[:: len(PAPER_METHODS) + len(OUR_METHODS)]] == [
        "peppers", "boat", "barb", "couple"
    ]  # fmt: skip
    for row in rows:
        assert 0 < row.rmse < 0.2
        if row.method in PAPER_METHODS:
            assert row.paper == printed.TABLE_ONE[row.method][row.picture]
            assert row.difference == pytest.approx(row.rmse / row.paper - 1)
        else:
            assert row.paper is row.difference is None
    cell = next(row for row in rows if (row.picture, row.method) == ("boat", "H6"))
    expected = fost.learn(
        signals(make_picture(1).astype(float)), fost.Reflectors(6), 4, max_iter=3, tol=0
    )
    scale = np.mean(signals(make_picture(1).astype(float)) ** 2)
    assert cell.rmse == pytest.approx(math.sqrt(expected.errors[-1] * scale))
    assert cell.operations == 1536


def test_table_two(done: Any) -> None:
    rows = done[1].rows["table-2"]
    assert [row.n_reflectors for row in rows] == [1, 2, 3, 4, 6, 8, 12, 16, 20, 24]
    for row in rows:
        assert row.counted_dense == pytest.approx(127 / (4 * row.n_reflectors))
        assert row.counted_cosine == pytest.approx(774 / (256 * row.n_reflectors))
        measured = (row.measured_dense, row.measured_cosine, row.measured_scipy, row.nanoseconds)
        assert all(0 < value < 1e6 for value in measured)


def test_eigenvalues_of_two_pictures(done: Any, pictures: paper.PictureSet) -> None:
    rows = done[1].rows["figure-1"]
    assert list(dict.fromkeys(row.curve for row in rows)) == ["peppers", "barb"]
    Y = signals(pictures["barb"])
    U = fost.learn(Y, fost.Reflectors(12, orthogonal=True), 4, max_iter=3, tol=0).transform
    X = U.encode(Y, 4).toarray()
    values = np.linalg.eigvalsh(X.T @ Y + Y.T @ X)
    ours = [row.eigenvalue for row in rows if row.curve == "barb"]
    np.testing.assert_allclose(ours, values / np.abs(values).max(), atol=1e-8)
    assert [row.index for row in rows[:64]] == list(range(1, 65))


@pytest.mark.parametrize(
    ("name", "curves"),
    [
        ("figure-4", ["s = 2", "s = 4", "s = 8", "s = 12"]),
        ("figure-5", ["m = 4", "m = 8", "m = 12", "m = 20", "m = 32"]),
    ],
)
def test_eigenvalues_of_several(done: Any, name: str, curves: list[str]) -> None:
    rows = done[1].rows[name]
    assert list(dict.fromkeys(row.curve for row in rows)) == curves
    for curve in curves:
        values = [row.eigenvalue for row in rows if row.curve == curve]
        assert values == sorted(values)
        assert max(map(abs, values)) == pytest.approx(1)
        negative = [row.negative for row in rows if row.curve == curve]
        assert any(negative)
        assert all(value < 0 for value, below in zip(values, negative, strict=True) if below)


def test_errors_by_iteration(done: Any) -> None:
    rows = done[1].rows["figure-2"]
    for method in ("H12", "H32", "QH12", "QH32", "Q-DLA"):
        errors = [row.relative_error for row in rows if row.method == method]
        assert len(errors) == TINY.iterations + 1
        assert all(b <= a + 1e-12 for a, b in pairwise(errors[1:])), method
    assert any(row.method == "SK-SVD" for row in rows)


def test_errors_by_reflectors(done: Any, pictures: paper.PictureSet) -> None:
    rows = done[1].rows["figure-3"]
    fixed = {row.method: row.relative_error for row in rows if row.n_reflectors is None}
    assert list(fixed) == ["1-D DCT", "2-D DCT", "Q-DLA", "SK-SVD"]
    Y = signals(*(pictures[name] for name in ("couple", "peppers", "boat")))
    kept = np.sort(np.abs(fost.DCT((8, 8)).forward(Y)), axis=1)[:, :-4]
    assert fixed["2-D DCT"] == pytest.approx(np.sum(kept**2) / np.sum(Y**2))
    for kind in ("H", "QH"):
        chosen = [row for row in rows if row.method == kind]
        assert [row.n_reflectors for row in chosen] == list(TINY.reflectors)
        assert chosen[0].relative_error > chosen[-1].relative_error


def test_inpainting(done: Any) -> None:
    for part, name in (("figure-6", "barb"), ("figure-7", "man")):
        rows = done[1].rows[part]
        assert {row.picture for row in rows} == {name}
        assert [row.method for row in rows[:2]] == ["original", "40 % missing"]
        for row in rows[2:]:
            assert 0 < row.mae <= row.rmse < 0.5
            paper_values = printed.INPAINTING[name].get(row.method, (None, None))
            assert (row.paper_mae, row.paper_rmse) == paper_values
        assert sum(row.weighted for row in rows) == 3


def test_filling_keeps_what_was_seen_and_takes_the_best_atom() -> None:
    picture = make_picture(2, 8).astype(float)
    missing = np.random.default_rng(1).random((8, 8)) < 0.4
    atoms = fost.DCT((8, 8)).matrix.T
    filled = fill(picture, missing, atoms, 1)
    np.testing.assert_allclose(filled[~missing], picture[~missing])
    y, seen = picture.flatten(order="F") / 255, ~missing.flatten(order="F")
    mean = y[seen].mean()
    best = np.argmax(np.abs(atoms[:, seen] @ (y[seen] - mean)))
    part = atoms[best, seen]
    estimate = mean + part @ (y[seen] - mean) / (part @ part) * atoms[best]
    expected = np.clip(255 * estimate.reshape(8, 8).T, 0, 255)
    np.testing.assert_allclose(filled[missing], expected[missing])


def test_filling_without_anything_seen_or_missing() -> None:
    picture = make_picture(3, 16).astype(float)
    atoms = fost.DCT((8, 8)).matrix.T
    nothing = np.zeros(picture.shape, dtype=bool)
    np.testing.assert_allclose(fill(picture, nothing, atoms, 3, weighted=True), picture)
    hole = nothing.copy()
    hole[:8, :8] = True
    assert (fill(picture, hole, atoms, 3, weighted=True)[:8, :8] == 0).all()


def test_running_times(done: Any) -> None:
    rows = {row.method: row for row in done[1].rows["times"]}
    assert {name: row.paper for name, row in rows.items()} == printed.SECONDS
    assert all(row.seconds > 0 and row.seconds_one_thread > 0 for row in rows.values())
    assert rows["H8"].n_iter == TINY.iterations
    assert rows["H8"].n_signals == 3 * 256


def test_remarks(done: Any) -> None:
    rows = done[1].rows["remarks"]
    assert {row.remark for row in rows} == {3, 4, 5}
    for row in rows:
        assert row.value >= -1e-12
        assert row.sentence.endswith(".")
        if row.remark < 5:
            assert row.holds == (row.value <= 1e-4)


def test_section_five(done: Any) -> None:
    values = {(row.check, row.case): row.value for row in done[1].rows["section-5"]}
    assert values["barb", "Q-DLA"] < values["barb", "H6"]
    assert values["order", "cyclic"] == pytest.approx(values["order", "random"], rel=0.1)
    assert 0 < values["coherence", "SK-SVD"] <= 1


def test_explorer(done: Any, pictures: paper.PictureSet) -> None:
    from PIL import Image

    rows = done[1].rows["explorer"]
    assert list(dict.fromkeys(row.picture for row in rows)) == [
        name for name in printed.PICTURES if name in NAMES
    ]
    original = next(row for row in rows if row.picture == "man" and row.method == "original")
    shown = np.asarray(Image.open(io.BytesIO(base64.b64decode(original.image.split(",")[1]))))
    assert np.sqrt(np.mean((shown - pictures["man"]) ** 2)) < 5  # what JPEG loses
    by_m = {row.n_reflectors: row for row in rows if row.picture == "man" and row.method[0] == "H"}
    assert by_m[1].rmse > by_m[12].rmse
    assert by_m[12].operations == 3072


def test_the_public_functions_take_the_papers_settings_by_default() -> None:
    for name in ("table_one", "inpainting", "explorer"):
        function = getattr(paper, name)
        assert function(paper.PictureSet({})) == []
    assert paper.Settings().iterations == 100
    assert paper.Settings.quick().iterations < 20
