"""Which coefficients a code keeps: a fixed number, as many as an error asks for, or large ones."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from fost import _core, coding
from fost._typing import Numbers
from fost._validation import (
    check_array,
    check_integer,
    check_number,
    check_stored,
    float_type,
)


@dataclass(frozen=True)
class Rule:
    """At most s coefficients, the largest; fewer where an error or a threshold asks for fewer.

    With `max_error` as few as leave a squared error of at most that; with `threshold` those whose
    magnitude is above it, which minimises ||y - U x||^2 + threshold^2 ||x||_0.
    """

    s: int
    max_error: float | None = None
    threshold: float | None = None

    @property
    def is_fixed(self) -> bool:
        """Whether all signals get s entries."""
        return self.max_error is None and self.threshold is None

    @property
    def price(self) -> float:
        """What an entry costs, in units of squared errors."""
        return 0.0 if self.threshold is None else self.threshold**2


def check_rule(
    n_nonzero_coefs: int | None, max_error: float | None, threshold: float | None, n_features: int
) -> Rule:
    """The rule that these arguments stand for."""
    if max_error is not None and threshold is not None:
        raise ValueError("max_error and threshold must not both be given")
    if n_nonzero_coefs is None:
        if max_error is None and threshold is None:
            raise ValueError("n_nonzero_coefs, max_error or threshold must be given")
        s = n_features
    else:
        s = check_integer(n_nonzero_coefs, "n_nonzero_coefs", 1, n_features, "n_features")
    if max_error is not None:
        max_error = check_number(max_error, "max_error", 0)
    if threshold is not None:
        threshold = check_number(threshold, "threshold", 0)
    return Rule(s, max_error, threshold)


def encode(plan: _core.Coder, Y: Numbers, rule: Rule, name: str = "Y") -> csr_array:
    """Codes of stored signals; of a bank, in the member that suits each best.

    That is the one with the smallest error; with `max_error` the one with the fewest entries, and
    with `threshold` the one that minimises ||y - U x||^2 + threshold^2 ||x||_0.
    """
    if rule.is_fixed:
        return coding.encode(plan, Y, rule.s, name)
    max_error = -1.0 if rule.max_error is None else rule.max_error
    threshold = -1.0 if rule.threshold is None else rule.threshold
    signals = Y.astype(float_type(Y.dtype), copy=False)
    return coding.encode_within(plan, signals, rule.s, max_error, threshold, name)


def select(
    C: ArrayLike,
    n_nonzero_coefs: int | None = None,
    *,
    max_error: float | None = None,
    threshold: float | None = None,
) -> csr_array:
    """Keep the entries of largest magnitude in each row: T_s(C).

    Parameters
    ----------
    C : array-like of shape (n_signals, n_features)
        Coefficients, for instance of a transform that fost does not have.
    n_nonzero_coefs : int, optional
        Entries to keep per row, s; an upper limit where `max_error` or `threshold` is given.
        Ties go to the lower index.
    max_error : float, optional
        Keep as few entries as leave a sum of squares of at most this, in each row.
    threshold : float, optional
        Keep the entries whose magnitude is above this.

    Returns
    -------
    csr_array of shape (n_signals, n_features)
        With sorted indices. A row with fewer than s nonzeros has fewer entries; zeros are
        never stored.

    Examples
    --------
    >>> import fost
    >>> fost.select([[3.0, -5.0, 0.0, 4.0], [0.0, 0.0, 1.0, 0.0]], 2).toarray()
    array([[ 0., -5.,  0.,  4.],
           [ 0.,  0.,  1.,  0.]])
    >>> fost.select([[3.0, -5.0, 0.0, 4.0], [0.0, 0.0, 1.0, 0.0]], max_error=10.0).toarray()
    array([[ 0., -5.,  0.,  4.],
           [ 0.,  0.,  0.,  0.]])
    """
    given = check_array(C, "C")
    n_features = given.shape[1] if given.ndim == 2 else 0
    stored = check_stored(given, "C", n_features, "select")
    if n_features == 0:
        raise ValueError(f"C must have at least one feature, got shape {stored.shape}")
    rule = check_rule(n_nonzero_coefs, max_error, threshold, n_features)
    return encode(_core.Plan(n_features), stored, rule, name="C")
