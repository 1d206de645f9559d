"""Transforms that are pretrained, or learned from the patches of an array."""

from __future__ import annotations

import numpy as np
import pytest

import fost
from fost.restoration import patches, pretrained
from fost.restoration.patch_specs import PRETRAINED, default_transform, learn_transform

skimage_data = pytest.importorskip("skimage.data")


def test_pretrained_transforms_are_orthonormal():
    for (height, width), name in PRETRAINED.items():
        transform = pretrained(name)
        assert transform.n_features == height * width
        assert default_transform((height, width)) is transform
        np.testing.assert_allclose(
            transform.matrix.T @ transform.matrix, np.eye(height * width), atol=1e-12
        )
    assert default_transform((5, 7)) == fost.DCT((5, 7))
    with pytest.raises(ValueError, match="name must be one of 'patches-8x8', 'patches-16x16'"):
        pretrained("patches")


def test_pretrained_transforms_are_about_as_sparse_as_the_dct_on_other_images():
    image = skimage_data.camera() / 255
    Y = patches(image, 8)
    Y -= Y.mean(axis=1, keepdims=True)
    kept = [
        np.square(t.encode(Y, 6).data).sum() for t in (pretrained("patches-8x8"), fost.DCT((8, 8)))
    ]
    assert kept[0] > 0.995 * kept[1]


def test_learning_needs_enough_patches():
    camera = skimage_data.camera()[100:356, 100:356]
    rng = np.random.default_rng(0)
    assert learn_transform([np.zeros((20, 20))], (8, 8), rng, 64, 3) is None
    assert learn_transform([np.zeros((200, 200))], (8, 8), rng, 64, 3) is None
    found = learn_transform([camera / 255], (8, 8), rng, 64, 3)
    assert found.n_features == 64
    trusted = np.zeros(camera.shape, bool)
    assert learn_transform([camera / 255], (8, 8), rng, 64, 3, trusted=[trusted]) is None
