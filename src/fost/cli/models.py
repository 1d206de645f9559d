"""Model files: a transform and the metadata that fost learn stores with it.

The metadata of a model, which fost.transforms.read_metadata reads, are

``signals``          "image" or "array": the input of learning
``patch_shape``      "8x8": height and width of a patch, where signals are patches
``n_nonzero_coefs``  "4": entries per code
``threshold``        "0.05": the threshold of codes, where the model was learned with one
``relative_error``   "0.0123": the relative error of the training signals
``usage``            "0.25 0.75": the share of signals that use each member of a bank
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import isqrt
from pathlib import Path
from typing import TYPE_CHECKING

from fost.cli.errors import UserError, writing
from fost.cli.options import format_shape, parse_shape

if TYPE_CHECKING:
    from fost.coding.selection import SelectionRule
    from fost.transforms import DCT, Coder, Transform

_DEFAULT_NONZERO_COEFS = 4
# The features of all stages that any file may ask for, at about 20 bytes each; a larger file may
# ask for this many per byte. Learned transforms have more bytes than features.
_FREE = 2**24
_PER_BYTE = 16


@dataclass(frozen=True)
class Model:
    """A transform and its metadata."""

    transform: Coder
    metadata: dict[str, str]
    path: Path

    @property
    def known_patch_shape(self) -> tuple[int, int] | None:
        """The shape of a patch by the metadata, or that of a 2-D DCT in the transform."""
        from fost.transforms import DCT, Chain

        if "patch_shape" in self.metadata:
            name = f"the patch_shape in {str(self.path)!r}"
            shape = parse_shape(self.metadata["patch_shape"], name)
            if shape[0] * shape[1] != self.transform.n_features:
                raise UserError(f"{str(self.path)!r} is damaged: its patch_shape does not fit")
            return shape
        for stage in Chain(self.transform.members[:1]).stages:
            if isinstance(stage, DCT) and len(stage.shape) == 2:
                return stage.shape[0], stage.shape[1]
        return None

    def patch_shape(self, use: str) -> tuple[int, int]:
        """The shape of a patch, square if it is not known; `use` says who needs it."""
        n = self.transform.n_features
        side = isqrt(n)
        shape = self.known_patch_shape or ((side, side) if side * side == n else None)
        if shape is None:
            raise UserError(
                f"{str(self.path)!r} does not say what shape its {n} features have, which {use} "
                "needs"
            )
        return shape

    @property
    def n_nonzero_coefs(self) -> int:
        """Entries per code."""
        noted = self.metadata.get("n_nonzero_coefs", "")
        wanted = int(noted) if re.fullmatch("[1-9][0-9]{0,9}", noted) else _DEFAULT_NONZERO_COEFS
        return min(wanted, self.transform.n_features)

    @property
    def threshold(self) -> float | None:
        """The threshold of codes, where the model was learned with one."""
        noted = self.metadata.get("threshold")
        if noted is None:
            return None
        from fost._validation import check_number

        try:
            return check_number(float(noted), "threshold", 0)
        except ValueError as error:
            raise UserError(f"{str(self.path)!r} is damaged: its threshold is {noted!r}") from error

    @property
    def usage(self) -> list[float]:
        """The share of signals that use each member of a bank; empty if it is not known."""
        try:
            return [float(share) for share in self.metadata.get("usage", "").split()]
        except ValueError as error:
            raise UserError(f"{str(self.path)!r} is damaged: its usage is no numbers") from error


def load_model(path: Path) -> Model:
    import fost
    from fost.transforms import Chain, read_metadata

    model = Model(fost.load(path), read_metadata(path), path)
    coder, size = model.transform, path.stat().st_size
    # The memory that a transform works with grows with the features of all its stages.
    n_entries = sum(len(Chain([member]).stages) for member in coder.members) * coder.n_features
    if n_entries > max(_FREE, _PER_BYTE * size):
        raise UserError(
            f"cannot use {str(path)!r}: a file of {size:,} bytes is too small for transforms of "
            f"{coder.n_features:,} features"
        )
    return model


def save_model(
    transform: Coder,
    path: Path,
    *,
    signals: str,
    patch_shape: tuple[int, int] | None,
    rule: SelectionRule,
    relative_error: float,
    usage: list[float] | None = None,
) -> None:
    metadata = {
        "signals": signals,
        "n_nonzero_coefs": str(rule.s),
        "relative_error": f"{relative_error:.6g}",
    }
    if rule.threshold is not None:
        metadata["threshold"] = repr(rule.threshold)
    if patch_shape is not None:
        metadata["patch_shape"] = format_shape(patch_shape)
    if usage is not None:
        metadata["usage"] = " ".join(f"{share:.4f}" for share in usage)
    with writing(path):
        transform.save(path, metadata)


def check_base(text: str) -> None:
    """Raise a UserError if `text` is neither the name of a base nor a file."""
    from fost.transforms.bases import BASES, is_base_name

    if text != "auto" and not is_base_name(text) and not Path(text).exists():
        known = ", ".join(("auto", *BASES))
        raise UserError(f"--base must be {known}, wavelet:NAME or a file, got {text!r}")


def load_base(text: str) -> str | Transform:
    """The name of a base, or the transform in a model file."""
    import fost
    from fost.transforms.bases import is_base_name

    if text == "auto" or is_base_name(text):
        return text
    loaded = load_model(Path(text)).transform
    if not isinstance(loaded, fost.Transform):
        raise UserError(f"cannot use {text!r} as a base: it is a {type(loaded).__name__}")
    return loaded


def reference_dct(shape: int | tuple[int, int]) -> DCT | None:
    """The DCT that models are compared with; None for lengths that it does not support."""
    from fost.transforms import DCT

    try:
        return DCT(shape)
    except ValueError:
        return None
