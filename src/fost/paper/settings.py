"""How much work a reproduction does."""

from __future__ import annotations

from dataclasses import dataclass, fields

from fost._validation import check_integer, check_sizes

# Of these there must be one at least; of iterations there may be none.
_LEAST = {"sparsity": 1, "inpainting_sparsity": 1, "repeats": 1, "timed_signals": 1}


@dataclass(frozen=True)
class Settings:
    """The paper's settings by default; `quick` is a look at the whole in less than a minute.

    Attributes
    ----------
    iterations : int
        K, of every learning algorithm.
    auto_iterations : int
        K of each candidate that AutoDictionary tries.
    stagewise_inner, stagewise_final : int
        Iterations of K-SVD in each stage of SK-SVD, and after the last one.
    sparsity, inpainting_sparsity : int
        Entries per code, s.
    reflectors : tuple of int
        m of the curves of errors.
    explored : tuple of int
        m of the explorer.
    repeats : int
        Repetitions of whatever is timed.
    timed_signals : int
        Signals that a transform is timed on.
    """

    iterations: int = 100
    auto_iterations: int = 100
    stagewise_inner: int = 15
    stagewise_final: int = 50
    sparsity: int = 4
    inpainting_sparsity: int = 6
    reflectors: tuple[int, ...] = (*range(1, 25), 28, 32)
    explored: tuple[int, ...] = (1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 32)
    repeats: int = 31
    timed_signals: int = 4096

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(field.default, tuple):
                value = check_sizes(value, field.name)
            else:
                value = check_integer(value, field.name, _LEAST.get(field.name, 0), 2**31 - 1)
            object.__setattr__(self, field.name, value)

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
            auto_iterations=5,
            stagewise_inner=2,
            stagewise_final=2,
            reflectors=(1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 32),
            explored=(1, 3, 6, 12, 24),
            repeats=5,
            timed_signals=2048,
        )
