"""What `fost learn` is asked to learn, and learning it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fost._progress import progress
from fost.cli import bases, options
from fost.cli.errors import UserError

if TYPE_CHECKING:
    from fost.cli.signals import Signals
    from fost.learning.registry import RegisteredStructure
    from fost.learning.structure import Structure
    from fost.selection import Rule
    from fost.transforms import Coder

# What `--structure` may be besides the names that structures are registered by.
BANK, UNION, AUTO = "bank", "union", "auto"
# What banks and unions are made of, and how many members they have, where nobody says.
_MEMBER = "givens"
_MEMBERS = 8
# Entries per code where nobody says.
_SPARSITY = 4


@dataclass(frozen=True)
class Learned:
    """What was learned, and how; `converged` is None where nobody asked."""

    transform: Coder
    error: float
    n_iter: int
    converged: bool | None
    interrupted: bool


@dataclass(frozen=True)
class Plan:
    """The options that say what to learn.

    `sizes` has the options that say how large the structure is, by what they count: "rotations",
    "reflectors", or nothing in particular.
    """

    structure: str
    base: str | None
    sizes: dict[str, int | None]
    members: int | None
    sparsity: int | None
    iterations: int
    seed: int
    threshold: float | None = None

    def check(
        self, max_flops: int | None, max_error: float | None, checkpoint: Path | None
    ) -> None:
        """Raises a UserError for options that do not go together."""
        name = self.structure
        if name not in structure_names():
            known = ", ".join(structure_names())
            raise UserError(f"--structure must be one of {known}, got {name!r}")
        self._check_sizes()
        if self.base is not None:
            bases.check_base(self.base)
            if name == AUTO and self.base not in (bases.DCT, bases.NONE):
                raise UserError(f"--base must be dct or none for auto, got {self.base!r}")
        if self.members is not None and name not in (BANK, UNION, AUTO):
            raise UserError(f"--members is for the structures bank, union and auto, not for {name}")
        if (max_flops, max_error) != (None, None) and name != AUTO:
            raise UserError(
                f"--max-flops and --max-error are for the structure auto, not for {name}"
            )
        if self.threshold is not None and name == UNION:
            raise UserError("--threshold is not for the structure union, whose codes are pursued")
        if checkpoint is not None and name == AUTO:
            raise UserError("--checkpoint is for one structure, not for auto")

    def _check_sizes(self) -> None:
        """One size at most, of something that the structure is made of."""
        given = [parts for parts, size in self.sizes.items() if size is not None]
        if len(given) > 1:
            raise UserError(f"only one of {' and '.join(map(_option, given))} can say the size")
        for parts in given:
            takers = _made_of(parts)
            if self.structure not in takers:
                raise UserError(
                    f"{_option(parts)} is for the structures {' and '.join(takers)}, "
                    f"not for {self.structure}"
                )

    def check_signals(self, n_features: int) -> None:
        if self.entries(n_features) > n_features:
            raise UserError(
                f"--sparsity must be at most the {n_features} entries of a signal, "
                f"got {self.entries(n_features)}"
            )
        if self.size is None:
            return
        sizes = self._kind.structure.candidate_sizes(n_features, self.base_name != bases.NONE)
        if sizes is not None and self.size > sizes.max_size:
            option = next(_option(parts) for parts, size in self.sizes.items() if size is not None)
            raise UserError(
                f"{option} must be at most {sizes.max_size} for signals of {n_features} entries, "
                f"got {self.size}"
            )

    def entries(self, n_features: int) -> int:
        """Entries per code at most."""
        return self.sparsity or (_SPARSITY if self.threshold is None else n_features)

    def rule(self, n_features: int) -> Rule:
        """What codes keep."""
        from fost.selection import Rule

        return Rule(self.entries(n_features), threshold=self.threshold)

    @property
    def size(self) -> int | None:
        """How large the structure shall be; None if nobody says."""
        return next((size for size in self.sizes.values() if size is not None), None)

    @property
    def _kind(self) -> RegisteredStructure:
        """The structure, or that of the members of a bank or union."""
        several = self.structure in (BANK, UNION)
        return known_kinds()[_MEMBER if several else self.structure]

    @property
    def base_name(self) -> str:
        """The base, or that which suits the structure if nobody says."""
        if self.base is not None:
            return self.base
        wanted = self.structure == AUTO or self._kind.structure.wants_base
        return bases.DCT if wanted else bases.NONE

    def built(self, n_features: int) -> Structure:
        """The structure as `fost.learn` takes it."""
        import fost

        member = self._kind.of_size(self.size, n_features)
        count = self.members or _MEMBERS
        if self.structure == UNION:
            return fost.UnionOf(member, count)
        return fost.BankOf(member, count) if self.structure == BANK else member


def known_kinds() -> dict[str, RegisteredStructure]:
    """The registered structures by their names, those of other packages too."""
    from fost.learning.registry import load_entry_points, registered_structures

    load_entry_points()
    return registered_structures()


def structure_names() -> list[str]:
    """What `--structure` takes."""
    return [*sorted(known_kinds()), BANK, UNION, AUTO]


def structure_help() -> dict[str, str]:
    """What each of these is."""
    return {
        **{name: kind.summary for name, kind in sorted(known_kinds().items())},
        BANK: f"several of {_MEMBER}, each signal uses the best",
        UNION: f"several of {_MEMBER}, each signal mixes atoms of all, by matching pursuit",
        AUTO: "the best of all these on held-out signals",
    }


def _option(parts: str) -> str:
    return f"--{parts or 'size'}"


def _made_of(parts: str) -> list[str]:
    """The structures that are made of something, or that have a size at all."""
    kinds = known_kinds()
    counted = {name: kind.structure.parts for name, kind in kinds.items()}
    counted[BANK] = counted[UNION] = counted[_MEMBER]
    return [name for name, own in counted.items() if own and parts in ("", own)]


def learn_one(plan: Plan, signals: Signals, checkpoint: Path | None, quiet: bool) -> Learned:
    """A transform of one structure."""
    import fost

    n = signals.n_features
    with progress("iteration", plan.iterations, options.shown(quiet)) as advance:
        result = fost.learn(
            signals.rows,
            plan.built(n),
            plan.entries(n),
            threshold=plan.threshold,
            missing=signals.missing,
            base=bases.base_of(plan.base_name, signals.patch or n),
            max_iter=plan.iterations,
            random_state=plan.seed,
            checkpoint=checkpoint,
            callback=lambda k, error, _: advance(k, f"relative error {error:.4%}"),
        )
    error = result.error
    if plan.threshold is not None:  # without the price of entries
        error = signals.source.relative_error(result.transform, plan.rule(n))
    return Learned(result.transform, error, result.n_iter, result.converged, result.interrupted)


def learn_best(
    plan: Plan, signals: Signals, max_flops: int | None, max_error: float | None, quiet: bool
) -> Learned:
    """The best transform or bank of all structures for a budget."""
    from sklearn.exceptions import ConvergenceWarning

    import fost

    n = signals.n_features
    auto = fost.AutoDictionary(
        plan.entries(n),
        None if plan.base_name == bases.NONE else signals.patch or n,
        "auto" if max_flops is None else max_flops,
        max_error,
        plan.members or _MEMBERS,
        max_iter=plan.iterations,
        random_state=plan.seed,
        verbose=options.shown(quiet),
        threshold=plan.threshold,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # as many iterations as were asked for
        auto.fit(signals.rows if signals.missing is None else signals.source.stream)
    error = auto.error_
    if plan.threshold is not None:  # without the price of entries
        error = signals.source.relative_error(auto.dictionary_, plan.rule(n))
    return Learned(auto.dictionary_, error, auto.n_iter_, None, auto.interrupted_)


def fixed_error(plan: Plan, signals: Signals) -> float | None:
    """The relative error of the same signals with the DCT alone, to compare with."""
    from fost.cli.models import dct_of

    rule = plan.rule(signals.n_features)
    dct = dct_of(signals.patch or signals.n_features)
    return None if dct is None else signals.source.relative_error(dct, rule)
