"""The paper's printed numbers as oracle, if its images are available (`tests.conftest.IMAGES`)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fost
from reproduction.algorithms import LEARNED, Settings, learn, run
from reproduction.data import ImageSet, find_images, signals
from reproduction.inpainting import inpainting
from reproduction.printed import INPAINTING, TABLE_ONE
from tests.conftest import IMAGES

# The images of Table I that are available.
NAMES = ("peppers", "boat", "barb", "couple")


@pytest.fixture(scope="module")
def images(paper_images: Any) -> ImageSet:
    return find_images(IMAGES)


def rmse(Y: np.ndarray, name: str, **options: Any) -> float:
    """H or QH after K = 100 iterations, with options of `fost.learn`."""
    structure = fost.Reflectors(int(name.lstrip("QH")), orthogonal=name.startswith("Q"))
    result = fost.learn(Y, structure, 4, max_iter=100, tol=0, **options)
    return float(np.sqrt(result.error * np.mean(Y**2)))


def test_images_are_read_unchanged(images: ImageSet, paper_images: Any) -> None:
    assert set(images) == {*NAMES, "man"}
    assert images.notes == ()
    assert len(images.missing) == 8
    assert (images["boat"] == paper_images["boat"]).all()


def test_the_printed_digits_are_reproduced(images: ImageSet) -> None:
    """All cells of H, QH and Q-DLA, except Q-DLA on barb, where atoms are unused."""
    different = []
    for name in NAMES:
        Y = signals(images[name])
        for method in LEARNED:
            k = Settings().table_k(method)
            error, printed = learn(method, Y, 4, k).rmse(Y), TABLE_ONE[method][name]
            # Other machines may round a cell on the border of two digits the other way.
            if abs(error - printed) > 0.5e-4 + 1e-7:
                different.append((name, method, error))
    assert [(name, method) for name, method, _ in different] == [("barb", "Q-DLA")], different
    assert different[0][2] == pytest.approx(0.0359, abs=0.6e-4)


@pytest.mark.parametrize("name", NAMES)
def test_errors_after_100_iterations_are_not_above_the_printed_ones(
    name: str, images: ImageSet
) -> None:
    Y = signals(images[name])
    ratios = {m: learn(m, Y, 4, 100).rmse(Y) / TABLE_ONE[m][name] for m in LEARNED}
    assert max(ratios.values()) <= 1.01, ratios
    # Reflectors are close to the printed errors, not only below them (barb's H12 by 1.4 %).
    assert min(ratio for m, ratio in ratios.items() if m != "Q-DLA") >= 0.98, ratios


@pytest.mark.parametrize("name", NAMES)
def test_orthogonal_reflectors_gain_from_initialisation_with_the_dct(
    name: str, images: ImageSet
) -> None:
    Y = signals(images[name])
    # The gain grows with m. The smallest gains are those of barb: QH6 0.19 %, QH12 1.91 %. Other
    # instruction sets and BLAS libraries changed none of the four digits.
    for method, gain in (("QH6", 0.001), ("QH12", 0.015), ("QH32", 0.04)):
        ratio = rmse(Y, method, init=fost.DCT((8, 8))) / TABLE_ONE[method][name]
        assert ratio <= 1 - gain, (method, ratio)


@pytest.mark.parametrize("name", [*NAMES, "man"])
def test_rotations_over_the_dct_beat_twelve_reflectors(name: str, images: ImageSet) -> None:
    """64 rotations cost a third of H12; 256 rotations come close to Q-DLA."""
    Y = signals(images[name])
    base = fost.DCT((8, 8))
    errors = {
        g: fost.learn(Y, fost.Rotations(g), 4, base=base, random_state=0).error for g in (64, 256)
    }
    # Peppers comes closest, by 1.1 %.
    assert errors[64] <= fost.learn(Y, fost.Reflectors(12), 4).error
    # 1.5 % in the root mean squared error.
    assert errors[256] <= fost.learn(Y, fost.Orthonormal(), 4).error * 1.015**2


def test_the_error_falls_with_m_and_meets_q_dla_near_twenty(images: ImageSet) -> None:
    Y = images.figure_signals()
    assert Y is not None
    errors = {m: fost.learn(Y, fost.Reflectors(m), 4).error for m in (1, 3, 6, 12, 20)}
    dense = fost.learn(Y, fost.Orthonormal(), 4).error
    assert list(errors.values()) == sorted(errors.values(), reverse=True), errors
    assert errors[12] > 1.05 * dense
    assert errors[20] <= 1.04 * dense, (errors, dense)


def test_barb_needs_24_reflectors_for_the_printed_q_dla(images: ImageSet) -> None:
    Y = signals(images["barb"])
    target = TABLE_ONE["Q-DLA"]["barb"]
    assert run("H24", Y, Settings()).rmse(Y) <= target < run("H23", Y, Settings()).rmse(Y)


@pytest.mark.parametrize("name", NAMES)
def test_stagewise_ksvd_is_close_to_the_printed_errors(name: str, images: ImageSet) -> None:
    # In float64, where other machines had the same results; in float32 they differ by up to 1 %.
    Y = signals(images[name])
    printed = TABLE_ONE["SK-SVD"][name]
    assert run("SK-SVD, continued", Y, Settings()).rmse(Y) <= 1.02 * printed
    # The published algorithm ends 0.9 to 2.5 % above.
    assert learn("SK-SVD", Y).rmse(Y) <= 1.035 * printed


@pytest.mark.parametrize("name", ["barb", "man"])
def test_inpainting(name: str, images: ImageSet) -> None:
    rows = [r for r in inpainting(name, images, Settings(masks=2)) if r["rmse"] is not None]
    found = {(r["method"], r["iterations"], r["mean"], r["weighted"]): r for r in rows}
    for method in ("Q-DLA", "H14", "DCT + 64 rotations"):
        plain, weighted = (found[method, 100, "observed", w] for w in (False, True))
        assert weighted["mae"] < plain["mae"], method
        assert weighted["rmse"] < plain["rmse"], method
        assert found[method, 100, "clean", False]["rmse"] < plain["rmse"], method
    # With the clean mean, three of the four printed pairs are within 6 %.
    near = []
    for method, k in (("Q-DLA", 10), ("H14", 100)):
        row = found[method, k, "clean", False]
        mae, error = INPAINTING[name][method]
        if abs(row["mae"] / mae - 1) < 0.06 and abs(row["rmse"] / error - 1) < 0.06:
            near.append(method)
    assert near == (["Q-DLA"] if name == "barb" else ["Q-DLA", "H14"])
