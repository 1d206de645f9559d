"""What to learn, as it was asked for, and the problem that this is for some signals."""

from __future__ import annotations

from dataclasses import dataclass

from fost._validation import RandomState, as_generator, check_integer, check_number
from fost.coding.selection import check_rule
from fost.learning.registry import known
from fost.learning.sources import as_source
from fost.learning.structure import Problem, Structure
from fost.transforms import Coder, Transform, without_base


@dataclass(frozen=True)
class Task:
    """The arguments of `fost.learn` that say what to learn; not checked yet."""

    structure: Structure
    n_nonzero_coefs: int | None
    base: Transform | None = None
    init: str | Coder | None = None
    max_iter: int = 100
    tol: float = 1e-6
    random_state: RandomState = None
    threshold: float | None = None
    missing: object = None
    sample_weight: object = None
    momentum: float = 0.0  # see `State.step`

    def problem(self, Y: object) -> tuple[Problem, str | Coder]:
        """The task for some signals, checked, and the start beyond the base."""
        structure = check_structure(self.structure)
        tol = check_number(self.tol, "tol", 0)
        max_iter = check_integer(self.max_iter, "max_iter", 0, 2**31 - 1)
        source = as_source(Y, self.missing, self.sample_weight)
        n = source.n_features
        if self.n_nonzero_coefs is None and self.threshold is None:
            raise ValueError("n_nonzero_coefs or threshold must be given")
        rule = check_rule(self.n_nonzero_coefs, None, self.threshold, n)
        if self.base is not None:
            if not isinstance(self.base, Transform):
                raise TypeError(f"base must be a transform, got {_described(self.base)}")
            _check_size(self.base, "base", n)
        start = self._start(structure, n)
        random = as_generator(self.random_state)
        problem = Problem(source, self.base, rule.s, random, max_iter, tol, rule.threshold)
        return problem.but(momentum=self.momentum), start

    def _start(self, structure: Structure, n_features: int) -> str | Coder:
        """What `init` stands for: a name, or what remains of a transform beyond the base."""
        if self.init is None:
            return structure.starts[0]
        if isinstance(self.init, str):
            return self.init
        if not isinstance(self.init, Coder):
            raise TypeError(f"init must be a name or a transform, got {_described(self.init)}")
        if not structure.takes(self.init):
            raise TypeError(
                f"init must be a name or a transform, got {_described(self.init)}; BankOf takes one"
            )
        _check_size(self.init, "init", n_features)
        return without_base(self.base, self.init)


def check_structure(structure: object) -> Structure:
    if not isinstance(structure, Structure):
        raise TypeError(f"structure must be {known(several=True)}, got {_described(structure)}")
    return structure


def _check_size(coder: Coder, name: str, n_features: int) -> None:
    if coder.n_features != n_features:
        raise ValueError(
            f"{name} has n_features={coder.n_features}, but Y has {n_features} features"
        )


def _described(value: object) -> str:
    """What an argument was: "a Bank", or the type of what is no part of fost."""
    if isinstance(value, type):
        return f"the class {value.__name__} itself"
    name = type(value).__name__
    return f"a {name}" if isinstance(value, Coder) else name
