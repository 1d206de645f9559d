"""``fost info``: what a model is, what it costs, and what its atoms look like."""

from __future__ import annotations

from math import ceil, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fost.cli import options
from fost.cli.console import check_output, show
from fost.cli.errors import UserError, writing

if TYPE_CHECKING:
    from fost._typing import Numbers
    from fost.cli.models import Model
    from fost.transforms import Coder, Transform

# In the picture of atoms: pixels per entry of an atom, and between atoms.
_ZOOM = 4
_GAP = 2
_BORDER = 64
# Entries of the matrices of all members that are computed at most: 256 MB of them.
_MOST_ENTRIES = 2**25


def info(
    model: options.Model,
    atoms: Annotated[
        Path | None,
        typer.Option("--atoms", metavar="PICTURE", help="Draw the atoms to a picture file."),
    ] = None,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Describe a model: its structure, its costs, and whether it is orthonormal.

    The picture of atoms has them in their order, row by row; grey is zero, and each atom's
    largest entry is black or white. The members of a bank are side by side, in their order too.
    """
    from fost.cli.models import load_model

    if atoms is not None:
        check_output(atoms, force)
    loaded = load_model(model)
    if atoms is not None:
        from fost import images

        patch = loaded.patch_or_complain("--atoms")
        if loaded.transform.n_features * loaded.transform.n_atoms > _MOST_ENTRIES:
            raise UserError(f"cannot draw the atoms of {str(model)!r}: they are too many")
        picture = draw_model(loaded.transform, patch)
        with writing(atoms):
            images.write(atoms, picture)
    lines, data = described(loaded)
    if atoms is not None:
        lines["atoms drawn to"] = str(atoms)
        data["atoms"] = atoms
    show(lines, data, as_json=as_json, quiet=quiet)


def draw_model(coder: Coder, patch: tuple[int, int]) -> Numbers:
    """The atoms of a transform, or those of a bank's members in a grid, row by row."""
    import numpy as np

    pictures = [draw_atoms(member.matrix.T, patch) for member in coder.members]
    across = ceil(sqrt(len(pictures)))
    down = ceil(len(pictures) / across)
    rows, columns = pictures[0].shape
    gap = 4 * _GAP
    sheet = np.full((down * (rows + gap) - gap, across * (columns + gap) - gap), 255, np.uint8)
    for k, picture in enumerate(pictures):
        top, left = k // across * (rows + gap), k % across * (columns + gap)
        sheet[top : top + rows, left : left + columns] = picture
    return sheet


def described(model: Model) -> tuple[dict[str, str], dict[str, object]]:
    """A model in lines for people and as data."""
    from fost.cli.models import dct_of
    from fost.transforms import Chain
    from fost.transforms.orthonormal import dense_flops

    coder, patch, n = model.transform, model.known_patch, model.transform.n_features
    parts = coder.members
    dct = dct_of(patch or n)
    small = n * n * len(parts) <= _MOST_ENTRIES
    gap = max(_gap(member) for member in parts) if small else None
    encode = _pursuit(model)
    members = [repr(member) for member in (parts if len(parts) > 1 else Chain(parts).stages)]
    data: dict[str, object] = {
        "model": model.path,
        "structure": members,
        "n_features": n,
        "patch": patch,
        "flops": coder.flops,
        "flops_encode": encode[1] if encode else None,
        "flops_dense": dense_flops(n),
        "flops_dct": dct.flops if dct else None,
        "n_parameters": coder.n_parameters,
        "orthonormality_gap": gap,
        "metadata": model.metadata,
    }
    lines = {
        "model": str(model.path),
        "structure": repr(coder) if len(parts) > 1 else " then ".join(members),
        "features": f"{n}" + (f" ({options.format_patch(patch)} patches)" if patch else ""),
        "operations": f"{coder.flops:,} per signal"
        + (", of the correlations with all atoms" if encode else ""),
        "  of a dense matrix": _compared(dense_flops(n), coder.flops),
    }
    if encode:
        s, flops = encode
        lines["  with pursuit"] = f"{flops:,} per signal, for {s} of {n} coefficients"
    if dct:
        lines[f"  of the {'2-D ' if patch else ''}DCT"] = _compared(dct.flops, coder.flops)
    lines["parameters"] = f"{coder.n_parameters:,}"
    lines["max |U^T U - I|"] = f"{gap:.1e}" if gap is not None else "not computed: too large"
    if usage := model.usage:
        data["usage"] = usage
    return lines | _noted(model), data


def _pursuit(model: Model) -> tuple[int, int] | None:
    """Entries per code of a union, and the operations to find them, pursuit included."""
    from fost.transforms import Union

    coder = model.transform
    if not isinstance(coder, Union) or coder.n_features * coder.n_atoms > _MOST_ENTRIES:
        return None
    return model.sparsity, coder.encode_flops(model.sparsity)


def _noted(model: Model) -> dict[str, str]:
    """What was written beside a model when it was learned."""
    lines = {}
    if usage := model.usage:
        lines["used for"] = ", ".join(f"{share:.0%}" for share in usage) + " of the signals"
    noted = {
        "signals": "learned on",
        "sparsity": "entries per code",
        "relative_error": "relative error",
    }
    for key, label in noted.items():
        if key in model.metadata:
            lines[label] = model.metadata[key] + ("s" if key == "signals" else "")
    return lines


def _gap(transform: Transform) -> float:
    """max |U^T U - I|, of a matrix that is not kept."""
    import numpy as np

    eye = np.eye(transform.n_features)
    atoms = transform.inverse(eye)
    return float(np.abs(atoms @ atoms.T - eye).max())


def _compared(other: int, own: int) -> str:
    times = f"{other / own:.2f} times as many" if own else "this one needs none"
    return f"{other:,} ({times})"


def draw_atoms(atoms: Numbers, patch: tuple[int, int]) -> Numbers:
    """Atoms (rows) as small pictures in a grid."""
    import numpy as np

    across = ceil(sqrt(len(atoms)))
    down = ceil(len(atoms) / across)
    height, width = (_ZOOM * side + _GAP for side in patch)
    sheet = np.full((down * height + _GAP, across * width + _GAP), _BORDER, np.uint8)
    for k, atom in enumerate(atoms):
        top, left = k // across * height + _GAP, k % across * width + _GAP
        grey = np.rint(127.5 * (1 + atom / np.abs(atom).max())).astype(np.uint8)
        tile = np.kron(grey.reshape(patch), np.ones((_ZOOM, _ZOOM), np.uint8))
        sheet[top : top + tile.shape[0], left : left + tile.shape[1]] = tile
    return sheet
