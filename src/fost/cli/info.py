"""``fost info``: structure, cost and atoms of a model."""

from __future__ import annotations

from math import ceil, sqrt
from pathlib import Path
from typing import TYPE_CHECKING

from fost.cli import options
from fost.cli.console import check_output, show
from fost.cli.errors import UserError, writing
from fost.cli.models import Model, load_model, reference_dct

if TYPE_CHECKING:
    from fost._typing import Numbers
    from fost.export.c import CSize
    from fost.transforms import Coder, Transform

# Atoms are drawn with this many pixels per entry and between atoms; the border is dark grey.
_ZOOM, _GAP, _BORDER = 4, 2, 64
# Entries of the matrices of all members that are computed at most: 256 MB.
_MAX_ENTRIES = 2**25


def info_command(
    model: options.ModelFile,
    atoms: Path | None = None,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Describe a model: its structure, its cost, and whether it is orthonormal.

    The image of atoms shows them in their order, row by row. Grey is zero, and the largest entry
    of each atom is black or white. The members of a bank are side by side.

    Parameters
    ----------
    atoms : IMAGE
        Draw the atoms to an image file.
    """
    if atoms is not None:
        check_output(atoms, force)
    loaded = load_model(model)
    if atoms is not None:
        from fost.io import images

        patch_shape = loaded.patch_shape("--atoms")
        if loaded.transform.n_features * loaded.transform.n_atoms > _MAX_ENTRIES:
            raise UserError(f"cannot draw the atoms of {str(model)!r}: there are too many")
        sheet = _members_image(loaded.transform, patch_shape)
        with writing(atoms):
            images.write(atoms, sheet)
    lines, facts = _describe(loaded)
    if atoms is not None:
        lines["atoms drawn to"] = str(atoms)
        facts["atoms"] = atoms
    show(lines, facts, as_json=as_json, quiet=quiet)


def _describe(model: Model) -> tuple[dict[str, str], dict[str, object]]:
    """A model in lines for people, and as data."""
    from fost.transforms import Chain, Circulant, PursuitCoder, Transform
    from fost.transforms.bases import base_of, describe_base
    from fost.transforms.coder import dense_flops

    coder, shape, n = model.transform, model.known_patch_shape, model.transform.n_features
    members, dct = coder.members, reference_dct(shape or n)
    small, base = n * n * len(members) <= _MAX_ENTRIES, describe_base(base_of(coder))
    circulant = isinstance(coder, Circulant)
    gap = None
    if small and not circulant:
        gap = max(_orthonormality_gap(member) for member in members)
    s, pursuit = model.n_nonzero_coefs, isinstance(coder, PursuitCoder) and small
    encode_flops = coder.encode_flops(s) if pursuit else None
    counts, c_size = coder.operation_counts, _c_size(coder) if small else None
    single = isinstance(coder, Transform)
    stages = Chain(members).stages if single else members
    parts = [repr(part) for part in ((coder,) if circulant else stages)]
    facts: dict[str, object] = {
        "model": model.path,
        "structure": parts,
        "base": base,
        "n_features": n,
        "patch_shape": shape,
        "flops": coder.flops,
        "operation_counts": counts._asdict(),
        "flops_encode": encode_flops,
        "flops_dense": dense_flops(n),
        "flops_dct": dct.flops if dct else None,
        "n_parameters": coder.n_parameters,
        "c_tables": c_size.tables if c_size else None,
        "c_stack": c_size.stack if c_size else None,
        "orthonormality_gap": gap,
        "metadata": model.metadata,
    }
    others = f"{'2-D ' if shape else ''}DCT: {dct.flops:,}; " if dct else ""
    lines = {
        "model": str(model.path),
        "structure": " then ".join(parts) if single else repr(coder),
        "base": base,
        "features": f"{n}" + (f" ({options.format_shape(shape)} patches)" if shape else ""),
        "operations": f"{coder.flops:,} per signal ({others}dense matrix: {dense_flops(n):,})"
        + (", for the correlations with all atoms" if pursuit else ""),
        "  by kind": f"{counts.multiplications:,} multiplications, {counts.additions:,} additions",
    }
    if pursuit:
        lines["  with pursuit"] = f"{encode_flops:,} per signal, for {s} of {n} coefficients"
    lines["parameters"] = f"{coder.n_parameters:,}"
    lines["memory"] = f"{counts.memory:,} numbers, for the parameters and one signal"
    if c_size:
        lines["as C code"] = (
            f"about {c_size.flash:,} bytes of flash ({c_size.tables:,} of them tables), "
            f"{c_size.stack:,} bytes of stack arrays"
        )
    if not circulant:  # circulant matrices are not orthonormal
        lines["max |U^T U - I|"] = f"{gap:.1e}" if gap is not None else "not computed: too large"
    if usage := model.usage:
        facts["usage"] = usage
        lines["used for"] = ", ".join(f"{share:.0%}" for share in usage) + " of the signals"
    labels = {
        "signals": "learned from",
        "n_nonzero_coefs": "entries per code",
        "relative_error": "relative error",
    }
    for key, label in labels.items():
        if key in model.metadata:
            text = model.metadata[key]
            if key == "signals":
                text = "arrays, tables or recordings" if text == "array" else f"{text}s"
            lines[label] = text
    return lines, facts


def _c_size(coder: Coder) -> CSize | None:
    """The size of the exported C code; None for coders that cannot be exported."""
    from fost.export.c import c_size

    try:
        return c_size(coder)
    except (TypeError, ValueError):
        return None


def _orthonormality_gap(transform: Transform) -> float:
    """max |U^T U - I|."""
    import numpy as np

    eye = np.eye(transform.n_features)
    atoms = transform.inverse(eye)
    return float(np.abs(atoms @ atoms.T - eye).max())


def _members_image(coder: Coder, patch_shape: tuple[int, int]) -> Numbers:
    """The atoms of a coder, or those of the members of a bank or union in a grid."""
    parts = coder.members if coder.n_members > 1 else (coder,)
    sheets = [atoms_image(part.matrix.T, patch_shape) for part in parts]
    return _tile_images(sheets, 4 * _GAP, 255)


def atoms_image(atoms: Numbers, patch_shape: tuple[int, int]) -> Numbers:
    """Atoms (rows) as small images in a grid."""
    import numpy as np

    pixel = np.ones((_ZOOM, _ZOOM), np.uint8)
    greys = (np.rint(127.5 * (1 + atom / np.abs(atom).max())).astype(np.uint8) for atom in atoms)
    tiles = [np.kron(grey.reshape(patch_shape), pixel) for grey in greys]
    return np.pad(_tile_images(tiles, _GAP, _BORDER), _GAP, constant_values=_BORDER)


def _tile_images(tiles: list[Numbers], gap: int, border: int) -> Numbers:
    """Images of equal size, row by row in a grid that is nearly square."""
    import numpy as np

    across = ceil(sqrt(len(tiles)))
    down = ceil(len(tiles) / across)
    height, width = (side + gap for side in tiles[0].shape)
    sheet = np.full((down * height - gap, across * width - gap), border, np.uint8)
    for k, tile in enumerate(tiles):
        top, left = k // across * height, k % across * width
        sheet[top : top + tile.shape[0], left : left + tile.shape[1]] = tile
    return sheet
