"""What `fost learn` is asked to learn, and learning it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fost.cli.console import progress
from fost.cli.errors import UserError

if TYPE_CHECKING:
    from fost.cli.signals import Signals
    from fost.transforms import Coder


# Of a bank, where nobody says how many.
_MEMBERS = 8


class StructureName(StrEnum):
    """What a transform is made of."""

    givens = "givens"
    householder = "householder"
    orthogonal_householder = "orthogonal-householder"
    full = "full"
    bank = "bank"
    auto = "auto"


class BaseName(StrEnum):
    """The fixed transform under the learned one."""

    dct = "dct"
    none = "none"


@dataclass(frozen=True)
class Learned:
    """What was learned, and how; `converged` is None where nobody asked."""

    transform: Coder
    error: float
    n_iter: int
    converged: bool | None


@dataclass(frozen=True)
class Plan:
    """The options that say what to learn."""

    structure: StructureName
    base: BaseName | None
    reflectors: int | None
    rotations: int | None
    members: int | None
    sparsity: int
    iterations: int
    seed: int

    def check(
        self, max_flops: int | None, max_error: float | None, checkpoint: Path | None
    ) -> None:
        """Raises a UserError for options that do not go together."""
        name = self.structure
        householder = (StructureName.householder, StructureName.orthogonal_householder)
        if self.reflectors is not None and name not in householder:
            raise UserError(
                "--reflectors is for the structures of reflectors, householder and "
                f"orthogonal-householder, not for {name}"
            )
        if self.rotations is not None and name not in (StructureName.givens, StructureName.bank):
            raise UserError(f"--rotations is for the structures givens and bank, not for {name}")
        if self.members is not None and name not in (StructureName.bank, StructureName.auto):
            raise UserError(f"--members is for the structures bank and auto, not for {name}")
        if (max_flops, max_error) != (None, None) and name is not StructureName.auto:
            raise UserError(
                f"--max-flops and --max-error are for the structure auto, not for {name}"
            )
        if checkpoint is not None and name is StructureName.auto:
            raise UserError("--checkpoint is for one structure, not for auto")

    def check_signals(self, n_features: int) -> None:
        if self.sparsity > n_features:
            raise UserError(
                f"--sparsity must be at most the {n_features} entries of a signal, "
                f"got {self.sparsity}"
            )
        if self.reflectors is not None and self.reflectors > n_features:
            raise UserError(
                f"--reflectors must be at most the {n_features} entries of a signal, "
                f"got {self.reflectors}"
            )

    def has_base(self) -> bool:
        if self.base is None:
            return self.structure in (
                StructureName.givens,
                StructureName.bank,
                StructureName.auto,
            )
        return self.base is BaseName.dct

    def built(self, n_features: int) -> Any:
        """The structure as `fost.learn` takes it."""
        import fost

        if self.structure is StructureName.full:
            return fost.Full()
        if self.structure is StructureName.givens:
            return fost.Rotations(self.rotations or n_features)
        if self.structure is StructureName.bank:
            return fost.BankOf(
                fost.Rotations(self.rotations or n_features), self.members or _MEMBERS
            )
        orthogonal = self.structure is StructureName.orthogonal_householder
        return fost.Reflectors(self.reflectors or "auto", orthogonal=orthogonal)


def learn_one(plan: Plan, signals: Signals, checkpoint: Path | None, quiet: bool) -> Learned:
    """A transform of one structure."""
    import fost

    n = signals.n_features
    with progress("learning", plan.iterations, quiet) as advance:
        result = fost.learn(
            signals.rows,
            plan.built(n),
            plan.sparsity,
            base=fost.DCT(signals.patch or n) if plan.has_base() else None,
            max_iter=plan.iterations,
            random_state=plan.seed,
            checkpoint=checkpoint,
            callback=lambda k, error, _: advance(k, f"relative error {error:.4%}"),
        )
    errors = result.errors
    return Learned(result.transform, float(errors[-1]), result.n_iter, result.converged)


def learn_best(
    plan: Plan, signals: Signals, max_flops: int | None, max_error: float | None, quiet: bool
) -> Learned:
    """The best transform or bank of all structures for a budget."""
    import fost

    n = signals.n_features
    auto = fost.AutoDictionary(
        plan.sparsity,
        (signals.patch or n) if plan.has_base() else None,
        max_flops,
        max_error,
        plan.members or _MEMBERS,
        max_iter=plan.iterations,
        random_state=plan.seed,
        verbose=False if quiet else None,
    ).fit(signals.rows)
    errors = auto.errors_
    return Learned(auto.dictionary_, float(errors[-1]), auto.n_iter_, None)


def fixed_error(plan: Plan, signals: Signals) -> float | None:
    """The relative error of the same signals with the DCT alone, to compare with."""
    from fost.cli.models import dct_of
    from fost.learning import as_source

    dct = dct_of(signals.patch or signals.n_features)
    return None if dct is None else as_source(signals.rows).relative_error(dct, plan.sparsity)
