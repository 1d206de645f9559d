"""How much work a reproduction does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from fost._validation import check_integer, check_sizes

# Of these there must be one at least; of iterations there may be none.
_LEAST = {
    "sparsity": 1,
    "inpainting_sparsity": 1,
    "masks": 1,
    "repeats": 1,
    "timed_signals": 1,
}
# The iterations after which the errors of Table I come out, digit by digit. The paper states
# K = 100 of its running times alone. They were found by looking at the printed errors of
# peppers, boat, barb and couple, and then tried on hill, fingerprint and house.
_PRINTED = (
    ("H6", 30), ("H12", 30), ("H32", 100),
    ("QH6", 100), ("QH12", 100), ("QH32", 100), ("Q-DLA", 10),
)  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """The paper's settings by default; `quick` is a look at the whole in less than a minute.

    Attributes
    ----------
    iterations : int
        K, of every learning algorithm, where the question is what it reaches.
    table_iterations : mapping or tuple of pairs of str and int
        K by method, where the question is what the paper printed; `iterations` for methods that
        are not named.
    auto_iterations : int
        K of each candidate that AutoDictionary tries.
    stagewise_inner, stagewise_final : int
        Iterations of K-SVD in each stage of SK-SVD; those after the last stage, which the
        algorithm as published has not, of the row that has them.
    sparsity, inpainting_sparsity : int
        Entries per code, s.
    masks : int
        Random masks of missing pixels that errors of inpainting are the mean of.
    reflectors : tuple of int
        m of the curves of errors.
    explored : tuple of int
        m of the explorer.
    repeats : int
        Repetitions of whatever is timed.
    timed_signals : int
        Signals that a transform is timed on.

    Examples
    --------
    >>> from fost import paper
    >>> whole, quick = paper.Settings(), paper.Settings.quick()
    >>> whole.iterations, quick.iterations, whole.table_k("H6")
    (100, 10, 30)
    """

    iterations: int = 100
    table_iterations: tuple[tuple[str, int], ...] = _PRINTED
    auto_iterations: int = 100
    stagewise_inner: int = 15
    stagewise_final: int = 50
    sparsity: int = 4
    inpainting_sparsity: int = 6
    masks: int = 5
    reflectors: tuple[int, ...] = (*range(1, 25), 28, 32)
    explored: tuple[int, ...] = (1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 32)
    repeats: int = 31
    timed_signals: int = 4096

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "table_iterations":
                value = _checked_pairs(value, field.name)
            elif isinstance(field.default, tuple):
                value = check_sizes(value, field.name)
            else:
                value = check_integer(value, field.name, _LEAST.get(field.name, 0), 2**31 - 1)
            object.__setattr__(self, field.name, value)

    def table_k(self, method: str) -> int:
        """K of a method where its printed error is to come out."""
        return dict(self.table_iterations).get(method, self.iterations)

    @classmethod
    def of(cls, settings: Settings | None) -> Settings:
        """Settings as an argument: the paper's if None."""
        if settings is not None and not isinstance(settings, Settings):
            raise TypeError(f"settings must be Settings or None, got {type(settings).__name__}")
        return settings or cls()

    @classmethod
    def quick(cls) -> Settings:
        """A tenth of the iterations, a third of the points."""
        return cls(
            iterations=10,
            table_iterations=tuple((method, min(k, 10)) for method, k in _PRINTED),
            auto_iterations=5,
            stagewise_inner=2,
            stagewise_final=2,
            masks=2,
            reflectors=(1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 32),
            explored=(1, 3, 6, 12, 24),
            repeats=5,
            timed_signals=2048,
        )


def _checked_pairs(value: Any, name: str) -> tuple[tuple[str, int], ...]:
    """Numbers of iterations by method, as pairs."""
    pairs = value.items() if isinstance(value, Mapping) else value
    if isinstance(pairs, str) or not isinstance(pairs, Iterable):
        raise TypeError(f"{name} must be pairs of a method and its iterations, got {value!r}")
    checked = []
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2 or not isinstance(pair[0], str):
            raise TypeError(f"{name} must be pairs of a method and its iterations, got {value!r}")
        checked.append((pair[0], check_integer(pair[1], name, 0, 2**31 - 1)))
    return tuple(checked)
