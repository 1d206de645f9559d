"""Mixtures and checkpoints of their fit in .safetensors files.

The files have the form of those of transforms (see `fost.transforms.storage`). Each member is
stored as its mean with its covariance, or with its variances and the transform it was built from.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import fost
from fost._checkpoints import (
    Arrays,
    CheckpointFile,
    finite_array,
    random_state_hash,
    restore_random,
)
from fost._typing import Floats, Mask, Numbers
from fost._validation import check_integer, check_number, check_parameters, check_path
from fost.imputation.em import ObservedCounts, Shrinkage, Standardisation
from fost.imputation.gaussian import Gaussian
from fost.imputation.mixture import Mixture
from fost.transforms import Coder, Transform, storage

_MIXTURE_FORMAT = "fost.mixture"
_CHECKPOINT_FORMAT, _CHECKPOINT_VERSION = "fost mixture checkpoint", "1"


def save_mixture(mixture: Mixture, path: str | os.PathLike[str]) -> None:
    """Write a mixture to a file (see `Mixture.save`)."""
    check_path(path, "path")
    arrays: dict[str, Floats] = {}
    structure = _describe_mixture(mixture, arrays)
    storage.write_model_file(path, json.dumps(structure, sort_keys=True), arrays, _MIXTURE_FORMAT)


def load_mixture(path: str | os.PathLike[str]) -> Mixture:
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
        If the file is damaged or does not contain a mixture. No code in a file is ever executed.

    Examples
    --------
    >>> import fost, os, tempfile
    >>> from fost.imputation import Gaussian, Mixture, load_mixture
    >>> path = os.path.join(tempfile.mkdtemp(), "mixture.safetensors")
    >>> Mixture([Gaussian([0, 0], fost.DCT(2), [2, 1])]).save(path)
    >>> load_mixture(path)
    Mixture(n_features=2, n_members=1)
    """
    with storage.open_model_file(path, "a mixture") as file:
        structure, _, arrays = storage.read_model_parts(file, _MIXTURE_FORMAT)
        return _build_mixture(structure, arrays)


def _describe_mixture(mixture: Mixture, arrays: dict[str, Any]) -> dict[str, Any]:
    """The structure of a mixture as plain data; its arrays are added to `arrays`."""
    arrays["weights"] = mixture.weights
    members: list[dict[str, Any]] = []
    for k, member in enumerate(mixture.members):
        prefix = f"members.{k}."
        arrays[prefix + "mean"] = member.mean
        if member.has_transform:
            arrays[prefix + "variances"] = member.variances
            described = storage.describe(member.transform, f"{prefix}transform.", arrays)
            members.append({"transform": described})
        else:
            arrays[prefix + "covariance"] = member.covariance
            members.append({})
    return {"members": members, "std_scale": mixture.std_scale}


def _build_mixture(structure: Any, arrays: Mapping[str, Numbers]) -> Mixture:
    """The mixture that `_describe_mixture` described, with all parts checked."""
    members = [
        _build_member(described, f"members.{k}.", arrays)
        for k, described in enumerate(structure["members"])
    ]
    scale = structure.get("std_scale", 1.0)  # absent in files of 0.2
    return Mixture._exact(members, arrays["weights"], scale)


def _build_member(
    described: dict[str, Any], prefix: str, arrays: Mapping[str, Numbers]
) -> Gaussian:
    mean = arrays[prefix + "mean"]
    if "transform" in described:
        transform = storage.build(described["transform"], f"{prefix}transform.", arrays, exact=True)
        if not isinstance(transform, Transform):
            raise ValueError(f"its member must have a transform, not {transform!r}")
        return Gaussian(mean, transform, arrays[prefix + "variances"])
    mean = check_parameters(mean, "mean", (len(mean),))
    covariance = check_parameters(
        arrays[prefix + "covariance"], "covariance", (len(mean), len(mean))
    )
    if not np.array_equal(covariance, covariance.T) or not np.diag(covariance).min() > 0:
        raise ValueError("its covariances must be symmetric, with positive variances")
    return Gaussian._from_covariance(mean, covariance)


@dataclass(frozen=True)
class FitState:
    """The state of a fit: the mixture of the standardised signals, and the selected shrinkage."""

    mixture: Mixture
    standardisation: Standardisation
    shrinkage: Shrinkage
    candidates: Mask | None  # the candidate members of each signal in memory, if known
    std_scale: float = 1.0  # of the final mixture
    n_iter: int = 0  # completed EM steps on all signals


class MixtureCheckpoint:
    """The checkpoint file of a fit: the state after the last EM step on all signals.

    The file is small, since sums of the signals are all it keeps of them. These sums show whether a
    later fit has the same signals.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        counts: ObservedCounts,
        n_members: int | None,
        coder: Coder | None,
        random: np.random.Generator,
        *,
        seeded: bool,
    ) -> None:
        self._file = CheckpointFile(path, _CHECKPOINT_FORMAT, _CHECKPOINT_VERSION)
        self._counts, self._random = counts, random
        self._settings = {
            "fost": fost.__version__,
            "n_signals": counts.n_signals,
            "n_features": len(counts.sums),
            "n_members": n_members,
            "coder": None if coder is None else storage.checksum(coder),
            "random_state": random_state_hash(random) if seeded else None,
        }

    def resume(self) -> FitState | None:
        """The saved state, or None if there is no file yet."""
        if not self._file.exists:
            return None
        n = len(self._counts.sums)
        with self._file.blamed():
            notes, arrays = self._file.read(self._settings)
            for name in ("n_observed", "sums"):
                own = getattr(self._counts, name)
                self._file.check_signals(finite_array(arrays, name, (n,)), own, "sums")
            mixture = _build_mixture(notes["mixture"], arrays)
            scales = finite_array(arrays, "scales", (n,))
            if mixture.n_features != n or not (scales > 0).all():
                raise ValueError("its mixture does not belong to these signals")
            state = FitState(
                mixture,
                Standardisation(finite_array(arrays, "offsets", (n,)), scales),
                Shrinkage(
                    to_diagonal=check_number(notes["to_diagonal"], "to_diagonal", 0),
                    to_common=check_number(notes["to_common"], "to_common", 0),
                ),
                self._checked_candidates(arrays.get("candidates"), mixture.n_members),
                check_number(notes["std_scale"], "std_scale", 0),
                check_integer(notes["n_iter"], "n_iter", 0, 2**31 - 1),
            )
            restore_random(self._random, notes["random"])
        return state

    def _checked_candidates(self, candidates: Numbers | None, n_members: int) -> Mask | None:
        shape = self._counts.n_signals, n_members
        if candidates is not None and (
            candidates.dtype != np.bool_
            or candidates.shape != shape
            or not candidates.any(axis=1).all()
        ):
            raise ValueError(f"candidates must be boolean, of shape {shape}")
        return candidates

    def save(self, state: FitState) -> None:
        """Replace the file atomically."""
        arrays: Arrays = {
            "n_observed": self._counts.n_observed,
            "sums": self._counts.sums,
            "offsets": state.standardisation.offsets,
            "scales": state.standardisation.scales,
        }
        if state.candidates is not None:
            arrays["candidates"] = state.candidates
        notes = {
            "settings": self._settings,
            "mixture": _describe_mixture(state.mixture, arrays),
            "to_diagonal": state.shrinkage.to_diagonal,
            "to_common": state.shrinkage.to_common,
            "std_scale": state.std_scale,
            "n_iter": state.n_iter,
            "random": self._random.bit_generator.state,
        }
        self._file.write(notes, arrays)
