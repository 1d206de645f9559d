"""User-defined transforms, which work wherever those of fost do."""

from __future__ import annotations

import copy
import pickle
import sys
from functools import cached_property  # noqa: TID251
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import fost
from fost.transforms import registry, storage
from tests import cases

Array = NDArray[Any]


class ByMatrix(fost.Transform):
    """A symmetric matrix that is its own inverse: a reflector and a reversal."""

    kind = "tests.by_matrix"

    def __init__(self, vector: Any) -> None:
        self._vector = np.array(vector, dtype=np.float64)
        self._vector.flags.writeable = False

    @property
    def vector(self) -> Array:
        return self._vector

    @property
    def n_features(self) -> int:
        return len(self._vector)

    @property
    def matrix(self) -> Array:
        u = self._vector
        return (np.eye(len(u)) - 2 * np.outer(u, u))[::-1]


class ByFunctions(fost.Transform):
    """The Hartley transform, turned by some places."""

    kind = "tests.by_functions"

    def __init__(self, n_features: int, shift: int = 0, note: str | None = None) -> None:
        self._n_features, self._shift, self._note = n_features, shift, note

    @property
    def n_features(self) -> int:
        return self._n_features

    @property
    def shift(self) -> int:
        return self._shift

    @property
    def note(self) -> str | None:
        return self._note

    def forward(self, Y: Any) -> Array:
        F = np.fft.fft(Y, norm="ortho")
        return np.roll(F.real - F.imag, self.shift, axis=-1)

    def inverse(self, X: Any) -> Array:
        F = np.fft.fft(np.roll(X, -self.shift, axis=-1), norm="ortho")
        return F.real - F.imag


class ByForward(ByFunctions):
    kind = "tests.by_forward"
    inverse = fost.Transform.inverse


class OfTransforms(fost.Transform):
    """Several transforms, one after the other, on the halves of a signal."""

    kind = "tests.of_transforms"

    def __init__(self, half: fost.Transform, others: tuple[fost.Transform, ...] = ()) -> None:
        self._half, self._others = half, tuple(others)

    @property
    def half(self) -> fost.Transform:
        return self._half

    @property
    def others(self) -> tuple[fost.Transform, ...]:
        return self._others

    @property
    def n_features(self) -> int:
        return 2 * self._half.n_features

    @cached_property
    def matrix(self) -> Array:
        U = np.kron(np.eye(2), self._half.matrix)
        for other in self._others:
            U = U @ other.matrix
        return U


VECTOR = cases.random_vectors(np.random.default_rng(0), 1, 12)[0]
OWN: dict[str, fost.Transform] = {
    "matrix": ByMatrix(VECTOR),
    "functions": ByFunctions(12, 2, "a note"),
    "forward": ByForward(12, 5),
    "transforms": OfTransforms(fost.DCT(6), (ByFunctions(12), fost.Dense(np.eye(12)))),
}
each = pytest.mark.parametrize("own", OWN.values(), ids=OWN)


@each
def test_own_transforms_equal_their_matrix(own: fost.Transform) -> None:
    U = own.matrix
    Y = np.random.default_rng(0).standard_normal((50, 12))
    np.testing.assert_allclose(own.forward(Y), Y @ U, atol=1e-13)
    np.testing.assert_allclose(own.inverse(Y), Y @ U.T, atol=1e-13)
    np.testing.assert_allclose(Y @ own.T, Y @ U.T, atol=1e-13)
    np.testing.assert_allclose(Y @ (fost.DCT(12) @ own), fost.DCT(12).forward(Y) @ U, atol=1e-13)
    codes = own.encode(Y, 3)
    np.testing.assert_allclose(codes.toarray(), fost.select(Y @ U, 3).toarray(), atol=1e-13)
    np.testing.assert_allclose(own.decode(codes), codes.toarray() @ U.T, atol=1e-13)
    np.testing.assert_allclose(own.as_linear_operator() @ Y.T, U @ Y.T, atol=1e-13)
    assert own.encode(Y.astype(np.float32), 3).dtype == np.float32
    assert own.flops == 23 * 12


@each
def test_own_transforms_are_compared_and_copied(own: fost.Transform) -> None:
    for again in (copy.copy(own), copy.deepcopy(own), pickle.loads(pickle.dumps(own))):
        assert type(again) is type(own)
        assert again == own
        assert hash(again) == hash(own)
    assert all((other == own) == (other is own) for other in OWN.values())
    assert ByFunctions(12, 2) != ByFunctions(12, 3)
    with pytest.raises(AttributeError, match="transforms are immutable"):
        own.shift = 3  # type: ignore[attr-defined]


@each
def test_own_transforms_are_saved_and_loaded(own: fost.Transform, tmp_path: Path) -> None:
    path = tmp_path / "own.safetensors"
    turn = fost.Givens([(0, 5)], [[[0.6, 0.8], [-0.8, 0.6]]], 12)
    for coder in (own, own.T, own @ turn, fost.Bank([own @ turn, own.T, fost.DCT(12)])):
        coder.save(path)
        assert fost.load(path) == coder
        arrays: dict[str, Array] = {}
        described = storage.describe(coder, "", arrays)
        assert storage.build(described, "", arrays, exact=True) == coder


