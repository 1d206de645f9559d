"""Model files: a transform with what `fost learn` noted about it.

The metadata of a model (see `fost.transforms.read_metadata`) has

``signals``         "picture" or "array": what it was learned on
``patch``           "8x8": height and width of a patch, where signals are patches
``sparsity``        "4": entries per code
``threshold``       "0.05": those above this only, where it was learned with a threshold
``relative_error``  "0.0123": that of the signals it was learned on
``usage``           "0.25 0.75": shares of the signals that use each member of a bank
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import isqrt
from pathlib import Path
from typing import TYPE_CHECKING

from fost.cli.errors import UserError, reading, writing
from fost.cli.options import format_patch, parse_patch

if TYPE_CHECKING:
    from fost.selection import Rule
    from fost.transforms import DCT, Coder

_DEFAULT_SPARSITY = 4
# Features, of all parts together, that any file may ask for, at about 20 bytes each; a larger
# one as many as this for each of its bytes. What is learned has more bytes than features.
_FREE = 2**24
_PER_BYTE = 16


@dataclass(frozen=True)
class Model:
    """A transform and its metadata."""

    transform: Coder
    metadata: dict[str, str]
    path: Path

    @property
    def known_patch(self) -> tuple[int, int] | None:
        """The shape of a patch: as noted, or that of a DCT inside."""
        from fost.transforms import DCT, Chain

        n = self.transform.n_features
        if "patch" in self.metadata:
            patch = parse_patch(self.metadata["patch"], f"the patch in {str(self.path)!r}")
            if patch[0] * patch[1] != n:
                raise UserError(f"{str(self.path)!r} is damaged: its patch does not fit")
            return patch
        for member in Chain(self.transform.members[:1]).stages:
            if isinstance(member, DCT) and len(member.shape) == 2:
                return member.shape[0], member.shape[1]
        return None

    @property
    def patch(self) -> tuple[int, int] | None:
        """The shape of a patch for what needs one: as far as it is known, or else a square."""
        n = self.transform.n_features
        side = isqrt(n)
        return self.known_patch or ((side, side) if side * side == n else None)

    def patch_or_complain(self, why: str) -> tuple[int, int]:
        if self.patch is None:
            raise UserError(
                f"{str(self.path)!r} does not say what shape its {self.transform.n_features} "
                f"features have, which {why} needs"
            )
        return self.patch

    @property
    def sparsity(self) -> int:
        """Entries per code: as noted, or four."""
        noted = self.metadata.get("sparsity", "")
        wanted = int(noted) if re.fullmatch("[1-9][0-9]{0,9}", noted) else _DEFAULT_SPARSITY
        return min(wanted, self.transform.n_features)

    @property
    def threshold(self) -> float | None:
        """The magnitude above which entries are kept, where it was learned with one."""
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
        """The share of signals that each member of a bank was used for, where it is noted."""
        try:
            return [float(share) for share in self.metadata.get("usage", "").split()]
        except ValueError as error:
            raise UserError(f"{str(self.path)!r} is damaged: its usage is no numbers") from error


def dct_of(shape: int | tuple[int, int]) -> DCT | None:
    """The fixed transform that people know, to compare with; None for awkward lengths."""
    from fost.transforms import DCT

    try:
        return DCT(shape)
    except ValueError:
        return None


def load_model(path: Path) -> Model:
    import fost
    from fost.transforms import read_metadata

    with reading(path):
        model = Model(fost.load(path), read_metadata(path), path)
        size = path.stat().st_size
    if _n_entries(model.transform) > max(_FREE, _PER_BYTE * size):
        raise UserError(
            f"cannot use {str(path)!r}: a file of {size:,} bytes is too small for transforms of "
            f"{model.transform.n_features:,} features"
        )
    return model


def _n_entries(coder: Coder) -> int:
    """The features of all parts together, by which the memory goes that they work with."""
    from fost.transforms import Chain

    return sum(len(Chain([member]).stages) * member.n_features for member in coder.members)


def save_model(
    transform: Coder,
    path: Path,
    *,
    kind: str,
    patch: tuple[int, int] | None,
    rule: Rule,
    error: float,
    usage: list[float] | None = None,
) -> None:
    metadata = {"signals": kind, "sparsity": str(rule.s), "relative_error": f"{error:.6g}"}
    if rule.threshold is not None:
        metadata["threshold"] = repr(rule.threshold)
    if patch is not None:
        metadata["patch"] = format_patch(patch)
    if usage is not None:
        metadata["usage"] = " ".join(f"{share:.4f}" for share in usage)
    with writing(path):
        transform.save(path, metadata)
