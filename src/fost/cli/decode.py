"""``fost decode``: sparse codes to signals."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fost._progress import progress
from fost.cli import options
from fost.cli.console import check_output, show
from fost.cli.errors import UserError, writing

if TYPE_CHECKING:
    from fost._typing import Numbers
    from fost.cli.codes import Codes, Picture
    from fost.cli.models import Model
    from fost.restoration.patch_grid import PatchGrid

# Entries of signals that are decoded at once.
_BLOCK_ENTRIES = 2**22


def decode(
    model: options.Model,
    codes: Annotated[
        Path,
        typer.Argument(metavar="CODES", help="A file that fost encode wrote.", show_default=False),
    ],
    output: options.Output,
    threads: options.Threads = None,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Decode codes: the picture or the array that they stand for.

    A picture comes back in its type and range; the extension of the output says what kind of
    file it becomes. Signals of an array become a .npy array.
    """
    from fost.cli.codes import load_codes
    from fost.cli.encode import psnr_text
    from fost.cli.models import load_model

    check_output(output, force)
    options.set_threads(threads)
    loaded, found = load_model(model), load_codes(codes)
    _check_match(loaded, found, codes)
    start = time.perf_counter()
    shape: tuple[int, ...] = found.codes.shape
    lines: dict[str, str] = {}
    data: dict[str, object] = {}
    if found.picture is None:
        if output.suffix.lower() != ".npy":
            raise UserError(f"cannot write {str(output)!r}: signals are written to .npy files")
        _write_array(loaded, found, output, quiet)
        shape = (shape[0], loaded.transform.n_features)
        lines["decoded"] = f"{shape[0]:,} signals of {shape[1]} entries"
    else:
        from fost import images
        from fost.images.files import check_writable

        shape = found.picture.image_shape
        check_writable(output, found.dtype, shape[2] if len(shape) == 3 else None)
        picture = decoded_picture(loaded, found, quiet)
        with writing(output):
            images.write(output, picture)
        lines["decoded"] = f"a picture of {shape[1]} x {shape[0]} pixels, {found.dtype}"
        if _holds(output, picture):
            lines["PSNR"] = psnr_text(found.picture.psnr)
            data["psnr"] = found.picture.psnr
        else:
            lines["PSNR"] = f"{psnr_text(found.picture.psnr)}, of which the file loses some"
    seconds = time.perf_counter() - start
    lines |= {
        "relative error": f"{found.relative_error:.4%}",
        "time": f"{seconds:.1f} s",
        "written": str(output),
    }
    data |= {
        "signals": "array" if found.picture is None else "picture",
        "shape": shape,
        "dtype": found.dtype,
        "relative_error": found.relative_error,
        "seconds": seconds,
        "output": output,
    }
    show(lines, data, as_json=as_json, quiet=quiet)


def _holds(path: Path, picture: Numbers) -> bool:
    """Whether a file has just this picture, so that its PSNR is that of the codes.

    JPEG changes pictures, and what has been written to a pipe cannot be read again.
    """
    import numpy as np

    from fost import images
    from fost._files import is_special

    return not is_special(path) and np.array_equal(images.read(path), picture)


def _check_match(model: Model, codes: Codes, path: Path) -> None:
    """Raises a UserError for codes that another model made, or that do not hold together."""
    from fost import decoding
    from fost.transforms.storage import checksum

    if codes.model != checksum(model.transform):
        raise UserError(f"{str(path)!r} was encoded with another model than {str(model.path)!r}")
    try:
        decoding.check_codes(codes.codes, model.transform.n_atoms, "the model")
        if codes.picture is not None:
            count = _patch_grid(codes.picture).n_patches
            if count != codes.codes.shape[0]:
                raise ValueError(f"a picture of its shape has {count} patches")
            if codes.picture.patch[0] * codes.picture.patch[1] != model.transform.n_features:
                raise ValueError("its patches do not fit the model")
    except (ValueError, TypeError) as error:
        raise UserError(f"cannot decode {str(path)!r}: {error}") from error


def decoded_picture(model: Model, codes: Codes, quiet: bool) -> Numbers:
    """The picture that codes stand for, in its own type."""
    import numpy as np

    from fost.cli.signals import from_unit_planes
    from fost.images import ImageFormat
    from fost.restoration.arrays import join_channels
    from fost.restoration.patches import PatchAssembler

    picture = codes.picture
    assert picture is not None
    assembler = PatchAssembler(_patch_grid(picture))
    for where, rows in _decoded_blocks(model, codes, quiet):
        assembler.add(where, rows + codes.means[where, None].astype(rows.dtype))
    form = ImageFormat(np.dtype(codes.dtype), picture.low, picture.high)
    axis = None if len(picture.image_shape) == 2 else -1
    return from_unit_planes(join_channels(assembler.result(), axis), form)


def _patch_grid(picture: Picture) -> PatchGrid:
    """The positions of the patches of a coded image."""
    from fost.restoration.patches import assembly_grid

    axis = None if len(picture.image_shape) == 2 else -1
    return assembly_grid(picture.image_shape, picture.patch, None, axis)


def _write_array(model: Model, codes: Codes, output: Path, quiet: bool) -> None:
    """Signals to a .npy file, of which a part is in memory at a time."""
    import numpy as np

    from fost._files import replacing

    header = {
        "descr": np.lib.format.dtype_to_descr(np.dtype(codes.dtype)),
        "fortran_order": False,
        "shape": (codes.codes.shape[0], model.transform.n_features),
    }
    with writing(output), replacing(output) as file:
        np.lib.format.write_array_header_1_0(file, header)
        for _, rows in _decoded_blocks(model, codes, quiet):
            file.write(np.ascontiguousarray(rows, codes.dtype).data)


def _decoded_blocks(model: Model, codes: Codes, quiet: bool) -> Iterator[tuple[slice, Numbers]]:
    """Pairs of a slice and the signals in it."""
    count, n = codes.codes.shape
    step = max(1, _BLOCK_ENTRIES // n)
    with progress("decoding", count, options.shown(quiet)) as advance:
        for start in range(0, count, step):
            where = slice(start, min(start + step, count))
            yield where, model.transform.decode(codes.codes[where])
            advance(where.stop, "")
