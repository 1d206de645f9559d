"""Representation of coders in notebooks."""

from __future__ import annotations

import base64
import io
import re

import numpy as np
import pytest

import fost
from fost.transforms.html import png, signal_shape

N = 16
CODERS = {
    "DCT": fost.DCT((4, 4)),
    "chain": fost.Chain([fost.DCT(N), fost.Householder(np.eye(N)[:2])]),
    "dense": fost.Dense(np.eye(N)),
    "bank": fost.Bank([fost.DCT((4, 4)), fost.Dense(np.eye(N))]),
    "union": fost.Union([fost.DCT(N), fost.Dense(np.eye(N))]),
    "many features": fost.DCT((16, 16)),
    "one feature": fost.Dense([[1.0]]),
    "no square": fost.Dense(np.eye(5)),
    "identity": fost.Householder(np.zeros((0, 3))),
}


def image_of(html: str) -> np.ndarray:
    image = pytest.importorskip("PIL.Image")
    (content,) = re.findall(r'src="data:image/png;base64,([^"]*)"', html)
    return np.asarray(image.open(io.BytesIO(base64.b64decode(content))))


@pytest.mark.parametrize("name", CODERS)
def test_costs_and_atoms(name):
    coder = CODERS[name]
    html = coder._repr_html_()
    assert f"{type(coder).__name__}(n_features={coder.n_features}" in html
    assert f"{coder.flops:,} operations per signal" in html
    assert f">{'the first 64 of ' if coder.n_atoms > 64 else ''}{coder.n_atoms} atoms" in html
    image = image_of(html)
    assert image.ndim == 2
    assert image.dtype == np.uint8


def test_atoms_are_shown_in_the_shape_of_signals():
    image = image_of(fost.DCT((4, 4))._repr_html_())
    assert image.shape == (4 * 5 - 1, 4 * 5 - 1)
    assert (image[:4, :4] == 255).all()  # the constant atom
    # The second oscillates along a row, and is odd.
    second = image[:4, 5:9].astype(int)
    np.testing.assert_array_equal(second, second[:1].repeat(4, axis=0))
    assert np.abs(second + second[:, ::-1] - 255).max() <= 1
    rows = image_of(fost.DCT(16)._repr_html_())
    assert rows.shape == (16, 16)
    assert (rows[0] == 255).all()


@pytest.mark.parametrize(
    ("name", "shape"),
    [("DCT", (4, 4)), ("chain", (16,)), ("dense", (4, 4)), ("no square", (5,)), ("bank", (4, 4))],
)
def test_the_shape_of_signals(name, shape):
    assert signal_shape(CODERS[name]) == shape


def test_large_transforms_have_no_image():
    html = fost.DCT(10_000)._repr_html_()
    assert "img" not in html
    assert "10000" in html


def test_png_of_any_grey_values():
    grey = np.random.default_rng(0).integers(0, 256, (7, 11), dtype=np.uint8)
    image = pytest.importorskip("PIL.Image")
    np.testing.assert_array_equal(np.asarray(image.open(io.BytesIO(png(grey)))), grey)


@pytest.mark.parametrize("name", CODERS)
def test_numpy_makes_the_matrix_of_a_coder(name):
    coder = CODERS[name]
    for matrix in (np.asarray(coder), np.array(coder), np.array(coder, copy=True)):
        assert matrix.dtype == np.float64
        np.testing.assert_array_equal(matrix, coder.matrix)
    assert np.asarray(coder, dtype=np.float32).dtype == np.float32
