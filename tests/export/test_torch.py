"""Operations and layers of PyTorch; they run in an environment with PyTorch (make test-torch)."""

from __future__ import annotations

import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import fost
from tests import cases

torch = pytest.importorskip("torch", reason="PyTorch is not installed", exc_type=ImportError)


def chain(rng: np.random.Generator, n: int = 16) -> fost.Chain:
    """All kinds of stages, with reflections among the rotations."""
    vectors = cases.random_vectors(rng, 3, n)
    pairs, blocks = cases.random_pairs(rng, 40, n), cases.random_blocks(rng, 40)
    return fost.Chain(
        [fost.DCT((4, n // 4)), fost.Householder(vectors), fost.Givens(pairs, blocks, n)]
    )


@pytest.fixture
def both() -> list[Callable[..., torch.Tensor]]:
    from fost.torch import forward, inverse

    return [forward, inverse]


@pytest.mark.parametrize("shape", [(16,), (3, 16), (2, 3, 16), (0, 16)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_equals_numpy(
    rng: np.random.Generator,
    both: list[Callable[..., torch.Tensor]],
    shape: tuple[int, ...],
    dtype: str,
) -> None:
    U = chain(rng)
    Y = rng.standard_normal(shape).astype(dtype)
    for function, expected in zip(both, (U.forward(Y), U.inverse(Y)), strict=True):
        found = function(torch.from_numpy(Y), U)
        assert found.dtype == getattr(torch, dtype)
        assert np.array_equal(found.numpy(), expected)


def test_gradients(rng: np.random.Generator, both: list[Callable[..., torch.Tensor]]) -> None:
    U = chain(rng)
    y = torch.tensor(rng.standard_normal((2, 16)), requires_grad=True)
    for function in both:
        assert torch.autograd.gradcheck(lambda t, f=function: f(t, U), (y,))
        assert torch.autograd.gradgradcheck(lambda t, f=function: f(t, U), (y,))


def test_operation_follows_the_rules_of_pytorch(rng: np.random.Generator) -> None:
    from fost.torch import _apply, _number_of

    y = torch.tensor(rng.standard_normal((2, 16)), requires_grad=True)
    number = _number_of(chain(rng))
    for tensor in (y, y.detach(), y.detach().float(), torch.zeros(16, 2).T):
        torch.library.opcheck(_apply, (tensor, number, False))


def test_vmap(rng: np.random.Generator, both: list[Callable[..., torch.Tensor]]) -> None:
    U = chain(rng)
    y = torch.tensor(rng.standard_normal((3, 5, 16)))
    for function in both:
        expected = function(y, U)
        found = torch.vmap(lambda t, f=function: f(t, U), in_dims=1, out_dims=1)(y)
        assert torch.equal(found, expected)


def test_compiles_to_one_graph(
    rng: np.random.Generator, both: list[Callable[..., torch.Tensor]]
) -> None:
    U = chain(rng)
    y = torch.tensor(rng.standard_normal((3, 16)))

    def task(t: torch.Tensor) -> torch.Tensor:
        return both[1](torch.relu(both[0](t, U)), U) + 1

    compiled = torch.compile(task, fullgraph=True, backend="aot_eager")
    assert torch.allclose(compiled(y), task(y))


def test_other_types(rng: np.random.Generator, both: list[Callable[..., torch.Tensor]]) -> None:
    U = chain(rng)
    y = torch.tensor(rng.standard_normal((3, 16)))
    for dtype in (torch.bfloat16, torch.float16):
        found = both[0](y.to(dtype), U)
        assert found.dtype == dtype
        assert torch.equal(found, both[0](y.to(dtype).float(), U).to(dtype))
    with pytest.raises(TypeError, match="tensor must be of floating-point numbers"):
        both[0](y.long(), U)
    with pytest.raises(ValueError, match="features"):
        both[0](y[:, :15], U)
    with pytest.raises(TypeError, match="transform must be a transform"):
        both[0](y, np.eye(16))


def test_matmul_returns_a_tensor_with_gradients(rng: np.random.Generator) -> None:
    U = chain(rng)
    y = torch.tensor(rng.standard_normal((3, 16)), requires_grad=True)
    for found, expected in (
        (y @ U, U.forward(y.detach().numpy())),
        (y @ U.T, U.inverse(y.detach().numpy())),
    ):
        assert isinstance(found, torch.Tensor)
        assert np.array_equal(found.detach().numpy(), expected)
    (y @ U).sum().backward()
    assert y.grad is not None


@pytest.mark.parametrize("trainable", [False, True])
def test_layer_equals_its_transform(rng: np.random.Generator, trainable: bool) -> None:
    from fost.torch import Layer

    U = chain(rng)
    layer = Layer(U, trainable).double()
    # Parameters were created in float32.
    Y = rng.standard_normal((5, 16))
    tolerance = 1e-5
    assert np.allclose(layer(torch.tensor(Y)).detach().numpy(), U.forward(Y), atol=tolerance)
    assert np.allclose(
        layer.inverse(torch.tensor(Y)).detach().numpy(), U.inverse(Y), atol=tolerance
    )
    assert all(p.requires_grad == trainable for p in layer.parameters())
    found = layer.transform()
    assert [type(stage) for stage in found.stages] == [type(stage) for stage in U.stages]
    assert np.allclose(found.matrix, U.matrix, atol=tolerance)


def test_training_keeps_a_layer_orthonormal_and_reduces_the_loss(rng: np.random.Generator) -> None:
    from fost.torch import Layer

    layer = Layer(chain(rng), trainable=True).double()
    y = torch.tensor(np.cumsum(rng.standard_normal((50, 16)), axis=1))
    optimiser = torch.optim.SGD(layer.parameters(), lr=1e-3)
    losses = []
    for _ in range(20):
        optimiser.zero_grad()
        loss = layer(y).abs().mean()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0]
    U = layer(torch.eye(16, dtype=torch.float64)).detach().numpy()
    assert np.allclose(U.T @ U, np.eye(16), atol=1e-6)  # the DCT is a matrix in float32
    assert np.allclose(layer.transform().matrix, U, atol=1e-6)


def test_import_of_fost_does_not_import_torch() -> None:
    code = (
        "import sys, fost, fost.export, fost.transforms, fost.estimators; "
        "fost.DCT(8).forward([1.0] * 8); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_example_of_the_gallery_runs() -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed").use("Agg")
    script = Path(__file__).parents[2] / "docs" / "gallery" / "16_torch.py"
    losses = runpy.run_path(str(script))["losses"]
    assert losses[-1] < losses[0]
