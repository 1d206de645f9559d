"""Properties of the alternating loop that hold for all structures."""

from __future__ import annotations

import signal
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fost
from fost.learning import ObjectiveRoseWarning
from fost.learning.structure import Structure

STRUCTURES = {
    "Orthonormal": lambda n: fost.Orthonormal(),
    "H": lambda n: fost.Reflectors(max(1, n // 4)),
    "H random order": lambda n: fost.Reflectors(max(1, n // 4), order="random"),
    "H triangular": lambda n: fost.Reflectors(max(1, n // 4), triangular=True),
    "QH": lambda n: fost.Reflectors(max(1, n // 4), orthogonal=True),
    "rotations": lambda n: fost.Rotations(max(1, n // 2)),
}
# Starts inside the structure, whose error the first iteration cannot exceed.
OWN_STARTS = {"rotations": ("base",)}
structures = pytest.mark.parametrize("name", list(STRUCTURES))


def correlated(n_signals: int, n: int, seed: int = 0, dtype: type = np.float64) -> np.ndarray:
    """Random walks, which are correlated."""
    steps = np.random.default_rng(seed).standard_normal((n_signals, n))
    return np.cumsum(steps, axis=1).astype(dtype)


def relative_error(Y: np.ndarray, transform: fost.Transform, s: int) -> float:
    residual = Y - transform.decode(transform.encode(Y, s))
    return float(np.sum(residual.astype(float) ** 2) / np.sum(Y.astype(float) ** 2))


@structures
@given(
    n=st.integers(1, 40),
    n_signals=st.sampled_from([1, 2, 9, 60, 300]),
    seed=st.integers(0, 2**32 - 1),
    single=st.booleans(),
    data=st.data(),
)
def test_the_error_never_increases_and_the_transform_is_orthonormal(
    name, n, n_signals, seed, single, data
):
    n = max(n, 2) if name == "rotations" else n
    s = data.draw(st.integers(1, n), label="s")
    Y = correlated(n_signals, n, seed, np.float32 if single else np.float64)
    init = OWN_STARTS.get(name, ("svd",))[0]
    # An increase beyond rounding raises a warning, and warnings are errors in tests.
    result = fost.learn(Y, STRUCTURES[name](n), s, init=init, max_iter=6, tol=0, random_state=seed)
    assert result.n_iter == 6
    assert result.errors.shape == (6,)
    slack = 1e-5 if single else 1e-12
    history = [result.start_error, *result.errors]
    assert np.all(np.diff(history) <= slack), history
    U = result.transform.matrix
    assert np.abs(U.T @ U - np.eye(n)).max() < 1e-12
    assert result.error == pytest.approx(relative_error(Y, result.transform, s), abs=slack)


@structures
def test_learning_with_a_base_is_learning_on_its_coefficients(name):
    Y = correlated(400, 16)
    base = fost.DCT((4, 4))
    structure = STRUCTURES[name](16)
    init = OWN_STARTS.get(name, ("svd",))[0]
    with_base = fost.learn(Y, structure, 3, base=base, init=init, max_iter=8, random_state=1)
    on_coefficients = fost.learn(
        base.forward(Y), structure, 3, init=init, max_iter=8, random_state=1
    )
    assert isinstance(with_base.transform, fost.Chain)
    assert with_base.transform.stages[0] == base
    np.testing.assert_allclose(with_base.errors, on_coefficients.errors, rtol=1e-9)
    assert relative_error(Y, with_base.transform, 3) == pytest.approx(with_base.error)


@structures
def test_a_result_is_continued_exactly(name):
    Y = correlated(500, 20)
    structure = STRUCTURES[name](20)
    if name == "H random order":
        pytest.skip("two runs of a random order draw other orders than one")
    if structure.momentum:
        pytest.skip("momentum starts again")
    for base in (None, fost.DCT(20)):
        whole = fost.learn(Y, structure, 3, base=base, max_iter=8, tol=0)
        first = fost.learn(Y, structure, 3, base=base, max_iter=5, tol=0)
        second = fost.learn(Y, structure, 3, base=base, init=first.transform, max_iter=3, tol=0)
        np.testing.assert_array_equal(np.concatenate([first.errors, second.errors]), whole.errors)
        assert second.transform == whole.transform


@structures
def test_any_transform_can_be_the_start(name):
    Y = correlated(500, 16)
    start = fost.DCT(16)
    for base in (None, fost.DCT((4, 4))):
        result = fost.learn(Y, STRUCTURES[name](16), 3, base=base, init=start, max_iter=5)
        # The alternation begins with the codes of the start.
        assert result.start_error == pytest.approx(relative_error(Y, start, 3))
        assert np.all(np.diff(result.errors) <= 1e-12)


@structures
def test_threads_do_not_change_a_bit(name, set_threads):
    Y = correlated(9000, 32, dtype=np.float32)
    results = []
    for count in (1, 2, 3):
        set_threads(count)
        results.append(fost.learn(Y, STRUCTURES[name](32), 4, max_iter=4, random_state=0))
    for other in results[1:]:
        np.testing.assert_array_equal(other.errors, results[0].errors)
        assert other.transform == results[0].transform


def test_random_state_makes_results_reproducible():
    Y = correlated(300, 16)
    for structure in (fost.Orthonormal(), fost.Reflectors(4, order="random")):
        one, two, other = (
            fost.learn(Y, structure, 3, init="random", max_iter=3, random_state=seed)
            for seed in (7, 7, 8)
        )
        assert one.transform == two.transform
        assert one.transform != other.transform


def test_stops_by_tol_and_says_so():
    Y = correlated(300, 16)
    result = fost.learn(Y, fost.Reflectors(4), 3, tol=1e-3, max_iter=100)
    assert result.converged
    assert result.n_iter < 100
    steps = np.abs(np.diff([result.start_error, *result.errors]))
    assert steps[-1] < 1e-3
    assert np.all(steps[:-1] >= 1e-3)
    assert not fost.learn(Y, fost.Reflectors(4), 3, tol=1e-6, max_iter=1).converged


def test_no_iterations_gives_the_start():
    Y = correlated(100, 8)
    result = fost.learn(Y, fost.Orthonormal(), 2, max_iter=0)
    assert result.n_iter == 0
    assert len(result.errors) == 0
    assert relative_error(Y, result.transform, 2) == pytest.approx(result.error)


def test_a_start_outside_the_structure_may_have_a_smaller_error():
    """Smooth signals are nearly sparse in the DCT, which is not a single reflector."""
    Y = np.cumsum(np.random.default_rng(0).standard_normal((500, 16)), axis=1)
    dct = fost.DCT(16)
    result = fost.learn(Y, fost.Reflectors(1), 3, init=dct, max_iter=8, tol=0)
    assert result.start_error == pytest.approx(relative_error(Y, dct, 3))
    assert result.start_error < result.errors[0]
    assert result.errors.shape == (8,)
    assert np.all(np.diff(result.errors) <= 1e-12)
    assert result.error == result.errors[-1]
    nothing = fost.learn(Y, fost.Reflectors(1), 3, init=dct, max_iter=0)
    assert nothing.errors.shape == (0,)
    assert nothing.start_error == result.start_error
    assert nothing.error == pytest.approx(relative_error(Y, nothing.transform, 3))


def test_callback_sees_every_iteration_and_stops():
    Y = correlated(300, 16)
    seen = []

    def callback(iteration, error, transform):
        seen.append((iteration, error, transform))
        return iteration == 3

    result = fost.learn(Y, fost.Reflectors(4), 3, base=fost.DCT(16), tol=0, callback=callback)
    assert [entry[0] for entry in seen] == [1, 2, 3]
    assert [entry[1] for entry in seen] == list(result.errors)
    assert seen[-1][2] == result.transform
    assert result.n_iter == 3
    assert result.stopped
    assert not result.converged


@pytest.mark.usefixtures("interruptible")
def test_interrupt_returns_the_best_so_far():
    Y = correlated(300, 16)

    def interrupt(iteration, error, transform):
        if iteration == 2:
            signal.raise_signal(signal.SIGINT)

    assert threading.current_thread() is threading.main_thread()
    with pytest.warns(RuntimeWarning, match="interrupted after 2 iterations"):
        result = fost.learn(Y, fost.Reflectors(4), 3, tol=0, callback=interrupt)
    assert result.n_iter == 2
    assert not result.converged
    assert relative_error(Y, result.transform, 3) == pytest.approx(result.error)


@pytest.mark.usefixtures("interruptible")
def test_interrupt_during_initialisation_raises(monkeypatch):
    """Ctrl-C during initialisation must not be swallowed."""
    update = fost.Orthonormal.update

    def interrupted(self, *arguments):
        signal.raise_signal(signal.SIGINT)
        return update(self, *arguments)

    monkeypatch.setattr(fost.Orthonormal, "update", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fost.learn(correlated(100, 8), fost.Rotations(2), 2, init="aligned")


@pytest.mark.usefixtures("interruptible")
def test_interrupt_before_the_first_iteration_reports_the_error_of_the_result(monkeypatch):
    Y = correlated(100, 8)

    def interrupted(self, *arguments):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(fost.Reflectors, "update", interrupted)
    with pytest.warns(RuntimeWarning, match="interrupted after 0 iterations"):
        result = fost.learn(Y, fost.Reflectors(2), 2, init=fost.DCT(8))
    assert result.error == pytest.approx(relative_error(Y, result.transform, 2))


@structures
def test_no_iterations_from_a_start_outside_the_structure(name):
    Y = correlated(100, 8)
    result = fost.learn(Y, STRUCTURES[name](8), 2, init=fost.DCT(8), max_iter=0)
    assert result.error == pytest.approx(relative_error(Y, result.transform, 2))


@structures
@pytest.mark.parametrize("scale", [1e-90, 1e80])
def test_the_scale_of_the_signals_does_not_matter(name, scale):
    Y = correlated(300, 12)
    options = {"max_iter": 5, "tol": 0, "random_state": 0}
    plain = fost.learn(Y, STRUCTURES[name](12), 3, **options)
    scaled = fost.learn(scale * Y, STRUCTURES[name](12), 3, **options)
    np.testing.assert_allclose(scaled.errors, plain.errors, rtol=1e-6)


def test_signals_whose_energy_underflows_are_refused():
    with pytest.raises(ValueError, match="Y is too small"):
        fost.learn(np.full((4, 8), 1e-200), fost.Orthonormal(), 2)


def test_an_error_in_the_callback_reaches_the_caller():
    def fail(iteration, error, transform):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        fost.learn(correlated(50, 8), fost.Orthonormal(), 2, callback=fail)


def test_verbose_writes_progress_to_stderr(capsys):
    fost.learn(correlated(50, 8), fost.Orthonormal(), 2, tol=0, max_iter=2, verbose=True)
    captured = capsys.readouterr()
    assert "iteration 2/2  relative error" in captured.err
    assert captured.out == ""


class Spoiler(Structure):
    """A structure outside of fost whose update is the identity."""

    starts = ("svd",)

    def flops(self, n_features):
        return 0

    def initialise(self, problem, init):
        return fost.Orthonormal().initialise(problem, init)

    def build(self, problem, transform):
        return transform

    def update(self, problem, statistic, current):
        return fost.Dense(np.eye(problem.n_features))


def test_a_structure_that_increases_the_error_raises_a_warning():
    Y = correlated(200, 16)
    with pytest.warns(ObjectiveRoseWarning, match="1: Spoiler.update must not increase the error"):
        result = fost.learn(Y, Spoiler(), 2, max_iter=1)
    assert relative_error(Y, result.transform, 2) == pytest.approx(result.error)
    with pytest.warns(ObjectiveRoseWarning, match="Spoiler.update must not increase the error"):
        fost.learn(Y, fost.BankOf(Spoiler(), 2), 2, max_iter=1, random_state=0)


def test_an_update_that_returns_no_transform_is_named():
    class Matrices(Spoiler):
        def update(self, problem, statistic, current):
            return np.eye(problem.n_features)

    Y = correlated(200, 16)
    message = "Matrices.update must return a transform, got ndarray"
    for structure in (Matrices(), fost.BankOf(Matrices(), 2), fost.UnionOf(Matrices(), 2)):
        with pytest.raises(TypeError, match=message):
            fost.learn(Y, structure, 2, max_iter=1, random_state=0)


@structures
@pytest.mark.parametrize(
    "Y",
    [
        np.zeros((20, 6)),
        np.ones((20, 6)),
        np.outer(np.arange(20.0), np.arange(6.0)),
        np.eye(6)[:3],
        np.repeat(np.random.default_rng(0).standard_normal((1, 6)), 20, axis=0),
        np.eye(6)[:1],
        np.hstack([np.random.default_rng(0).standard_normal((30, 3)), np.zeros((30, 3))]),
    ],
    ids=["zeros", "constant", "rank one", "N < n", "duplicates", "one signal", "dead features"],
)
def test_degenerate_data_finish(name, Y):
    for s in (1, 6):
        for init in OWN_STARTS.get(name, ("svd", "random")):
            result = fost.learn(Y, STRUCTURES[name](6), s, init=init, random_state=0, max_iter=20)
            U = result.transform.matrix
            assert np.abs(U.T @ U - np.eye(6)).max() < 1e-12
            assert np.all(np.isfinite(result.errors))
            assert np.all(np.diff(result.errors) <= 1e-12)
            if s == 6:
                assert result.error == pytest.approx(0, abs=1e-12)


@structures
def test_one_feature(name):
    if name == "rotations":
        pytest.skip("one feature cannot be rotated")
    Y = np.random.default_rng(0).standard_normal((10, 1))
    result = fost.learn(Y, STRUCTURES[name](1), 1)
    # One minus a quotient of two sums of ten squares: some eps.
    assert result.error == pytest.approx(0, abs=1e-14)
    np.testing.assert_allclose(np.abs(result.transform.matrix), [[1.0]])


def test_the_data_may_have_any_layout(tmp_path):
    Y = correlated(200, 12)
    expected = fost.learn(Y, fost.Reflectors(3), 2, max_iter=4)
    np.save(tmp_path / "Y.npy", Y)
    read_only = Y.copy()
    read_only.flags.writeable = False
    layouts = {
        "Fortran": np.asfortranarray(Y),
        "read-only": read_only,
        "mapped": np.load(tmp_path / "Y.npy", mmap_mode="r"),
        "strided": np.repeat(Y, 2, axis=1)[:, ::2],
    }
    for layout, array in layouts.items():
        result = fost.learn(array, fost.Reflectors(3), 2, max_iter=4)
        np.testing.assert_allclose(result.errors, expected.errors, rtol=1e-12, err_msg=layout)


GOOD = {"Y": np.eye(8), "structure": fost.Reflectors(2), "n_nonzero_coefs": 2}


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"Y": np.zeros((0, 8))}, ValueError, "Y must have at least one signal"),
        ({"Y": np.zeros(8)}, ValueError, "Y must have shape"),
        ({"Y": np.full((4, 8), np.nan)}, ValueError, "Y contains NaN"),
        ({"Y": np.full((4, 8), np.inf)}, ValueError, "Y contains NaN"),
        ({"Y": np.zeros((4, 8), complex)}, TypeError, "Y must be real"),
        ({"structure": "householder"}, TypeError, "structure must be"),
        ({"structure": fost.Orthonormal}, TypeError, "got the class Orthonormal itself"),
        (
            {"structure": fost.Reflectors(9)},
            ValueError,
            "n_reflectors must be between 1 and n_features=8",
        ),
        ({"n_nonzero_coefs": 0}, ValueError, "n_nonzero_coefs must be between 1"),
        ({"n_nonzero_coefs": 9}, ValueError, "n_nonzero_coefs must be between 1"),
        ({"n_nonzero_coefs": 2.0}, TypeError, "n_nonzero_coefs must be an integer"),
        ({"base": fost.DCT(4)}, ValueError, "base has n_features=4"),
        ({"base": "cosine"}, ValueError, "base must be a transform"),
        ({"base": 3}, TypeError, "base must be a transform"),
        ({"n_init": 0}, ValueError, "n_init must be"),
        ({"init": fost.DCT(4)}, ValueError, "init has n_features=4"),
        ({"init": "best"}, ValueError, "init must be a transform or, for Reflectors, one of"),
        ({"init": 3}, TypeError, "init must be a name or a transform"),
        ({"init": "approximate-svd"}, ValueError, "init must be"),
        ({"max_iter": -1}, ValueError, "max_iter must be between"),
        ({"max_iter": 1.5}, TypeError, "max_iter must be an integer"),
        ({"tol": -1.0}, ValueError, "tol must be"),
        ({"tol": float("nan")}, ValueError, "tol must be"),
        ({"tol": "small"}, TypeError, "tol must be"),
        ({"random_state": "x"}, TypeError, "random_state must be"),
        ({"random_state": -1}, ValueError, "random_state must be"),
    ],
)
def test_bad_arguments_are_named(change, error, match):
    with pytest.raises(error, match=match):
        fost.learn(**(GOOD | change))


@structures
@pytest.mark.parametrize("power", [-148, -140, -130, 100])
def test_the_smallest_and_largest_signals_of_single_precision(name, power):
    """Rounding of subnormal numbers must not raise `ObjectiveRoseWarning`."""
    Y = np.ldexp(correlated(300, 12).astype(np.float32), power)
    for base in (None, fost.DCT(12)):
        options = {"max_iter": 20, "tol": 0, "random_state": 0, "base": base}
        result = fost.learn(Y, STRUCTURES[name](12), 3, **options)
        assert 0 <= result.error < 1


def test_rounding_of_many_rotations_is_no_bug():
    """Each rotation and its inverse multiply a signal by c^2 + s^2, which is one up to rounding."""

    class Turns(Structure):
        starts = ("identity",)

        def __init__(self, angle):
            c, s = np.cos(angle), np.sin(angle)
            pairs, blocks = [(0, 1)] * 2000, [[[c, s], [-s, c]], [[c, -s], [s, c]]] * 1000
            self.givens = fost.Givens(pairs, blocks, 2)

        def flops(self, n_features):
            return self.givens.flops

        def initialise(self, problem, init):
            return fost.Givens([(0, 1)], [np.eye(2)], 2)

        def build(self, problem, transform):
            return transform

        def update(self, problem, statistic, current):
            return self.givens

    Y = np.array([[1.0, 0.0]])
    for angle in np.linspace(0.1, 1.5, 30):
        result = fost.learn(Y, Turns(angle), 1, max_iter=1)
        assert result.errors[-1] < 2000 * np.finfo(np.float64).eps


@pytest.mark.parametrize("collection", [fost.BankOf, fost.UnionOf])
@pytest.mark.parametrize("signals", ["one-hot", "rank one"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_weights_of_nearly_empty_signals_do_not_overflow(collection, signals, dtype):
    rng = np.random.default_rng(0)
    if signals == "one-hot":
        Y = np.eye(8)[rng.integers(8, size=40)].astype(dtype)
    else:
        Y = np.outer(rng.standard_normal(40), rng.standard_normal(8)).astype(dtype)
    structure = collection(fost.Reflectors(2), 2)
    weights = rng.random(40)
    expected = fost.learn(Y, structure, 2, sample_weight=weights, random_state=0)
    # 2^400 and its square root are beyond float32.
    result = fost.learn(Y, structure, 2, sample_weight=np.ldexp(weights, 400), random_state=0)
    assert result.error == pytest.approx(expected.error, abs=1e-6)
    with pytest.raises(ValueError, match="Y is too large"):
        fost.learn(np.ldexp(Y.astype(float), 500), structure, 2, sample_weight=1e12 * weights)


def test_signals_whose_energy_loses_digits_are_refused():
    Y = correlated(100, 8)
    for power in (-1070, -520, -500):
        with pytest.raises(ValueError, match="Y is too small: the squares of its entries vanish"):
            fost.learn(np.ldexp(Y, power), fost.Orthonormal(), 2)
    for power in (520, 1000):
        with pytest.raises(ValueError, match="Y is too large: the squares of its entries overflow"):
            fost.learn(np.ldexp(Y, power), fost.Orthonormal(), 2)


@pytest.mark.parametrize("power", [-1000, 900])
def test_scores_of_any_scale(power):
    Y = correlated(100, 8)
    estimator = fost.OrthonormalDictionary(2).fit(Y)
    assert estimator.score(np.ldexp(Y, power)) == estimator.score(Y)

    class Blocks:
        def __iter__(self):
            yield np.ldexp(Y, power)

    with pytest.raises(ValueError, match=r"X is too (small|large): the squares of its entries"):
        estimator.score(Blocks())
    with pytest.raises(ValueError, match=r"X is too (small|large)"):
        estimator.partial_fit(np.ldexp(Y, power))


def test_a_result_is_shown_in_one_line() -> None:
    """The repr omits the history."""
    shown = repr(fost.learn(correlated(200, 8), fost.Reflectors(2), 2, max_iter=100, tol=0))
    assert shown.startswith("LearningResult(transform=Householder(n_features=8")
    assert "\n" not in shown
    assert "n_iter=100" in shown