@each
@pytest.mark.parametrize("structure", [fost.Rotations(6), fost.BankOf(fost.Reflectors(1), 2)])
def test_learning_over_an_own_base(own: fost.Transform, structure: Any, tmp_path: Path) -> None:
    """As over the same base by its matrix."""
    Y = np.cumsum(np.random.default_rng(0).standard_normal((300, 12)), axis=1)
    found, expected = (
        fost.learn(Y, structure, 2, base=base, max_iter=4, random_state=0)
        for base in (own, fost.Dense._exact(own.matrix))
    )
    np.testing.assert_allclose(found.errors, expected.errors, rtol=1e-9)
    assert found.transform.members[0].stages[0] == own  # type: ignore[attr-defined]
    for _ in range(2):  # the second goes on from the end of the first
        again = fost.learn(
            Y, structure, 2, base=own, max_iter=4, random_state=0, checkpoint=tmp_path / "state"
        )
        assert again.transform == found.transform


def test_the_matrix_is_computed_once_per_plan() -> None:
    """However many chains and passes there are."""

    class Counted(ByMatrix):
        asked = 0

        @property
        def matrix(self) -> Array:
            type(self).asked += 1
            return super().matrix

    base = Counted(VECTOR)
    Y = np.random.default_rng(0).standard_normal((100, 12))
    fost.learn(Y, fost.Rotations(4), 2, base=base, init="base", max_iter=10, tol=0)
    assert Counted.asked == 1


def defined(**names: Any) -> fost.Transform:
    body = {"n_features": property(lambda self: 4), **names}
    return type("Defined", (fost.Transform,), body)()  # type: ignore[no-any-return]


def reversal(self: Any, Y: Any) -> Array:
    return np.asarray(Y)[..., ::-1]


WRONG: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "nothing": ({}, TypeError, "Defined must define matrix, or forward and inverse"),
    "no orthonormal matrix": (
        {"matrix": 2 * np.eye(4)},
        ValueError,
        "the matrix of this Defined transform must have orthonormal columns",
    ),
    "another size": ({"matrix": np.eye(3)}, ValueError, r"must have shape \(4, 4\), got \(3, 3\)"),
    "NaN": ({"matrix": np.full((4, 4), np.nan)}, ValueError, "contains NaN"),
    "complex": ({"matrix": np.eye(4) * 1j}, TypeError, "must be real numbers"),
    "forward and inverse apart": (
        {"forward": lambda self, Y: np.roll(Y, 1, axis=-1), "inverse": reversal},
        ValueError,
        r"must equal forward\(identity\)",
    ),
    "forward of another shape": (
        {"forward": lambda self, Y: np.asarray(Y)[..., :2], "inverse": reversal},
        ValueError,
        r"must equal forward\(identity\), which has shape \(4, 2\)",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_invalid_transforms_are_refused(case: str) -> None:
    names, error, message = WRONG[case]
    own = defined(**names)
    with pytest.raises(error, match=message):
        own.encode(np.ones((2, 4)), 1)
    with pytest.raises(error, match=message):
        fost.Chain([fost.DCT(4), own]).forward(np.ones(4))


def test_classes_without_a_kind_are_not_saved(tmp_path: Path) -> None:
    class Nameless(ByMatrix):
        pass

    with pytest.raises(TypeError, match="cannot save a Nameless: give the class a `kind`"):
        Nameless(VECTOR).save(tmp_path / "file")
    assert not (tmp_path / "file").exists()


def test_a_kind_belongs_to_one_class() -> None:
    with pytest.raises(ValueError, match=r"the kind 'dct' of Mine is taken by fost\..*DCT"):
        type("Mine", (ByMatrix,), {"kind": "dct"})
    for kind in ("", 3, None):
        with pytest.raises(TypeError, match="the kind of Mine must be a name"):
            type("Mine", (ByMatrix,), {"kind": kind})
    # A class that is defined once more is the one that files are of from then on.
    first, second = (type("Mine", (ByMatrix,), {"kind": "tests.again"}) for _ in range(2))
    assert registry.class_of("tests.again") is second is not first


def test_arrays_in_any_order_are_saved(tmp_path: Path) -> None:
    class Held(ByMatrix):
        kind = "tests.held"

        def __init__(self, held: Any) -> None:
            self._vector, self._held = VECTOR, held

        @property
        def held(self) -> Array:
            return self._held

    own = Held(np.asfortranarray(np.arange(12.0).reshape(3, 4))[::-1])
    own.save(tmp_path / "file")
    assert fost.load(tmp_path / "file") == own


def test_arguments_must_be_plain(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="cannot save note: arguments must be arrays, numbers"):
        ByFunctions(12, note={"a": 1}).save(tmp_path / "file")  # type: ignore[arg-type]


class Announced:
    """An entry point of an installed package."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self) -> Any:
        sys.path.insert(0, str(self._folder))
        try:
            return __import__("announced_kind").Announced
        finally:
            sys.path.remove(str(self._folder))


def test_kinds_of_installed_packages_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = (
        "import numpy as np, fost\nclass Announced(fost.Dense):\n    kind = 'tests.announced'\n"
    )
    (tmp_path / "announced_kind.py").write_text(source, "utf-8")
    path = tmp_path / "file"
    text = '{"kind": "tests.announced"}'
    header = {"format": "fost", "version": "1", "structure": text}
    arrays = {"matrix": np.eye(3)}
    header["checksum"] = storage.digest(text, arrays)
    import safetensors.numpy

    path.write_bytes(safetensors.numpy.save(arrays, header))
    with pytest.raises(
        ValueError, match=r"no kind of transform called 'tests\.announced'; .*--import"
    ):
        fost.load(path)

    def announced(group: str, name: str) -> list[Announced]:
        assert group == "fost.transforms"
        return [Announced(tmp_path)] if name == "tests.announced" else []

    monkeypatch.setattr("fost.transforms.registry.entry_points", announced)
    assert type(fost.load(path)).__name__ == "Announced"
    assert metadata.entry_points  # the function that is replaced above exists
