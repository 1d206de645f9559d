"""Commands on a Dask cluster: connecting to it, and files that its workers read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fost.cli.errors import UserError

if TYPE_CHECKING:
    pass

    from fost._typing import Numbers

# Bytes of a chunk of an .npy file.
_CHUNK_BYTES = 2**26


@contextmanager
def connected(address: str | None) -> Iterator[None]:
    """Everything inside that is Dask's runs on the cluster; without an address, nothing does."""
    if address is None:
        yield
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise UserError("--scheduler needs Dask: pip install 'fost[dask]'") from error
    try:
        client = Client(address)
    except (OSError, ValueError) as error:
        raise UserError(f"cannot connect to a Dask scheduler at {address!r}: {error}") from error
    with client:
        yield


def dask_rows(path: Path) -> Any:
    """The signals of a file as a Dask array, whose chunks the workers read themselves."""
    import dask
    import dask.array as da

    from fost.cli.signals import is_zarr, open_array

    rows = open_array(path)  # here too, for its shape, and to complain
    place = str(path.resolve())
    if is_zarr(path):
        return da.from_zarr(place)
    step = max(1, _CHUNK_BYTES // (rows.shape[1] * rows.dtype.itemsize))
    parts = [
        da.from_delayed(
            dask.delayed(_read)(place, start, start + step),
            shape=(min(step, rows.shape[0] - start), rows.shape[1]),
            dtype=rows.dtype,
        )
        for start in range(0, rows.shape[0], step)
    ]
    return da.concatenate(parts)


def _read(path: str, start: int, stop: int) -> Numbers:
    import numpy as np

    return np.array(np.load(path, mmap_mode="r", allow_pickle=False)[start:stop])
