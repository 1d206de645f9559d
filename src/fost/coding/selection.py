"""Selection of the coefficients that a code keeps: a fixed number, or variable-length codes."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from fost import _core
from fost._validation import check_array, check_integer, check_number, check_stored
from fost.coding.encode import encode_signals


@dataclass(frozen=True)
class SelectionRule:
    """At most s coefficients of largest magnitude, limited by an error or a threshold.

    With `max_error`, codes have as few entries as leave a squared error of at most `max_error`.
    With `threshold`, codes have the entries of magnitude above it, which minimises
    ||y - U x||^2 + threshold^2 ||x||_0.
    """

    s: int
    max_error: float | None = None
    threshold: float | None = None

    @property
    def is_fixed(self) -> bool:
        """Whether all codes have s entries."""
        return self.max_error is None and self.threshold is None

    @property
    def price(self) -> float:
        """The penalty of an entry in the objective, threshold^2."""
        return 0.0 if self.threshold is None else self.threshold**2


def check_rule(
    n_nonzero_coefs: int | None, max_error: float | None, threshold: float | None, n_features: int
) -> SelectionRule:
    """The selection rule for the arguments of `encode` and `select`, validated."""
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
    return SelectionRule(s, max_error, threshold)


def select(
    C: ArrayLike,
    n_nonzero_coefs: int | None = None,
    *,
    max_error: float | None = None,
    threshold: float | None = None,
) -> csr_array:
    r"""Keep the entries of largest magnitude in each row: :math:`\mathcal{T}_s(C)`.

    Parameters
    ----------
    C : array-like of shape (n_signals, n_features)
        Coefficients, for instance those of a transform from another library.
    n_nonzero_coefs : int, optional
        Number of entries to keep per row, s; the maximum if `max_error` or `threshold` is given.
        Ties go to the lower index.
    max_error : float, optional
        Keep as few entries as leave a sum of squares of at most `max_error` in each row.
    threshold : float, optional
        Keep the entries of magnitude above `threshold`.

    Returns
    -------
    csr_array of shape (n_signals, n_features)
        Codes with sorted indices. A row with fewer than s nonzero entries has fewer entries; zeros
        are never stored.

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
    return encode_signals(_core.Plan(n_features), stored, rule, name="C")
