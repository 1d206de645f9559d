"""C code and integer arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np

import fost
from fost import export
from tests import cases
from tests.fuzz.judge import Fuzz
from tests.fuzz.targets import target


def some_coder(fuzz: Fuzz) -> Any:
    n = fuzz.pick((1, 2, 3, 5, 8, 12, 16))
    vectors = cases.random_vectors(fuzz.rng, min(2, n), n)
    coders = [fost.DCT(n), fost.Householder(vectors), fost.Bank([fost.DCT(n), fost.DCT(n).T])]
    if n > 1:
        pairs, blocks = cases.random_pairs(fuzz.rng, n, n), cases.random_blocks(fuzz.rng, n)
        coders.append(fost.Chain([fost.DCT(n), fost.Givens(pairs, blocks, n)]))
    if fuzz.spoil():
        wrong = (None, np.eye(4), "dct", fost.DCT, fost.DCT(2**15), fost.Union([fost.DCT(n)]))
        return fuzz.wrong("coder", *wrong)
    return fuzz.pick(coders)


@target(2)
def quantised(fuzz: Fuzz) -> None:
    coder = some_coder(fuzz)
    bits = fuzz.integer("bits", 2, 10, 14, 2)
    fraction_bits = fuzz.integer("fraction_bits", 0, 6, 12, 0)
    made = fuzz.call(export.Quantised, coder, bits, fraction_bits)
    most, n = made.max_input, coder.n_features
    Y: Any = fuzz.rng.integers(-most, most + 1, (7, n))
    if fuzz.spoil():
        Y = fuzz.wrong(
            "Y", Y * 1.0, np.full((1, n), most + 1), np.zeros((1, n + 1), int), None, "x"
        )
    X = fuzz.call(made.forward, Y)
    fuzz.expect(np.array_equal(made.inverse(X), Y), "exact inverse")
    fuzz.expect(made.relative_error(Y, n) <= 1, "error")


@target(2)
def to_c(fuzz: Fuzz) -> None:
    coder, path = some_coder(fuzz), fuzz.folder / "x.h"
    name = fuzz.wrong("name", "", "a b", "x;", "1a", None, 3, "x" * 99) if fuzz.spoil() else "x"
    size = fuzz.call(export.to_c, coder, path, name=name, integers=fuzz.chance(0.5))
    text = path.read_text("ascii")
    fuzz.expect(f"int {name}_encode(" in text, "functions")
    fuzz.expect(f"{size.tables:,}" in text and size.stack > 0, "size")
