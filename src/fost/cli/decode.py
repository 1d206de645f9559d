"""``fost decode``: the image or array of a code file."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from fost._progress import progress
from fost.cli import options
from fost.cli.console import check_output, psnr_text, show_written
from fost.cli.errors import UserError, writing
from fost.cli.models import Model, load_model
from fost.cli.signals import image_from_planes
from fost.io.arrays import write_npy_header
from fost.io.atomic import atomic_writer, is_special

if TYPE_CHECKING:
    from fost._typing import Numbers
    from fost.io.codes import EncodedImage, SavedCodes
    from fost.restoration.patch_grid import PatchGrid

# Entries of signals that are decoded at once.
_BLOCK_ENTRIES = 2**22


def decode_command(
    model: options.ModelFile,
    codes: Path,
    output: options.Output,
    threads: options.Threads = None,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Decode a code file to the image or the array that it was made from.

    An image keeps its type and range, and the extension of the output selects the format. The
    signals of an array become the rows of an .npy array, and so do the windows of a recording,
    channel after channel. In Python, numpy.load(FILE).reshape(n_channels, -1).T joins them to
    samples in rows and channels in columns.

    Parameters
    ----------
    codes : CODES
        A code file from fost encode.
    """
    from fost.io import images
    from fost.io.codes import load_codes

    check_output(output, force)
    options.set_threads(threads)
    loaded, saved = load_model(model), load_codes(codes)
    _check_match(loaded, saved, codes)
    start = time.perf_counter()
    facts: dict[str, object] = {}
    if saved.image is None:
        if output.suffix.lower() != ".npy":
            raise UserError(f"cannot write {str(output)!r}: signals are written to .npy files")
        shape: tuple[int, ...] = (saved.codes.shape[0], loaded.transform.n_features)
        _write_array(loaded, saved, shape, output, quiet)
        lines = {"decoded": f"{shape[0]:,} signals of {shape[1]} entries"}
    else:
        shape = saved.image.image_shape
        images.check_writable(output, saved.dtype, shape[2] if len(shape) == 3 else None)
        image = decode_image(loaded, saved, quiet)
        with writing(output):
            images.write(output, image)
        psnr = psnr_text(saved.image.psnr)
        lines = {"decoded": f"an image of {shape[1]} x {shape[0]} pixels, {saved.dtype}"}
        if _is_exact(output, image):
            lines["PSNR"], facts["psnr"] = psnr, saved.image.psnr
        else:
            lines["PSNR"] = f"{psnr} before the loss of the file format"
    lines["relative error"] = f"{saved.relative_error:.4%}"
    facts |= {
        "signals": saved.signals,
        "shape": shape,
        "dtype": saved.dtype,
        "relative_error": saved.relative_error,
    }
    show_written(lines, facts, output, start, as_json=as_json, quiet=quiet)


def _is_exact(path: Path, image: Numbers) -> bool:
    """Whether a file holds exactly this image; JPEG does not, and a pipe cannot be read again."""
    import numpy as np

    from fost.io import images

    return not is_special(path) and np.array_equal(images.read(path), image)


def _check_match(model: Model, saved: SavedCodes, path: Path) -> None:
    """Raise a UserError if codes belong to another model or are inconsistent."""
    from fost.coding.decode import check_codes
    from fost.transforms.storage import checksum

    if saved.model != checksum(model.transform):
        raise UserError(f"{str(path)!r} was encoded with another model than {str(model.path)!r}")
    try:
        check_codes(saved.codes, model.transform.n_atoms, "the model")
        if (image := saved.image) is not None:
            count = _patch_grid(image).n_patches
            if count != saved.codes.shape[0]:
                raise ValueError(f"an image of its shape has {count} patches")
            if image.patch_shape[0] * image.patch_shape[1] != model.transform.n_features:
                raise ValueError("its patches do not fit the model")
    except (ValueError, TypeError) as error:
        raise UserError(f"cannot decode {str(path)!r}: {error}") from error


def decode_image(model: Model, saved: SavedCodes, quiet: bool) -> Numbers:
    """The image of a code file, in its own type."""
    import numpy as np

    from fost.images import ImageFormat
    from fost.restoration.arrays import join_channels
    from fost.restoration.patches import PatchAssembler

    image = saved.image
    assert image is not None
    assembler = PatchAssembler(_patch_grid(image))
    for where, rows in _decoded_blocks(model, saved, quiet):
        assembler.add(where, rows + saved.means[where, None].astype(rows.dtype))
    form = ImageFormat(np.dtype(saved.dtype), image.low, image.high)
    return image_from_planes(join_channels(assembler.result(), image.channel_axis), form)


def _patch_grid(image: EncodedImage) -> PatchGrid:
    """The positions of the patches of an encoded image."""
    from fost.restoration.patches import assembly_grid

    return assembly_grid(image.image_shape, image.patch_shape, None, image.channel_axis)


def _write_array(
    model: Model, saved: SavedCodes, shape: tuple[int, ...], output: Path, quiet: bool
) -> None:
    """Write signals to an .npy file block by block."""
    import numpy as np

    dtype = np.dtype(saved.dtype)
    with writing(output), atomic_writer(output) as file:
        write_npy_header(file, shape, dtype)
        for _, rows in _decoded_blocks(model, saved, quiet):
            file.write(np.ascontiguousarray(rows, dtype).data)


def _decoded_blocks(
    model: Model, saved: SavedCodes, quiet: bool
) -> Iterator[tuple[slice, Numbers]]:
    """Pairs of a slice and the signals in it."""
    count, n = saved.codes.shape
    step = max(1, _BLOCK_ENTRIES // n)
    with progress("decoding", count, options.shown(quiet)) as advance:
        for start in range(0, count, step):
            where = slice(start, min(start + step, count))
            yield where, model.transform.decode(saved.codes[where])
            advance(where.stop, "")
