"""The fixed transform under the learned one: by name, or from a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fost.cli.errors import UserError

if TYPE_CHECKING:
    from fost.transforms import Transform

NONE, DCT = "none", "dct"
_NAMES = (NONE, DCT, "hadamard", "wavelet")
KNOWN = "none, dct, hadamard, wavelet, wavelet:NAME (such as wavelet:haar) or a model file"


def check_base(text: str) -> None:
    """Raises a UserError for what is neither a name nor a file."""
    if text.partition(":")[0] not in _NAMES and not Path(text).exists():
        raise UserError(f"--base must be {KNOWN}, got {text!r}")


def base_of(text: str, shape: int | tuple[int, int]) -> Transform | None:
    """The base for signals of a shape; ValueErrors say why there is none."""
    import fost

    name, _, option = text.partition(":")
    if name not in _NAMES:
        return _from_file(Path(text))
    if option and name != "wavelet":
        raise UserError(f"--base must be {KNOWN}, got {text!r}")
    if name == NONE:
        return None
    if name == "wavelet":
        return fost.Wavelet(shape, option or "db4")
    return fost.DCT(shape) if name == DCT else fost.Hadamard(shape)


def _from_file(path: Path) -> Transform:
    from fost.cli.models import load_model
    from fost.transforms import Transform

    loaded = load_model(path).transform
    if not isinstance(loaded, Transform):
        raise UserError(f"cannot use {str(path)!r} as a base: it is a {type(loaded).__name__}")
    return loaded
