"""Base class of the results of diagnostics, and the formatting of numbers in them."""

from __future__ import annotations

from dataclasses import fields

from fost._validation import check_integer


class DiagnosticResult:
    """A frozen dataclass of numbers whose `str` states their meaning in words.

    `repr` shows the fields that are not arrays, to four digits.
    """

    @property
    def sentence(self) -> str:
        """The result in words."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        shown = [f.name for f in fields(self) if f.repr]  # type: ignore[arg-type]
        items = ", ".join(f"{name}={_short(getattr(self, name))}" for name in shown)
        return f"{type(self).__name__}({items})"


def percent(share: float) -> str:
    """A share as a percentage: '12.3%', '0.0042%', 'under 0.0001%'."""
    size = abs(100 * share)
    if size == 0:
        return "0%"
    if size < 1e-4:
        return "under 0.0001%"
    if size >= 99.95:
        return f"{100 * share:.4g}%"
    return f"{100 * share:.3g}%"


def distinct_percents(before: float, after: float) -> tuple[str, str]:
    """Two shares as percentages, with enough digits to distinguish them."""
    for digits in range(3, 9):
        texts = f"{100 * before:.{digits}g}%", f"{100 * after:.{digits}g}%"
        if texts[0] != texts[1]:
            break
    return texts


def plural(count: int, noun: str) -> str:
    """'1 reflector', '12 reflectors'."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def check_entries(n_nonzero_coefs: object, n_features: int, n_atoms: int) -> int:
    """Entries per code: at most the number of features and the number of atoms."""
    limit, name = (n_features, "n_features") if n_features <= n_atoms else (n_atoms, "n_atoms")
    return check_integer(n_nonzero_coefs, "n_nonzero_coefs", 1, limit, name)


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else repr(value)
