"""Bases by name: fixed transforms for signals of a given shape."""

from __future__ import annotations

from math import prod

from fost._validation import check_sizes
from fost.transforms.base import Chain, Transform
from fost.transforms.coder import Coder
from fost.transforms.dct import DCT
from fost.transforms.hadamard import Hadamard
from fost.transforms.sparse_dictionary import SparseDictionary
from fost.transforms.wavelet import Wavelet

BASES = ("none", "dct", "hadamard", "wavelet")


def make_base(
    base: str | Transform | None, n_features: int, signal_shape: int | tuple[int, ...] | None = None
) -> Transform | None:
    """The base for signals of `n_features` entries.

    A base is a transform, None, or one of the names in `BASES`; "wavelet:haar" names the wavelet.
    `signal_shape` is one-dimensional if None.
    """
    shape = check_signal_shape(signal_shape, n_features)
    if base is None:
        return None
    if isinstance(base, str):
        if not is_base_name(base):
            known = ", ".join(map(repr, BASES))
            raise ValueError(f"base must be a transform, 'auto', {known} or None, got {base!r}")
        name, _, wavelet = base.partition(":")
        if name == "none":
            return None
        if name == "wavelet":
            if any(length % 2 for length in shape if length > 1):
                raise ValueError(
                    f"base={base!r} needs signals of even length, got signal_shape={shape}"
                )
            return Wavelet(shape, wavelet or "db4")
        return DCT(shape) if name == "dct" else Hadamard(shape)
    if not isinstance(base, Transform):
        kind = f"a {type(base).__name__}" if isinstance(base, Coder) else type(base).__name__
        raise TypeError(f"base must be a transform, a name or None, got {kind}")
    if base.n_features != n_features:
        raise ValueError(f"base has n_features={base.n_features}, but Y has {n_features} features")
    return base


def is_base_name(text: str) -> bool:
    """Whether `make_base` knows this name."""
    name, colon, _ = text.partition(":")
    return name == "wavelet" if colon else name in BASES


def check_signal_shape(
    signal_shape: int | tuple[int, ...] | None, n_features: int
) -> tuple[int, ...]:
    """The shape of a signal with `n_features` entries; one axis if None."""
    if signal_shape is None:
        return (n_features,)
    shape = check_sizes(signal_shape, "signal_shape")
    if prod(shape) != n_features:
        raise ValueError(
            f"signal_shape={signal_shape} has {prod(shape)} entries, "
            f"but the signals have {n_features} features"
        )
    return shape


def base_of(coder: Coder) -> Transform | None:
    """The stages below the last one, which all members share; None if there are none."""
    if isinstance(coder, SparseDictionary):
        return coder.base
    below = Chain(coder.members[:1]).stages[:-1]
    if not below or any(Chain([other]).stages[:-1] != below for other in coder.members):
        return None
    return below[0] if len(below) == 1 else Chain(below)


def describe_base(base: Transform | None) -> str:
    """A base in a few words: "none", "DCT 8x8", "Wavelet 128"."""
    if base is None:
        return "none"
    shape = getattr(base, "shape", (base.n_features,))
    return f"{type(base).__name__} {'x'.join(map(str, shape))}"
