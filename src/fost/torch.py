"""Transforms in PyTorch: operations with gradients, and a layer with trainable parameters.

PyTorch is optional (``pip install torch``). fost imports this module only for ``tensor @ U``.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from fost.transforms import Chain, Givens, Householder, Transform

__all__ = ["Layer", "forward", "inverse"]

# Transforms by number, because operations of PyTorch take no other objects. Entries stay: compiled
# graphs contain the numbers.
_TRANSFORMS: list[Transform] = []


def forward(tensor: Tensor, transform: Transform) -> Tensor:
    """Coefficients of signals, as ``transform.forward``, with gradients.

    Parameters
    ----------
    tensor : Tensor of shape (..., n_features)
        Signals on the CPU, which are not copied. bfloat16 and float16 are computed in float32.
    transform : Transform
        The transform.

    Returns
    -------
    Tensor of the shape and type of `tensor`

    Examples
    --------
    >>> import fost, torch  # doctest: +SKIP
    >>> import fost.torch  # doctest: +SKIP
    >>> y = torch.ones(4, requires_grad=True)  # doctest: +SKIP
    >>> fost.torch.forward(y, fost.DCT(4)).sum().backward()  # doctest: +SKIP
    """
    return _apply(tensor, _number_of(transform), False)


def inverse(tensor: Tensor, transform: Transform) -> Tensor:
    """Signals with given coefficients, as ``transform.inverse``, with gradients.

    Parameters
    ----------
    tensor : Tensor of shape (..., n_features)
        Coefficients on the CPU.
    transform : Transform
        The transform.

    Returns
    -------
    Tensor of the shape and type of `tensor`
    """
    return _apply(tensor, _number_of(transform), True)


def _number_of(transform: Transform) -> int:
    number = getattr(transform, "_torch_number", None)
    return _register(transform) if number is None else number


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _register(transform: Transform) -> int:
    if not isinstance(transform, Transform):
        raise TypeError(f"transform must be a transform, got {type(transform).__name__}")
    _TRANSFORMS.append(transform)
    transform._torch_number = len(_TRANSFORMS) - 1
    return len(_TRANSFORMS) - 1


@torch.library.custom_op("fost::apply", mutates_args=(), device_types="cpu")
def _apply(tensor: Tensor, number: int, inverse: bool) -> Tensor:
    transform = _TRANSFORMS[number]
    if tensor.dtype in (torch.bfloat16, torch.float16):
        return _apply(tensor.float(), number, inverse).to(tensor.dtype)
    if tensor.dtype not in (torch.float32, torch.float64):
        raise TypeError(f"tensor must be of floating-point numbers, got {tensor.dtype}")
    array = tensor.detach().numpy()
    return torch.from_numpy(transform.inverse(array) if inverse else transform.forward(array))


@_apply.register_fake
def _fake(tensor: Tensor, number: int, inverse: bool) -> Tensor:
    return torch.empty_like(tensor, memory_format=torch.contiguous_format)


def _save(
    ctx: torch.autograd.function.FunctionCtx, inputs: tuple[object, ...], output: object
) -> None:
    _, ctx.number, ctx.inverse = inputs  # type: ignore[attr-defined]


def _adjoint(
    ctx: torch.autograd.function.FunctionCtx, gradient: Tensor
) -> tuple[Tensor, None, None]:
    """U is orthonormal, so its inverse is its adjoint."""
    return _apply(gradient, ctx.number, not ctx.inverse), None, None  # type: ignore[attr-defined]


_apply.register_autograd(_adjoint, setup_context=_save)


@_apply.register_vmap
def _batched(
    info: object, dims: tuple[int | None, ...], tensor: Tensor, number: int, inverse: bool
) -> tuple[Tensor, int]:
    """Leading axes are signals, and so is the axis of a batch."""
    assert dims[0] is not None
    return _apply(tensor.movedim(dims[0], 0), number, inverse), 0


class Layer(torch.nn.Module):
    """A transform in operations of PyTorch alone, for all devices, with parameters to train.

    The parameters are the vectors of Householder reflectors and the angles of Givens rotations.
    Every value of them is an orthonormal transform. Other stages are fixed matrices.

    Parameters
    ----------
    transform : Transform
        The transform to begin with, for instance a learned one.
    trainable : bool
        Whether the parameters require gradients.

    Examples
    --------
    >>> import fost, torch  # doctest: +SKIP
    >>> import fost.torch  # doctest: +SKIP
    >>> layer = fost.torch.Layer(fost.DCT(64), trainable=True)  # doctest: +SKIP
    >>> layer.inverse(layer(torch.ones(64)))  # doctest: +SKIP
    """

    def __init__(self, transform: Transform, trainable: bool = False) -> None:
        super().__init__()
        if not isinstance(transform, Transform):
            raise TypeError(f"transform must be a transform, got {type(transform).__name__}")
        self.stages = torch.nn.ModuleList(
            _stage(stage, trainable) for stage in Chain([transform]).stages
        )

    def forward(self, Y: Tensor) -> Tensor:
        """Coefficients of signals along the last axis."""
        for stage in self.stages:
            Y = stage(Y, False)
        return Y

    def inverse(self, X: Tensor) -> Tensor:
        """Signals with given coefficients."""
        for stage in reversed(self.stages):
            X = stage(X, True)
        return X

    def transform(self) -> Transform:
        """The transform with the present parameters."""
        return Chain(stage.transform() for stage in self.stages)


def _stage(transform: Transform, trainable: bool) -> torch.nn.Module:
    if isinstance(transform, Householder):
        return _Reflectors(transform, trainable)
    if isinstance(transform, Givens):
        return _Rotations(transform, trainable)
    return _Matrix(transform)


class _Matrix(torch.nn.Module):
    def __init__(self, transform: Transform) -> None:
        super().__init__()
        self._transform = transform
        self.register_buffer("matrix", _tensor(transform.matrix))

    def forward(self, Y: Tensor, inverse: bool) -> Tensor:
        return Y @ (self.matrix.T if inverse else self.matrix)

    def transform(self) -> Transform:
        return self._transform


class _Reflectors(torch.nn.Module):
    def __init__(self, transform: Householder, trainable: bool) -> None:
        super().__init__()
        self.vectors = torch.nn.Parameter(_tensor(transform.vectors), requires_grad=trainable)

    def _units(self) -> Tensor:
        """Rows of unit norm; zero rows stay zero."""
        norms = self.vectors.norm(dim=1, keepdim=True)
        return self.vectors / torch.where(norms > 0, norms, torch.ones_like(norms))

    def forward(self, Y: Tensor, inverse: bool) -> Tensor:
        units = self._units()
        for u in units if inverse else units.flip(0):
            Y = Y - 2 * (Y @ u)[..., None] * u
        return Y

    def transform(self) -> Transform:
        return Householder(_array(self._units()))


class _Rotations(torch.nn.Module):
    """Layers of disjoint rotations: Y <- Y * cosines + Y[partner] * sines."""

    partner: Tensor
    which: Tensor
    signs: Tensor

    def __init__(self, transform: Givens, trainable: bool) -> None:
        super().__init__()
        self._pairs, self._n = transform.pairs, transform.n_features
        blocks = transform.blocks
        angles = np.arctan2(blocks[:, 0, 1], blocks[:, 0, 0])
        self._flips = np.sign(np.linalg.det(blocks))  # -1 for reflections
        self.angles = torch.nn.Parameter(_tensor(angles), requires_grad=trainable)
        # `forward` applies the last block first, transposed.
        layer_of = np.zeros(self._n, np.int64)
        layers = []
        for i, j in self._pairs[::-1]:
            layers.append(max(layer_of[i], layer_of[j]))
            layer_of[[i, j]] = layers[-1] + 1
        count, g = max(layers, default=-1) + 1, len(layers)
        partner = np.tile(np.arange(self._n), (count, 1))
        which = np.full((count, self._n), g)  # the angle zero
        signs = np.ones((3, count, self._n))  # of cosines, of sines forward, of sines inverse
        for k, layer in zip(range(g - 1, -1, -1), layers, strict=True):
            i, j = self._pairs[k]
            partner[layer, [i, j]] = j, i
            which[layer, [i, j]] = k
            signs[:, layer, i] = 1, -self._flips[k], 1
            signs[:, layer, j] = self._flips[k], 1, -self._flips[k]
        self.register_buffer("partner", torch.from_numpy(partner))
        self.register_buffer("which", torch.from_numpy(which))
        self.register_buffer("signs", _tensor(signs))

    def forward(self, Y: Tensor, inverse: bool) -> Tensor:
        angles = torch.cat([self.angles, self.angles.new_zeros(1)])
        cosines = torch.cos(angles)[self.which] * self.signs[0]
        sines = torch.sin(angles)[self.which] * self.signs[2 if inverse else 1]
        order = range(len(self.which))
        for k in reversed(order) if inverse else order:
            Y = Y * cosines[k] + Y[..., self.partner[k]] * sines[k]
        return Y

    def transform(self) -> Transform:
        angles = _array(self.angles)
        c, s, flips = np.cos(angles), np.sin(angles), self._flips
        blocks = np.array([[c, s], [-flips * s, flips * c]]).transpose(2, 0, 1)
        return Givens(self._pairs, blocks, self._n)


def _tensor(array: np.ndarray) -> Tensor:
    return torch.tensor(array, dtype=torch.get_default_dtype())


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().cpu().double().numpy()
