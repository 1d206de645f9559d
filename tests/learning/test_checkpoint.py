"""A resumed run gives a bit-identical result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors
import safetensors.numpy

import fost
from fost.learning import CheckpointError, checkpoint
from fost.transforms import storage
from tests.cases import same_bits
from tests.learning.test_learn import STRUCTURES, correlated

N, n, S, K = 600, 16, 3, 30


class Stop(Exception):
    pass


def stopping_after(count: int) -> Any:
    """A callback that simulates a crash by an exception."""

    def callback(iteration: int, error: float, transform: fost.Transform) -> None:
        nonlocal count
        count -= 1
        if count == 0:
            raise Stop

    return callback


def same_results(a: Any, b: Any) -> bool:
    arrays = zip(
        (a.errors, a.transform.matrix), (b.errors, b.transform.matrix), strict=True
    )  # matrices follow from the parameters
    return a.converged == b.converged and all(same_bits(x, y) for x, y in arrays)


def learn(Y: np.ndarray, structure: fost.Structure, **options: Any) -> fost.LearningResult:
    settings = {"max_iter": K, "tol": 0, "random_state": 7, **options}
    return fost.learn(Y, structure, S, **settings)


AUTO = {
    "H auto": lambda n: fost.Reflectors("auto"),
    "rotations auto": lambda n: fost.Rotations("auto"),
    "H random start": lambda n: fost.Reflectors(3, order="random"),
}


@pytest.mark.parametrize("name", [*STRUCTURES, *AUTO])
@pytest.mark.parametrize("base", [None, fost.DCT(n)], ids=["no base", "DCT"])
def test_a_resumed_run_is_the_uninterrupted_one(
    name: str, base: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "_ITERATIONS", 3)
    Y = correlated(N, n, dtype=np.float32)
    structure = {**STRUCTURES, **AUTO}[name](n)
    options: dict[str, Any] = {"base": base}
    if name == "H random start":
        options["init"] = "random"
    uninterrupted = learn(Y, structure, **options)
    path = tmp_path / "state"
    for count in (1, 7, 5, 4):  # iterations after the last checkpoint are repeated
        with pytest.raises(Stop):
            learn(Y, structure, checkpoint=path, callback=stopping_after(count), **options)
    again = learn(Y, structure, checkpoint=path, **options)
    assert same_results(again, uninterrupted)
    # The last checkpoint contains the finished run.
    finished = learn(Y, structure, checkpoint=path, callback=stopping_after(1), **options)
    assert same_results(finished, uninterrupted)
    assert [file.name for file in tmp_path.iterdir()] == ["state"]


@pytest.mark.parametrize("kind", ["PCG64", "MT19937", "Philox", "SFC64"])
def test_any_random_numbers_are_resumed(kind: str, tmp_path: Path) -> None:
    Y, structure = correlated(N, n), fost.Reflectors(4, order="random")
    path = tmp_path / "state"

    def numbers() -> np.random.Generator:
        return np.random.Generator(getattr(np.random, kind)(5))

    uninterrupted = learn(Y, structure, random_state=numbers())
    with pytest.raises(Stop):
        learn(Y, structure, random_state=numbers(), checkpoint=path, callback=stopping_after(15))
    assert same_results(learn(Y, structure, random_state=numbers(), checkpoint=path), uninterrupted)


def test_signals_may_come_in_other_blocks(tmp_path: Path) -> None:
    Y = correlated(N, n)

    class Blocks:
        def __iter__(self) -> Any:
            return iter(np.array_split(Y, 7))

    path = tmp_path / "state"
    with pytest.raises(Stop):
        learn(Y, fost.Reflectors(4), checkpoint=path, callback=stopping_after(12))
    result = fost.learn(
        Blocks(), fost.Reflectors(4), S, max_iter=K, tol=0, random_state=7, checkpoint=path
    )
    np.testing.assert_allclose(result.errors, learn(Y, fost.Reflectors(4)).errors, atol=1e-8)


def test_estimators_resume(tmp_path: Path) -> None:
    Y, path = correlated(N, n), tmp_path / "state"
    options: dict[str, Any] = {"max_iter": K, "tol": 0}
    with pytest.raises(Stop):
        fost.HouseholderDictionary(
            4, S, checkpoint=path, callback=stopping_after(12), **options
        ).fit(Y)
    resumed = fost.HouseholderDictionary(4, S, checkpoint=path, **options).fit(Y)
    expected = fost.HouseholderDictionary(4, S, **options).fit(Y)
    assert same_bits(resumed.errors_, expected.errors_)
    assert same_bits(resumed.components_, expected.components_)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    learn(correlated(N, n), fost.Reflectors(4), max_iter=3, checkpoint=tmp_path / "state")
    return tmp_path / "state"


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"Y": correlated(N, n, seed=1)}, "other signals: their sums of squares"),
        ({"Y": correlated(N + 1, n)}, "n_signals was 600 and is now 601"),
        ({"Y": correlated(N, n + 1)}, "n_features was 16 and is now 17"),
        ({"Y": correlated(N, n, dtype=np.float32)}, "rounding was"),
        (
            {"structure": fost.Reflectors(5)},
            r"structure was .Reflectors\(n_reflectors=4.*n_reflectors=5",
        ),
        ({"structure": fost.Orthonormal()}, "structure was"),
        ({"random_state": 8}, "random_state was"),
        ({"base": fost.DCT(n)}, "base was 'auto'"),
        ({"init": "random"}, "init was 'svd' and is now 'random'"),
        ({"init": fost.DCT(n)}, "init was 'svd'"),
    ],
)
def test_other_signals_and_options_are_refused(
    written: Path, change: dict[str, Any], match: str
) -> None:
    before = written.read_bytes()
    settings = {"Y": correlated(N, n), "structure": fost.Reflectors(4), "max_iter": 3, **change}
    with pytest.raises(CheckpointError, match=f"(?s)cannot resume from.*{match}"):
        learn(settings.pop("Y"), settings.pop("structure"), checkpoint=written, **settings)
    assert written.read_bytes() == before


@pytest.mark.parametrize("name", ["H", "rotations", "H random order"])
def test_a_finished_run_continues_with_more_iterations(name: str, tmp_path: Path) -> None:
    Y, structure, path = correlated(N, n), STRUCTURES[name](n), tmp_path / "state"
    first = learn(Y, structure, max_iter=3, checkpoint=path)
    assert same_results(first, learn(Y, structure, max_iter=3))
    whole = learn(Y, structure)
    assert same_results(learn(Y, structure, checkpoint=path), whole)
    # A smaller max_iter returns the finished run.
    done = learn(Y, structure, max_iter=3, checkpoint=path, callback=stopping_after(1))
    assert same_results(done, whole)
    assert done.n_iter == K


def test_a_converged_run_continues_with_a_smaller_tol(tmp_path: Path) -> None:
    Y, structure, path = correlated(N, n), fost.Reflectors(4), tmp_path / "state"
    rough = learn(Y, structure, tol=1e-2, checkpoint=path)
    assert rough.converged
    assert rough.n_iter < K
    again = learn(Y, structure, tol=1e-2, max_iter=2 * K, checkpoint=path)
    assert again.n_iter == rough.n_iter
    fine = learn(Y, structure, tol=1e-4, checkpoint=path)
    assert fine.n_iter > rough.n_iter
    assert same_results(fine, learn(Y, structure, tol=1e-4))


def test_other_versions_are_refused(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fost, "__version__", "99.0")
    with pytest.raises(CheckpointError, match=r"another version: fost was .* is now '99.0'"):
        learn(correlated(N, n), fost.Reflectors(4), max_iter=3, checkpoint=written)


def test_damage_is_noticed(written: Path) -> None:
    whole = written.read_bytes()
    random = np.random.default_rng(0)
    wholes = [whole[:-1], whole[: len(whole) // 2], b"", b"nonsense" * 100]
    for place in random.integers(0, len(whole), 100):
        changed = bytearray(whole)
        changed[place] ^= 1 << random.integers(8)
        wholes.append(bytes(changed))
    for damaged in wholes:
        written.write_bytes(damaged)
        with pytest.raises(CheckpointError, match="cannot resume from"):
            learn(correlated(N, n), fost.Reflectors(4), max_iter=3, checkpoint=written)
    fost.DCT(n).save(written)
    with pytest.raises(CheckpointError, match="it is not a checkpoint of fost"):
        learn(correlated(N, n), fost.Reflectors(4), max_iter=3, checkpoint=written)


def test_an_unwritable_path_fails_before_learning(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        learn(
            correlated(N, n),
            fost.Orthonormal(),
            checkpoint=tmp_path / "missing" / "state",
            callback=stopping_after(1),
        )


def rewritten(path: Path, change: Any) -> None:
    """The checkpoint with changed notes and arrays and a matching checksum."""
    with safetensors.safe_open(path, framework="numpy") as file:
        header = dict(file.metadata())
        arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    notes = json.loads(header["state"])
    change(notes, arrays)
    header["state"] = json.dumps(notes, sort_keys=True)
    header["checksum"] = storage.digest(header["state"], arrays)
    path.write_bytes(safetensors.numpy.save(arrays, header))


def put(place: str, value: Any) -> Any:
    """A change of what is at a place such as "random.state.pos" or, of arrays, "/gram"."""

    def change(notes: Any, arrays: Any) -> None:
        if place.startswith("/"):
            made = value(arrays[place[1:]].copy()) if callable(value) else value
            arrays[place[1:]] = np.ascontiguousarray(made)
            return
        *path, last = place.split(".")
        for name in path:
            notes = notes[name]
        notes[last] = value

    return change


def instead(name: str, described: Any) -> Any:
    """A transform without arrays in place of one with arrays."""

    def change(notes: Any, arrays: Any) -> None:
        notes[name] = described
        for key in [key for key in arrays if key.startswith(f"{name}.")]:
            del arrays[key]

    return change


def with_entry(entry: Any, count: int = 1) -> Any:
    def change(array: np.ndarray) -> np.ndarray:
        array.flat[:count] = entry
        return array

    return change


ROTATIONS, REFLECTORS = fost.Rotations(5), fost.Reflectors("auto", order="random")
FORGED = {
    "pairs out of range": (ROTATIONS, put("/transform.pairs", with_entry(200, 10)), "pairs must"),
    "best pairs": (ROTATIONS, put("/best.pairs", with_entry(200)), "pairs must be between"),
    "negative pairs": (
        ROTATIONS,
        put("/transform.pairs", lambda a: -a.astype(np.int32)),
        "pairs must be between",
    ),
    "no rotation": (ROTATIONS, put("/transform.blocks", with_entry(2.0)), "blocks must be"),
    "NaN in blocks": (ROTATIONS, put("/transform.blocks", with_entry(np.nan)), "blocks contains"),
    "fewer pairs": (ROTATIONS, put("/transform.pairs", lambda a: a[1:]), "blocks must have shape"),
    "other n_features": (ROTATIONS, put("transform.n_features", 10**9), "1000000000 features"),
    "n_features of text": (ROTATIONS, put("best.n_features", "16"), "n_features must be"),
    "fewer rotations": (
        ROTATIONS,
        lambda notes, arrays: arrays.update(
            {k: np.ascontiguousarray(v[1:]) for k, v in arrays.items() if "transform." in k}
        ),
        "not of the structure",
    ),
    "another kind": (
        ROTATIONS,
        instead("transform", {"kind": "chain", "stages": [{"kind": "dct", "shape": [n]}]}),
        "not of the structure",
    ),
    "a bank": (
        fost.Orthonormal(),
        instead("best", {"kind": "bank", "members": [{"kind": "dct", "shape": [n]}] * 2}),
        "not of the structure",
    ),
    "other settings of the structure": (
        ROTATIONS,
        put("structure.n_rotations", 6),
        "has n_rotations=6, not 5",
    ),
    "absurd m": (
        REFLECTORS,
        put("structure.n_reflectors", 2**30),
        "n_reflectors must be between 1 and",
    ),
    "m above n": (
        REFLECTORS,
        put("structure.n_reflectors", n + 1),
        "n_reflectors must be between 1 and n_features=16",
    ),
    "m as text": (
        REFLECTORS,
        put("structure.n_reflectors", "auto"),
        "n_reflectors must be an integer",
    ),
    "no structure": (REFLECTORS, put("structure", {}), "does not describe the structure"),
    "a field too many": (REFLECTORS, put("structure.parts", "wheels"), "parts="),
    "small statistic": (ROTATIONS, put("/statistic", np.eye(3)), "statistic must have shape"),
    "flat statistic": (ROTATIONS, put("/statistic", np.zeros(n * n)), "statistic must have shape"),
    "statistic in float32": (
        ROTATIONS,
        put("/statistic", lambda a: a.astype(np.float32)),
        "statistic must be finite numbers in float64",
    ),
    "NaN in the statistic": (ROTATIONS, put("/statistic", with_entry(np.nan)), "statistic must be"),
    "NaN in the Gram matrix": (ROTATIONS, put("/gram", with_entry(np.nan)), "gram must be finite"),
    "a number for a Gram matrix": (ROTATIONS, put("/gram", np.zeros((1, 1))), "gram must have"),
    "no errors": (ROTATIONS, put("/errors", np.zeros(0)), "it has 0 errors"),
    "too many errors": (ROTATIONS, put("/errors", np.zeros(100)), "it has 100 errors"),
    "negative errors": (ROTATIONS, put("/errors", with_entry(-1.0)), "it has negative errors"),
    "energy of text": (ROTATIONS, put("energy", "1"), "energy must be a number"),
    "infinite energy": (ROTATIONS, put("energy", float("inf")), "energy must be"),
    "best_error": (ROTATIONS, put("best_error", None), "best_error must be a number"),
    "start_error": (ROTATIONS, put("start_error", "low"), "start_error must be a number"),
    "own_start": (ROTATIONS, put("own_start", "no"), "own_start must be true or false"),
    "reseeded": (ROTATIONS, put("reseeded", [0]), "not as many numbers of replaced members"),
    "reseeded by halves": (ROTATIONS, put("reseeded", [0.5] * 3), "reseeded must be an integer"),
    "no energy": (ROTATIONS, lambda notes, arrays: notes.pop("energy"), "it has no 'energy'"),
    "no statistic": (ROTATIONS, lambda notes, arrays: arrays.pop("statistic"), "it has no 'stat"),
    "no random numbers": (ROTATIONS, put("random", {}), "that of another generator"),
    "other random numbers": (ROTATIONS, put("random.bit_generator", "PCG64"), "bit_generator must"),
    "a place beyond the random numbers": (REFLECTORS, put("random.state.pos", 10**6), "pos must"),
    "a place before them": (REFLECTORS, put("random.state.pos", -1), "pos must be between"),
    "fewer random numbers": (REFLECTORS, put("random.state.key", [1, 2]), "key must be 624"),
    "halves of random numbers": (REFLECTORS, put("random.state.key", [0.5] * 624), "key must be"),
}


@pytest.mark.parametrize("case", FORGED)
def test_forged_checkpoints_are_refused(case: str, tmp_path: Path) -> None:
    structure, change, message = FORGED[case]
    path = tmp_path / "state"

    def resumed() -> fost.LearningResult:
        numbers = np.random.Generator(np.random.MT19937(5))
        return learn(correlated(N, n), structure, max_iter=3, random_state=numbers, checkpoint=path)

    result = resumed()
    rewritten(path, lambda notes, arrays: None)
    assert same_results(resumed(), result)  # the file without the change is accepted
    rewritten(path, change)
    with pytest.raises(CheckpointError, match=rf"(?s)cannot resume from .*{message}"):
        resumed()


def test_a_buffer_position_beyond_philox_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state"

    def resumed() -> fost.LearningResult:
        numbers = np.random.Generator(np.random.Philox(5))
        return learn(
            correlated(N, n), fost.Orthonormal(), max_iter=3, random_state=numbers, checkpoint=path
        )

    resumed()
    rewritten(path, put("random.buffer_pos", -(10**6)))
    with pytest.raises(CheckpointError, match="buffer_pos must be between 0 and 4"):
        resumed()
