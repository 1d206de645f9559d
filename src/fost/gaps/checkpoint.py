"""Files from which learning from gaps goes on as if nothing had happened.

Nothing is kept of signals but sums, so a file is small: the mixture after the last step, the units
it is in, what was chosen by hidden entries, and counts and sums of what is observed, by which
other signals are noticed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fost
from fost._checkpoints import (
    Arrays,
    CheckpointFile,
    finite_array,
    random_state_hash,
    restore_random,
)
from fost._validation import check_integer, check_number
from fost.gaps.mixture import Mixture
from fost.gaps.moments import Shrinkage
from fost.gaps.start import Counts
from fost.gaps.storage import build_mixture, describe_mixture
from fost.gaps.units import Units
from fost.streams import Stream
from fost.transforms import Coder, storage

FORMAT = "fost gaps checkpoint"
VERSION = "1"


@dataclass(frozen=True)
class Progress:
    """How far learning is: the mixture in some units, after so many steps with all signals."""

    mixture: Mixture
    units: Units
    shrinkage: Shrinkage
    candidates: NDArray[np.bool_] | None  # members that may suit each signal, where known
    n_iter: int = 0


class Checkpoint:
    """Where learning from gaps is written to after each step, and read back from."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        stream: Stream,
        counts: Counts,
        n_members: int | None,
        coder: Coder | None,
        random: np.random.Generator,
        seeded: bool,
    ) -> None:
        self._file = CheckpointFile(path, FORMAT, VERSION)
        self._counts, self._random = counts, random
        self._settings: dict[str, Any] = {
            "fost": fost.__version__,
            "n_signals": counts.n_signals,
            "n_features": stream.n_features,
            "n_members": n_members,
            "coder": None if coder is None else storage.checksum(coder),
            "random_state": random_state_hash(random) if seeded else None,
        }

    def resume(self) -> Progress | None:
        """What was written last; None where there is no file yet."""
        if not self._file.exists:
            return None
        n = len(self._counts.seen)
        with self._file.blamed():
            notes, arrays = self._file.read(self._settings)
            for name, own in (("seen", self._counts.seen), ("sums", self._counts.sums)):
                self._file.check_signals(finite_array(arrays, name, (n,)), own, "sums")
            mixture = build_mixture(notes["mixture"], arrays)
            units = Units(
                finite_array(arrays, "offsets", (n,)), finite_array(arrays, "sizes", (n,))
            )
            shrinkage = Shrinkage(
                *(check_number(notes[name], name, 0) for name in ("alone", "apart"))
            )
            if mixture.n_features != n or not (units.sizes > 0).all():
                raise ValueError("its mixture is not one of these signals")
            candidates = arrays.get("candidates")
            shape = (self._counts.n_signals, len(mixture.members))
            if candidates is not None and (
                candidates.dtype != np.bool_
                or candidates.shape != shape
                or not candidates.any(axis=1).all()
            ):
                raise ValueError(f"candidates must be boolean, of shape {shape}")
            n_iter = check_integer(notes["n_iter"], "n_iter", 0, 2**31 - 1)
            restore_random(self._random, notes["random"])
        return Progress(mixture, units, shrinkage, candidates, n_iter)

    def save(self, progress: Progress) -> None:
        """Write the file, in one step."""
        arrays: Arrays = {
            "seen": self._counts.seen,
            "sums": self._counts.sums,
            "offsets": progress.units.offsets,
            "sizes": progress.units.sizes,
        }
        if progress.candidates is not None:
            arrays["candidates"] = progress.candidates
        notes = {
            "settings": self._settings,
            "mixture": describe_mixture(progress.mixture, arrays),
            "alone": progress.shrinkage.alone,
            "apart": progress.shrinkage.apart,
            "n_iter": progress.n_iter,
            "random": self._random.bit_generator.state,
        }
        self._file.write(notes, arrays)
