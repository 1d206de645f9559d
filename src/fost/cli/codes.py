"""Files of codes: sparse codes with all that is needed to decode them but the model.

An .npz file, which holds no pickles, with

``data``, ``indices``, ``indptr``, ``shape``, ``format``
    the codes as `scipy.sparse.save_npz` stores them; `scipy.sparse.load_npz` reads them
``means``
    the mean of each patch; of length 0 for arrays
``metadata``
    JSON with ``format`` ("fost codes"), ``version`` (1), ``signals`` ("picture" or "array"),
    ``model`` (the checksum of the transform), ``sparsity``, ``relative_error``, ``dtype`` (of
    the picture or the array) and, for pictures, ``image_shape``, ``patch``, ``low``, ``high``
    (the values that were taken to 0 and 1) and ``psnr``. The patches of a picture do not
    overlap, but for those at the right and lower border (see `fost.images.patches`).
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fost.cli.errors import UserError, reading, writing

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

FORMAT = "fost codes"
VERSION = 1


@dataclass(frozen=True)
class Picture:
    """What a picture was before it was coded."""

    image_shape: tuple[int, ...]
    patch: tuple[int, int]
    low: float
    high: float
    psnr: float | None


@dataclass(frozen=True)
class Codes:
    """What is in a file of codes."""

    codes: csr_array
    means: NDArray[Any]
    model: str
    sparsity: int
    relative_error: float
    dtype: str
    picture: Picture | None

    def save(self, path: Path) -> int:
        """Write to a file in one step; returns its size in bytes."""
        import numpy as np

        from fost._files import write_atomically

        metadata = {
            "format": FORMAT,
            "version": VERSION,
            "signals": "array" if self.picture is None else "picture",
            "model": self.model,
            "sparsity": self.sparsity,
            "relative_error": self.relative_error,
            "dtype": self.dtype,
            **(asdict(self.picture) if self.picture else {}),
        }
        buffer = io.BytesIO()
        np.savez_compressed(
            buffer,
            data=self.codes.data,
            indices=self.codes.indices,
            indptr=self.codes.indptr,
            shape=np.array(self.codes.shape),
            format=np.array(b"csr"),
            _is_array=np.array(True),
            means=self.means,
            metadata=np.array(json.dumps(metadata)),
        )
        with writing(path):
            write_atomically(path, buffer.getvalue())
        return buffer.tell()


def load_codes(path: Path) -> Codes:
    """Read a file of codes; whatever is wrong with it is a UserError."""
    with reading(path):
        content = path.read_bytes()
    try:
        return _loaded(io.BytesIO(content))
    except (ValueError, TypeError, KeyError, EOFError, OSError) as error:
        raise UserError(f"cannot read codes from {str(path)!r}: {_reason(error)}") from error
    except (zipfile.BadZipFile, zlib.error) as error:
        raise UserError(f"cannot read codes from {str(path)!r}: it is damaged") from error


def _loaded(opened: io.BytesIO) -> Codes:
    import numpy as np
    from scipy.sparse import csr_array

    with np.load(opened, allow_pickle=False) as file:
        if not isinstance(file, np.lib.npyio.NpzFile) or "metadata" not in file:
            raise ValueError("it was not written by fost encode")
        metadata = json.loads(str(file["metadata"]))
        if metadata["format"] != FORMAT or metadata["version"] != VERSION:
            raise ValueError(f"this fost reads version {VERSION} of codes")
        arrays = (file["data"], file["indices"], file["indptr"])
        n_signals, n_features = (int(k) for k in file["shape"])
        means = file["means"]
    codes = csr_array(arrays, shape=(n_signals, n_features))
    codes.check_format(full_check=True)
    picture = None
    if metadata["signals"] == "picture":
        height, width = (int(k) for k in metadata["patch"])
        picture = Picture(
            tuple(int(k) for k in metadata["image_shape"]),
            (height, width),
            float(metadata["low"]),
            float(metadata["high"]),
            metadata["psnr"],
        )
        if means.shape != (n_signals,) or not np.isfinite(means).all():
            raise ValueError("its means do not fit its codes")
    return Codes(
        codes,
        means,
        str(metadata["model"]),
        int(metadata["sparsity"]),
        float(metadata["relative_error"]),
        str(np.dtype(metadata["dtype"])),
        picture,
    )


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"it has no {error.args[0] if error.args else error}"
    return str(error)
