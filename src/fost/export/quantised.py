"""Transforms in integer arithmetic, inverted exactly: rotations by lifting steps.

The rotation ``(a, b) -> (a cos t + b sin t, b cos t - a sin t)`` by an angle t is three lifting
steps with p = tan(t / 2) and s = sin t:

    a += p b,    b -= s a,    a += p b.

Each step changes one of the numbers by a function of the other. It is undone exactly, however the
function is rounded. A rotation by 45 degrees needs no multiplication:

    h = b - a,   l = a + h / 2

equal sqrt(2) and 1 / sqrt(2) times the rotated values. The integers then have different scales. A
slot with scale d holds 1 / d times the coefficient. Lifting steps between slots of different scales
contain the ratio of the scales. The selection of the largest coefficients weights by scales.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, log2, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, sparray

from fost._validation import check_array, check_integer, check_shape
from fost.coding.decode import check_codes
from fost.export.program import Pairs, Program, RotationStep, Values, programs
from fost.transforms import Coder
from fost.transforms.coder import OperationCounts

Integers = NDArray[np.int64]

# Weights of the selection have this many bits for the smallest scale; energies drop as many.
_WEIGHT_BITS = 6
ENERGY_SHIFT = 8
# A coefficient of a unit signal within a lifting step, and rounding: tan(22.5 degrees)^2 + 1 < 1.2.
_MARGIN = 1.2


@dataclass(frozen=True)
class LiftingStep:
    """Lifting steps on pairs of slots along lines, as in `RotationStep`.

    The coefficients are p / 2^p_shift and s / 2^s_shift; p = s = 0 is a butterfly.
    """

    pairs: Pairs
    p: Integers
    s: Integers
    p_shift: Integers
    s_shift: Integers
    outer: int
    length: int
    stride: int


@dataclass(frozen=True)
class IntegerProgram:
    """Lifting steps, and the place, sign and scale of each coefficient after them."""

    steps: tuple[LiftingStep, ...]
    where: Pairs
    sign: Pairs
    scale: Values


class Quantised:
    """A transform or bank in integer arithmetic, as the C code of ``to_c(..., integers=True)``.

    Signals and coefficients are integers. `inverse` undoes `forward` exactly. Coefficient k is
    ``scales[k] * forward(Y)[:, k] / 2**fraction_bits``, up to the rounding of its computation.
    Codes are decoded with the arguments that encoded them; they do not record these.

    Parameters
    ----------
    coder : Transform or Bank
        The transform. Reflectors and dense matrices become n (n - 1) / 2 rotations.
    bits : int
        Fraction bits of the coefficients of lifting steps, 2 to 14.
    fraction_bits : int
        Fraction bits of signals while they are transformed, 0 to 12.
    max_digits : int, optional
        The largest number of signed binary digits of each lifting coefficient. A product is then
        a sum of that many shifted values.

    Examples
    --------
    >>> import fost, numpy as np
    >>> from fost.export import Quantised
    >>> Y = np.random.default_rng(0).integers(-128, 128, (100, 64))
    >>> quantised = Quantised(fost.DCT((8, 8)))
    >>> np.array_equal(quantised.inverse(quantised.forward(Y)), Y)
    True
    >>> quantised.relative_error(Y, 64)
    0.0
    """

    def __init__(
        self,
        coder: Coder,
        bits: int = 8,
        fraction_bits: int = 4,
        max_digits: int | None = None,
    ) -> None:
        self.bits = check_integer(bits, "bits", 2, 14)
        self.fraction_bits = check_integer(fraction_bits, "fraction_bits", 0, 12)
        self.max_digits = (
            None if max_digits is None else check_integer(max_digits, "max_digits", 1, 14)
        )
        base, members = programs(coder, rotations_only=True)
        self.coder = coder
        n = coder.n_features
        self._growth = _MARGIN * sqrt(n)
        self._largest = 1.0
        self._base = self._lifted(base, np.ones(n))
        self._members = [self._lifted(member, self._base.scale) for member in members]
        least = min(float(member.scale.min()) for member in self._members)
        weights = [np.rint(m.scale / least * 2**_WEIGHT_BITS)[m.where] for m in self._members]
        self._weights = np.array(weights, np.int64)
        # A weighted coefficient is at most its largest value times 2^_WEIGHT_BITS / least.
        self._largest = max(self._largest, self._growth * 2**_WEIGHT_BITS / least)
        self._max_input = int((2**31 - 1) / (self._largest * 2**self.fraction_bits))
        if self._max_input < 1:
            raise ValueError(
                f"fraction_bits must be smaller for bits={self.bits} and {n} features, because "
                f"coefficients overflow 32 bits, got {self.fraction_bits}"
            )

    @property
    def n_features(self) -> int:
        """Number of entries per signal."""
        return self.coder.n_features

    @property
    def max_input(self) -> int:
        """Signals between -max_input and max_input never overflow 32 bits."""
        return self._max_input

    @property
    def scales(self) -> Values:
        """Scale of each coefficient, of shape (n_atoms,)."""
        return np.concatenate([member.scale[member.where] for member in self._members])

    @property
    def operation_counts(self) -> OperationCounts:
        """Multiplications, additions (those of shifted values with `max_digits`) and memory.

        The addition that rounds a product is part of the product. The memory is a count of numbers:
        two coefficients per stored rotation, and one signal. It omits the tables of positions and
        shifts, which the sizes of `to_c` include.
        """
        multiplications = additions = entries = 0
        for program in (self._base, *self._members):
            for step in program.steps:
                lines, butterflies = step.outer * step.stride, int(np.sum((step.p | step.s) == 0))
                lifts = np.concatenate([step.p, step.s, step.p])
                if self.max_digits is None:
                    products = int(np.count_nonzero(lifts))
                    multiplications += lines * products
                    additions += lines * (2 * butterflies + products)
                else:
                    digits = sum(len(signed_digits(int(v))) for v in lifts)
                    additions += lines * (2 * butterflies + digits)
                entries += step.p.size * 2
        return OperationCounts(multiplications, additions, entries + self.n_features)

    def forward(self, Y: ArrayLike, member: int = 0) -> Integers:
        """Integer coefficients of integer signals.

        Parameters
        ----------
        Y : array-like of int of shape (n_signals, n_features)
            Signals between -max_input and max_input.
        member : int
            Index of the member of a bank.

        Returns
        -------
        ndarray of int64 of the shape of Y
        """
        x = self._checked(Y, "Y", self.max_input).T << self.fraction_bits
        return self._finished(self._run(self._base.steps, x), self._member(member))

    def inverse(self, X: ArrayLike, member: int = 0) -> Integers:
        """Integer signals with given integer coefficients: ``inverse(forward(Y))`` equals Y.

        Parameters
        ----------
        X : array-like of int of shape (n_signals, n_features)
            Coefficients.
        member : int
            Index of the member of a bank.

        Returns
        -------
        ndarray of int64 of the shape of X
        """
        fixed_point = self._inverse(self._checked(X, "X", 2**31 - 1), self._member(member))
        return _shifted(fixed_point, self.fraction_bits)

    def encode(self, Y: ArrayLike, n_nonzero_coefs: int) -> csr_array:
        """Integer codes: the s coefficients that are largest after scaling.

        Parameters
        ----------
        Y : array-like of int of shape (n_signals, n_features)
            Signals between -max_input and max_input.
        n_nonzero_coefs : int
            Entries per code, s.

        Returns
        -------
        csr_array of int64 of shape (n_signals, n_atoms)
        """
        n = self.n_features
        s = check_integer(n_nonzero_coefs, "n_nonzero_coefs", 1, n, "n_features")
        signals = self._checked(Y, "Y", self.max_input)
        x = self._run(self._base.steps, signals.T << self.fraction_bits)
        best = np.full(len(signals), -1, np.int64)
        dense = np.zeros((len(signals), self.coder.n_atoms), np.int64)
        for b, program in enumerate(self._members):
            found = self._finished(x.copy(), program)
            weighted = np.abs(found) * self._weights[b]
            order = np.argsort(-weighted, axis=1, kind="stable")[:, :s]
            kept = np.zeros_like(found)
            np.put_along_axis(kept, order, np.take_along_axis(found, order, 1), 1)
            chosen = np.take_along_axis(weighted, order, 1) >> ENERGY_SHIFT
            energy = np.sum(chosen * chosen, axis=1)
            better = energy > best
            best[better] = energy[better]
            dense[better] = 0
            dense[better, b * n : (b + 1) * n] = kept[better]
        return csr_array(dense)

    def decode(self, codes: sparray) -> Values:
        """Signals with given codes: the integers of the C function, over ``2**fraction_bits``.

        Parameters
        ----------
        codes : sparse array of int of shape (n_signals, n_atoms)
            Codes from `encode`.

        Returns
        -------
        ndarray of float64 of shape (n_signals, n_features)
        """
        checked = check_codes(csr_array(codes), self.coder.n_atoms, "this Quantised transform")
        dense = checked.toarray().astype(np.int64).reshape(-1, len(self._members), self.n_features)
        chosen = np.argmax(dense.any(axis=2), axis=1)
        signals = np.empty((len(dense), self.n_features))
        for b in np.unique(chosen):
            signals[chosen == b] = self._inverse(dense[chosen == b, b], self._members[b])
        signals /= 2**self.fraction_bits
        return signals

    def relative_error(self, Y: ArrayLike, n_nonzero_coefs: int) -> float:
        """||Y - decode(encode(Y))||^2 / ||Y||^2, to compare with that of the exact transform."""
        signals = self._checked(Y, "Y", self.max_input)
        residual = signals - self.decode(self.encode(signals, n_nonzero_coefs))
        energy = float(np.sum(np.square(signals, dtype=np.float64)))
        return float(np.sum(np.square(residual, dtype=np.float64))) / energy if energy else 0.0

    def _run(self, steps: Iterable[LiftingStep], x: Integers) -> Integers:
        for step in steps:
            _lift(step, x, inverse=False)
        return x

    def _finished(self, x: Integers, program: IntegerProgram) -> Integers:
        found = program.sign[:, None] * self._run(program.steps, x)[program.where]
        return np.ascontiguousarray(found.T)

    def _inverse(self, coefficients: Integers, program: IntegerProgram) -> Integers:
        """Signals with `fraction_bits` fraction bits."""
        x = np.empty_like(coefficients.T)
        x[program.where] = program.sign[:, None] * coefficients.T
        for step in reversed((*self._base.steps, *program.steps)):
            _lift(step, x, inverse=True)
        return np.ascontiguousarray(x.T)

    def _member(self, member: int) -> IntegerProgram:
        return self._members[check_integer(member, "member", 0, len(self._members) - 1)]

    def _checked(self, array: ArrayLike, name: str, largest: int) -> Integers:
        given = check_array(array, name)
        if given.dtype.kind not in "iu":
            raise TypeError(f"{name} must be integers, got dtype {given.dtype}")
        check_shape(given, name, (None, self.n_features))
        if given.size and max(int(given.max()), -int(given.min())) > largest:
            raise ValueError(
                f"{name} must be between {-largest} and {largest}, so that no coefficient "
                f"overflows 32 bits, got {int(given.min())} to {int(given.max())}"
            )
        return given.astype(np.int64)

    def _lifted(self, program: Program, scale: Values) -> IntegerProgram:
        """The program in lifting steps for slots of given scales."""
        scale, steps = scale.copy(), []
        for step in program.steps:
            assert isinstance(step, RotationStep)
            steps.append(self._lifting(step, scale))
        return IntegerProgram(tuple(steps), program.where, program.sign, scale)

    def _lifting(self, step: RotationStep, scale: Values) -> LiftingStep:
        """One step; changes `scale`."""
        before = scale.copy()
        lines = scale.reshape(step.outer, step.length, step.stride)
        pairs, numbers = [], []
        for (i, j), c, sine in zip(step.pairs.tolist(), step.cosines, step.sines, strict=True):
            a, b = lines[:, i], lines[:, j]
            ratios = b / a
            ratio = float(ratios.flat[0])
            if np.abs(ratios / ratio - 1).max() > 1e-9:  # the lines need tables of their own
                scale[:] = before
                return self._lifting(step.expanded(), scale)
            first, first_shift = self._coefficient(sine / (1 + c), ratio)
            second, second_shift = self._coefficient(sine, 1 / ratio)
            if abs(c - sine) < 1e-12 and abs(ratio - 1) < 1e-9:
                a *= sqrt(2)
                b /= sqrt(2)
                first = second = 0
            elif not first and not second:
                continue
            pairs.append((i, j))
            numbers.append((first, second, first_shift, second_shift))
            least = float(a.min()), float(b.min())
            products = max(first, 1) / least[1], max(second, 1) / least[0]
            self._largest = max(self._largest, self._growth * max(products))
        table = np.array(pairs, np.int64).reshape(-1, 2)
        p, s, p_shift, s_shift = np.array(numbers, np.int64).reshape(-1, 4).T
        view = step.outer, step.length, step.stride
        return LiftingStep(table, p, s, p_shift, s_shift, *view)

    def _coefficient(self, value: float, ratio: float) -> tuple[int, int]:
        """An integer m and a shift with m / 2^shift near value * ratio.

        The shift depends on the ratio, so that the error relative to it is at most 2^-bits / 2.
        """
        shift = max(1, self.bits + ceil(-log2(ratio) - 1e-6))
        scaled = round(value * ratio * 2**shift)
        return sum(signed_digits(scaled, self.max_digits)), shift


def signed_digits(value: int, count: int | None = None) -> list[int]:
    """Powers of two, with signs, whose sum is `value`, or nearest to it with `count` of them."""
    digits: list[int] = []
    while value and len(digits) != count:
        # The power of two nearest to |v|: 2^k covers [3/4, 3/2) 2^k.
        power = 1 << max(0, int(np.floor(log2(abs(value) * 4 / 3))))
        digits.append(power if value > 0 else -power)
        value -= digits[-1]
    return digits


def _lift(step: LiftingStep, x: Integers, *, inverse: bool) -> None:
    """Apply lifting steps in place to signals in columns."""
    lines = x.reshape(step.outer, step.length, step.stride, -1)
    columns = step.pairs, step.p, step.s, step.p_shift, step.s_shift
    table = list(zip(*(column.tolist() for column in columns), strict=True))
    for (i, j), p, s, p_shift, s_shift in reversed(table) if inverse else table:
        a, b = lines[:, i], lines[:, j]
        if not p and not s:
            if inverse:
                a -= b >> 1
                b += a
            else:
                b -= a
                a += b >> 1
        elif inverse:
            a -= _shifted(p * b, p_shift)
            b += _shifted(s * a, s_shift)
            a -= _shifted(p * b, p_shift)
        else:
            a += _shifted(p * b, p_shift)
            b -= _shifted(s * a, s_shift)
            a += _shifted(p * b, p_shift)


def _shifted(value: Integers, bits: int) -> Integers:
    """value / 2^bits, rounded."""
    return (value + (1 << bits >> 1)) >> bits
