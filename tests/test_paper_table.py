"""Table I of the paper as an oracle, where its pictures are at hand.

K = 100, s = 4, non-overlapping 8 x 8 patches vectorised column by column as in the paper's
code, means removed, divided by 255.
"""

from __future__ import annotations

import numpy as np
import pytest

import fost

# Printed with four digits.
PAPER = {
    "peppers": {
        "H6": 0.0294, "H12": 0.0261, "H32": 0.0253,
        "QH6": 0.0306, "QH12": 0.0278, "QH32": 0.0278, "Q": 0.0256,
    },
    "boat": {
        "H6": 0.0371, "H12": 0.0324, "H32": 0.0310,
        "QH6": 0.0375, "QH12": 0.0336, "QH32": 0.0332, "Q": 0.0312,
    },
    "barb": {
        "H6": 0.0508, "H12": 0.0436, "H32": 0.0348,
        "QH6": 0.0508, "QH12": 0.0444, "QH32": 0.0397, "Q": 0.0361,
    },
    "couple": {
        "H6": 0.0405, "H12": 0.0353, "H32": 0.0336,
        "QH6": 0.0411, "QH12": 0.0366, "QH32": 0.0364, "Q": 0.0339,
    },
}  # fmt: skip


def signals(*pictures: np.ndarray) -> np.ndarray:
    blocks = [picture.reshape(64, 8, 64, 8).transpose(0, 2, 3, 1) for picture in pictures]
    Y = np.concatenate([block.reshape(-1, 64) for block in blocks]) / 255
    return Y - Y.mean(axis=1, keepdims=True)


def structure(name: str) -> fost.Structure:
    if name == "Q":
        return fost.Orthonormal()
    return fost.Reflectors(int(name.lstrip("QH")), orthogonal=name.startswith("Q"))


def rmse(Y: np.ndarray, name: str, **options: object) -> float:
    result = fost.learn(Y, structure(name), 4, max_iter=100, tol=0, **options)
    return float(np.sqrt(result.error * np.mean(Y**2)))


@pytest.mark.parametrize("picture", list(PAPER))
def test_rmse_is_at_or_below_the_paper(picture, paper_images):
    Y = signals(paper_images[picture])
    ratios = {name: rmse(Y, name) / paper for name, paper in PAPER[picture].items()}
    assert max(ratios.values()) <= 1.01, ratios
    # Reflectors meet the paper's figure, not just stay below it (barb's H12 is 1.4 % better).
    assert min(ratio for name, ratio in ratios.items() if name != "Q") >= 0.98, ratios


@pytest.mark.parametrize("picture", list(PAPER))
def test_orthogonal_reflectors_gain_from_the_start_at_the_dct(picture, paper_images):
    Y = signals(paper_images[picture])
    # The gain grows with m; barb's QH6 gains 0.19 %, its QH12 1.91 %, which are the least. Other
    # instruction sets and libraries changed none of the four digits.
    for name, gain in (("QH6", 0.001), ("QH12", 0.015), ("QH32", 0.04)):
        ratio = rmse(Y, name, init=fost.DCT((8, 8))) / PAPER[picture][name]
        assert ratio <= 1 - gain, (name, ratio)


@pytest.mark.parametrize("picture", [*PAPER, "man"])
def test_rotations_over_the_dct_beat_twelve_reflectors_at_a_third_of_the_cost(
    picture, paper_images
):
    Y = signals(paper_images[picture])
    base = fost.DCT((8, 8))
    errors = {
        g: fost.learn(Y, fost.Rotations(g), 4, base=base, random_state=0).error for g in (64, 256)
    }
    reflectors = fost.learn(Y, fost.Reflectors(12), 4).error
    full = fost.learn(Y, fost.Orthonormal(), 4).error
    # Peppers comes closest, by 1.1 %.
    assert errors[64] <= reflectors
    # 1.5 % in the root mean squared error.
    assert errors[256] <= full * 1.015**2


def test_the_curve_falls_and_meets_the_full_transform_near_twenty(paper_images):
    Y = signals(*(paper_images[name] for name in ("couple", "peppers", "boat")))
    errors = {m: fost.learn(Y, fost.Reflectors(m), 4).error for m in (1, 3, 6, 12, 20)}
    full = fost.learn(Y, fost.Orthonormal(), 4).error
    assert list(errors.values()) == sorted(errors.values(), reverse=True), errors
    assert errors[12] > 1.05 * full
    assert errors[20] <= 1.04 * full, (errors, full)


@pytest.mark.parametrize(
    ("picture", "paper"),
    [("peppers", 0.0191), ("boat", 0.0231), ("barb", 0.0266), ("couple", 0.0266)],
)
def test_stagewise_ksvd_is_within_two_per_cent_of_the_paper(picture, paper, paper_images):
    # In float64, where the results of other machines were the same; in float32 they differ by up
    # to a per cent.
    Y = signals(paper_images[picture])
    fitted = fost.baselines.StagewiseKSVD(64, 4, random_state=0).fit(Y)
    rmse = np.sqrt(-fitted.score(Y) * np.mean(Y**2))
    assert rmse <= 1.02 * paper
    # As published it ends 0.9 to 2.5 % above.
    published = fost.baselines.StagewiseKSVD(64, 4, n_final=0, drop_first=True, random_state=0)
    rmse = np.sqrt(-published.fit(Y).score(Y) * np.mean(Y**2))
    assert rmse <= 1.035 * paper
