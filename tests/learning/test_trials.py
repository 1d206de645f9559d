"""Bases and starts that are chosen by short runs: ``base="auto"`` and ``n_init``."""

from __future__ import annotations

import numpy as np
import pytest

import fost
from tests.learning.test_learn import correlated

N = 16
SMOOTH = np.cumsum(np.random.default_rng(0).standard_normal((3000, N)), axis=1)
SPIKES = np.random.default_rng(0).standard_normal((3000, N)) * (
    np.random.default_rng(1).random((3000, N)) < 0.1
)
STRUCTURES = [fost.Rotations(8), fost.Rotations("auto"), fost.BankOf(fost.Rotations(8), 2)]
structures = pytest.mark.parametrize("structure", STRUCTURES, ids=lambda s: s.label)


@structures
def test_auto_has_a_base_for_smooth_signals_and_none_for_spikes(structure):
    options = {"max_iter": 3, "random_state": 0}
    # A few rotations cannot turn a basis of spikes into one of smooth functions, nor back.
    assert fost.learn(SMOOTH, structure, 3, **options).base is not None
    if structure != fost.Rotations("auto"):  # as many rotations as they need make all bases equal
        assert fost.learn(SPIKES, structure, 3, **options).base is None


def test_auto_takes_the_shape_of_the_signals():
    rows, columns = np.mgrid[:4, :4]
    waves = [np.cos(np.pi * (2 * rows + 1) * k / 8).ravel() for k in (1, 2)]
    waves += [np.cos(np.pi * (2 * columns + 1) * k / 8).ravel() for k in (1, 2)]
    Y = np.random.default_rng(0).standard_normal((200, 4)) @ waves  # sparse in the DCT of a square
    for shape in (None, (4, 4)):
        found = fost.learn(Y, fost.Rotations(2), 4, signal_shape=shape, random_state=0)
        assert found.base == fost.DCT((4, 4))
        assert found.error < 1e-12


@pytest.mark.parametrize("structure", [fost.Orthonormal(), fost.Reflectors(3)])
def test_auto_is_no_base_for_structures_that_want_none(structure):
    one = fost.learn(SMOOTH, structure, 3, max_iter=2)
    assert one.base is None
    assert one.transform == fost.learn(SMOOTH, structure, 3, base=None, max_iter=2).transform


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("dct", fost.DCT((4, 4))),
        ("hadamard", fost.Hadamard((4, 4))),
        ("none", None),
        (fost.DCT(N), fost.DCT(N)),
    ],
    ids=str,
)
def test_names_of_bases(name, base):
    found = fost.learn(
        SMOOTH, fost.Rotations(4), 3, base=name, signal_shape=(4, 4), init="base", max_iter=1
    )
    assert found.base == base
    estimator = fost.GivensDictionary(4, 3, name, signal_shape=(4, 4), max_iter=1, tol=0)
    assert estimator.fit(SMOOTH).base_ == base


def test_wavelets_by_name():
    pytest.importorskip("pywt")
    options = {"init": "base", "max_iter": 1}
    for name, wavelet in (("wavelet", "db4"), ("wavelet:haar", "haar")):
        found = fost.learn(SMOOTH, fost.Rotations(4), 3, base=name, **options)
        assert found.base == fost.Wavelet(N, wavelet)


@pytest.mark.parametrize("base", ["fourier", "dct:2", ""])
def test_unknown_bases_are_refused(base):
    with pytest.raises(ValueError, match="base must be a transform, 'auto', 'none', 'dct'"):
        fost.learn(SMOOTH, fost.Rotations(4), 3, base=base)


def test_a_shape_of_other_signals_is_refused():
    with pytest.raises(ValueError, match=r"signal_shape=\(3, 5\) has 15 entries"):
        fost.learn(SMOOTH, fost.Rotations(4), 3, signal_shape=(3, 5))


@structures
def test_auto_continues_a_result_with_its_base(structure):
    first = fost.learn(SMOOTH, structure, 3, base="dct", max_iter=3, tol=0, random_state=0)
    fitted = fost.learn(SMOOTH, structure, 3, init=first.transform, max_iter=1, tol=0)
    assert fitted.base == first.base
    assert fitted.start_error == pytest.approx(first.error, rel=1e-9)


@pytest.mark.parametrize("seed", [0, None])
def test_resumed_runs_keep_their_base_and_start(seed, tmp_path):
    options = {"n_init": 2, "tol": 0, "random_state": seed}
    path = tmp_path / "checkpoint"
    structure = fost.Rotations(8)
    first = fost.learn(SMOOTH, structure, 3, max_iter=2, checkpoint=path, **options)
    again = fost.learn(SMOOTH, structure, 3, max_iter=5, checkpoint=path, **options)
    assert again.base == first.base
    np.testing.assert_array_equal(again.errors[:2], first.errors)
    np.testing.assert_array_equal(again.init_errors, first.init_errors)
    if seed is not None:
        whole = fost.learn(SMOOTH, structure, 3, max_iter=5, **options)
        assert whole.transform == again.transform
    with pytest.raises(fost.learning.CheckpointError, match="n_init was 2 and is now 3"):
        fost.learn(SMOOTH, structure, 3, checkpoint=path, **{**options, "n_init": 3})


def test_only_random_starts_are_repeated():
    random = fost.learn(SMOOTH, fost.Orthonormal(), 3, init="random", n_init=3, max_iter=2)
    assert len(random.init_errors) == 3
    assert len(set(random.init_errors)) == 3
    svd = fost.learn(SMOOTH, fost.Orthonormal(), 3, n_init=3, max_iter=2)
    assert len(svd.init_errors) == 1
    given = fost.learn(SMOOTH, fost.Orthonormal(), 3, init=fost.DCT(N), n_init=3, max_iter=2)
    assert len(given.init_errors) == 0


def test_rotations_are_pruned_where_a_start_is_not_random():
    # All signals are in the start and in the trials, so that nothing is random.
    Y, g = SMOOTH[:400], 9
    options = {"max_iter": 20, "tol": 0, "random_state": 0}
    found = fost.learn(Y, fost.Rotations(g), 3, base="dct", n_init=4, **options)
    assert len(set(found.init_errors)) == 4
    assert found.error <= found.init_errors.min() * (1 + 1e-9), "the best result is continued"
    one = fost.learn(Y, fost.Rotations(g), 3, base="dct", **options)
    assert one.error == pytest.approx(found.init_errors[0], rel=1e-9)


def test_the_best_start_is_continued():
    # All signals are in a trial, so that its errors are those of the first iterations.
    Y = correlated(400, 12)
    options = {"init": "random", "max_iter": 20, "tol": 0, "random_state": 0}
    found = fost.learn(Y, fost.Orthonormal(), 3, n_init=5, **options)
    assert found.error == pytest.approx(found.init_errors.min(), rel=1e-9)


def test_partial_fit_keeps_the_base_of_the_first_batch():
    online = fost.GivensDictionary(8, 3, random_state=0)
    base = online.partial_fit(SMOOTH[:1000]).base_
    assert base is not None
    # Spikes alone would choose no base.
    assert online.partial_fit(SPIKES[:1000]).base_ == base
    assert online.dictionary_.stages[0] == base
    assert fost.GivensDictionary(8, 3).fit(SMOOTH).partial_fit(SPIKES).base_ is not None
