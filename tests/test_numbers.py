"""Numbers, flags and names as arguments: NumPy's are as good as Python's, others are named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fost
from fost import _validation, diagnostics, images, restoration
from fost.baselines import KSVD, MOD, GeneralDictionary, StagewiseKSVD
from fost.learning.structure import Problem

Y = np.random.default_rng(0).standard_normal((60, 8))
PICTURE = np.random.default_rng(1).random((20, 24))
DCT = fost.DCT(8)
RESULT = fost.learn(Y, fost.Reflectors(2), 2, max_iter=2)


def plain(result: Any) -> Any:
    """A result in a form that can be compared."""
    if isinstance(result, fost.LearningResult):
        return result.transform, result.errors.tolist()
    if hasattr(result, "dictionary_"):
        return result.dictionary_, np.asarray(result.errors_).tolist()
    if hasattr(result, "toarray"):
        return result.toarray().tolist()
    return result.tolist() if isinstance(result, np.ndarray) else result


# Each argument that is an integer, as a function of a type of integers.
INTEGERS: dict[str, Callable[[Callable[[int], Any]], Any]] = {
    "select n_nonzero_coefs": lambda k: fost.select(Y, k(2)),
    "encode n_nonzero_coefs": lambda k: DCT.encode(Y, k(2)),
    "bank n_nonzero_coefs": lambda k: fost.Bank([DCT, DCT]).encode(Y, k(2)),
    "omp n_nonzero_coefs": lambda k: fost.omp(Y, Y[:12], k(2), max_error=k(1)),
    "DCT shape": lambda k: fost.DCT((k(2), k(4))),
    "DCT shape alone": lambda k: fost.DCT(k(8)),
    "Givens": lambda k: fost.Givens([(k(0), k(2))], [np.eye(2)], k(3)),
    "Reflectors": lambda k: fost.Reflectors(k(3)),
    "Rotations": lambda k: fost.Rotations(k(3)),
    "BankOf": lambda k: fost.BankOf(fost.Rotations(k(3)), k(2)),
    "learn Reflectors": lambda k: fost.learn(
        Y, fost.Reflectors(k(3)), k(2), max_iter=k(3), tol=k(0), random_state=k(1)
    ),
    "learn Rotations": lambda k: fost.learn(Y, fost.Rotations(k(3)), k(2), max_iter=k(3)),
    "learn BankOf": lambda k: fost.learn(
        Y, fost.BankOf(fost.Reflectors(k(1)), k(2)), k(2), max_iter=k(3), random_state=k(1)
    ),
    "OrthonormalDictionary": lambda k: fost.OrthonormalDictionary(k(2), max_iter=k(3)).fit(Y),
    "HouseholderDictionary": lambda k: fost.HouseholderDictionary(k(3), k(2), max_iter=k(3)).fit(Y),
    "GivensDictionary": lambda k: fost.GivensDictionary(k(9), k(2), max_iter=k(3)).fit(Y),
    "BankDictionary": lambda k: fost.BankDictionary(
        k(2), k(2), fost.Orthonormal(), max_iter=k(3), random_state=k(1)
    ).fit(Y),
    "partial_fit": lambda k: (
        fost.HouseholderDictionary(k(3), k(2), forgetting=k(1)).partial_fit(Y).partial_fit(Y)
    ),
    "AutoDictionary": lambda k: fost.AutoDictionary(
        k(2), (k(2), k(4)), k(120), max_members=k(2), max_iter=k(2), random_state=k(1)
    ).fit(Y),
    "KSVD": lambda k: KSVD(k(12), k(2), max_iter=k(3), random_state=k(1)).fit(Y),
    "MOD": lambda k: MOD(k(12), k(2), max_iter=k(3), random_state=k(1)).fit(Y),
    "StagewiseKSVD": lambda k: StagewiseKSVD(
        k(12), k(2), atoms_per_stage=k(3), full_every=k(2), n_inner=k(2), n_final=k(2)
    ).fit(Y),
    "GeneralDictionary": lambda k: GeneralDictionary(Y[:12]).encode(Y, k(2)),
    "patches": lambda k: restoration.patches(PICTURE, k(4), (k(2), k(3))),
    "patches by an array": lambda k: restoration.patches(PICTURE, np.array([k(4), k(3)]), k(2)),
    "assemble": lambda k: restoration.assemble(
        restoration.patches(PICTURE, 4), (k(20), k(24)), k(4), k(4), weights=np.ones(30)
    ),
    "speed_ups": lambda k: diagnostics.speed_ups(k(64), k(3), k(4), k(128)),
    "spectrum": lambda k: diagnostics.spectrum(DCT, Y, k(2)).truncation_loss(k(1)),
    "symmetry": lambda k: diagnostics.symmetry(DCT, Y, k(2), tol=k(1)).holds,
}


@pytest.mark.parametrize("kind", [np.uint8, np.int64])
@pytest.mark.parametrize("name", INTEGERS)
def test_numpys_integers_are_as_good_as_pythons(name: str, kind: Any) -> None:
    assert plain(INTEGERS[name](kind)) == plain(INTEGERS[name](int))


@pytest.mark.parametrize(
    "structure",
    [
        fost.Reflectors(np.int64(3), np.True_, np.str_("random")),
        fost.Rotations(np.uint8(3)),
        fost.BankOf(fost.Rotations(np.int16(3)), np.uint8(2)),
    ],
    ids=repr,
)
def test_structures_keep_pythons_numbers(structure: Any) -> None:
    for name in structure.__dataclass_fields__:
        value = getattr(structure, name)
        assert isinstance(value, fost.Structure) or type(value) in (int, bool, str)
    assert "np." not in repr(structure)
    assert structure == eval(repr(structure), vars(fost))
    assert hash(structure) == hash(eval(repr(structure), vars(fost)))


# What is wrong, and what is said about it.
BAD: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: fost.Reflectors(2.0), TypeError, "n_reflectors must be an integer, got 2.0"),
    (
        lambda: fost.Reflectors("some"),
        ValueError,
        "n_reflectors must be an integer or 'auto', got 'some'",
    ),
    (lambda: fost.Reflectors(2, orthogonal="no"), TypeError, "orthogonal must be True or False"),
    (lambda: fost.Reflectors(2, orthogonal=1), TypeError, "orthogonal must be True or False"),
    (lambda: fost.Reflectors(2, order=1), TypeError, "order must be one of 'cyclic', 'random'"),
    (lambda: fost.Reflectors(2, order="any"), ValueError, "order must be one of 'cyclic'"),
    (lambda: fost.Reflectors(2, triangular=None), TypeError, "triangular must be True or False"),
    (lambda: fost.Rotations(1.5), TypeError, "n_rotations must be an integer, got 1.5"),
    (lambda: fost.Rotations(True), TypeError, "n_rotations must be an integer, got True"),
    (
        lambda: fost.Rotations("many"),
        ValueError,
        "n_rotations must be an integer or 'auto', got 'many'",
    ),
    (lambda: fost.BankOf(fost.Orthonormal(), 2.0), TypeError, "n_members must be an integer"),
    (lambda: fost.DCT((8, 8.9)), TypeError, "shape must be an integer, got 8.9"),
    (lambda: fost.Givens([[0, 1], [2]], [np.eye(2)], 3), ValueError, "pairs must be an array"),
    (lambda: fost.Givens([[0, 1]], [[[1], [2, 3]]], 3), ValueError, "blocks must be an array"),
    (
        lambda: fost.Givens(np.ma.masked_less([[0, 1]], 1), [np.eye(2)], 3),
        ValueError,
        "pairs has masked",
    ),
    (
        lambda: fost.learn(Y, fost.Orthonormal(), 2.5),
        TypeError,
        "n_nonzero_coefs must be an integer",
    ),
    (
        lambda: fost.learn(Y, fost.Orthonormal(), 2, max_iter=2.5),
        TypeError,
        "max_iter must be an integer",
    ),
    (
        lambda: fost.learn(Y, fost.Orthonormal(), 2, tol=None),
        TypeError,
        "tol must be a number, got None",
    ),
    (lambda: fost.learn(Y, fost.Orthonormal(), 2, tol=np.inf), ValueError, "tol must be .* finite"),
    (
        lambda: fost.learn(Y, fost.Orthonormal(), 2, callback=3),
        TypeError,
        "callback must be callable",
    ),
    (
        lambda: fost.learn(Y, fost.Orthonormal(), 2, verbose="no"),
        TypeError,
        "verbose must be True or",
    ),
    (
        lambda: fost.learn(Y, fost.Orthonormal(), 2, checkpoint=3),
        TypeError,
        "checkpoint must be a path",
    ),
    (
        lambda: fost.learn(Y, fost.Orthonormal(), 2, random_state=1.5),
        TypeError,
        "random_state must be",
    ),
    (
        lambda: fost.learn(Y, fost.Orthonormal(), 2, random_state=True),
        TypeError,
        "random_state must be",
    ),
    (
        lambda: fost.learn(Y, fost.Orthonormal(), 2, random_state=-1),
        ValueError,
        "random_state must be",
    ),
    (lambda: fost.GivensDictionary("x").fit(Y), ValueError, "n_rotations must be an integer or"),
    (lambda: fost.GivensDictionary(2.5).fit(Y), TypeError, "n_rotations must be an integer"),
    (lambda: fost.HouseholderDictionary(2.5).fit(Y), TypeError, "n_reflectors must be an integer"),
    (lambda: fost.HouseholderDictionary(9).fit(Y), ValueError, "n_reflectors must be between 1"),
    (lambda: fost.BankDictionary(2.5).fit(Y), TypeError, "n_members must be an integer"),
    (
        lambda: fost.BankDictionary(2, structure=3).fit(Y),
        TypeError,
        "structure must be Orthonormal",
    ),
    (
        lambda: fost.OrthonormalDictionary(2, sparse_output="no").fit(Y),
        TypeError,
        "sparse_output must be True or False",
    ),
    (
        lambda: fost.OrthonormalDictionary(2).fit(np.ma.masked_greater(Y, 1)),
        ValueError,
        "X has masked entries",
    ),
    (lambda: KSVD(12, 2).fit(np.ma.masked_greater(Y, 1)), ValueError, "X has masked entries"),
    (lambda: fost.AutoDictionary(2, max_flops="x").fit(Y), TypeError, "max_flops must be a number"),
    (
        lambda: fost.AutoDictionary(2, max_relative_error=2).fit(Y),
        ValueError,
        "max_relative_error must be at",
    ),
    (lambda: fost.AutoDictionary(2, max_iter=1.5).fit(Y), TypeError, "max_iter must be an integer"),
    (lambda: fost.AutoDictionary(2, tol="x").fit(Y), TypeError, "tol must be a number"),
    (lambda: fost.AutoDictionary(2, verbose="x").fit(Y), TypeError, "verbose must be True or"),
    (
        lambda: fost.AutoDictionary(2, signal_shape=8.0).fit(Y),
        TypeError,
        "signal_shape must be an integer",
    ),
    (
        lambda: fost.AutoDictionary(2, validation_fraction="x").fit(Y),
        TypeError,
        "validation_fraction must be a number",
    ),
    (lambda: KSVD(12, 2, approximate="no").fit(Y), TypeError, "approximate must be True or False"),
    (lambda: KSVD(12, 2, max_iter=2.5).fit(Y), TypeError, "max_iter must be an integer"),
    (lambda: KSVD(12, 2, tol="x").fit(Y), TypeError, "tol must be a number"),
    (lambda: KSVD(12, 2, callback="x").fit(Y), TypeError, "callback must be callable"),
    (lambda: KSVD(12, 2, verbose="x").fit(Y), TypeError, "verbose must be True or False"),
    (lambda: KSVD(2.5, 2).fit(Y), TypeError, "n_components must be an integer"),
    (lambda: KSVD(2**31 - 1, 2).fit(Y), ValueError, "n_components must be between 1 and 32768"),
    (lambda: StagewiseKSVD(12, 2, share="x").fit(Y), TypeError, "share must be a number"),
    (lambda: StagewiseKSVD(12, 2, n_final=2.5).fit(Y), TypeError, "n_final must be an integer"),
    (lambda: StagewiseKSVD(12, 2, drop_first=2).fit(Y), TypeError, "drop_first must be True or"),
    (lambda: diagnostics.symmetry(DCT, Y, 2, tol="x"), TypeError, "tol must be a number"),
    (
        lambda: diagnostics.spectrum(DCT, Y, 2).suggested_n_reflectors("x"),
        TypeError,
        "max_loss must be a number",
    ),
    (lambda: diagnostics.batch_omp_flops(2.5, 1), TypeError, "n_features must be an integer"),
    (lambda: restoration.patches(PICTURE, (8.9, 8.9)), TypeError, "patch_shape must be an integer"),
    (lambda: restoration.patches(PICTURE, 4, 1.5), TypeError, "stride must be an integer, got 1.5"),
    (lambda: restoration.patches(PICTURE, (4,)), ValueError, "patch_shape must be an integer or"),
    (lambda: restoration.assemble(PICTURE, (20.0, 24), 8), TypeError, "shape must be an integer"),
    (lambda: restoration.assemble(PICTURE, (4, 4), 8), ValueError, "shape must be at least as"),
    (
        lambda: restoration.denoise(PICTURE, 1, patch_shape=2**31 - 1),
        ValueError,
        "patch_shape must be at most 4096",
    ),
    (
        lambda: restoration.inpaint(PICTURE, PICTURE > 0.5, patch_shape=(1, 5000)),
        ValueError,
        "patch_shape must be at most 4096",
    ),
    (
        lambda: restoration.denoise(PICTURE, 1, transform=fost.DCT(2**30)),
        ValueError,
        "transform must be for patches of at most 4096 x 4096 samples, got 32768",
    ),
    (lambda: images.ImageFormat("x", 0, 1), TypeError, "dtype must be a type of real numbers"),
    (lambda: fost.Bank(np.array(3)), TypeError, "members must be a list of transforms"),
    (lambda: fost.Chain(np.array(3)), TypeError, "stages must be a list of transforms"),
    (
        lambda: fost.AutoDictionary(2, signal_shape=2**31 - 1).fit(Y),
        ValueError,
        "signal_shape=2147483647 has 2147483647 entries, but the signals have 8 features",
    ),
    (
        lambda: images.psnr(PICTURE, 1 - PICTURE, 1e-300),
        ValueError,
        "image is too far from reference for data_range=1e-300",
    ),
    (
        lambda: restoration.assemble(PICTURE, 20, 4, channel_axis=-1),
        ValueError,
        "shape must have 2 or 3 or 4 axes, got 20",
    ),
    (lambda: images.psnr(PICTURE, PICTURE, "1"), TypeError, "data_range must be a number"),
    (lambda: restoration.pretrained(["x"]), TypeError, "name must be one of"),
    (lambda: images.read(3), TypeError, "path must be a path, got 3"),
    (lambda: images.write(None, PICTURE), TypeError, "path must be a path, got None"),
    (lambda: images.write("x.png", PICTURE, overwrite="x"), TypeError, "overwrite must be True"),
    (lambda: fost.plot_frontier(3), TypeError, "estimator must be an AutoDictionary, got int"),
    (lambda: diagnostics.report(DCT, Y, 2, file=3), TypeError, "file must be a text file or"),
    (lambda: fost.set_num_threads(2.0), TypeError, "n_threads must be an integer"),
]


@pytest.mark.parametrize(("call", "error", "message"), BAD, ids=[message for *_, message in BAD])
def test_others_are_refused_by_name(
    call: Callable[[], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=f"^{message}"):
        call()


@pytest.mark.parametrize("flag", [False, np.False_, np.array(False)], ids=repr)
def test_flags(flag: Any) -> None:
    assert _validation.check_flag(flag, "flag") is False
    assert _validation.check_verbose(flag) is False
    assert fost.Reflectors(2, flag, triangular=flag) == fost.Reflectors(2)
    estimator = fost.OrthonormalDictionary(2, sparse_output=flag, max_iter=1).fit(Y)
    assert type(estimator.transform(Y)) is np.ndarray


def test_verbose_may_be_an_integer() -> None:
    assert [_validation.check_verbose(k) for k in (0, 1, np.int64(2))] == [False, True, True]
    with pytest.raises(TypeError, match="verbose must be True or False, got -1"):
        _validation.check_verbose(-1)


def test_sizes_and_pairs() -> None:
    assert _validation.check_each(np.int8(3), "k", 2) == (3, 3)
    assert _validation.check_each(np.array([3, 4]), "k", 2) == (3, 4)
    assert _validation.check_each(np.array(3), "k", 2) == (3, 3)
    assert _validation.check_sizes([2, np.int8(3)], "k") == (2, 3)
    assert all(type(size) is int for size in _validation.check_sizes(np.array([2, 3]), "k"))
    with pytest.raises(TypeError, match="k must be an integer"):
        _validation.check_each(np.ones((2, 2), int), "k", 2)
    with pytest.raises(TypeError, match="k must be an integer, got nan"):
        _validation.check_each(np.nan, "k", 2)


class Asked:
    """A problem of which only the number of features is asked."""

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features


@pytest.mark.parametrize(
    ("structure", "n", "message"),
    [
        (
            fost.Rotations(4097),
            64,
            r"n_rotations must be between 1 and max\(n_features\*\*2, 4096\)=4096",
        ),
        (
            fost.Rotations(2**31 - 1),
            100,
            "n_rotations must be between 1 and max.*=10000, got 2147483647",
        ),
        (fost.Reflectors(2**31 - 1), 100, "n_reflectors must be between 1 and n_features=100"),
        (
            fost.BankOf(fost.Orthonormal(), 2**20),
            64,
            "n_members must be at most 65536 for n_features",
        ),
        (fost.BankOf(fost.Rotations(2**30), 2), 64, "n_rotations must be between 1 and"),
    ],
)
def test_nothing_is_allocated_for_sizes_without_sense(
    structure: Any, n: int, message: str, monkeypatch: Any
) -> None:
    problem: Problem = Asked(n)  # type: ignore[assignment]
    with pytest.raises(ValueError, match=message):
        structure.fit_to(problem)
    signals = np.random.default_rng(0).standard_normal((10, n))
    with pytest.raises(ValueError, match=message):
        fost.learn(signals, structure, 2)


def test_as_many_rotations_as_make_sense() -> None:
    assert fost.Rotations(4096).fit_to(Asked(2)) == fost.Rotations(4096)  # type: ignore[arg-type]
    assert fost.Rotations(10**4).fit_to(Asked(100)) == fost.Rotations(10**4)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="n_rotations must be between 1 and max"):
        fost.GivensDictionary(2**31 - 1, 2).fit(Y)
