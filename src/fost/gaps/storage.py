"""Mixtures in .safetensors files.

The same kind of files that transforms have (see `fost.transforms.storage`), of another format. Of
each member there is the mean, and its covariance, or the variances with the transform that it was
made of.
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from fost._typing import Floats
from fost._validation import check_parameters, check_path
from fost.gaps.gaussian import Gaussian
from fost.gaps.mixture import Mixture
from fost.transforms import Transform
from fost.transforms.storage import (
    build,
    describe,
    open_model_file,
    read_model_parts,
    write_model_file,
)

FORMAT = "fost.mixture"


def save(mixture: Mixture, path: str | os.PathLike[str]) -> None:
    """Write a mixture to a file (see `Mixture.save`)."""
    check_path(path, "path")
    arrays: dict[str, Floats] = {}
    structure = describe_mixture(mixture, arrays)
    write_model_file(path, json.dumps(structure, sort_keys=True), arrays, FORMAT)


def describe_mixture(mixture: Mixture, arrays: dict[str, Any]) -> dict[str, Any]:
    """The structure of a mixture as plain data; its arrays are added to `arrays`."""
    arrays["shares"] = mixture.shares
    members: list[dict[str, Any]] = []
    for k, member in enumerate(mixture.members):
        prefix = f"members.{k}."
        arrays[prefix + "mean"] = member.mean
        if member.has_transform:
            arrays[prefix + "variances"] = member.variances
            made_of = f"{prefix}transform."
            members.append({"transform": describe(member.transform, made_of, arrays)})
        else:
            arrays[prefix + "covariance"] = member.covariance
            members.append({})
    return {"members": members}


def build_mixture(structure: Any, arrays: Any) -> Mixture:
    """The mixture that was described, each part of it checked."""
    members = [
        _member(described, f"members.{k}.", arrays)
        for k, described in enumerate(structure["members"])
    ]
    made = Mixture(members, arrays["shares"])
    made.shares = arrays["shares"]  # to the last bit
    return made


def load(path: str | os.PathLike[str]) -> Mixture:
    """Read a mixture that `Mixture.save` wrote.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    Mixture

    Raises
    ------
    ValueError
        If the file is damaged or has no mixture in it. Nothing in a file is ever executed.

    Examples
    --------
    >>> import fost, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "mixture.safetensors")
    >>> fost.gaps.Mixture([fost.gaps.Gaussian([0, 0], fost.DCT(2), [2, 1])]).save(path)
    >>> fost.gaps.load(path)
    Mixture(n_features=2, n_members=1)
    """
    with open_model_file(path, "a mixture") as file:
        structure, _, arrays = read_model_parts(file, FORMAT)
        return build_mixture(structure, arrays)


def _member(described: dict[str, Any], prefix: str, arrays: Any) -> Gaussian:
    mean = arrays[prefix + "mean"]
    if "transform" in described:
        transform = build(described["transform"], f"{prefix}transform.", arrays, exact=True)
        if not isinstance(transform, Transform):
            raise ValueError(f"its member must have a transform, not {transform!r}")
        return Gaussian(mean, transform, arrays[prefix + "variances"])
    mean = check_parameters(mean, "mean", (len(mean),))
    covariance = check_parameters(
        arrays[prefix + "covariance"], "covariance", (len(mean), len(mean))
    )
    if not np.array_equal(covariance, covariance.T) or not np.diag(covariance).min() > 0:
        raise ValueError("its covariances must be symmetric, with positive variances")
    return Gaussian.of_covariance(mean, covariance)
