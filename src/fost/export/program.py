"""Transforms as programs of small steps, the common form of the C code and of `Quantised`.

A program works in place on n slots. Its steps are rotations by at most 45 degrees, reflectors and
dense products. Permutations and signs cost nothing: they only change in which slot, and with which
sign, a coefficient is found. Coefficient k is ``sign[k] * slots[where[k]]``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import pi, prod, sqrt

import numpy as np
from numpy.typing import NDArray

from fost.transforms import DCT, Bank, Chain, Coder, Givens, Hadamard, Householder, Transform
from fost.transforms.base import Transposed
from fost.transforms.rotation_network import RotationNetwork, RotationProduct, Slots

# Limits of the length of generated tables: signals, and odd factors of the lengths of DCTs.
_MAX_FEATURES = 2**14
_MAX_ODD_FACTOR = 255

_BUTTERFLY = np.array([[1.0, 1.0], [1.0, -1.0]]) / sqrt(2)

Pairs = NDArray[np.int64]
Values = NDArray[np.float64]


@dataclass(frozen=True)
class RotationStep:
    """(x_i, x_j) <- (c x_i + s x_j, c x_j - s x_i) with c >= s > 0, on all lines of an axis.

    The slots have the shape (outer, length, stride), and `pairs` are places along the second axis.
    A table for all slots has outer = stride = 1.
    """

    pairs: Pairs  # (n_rotations, 2)
    cosines: Values
    sines: Values
    outer: int
    length: int
    stride: int

    def expanded(self) -> RotationStep:
        """The same rotations in one table for all slots."""
        slots = np.arange(self.outer * self.length * self.stride)
        cube = np.moveaxis(slots.reshape(self.outer, self.length, self.stride), 1, 2)
        lines = cube.reshape(-1, self.length)
        pairs = lines[:, self.pairs].reshape(-1, 2)
        c, s = (np.tile(v, len(lines)) for v in (self.cosines, self.sines))
        return RotationStep(pairs, c, s, 1, slots.size, 1)


@dataclass(frozen=True)
class ReflectorStep:
    """x <- x - 2 u (u^T x) for the rows u of `vectors`, the first row first."""

    vectors: Values


@dataclass(frozen=True)
class DenseStep:
    """x <- A x."""

    matrix: Values


Step = RotationStep | ReflectorStep | DenseStep


@dataclass(frozen=True)
class Program:
    """Steps of `forward`, and the places and signs of the coefficients after them."""

    steps: tuple[Step, ...]
    where: Pairs
    sign: Pairs

    def then(self, stages: Iterable[Transform], rotations_only: bool) -> Program:
        """The program that applies further transforms."""
        program = self
        for stage in stages:
            program = _with_stage(program, stage, rotations_only)
        used = tuple(s for s in program.steps if not isinstance(s, RotationStep) or len(s.pairs))
        return replace(program, steps=used)


def programs(coder: Coder, *, rotations_only: bool = False) -> tuple[Program, list[Program]]:
    """The program of the stages that all members share, and those of the members after it.

    With `rotations_only`, reflectors and dense matrices become rotations.
    """
    if not isinstance(coder, Transform | Bank):
        raise TypeError(f"coder must be a transform or a Bank, got {type(coder).__name__}")
    n = coder.n_features
    if n > _MAX_FEATURES:
        raise ValueError(f"coder must have at most {_MAX_FEATURES} features to export it, got {n}")
    identity = Program((), np.arange(n), np.ones(n, np.int64))
    if isinstance(coder, Bank):
        shared, rests = coder._split
    else:
        shared, rests = (), (Chain([coder]).stages,)
    base = identity.then(shared, rotations_only)
    start = replace(base, steps=())
    return base, [start.then(rest, rotations_only) for rest in rests]


def _with_stage(program: Program, stage: Transform, rotations_only: bool) -> Program:
    transposed, inner = isinstance(stage, Transposed), stage.T
    if isinstance(inner, Givens | RotationProduct) and transposed:
        return _with_table(program, *_rotations(inner))
    if isinstance(stage, DCT | Hadamard):
        for view, network in _axes(stage):
            program = _with_lines(program, view, *network)
        return program
    if isinstance(stage, Givens | RotationProduct):
        return _with_table(program, *_forward_order(*_rotations(stage)))
    if rotations_only:
        return _with_table(program, *_forward_order(*_rotations_of(stage.matrix.T)))
    rows = None
    if isinstance(stage, Householder):
        rows = stage.vectors[::-1]
    elif transposed and isinstance(inner, Householder):
        rows = inner.vectors
    if rows is not None:
        rows = rows[rows.any(axis=1)]
        moved = np.empty_like(rows)
        moved[:, program.where] = rows * program.sign
        return replace(program, steps=(*program.steps, ReflectorStep(moved)))
    matrix = np.empty((stage.n_features, stage.n_features))
    matrix[:, program.where] = stage.matrix.T * program.sign
    n = stage.n_features
    return Program((*program.steps, DenseStep(matrix)), np.arange(n), np.ones(n, np.int64))


def _rotations(stage: Givens | RotationProduct) -> tuple[Slots, Values]:
    if isinstance(stage, Givens):
        return stage.pairs, stage.blocks
    return stage._network().rotations()


def _forward_order(pairs: Slots, blocks: Values) -> tuple[Slots, Values]:
    """Pairs and blocks of `Givens` in the order and with the orientation of `forward`."""
    return pairs[::-1], blocks[::-1].transpose(0, 2, 1)


def _axes(
    stage: DCT | Hadamard,
) -> Iterator[tuple[tuple[int, int, int], tuple[Slots, Values]]]:
    """For each axis, the shape (outer, length, stride) of its lines, and their rotations."""
    n = stage.n_features
    if isinstance(stage, Hadamard):
        pair = np.array([[0, 1]], np.int32), _BUTTERFLY[None]
        for level in range(n.bit_length() - 1):
            yield (n >> (level + 1), 2, 1 << level), pair
        return
    for axis, length in enumerate(stage.shape):
        if length > 1:
            view = prod(stage.shape[:axis]), length, prod(stage.shape[axis + 1 :])
            yield view, _forward_order(*_dct_network(length).rotations())


def _with_lines(
    program: Program, view: tuple[int, int, int], pairs: Slots, blocks: Values
) -> Program:
    """Add the same rotations on all lines of an axis; one table if slots are not in their order."""
    outer, length, stride = view
    where, sign = program.where.reshape(view), program.sign.reshape(view)
    starts = where[:, :1]
    lines = np.arange(outer)[:, None, None] * (length * stride) + np.arange(stride)
    in_order = (
        (where - starts == stride * np.arange(length)[:, None]).all()
        and (sign == sign[:, :1]).all()
        and np.array_equal(np.sort(starts, axis=None), lines.ravel())
    )
    if not in_order:
        slots = np.moveaxis(np.arange(outer * length * stride).reshape(view), 1, 2)
        table = slots.reshape(-1, length)[:, pairs].reshape(-1, 2).astype(np.int32)
        return _with_table(program, table, np.tile(blocks, (outer * stride, 1, 1)))
    identity = Program((), np.arange(length), np.ones(length, np.int64))
    line = _with_table(identity, pairs, blocks)
    (rotations,) = line.steps
    assert isinstance(rotations, RotationStep)
    step = replace(rotations, outer=outer, length=length, stride=stride)
    where = starts + stride * line.where[:, None]
    sign = sign[:, :1] * line.sign[:, None]
    return Program((*program.steps, step), where.ravel(), sign.ravel())


def _with_table(program: Program, pairs: Slots, blocks: Values) -> Program:
    """Add v <- B v on pairs of coefficients; each B is a rotation by at most 45 degrees, signs and
    perhaps a swap, of which only the rotation is a step."""
    where, sign = program.where.tolist(), program.sign.tolist()
    table, sines = [], []
    for (i, j), ((b00, b01), (b10, b11)) in zip(pairs.tolist(), blocks.tolist(), strict=True):
        p, q = sign[i], sign[j]
        a, b = where[i], where[j]
        if abs(b00) >= abs(b01):
            sign[i], sign[j] = _sign(b00 * p), _sign(b11 * q)
            sine = sign[i] * b01 * q
        else:
            sign[i], sign[j] = _sign(b01 * q), _sign(b10 * p)
            sine = -sign[i] * b00 * p
            where[i], where[j] = b, a
        if sine:  # the rotation of (j, i) by the opposite angle is the same
            table.append((a, b) if sine > 0 else (b, a))
            sines.append(abs(sine))
    s = np.array(sines)
    n = len(where)
    step = RotationStep(
        np.array(table, np.int64).reshape(-1, 2), np.sqrt((1 - s) * (1 + s)), s, 1, n, 1
    )
    return Program((*program.steps, step), np.array(where), np.array(sign))


def _sign(value: float) -> int:
    return -1 if value < 0 else 1


def _dct_network(length: int) -> RotationNetwork:
    odd = length // (length & -length)
    if odd > _MAX_ODD_FACTOR:
        raise ValueError(
            f"coder must have DCTs of lengths whose largest odd factor is at most "
            f"{_MAX_ODD_FACTOR} to export it, got length {length}"
        )
    network = RotationNetwork((length,))
    network.place(_dct2(network, network.slots))
    return network


def _dct2(network: RotationNetwork, x: Slots) -> Slots:
    """The DCT-II of the values in slots x; returns the slots of the coefficients.

    For even lengths, its even coefficients are the DCT-II of the sums of x_k and x_(n-1-k), and
    its odd ones the DCT-IV of their differences.
    """
    n = len(x)
    if n % 2:
        return _dense_network(network, x, 2)
    first, last = x[: n // 2], x[: n // 2 - 1 : -1]
    network.rotate(first, last, _BUTTERFLY)
    return _interleaved(_dct2(network, first), _dct4(network, last))


def _dct4(network: RotationNetwork, x: Slots) -> Slots:
    """The DCT-IV. For even lengths: rotations, two DCT-IIs of half the length, and butterflies.

    With phi_j = (2 j + 1) pi / (4 n), p_j = x_j cos phi_j + x_(n-1-j) sin phi_j, and
    q_j = (-1)^j (x_j sin phi_j - x_(n-1-j) cos phi_j), let C and S be the DCT-IIs of p and q. The
    coefficients are C_0, (C_l + S_(m-l), C_l - S_(m-l)) / sqrt(2) at 2 l - 1 and 2 l, and S_0.
    """
    n, m = len(x), len(x) // 2
    if n % 2:
        return _dense_network(network, x, 4)
    phi = (2 * np.arange(m) + 1) * (pi / (4 * n))
    c, s, signs = np.cos(phi), np.sin(phi), (-1.0) ** np.arange(m)
    blocks = np.array([[c, s], [signs * s, -signs * c]]).transpose(2, 0, 1)
    first, last = x[:m], x[: m - 1 : -1]
    network.rotate(first, last, blocks)
    C, S = _dct2(network, first), _dct2(network, last)
    network.rotate(C[1:], S[:0:-1], _BUTTERFLY)
    return np.concatenate([C[:1], _interleaved(C[1:], S[:0:-1]), S[:1]])


def _interleaved(even: Slots, odd: Slots) -> Slots:
    return np.stack([even, odd], axis=1).ravel()


def _dense_network(network: RotationNetwork, x: Slots, kind: int) -> Slots:
    """The DCT-II or DCT-IV of odd length n, by n (n - 1) / 2 rotations."""
    n = len(x)
    if n > 1:
        k = np.arange(n)
        frequency = k if kind == 2 else k + 0.5
        matrix = np.sqrt(2 / n) * np.cos(np.outer(frequency, 2 * k + 1) * (pi / (2 * n)))
        matrix[0] /= sqrt(2) if kind == 2 else 1
        for pair, block in zip(*_forward_order(*_rotations_of(matrix)), strict=True):
            network.rotate(x[pair[:1]], x[pair[1:]], block)
    return x


def _rotations_of(matrix: Values) -> tuple[Slots, Values]:
    """Pairs and blocks of `Givens`, whose `forward` maps v to A v for an orthonormal matrix A.

    RotationStep of columns make A diagonal: A G_1 ... G_g = D. They annihilate the entries of each
    row right of the diagonal.
    """
    left, n = matrix.copy(), len(matrix)
    pairs, blocks = [], []
    for i in range(n - 1):
        for j in range(i + 1, n):
            a, b = left[i, i], left[i, j]
            if abs(b) > 1e-15:
                r = np.hypot(a, b)
                rotation = np.array([[a, -b], [b, a]]) / r
                left[:, [i, j]] = left[:, [i, j]] @ rotation
                pairs.append((i, j))
                blocks.append(rotation)
    # `forward` applies the last block first, transposed: v -> G_1^T v -> ... -> D v.
    for i in np.flatnonzero(np.diag(left) < 0).tolist():
        pairs.append((i, (i + 1) % n))
        blocks.append(np.diag([-1.0, 1.0]))
    if not pairs:
        return np.empty((0, 2), np.int32), np.empty((0, 2, 2))
    return np.array(pairs, np.int32)[::-1], np.array(blocks)[::-1]
