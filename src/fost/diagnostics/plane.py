"""The paper's example in R^2: which reflectors and rotations help signals of two features."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fost._threads import single_threaded_blas
from fost.diagnostics.coded import code
from fost.diagnostics.findings import Finding, percent
from fost.diagnostics.reflectors import one_more_reflector_of
from fost.diagnostics.remarks import procrustes_of
from fost.transforms import Householder

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#8a6d00")


@dataclass(frozen=True, eq=False, repr=False)
class Plane(Finding):
    """Signals in R^2, the dictionary I, one entry per code (end of section IV of the paper).

    Attributes
    ----------
    first, second : float
        ||y_11||^2 and ||y_22||^2, what the first and the second axis take.
    cross : float
        y_11^T y_21 + y_22^T y_12, the off-diagonal of Z~.
    eigenvalues : tuple of float
        Of Z~ = X Y^T + Y X^T, the lower first; their product is 4 first second - cross^2.
    reflector : ndarray of shape (2,) or None
        u of the best reflector I - 2 u u^T, where one helps.
    reflector_gain, orthonormal_gain : float
        By how much of ||Y||_F^2 the best reflector and the best orthonormal matrix lower the
        error, codes fixed.
    orthonormal : ndarray of shape (2, 2)
        That matrix.
    signals : ndarray of shape (n_signals, 2)

    Examples
    --------
    >>> import fost
    >>> found = fost.diagnostics.plane([[4.0, 4.0], [2.0, 1.0], [0.0, 1.0]])
    >>> found.reflector_helps, found.first, found.second
    (True, 20.0, 1.0)
    """

    first: float
    second: float
    cross: float
    eigenvalues: tuple[float, float] = field(repr=False)
    reflector: NDArray[np.float64] | None = field(repr=False)
    reflector_gain: float
    orthonormal_gain: float
    orthonormal: NDArray[np.float64] = field(repr=False)
    signals: NDArray[np.float64] = field(repr=False)

    @property
    def reflector_helps(self) -> bool:
        """Whether 2 ||y_11|| ||y_22|| < |y_11^T y_21 + y_22^T y_12|: Z~ is not semidefinite."""
        return self.reflector is not None

    @property
    def printed_condition(self) -> bool:
        """The paper's condition for "no reflector helps", with its inequalities as printed.

        2 ||y_11||^2 < cross and 2 ||y_22||^2 < cross; it is never met, since the cross term is
        at most the sum of the two squares.
        """
        return 2 * self.first < self.cross and 2 * self.second < self.cross

    @property
    def sentence(self) -> str:
        if self.reflector is None:
            angle = "No reflector helps: Z~ is positive semidefinite. "
        else:
            degrees = np.degrees(np.arctan2(self.reflector[1], self.reflector[0])) % 180
            angle = (
                f"The reflector with u at {degrees:.0f} degrees lowers the error by "
                f"{percent(self.reflector_gain)} of the energy. "
            )
        return (
            angle
            + "The best orthonormal matrix "
            + (
                f"lowers it by {percent(self.orthonormal_gain)}."
                if self.orthonormal_gain > 1e-12
                else "is no better than the identity."
            )
        )

    def draw(self, ax: Any = None) -> Any:
        """Draw the signals, and the atoms before and after; returns matplotlib Axes."""
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(figsize=(4.5, 4.5), layout="constrained")
        elif not hasattr(ax, "plot"):
            raise TypeError(f"ax must be matplotlib Axes, got {type(ax).__name__}")
        reach = 1.1 * float(np.abs(self.signals).max(initial=0.0)) or 1.0
        ax.plot(*self.signals.T, "o", markersize=4, color=_COLOURS[0], label="signals")
        lines = [("I", np.eye(2), ":", _COLOURS[3])]
        if self.reflector is not None:
            u = self.reflector
            lines.append(("best reflector", np.eye(2) - 2 * np.outer(u, u), "-", _COLOURS[1]))
        if self.orthonormal_gain > 1e-12:
            lines.append(("best orthonormal", self.orthonormal, "--", _COLOURS[2]))
        for label, atoms, style, colour in lines:
            for k, atom in enumerate(atoms.T):
                ends = np.array([-reach * atom, reach * atom]).T
                ax.plot(*ends, style, color=colour, linewidth=1.4, label="" if k else label)
        ax.set_xlim(-reach, reach)
        ax.set_ylim(-reach, reach)
        ax.set_aspect("equal")
        ax.legend(loc="best", fontsize=8)
        return ax


def plane(Y: ArrayLike) -> Plane:
    """The paper's example in R^2: Q = I, one entry per code; when does a reflector help?

    Each signal is coded by its larger entry. The rows of Y split into those parts that the codes
    keep, y_11 and y_22, and those that they drop, y_21 and y_12, and
    Z~ = [[2 ||y_11||^2, c], [c, 2 ||y_22||^2]] with c = y_11^T y_21 + y_22^T y_12. No reflector
    helps if and only if Z~ is positive semidefinite: 2 ||y_11|| ||y_22|| >= |c|. The paper prints
    < in place of >=, which cannot be (see `printed_condition`), and says that det Z~ is never
    positive, which it is exactly where no reflector helps.

    Parameters
    ----------
    Y : array-like of shape (n_signals, 2)
        Signals in rows.

    Returns
    -------
    Plane

    Examples
    --------
    >>> import fost
    >>> found = fost.diagnostics.plane([[4.0, 4.0], [2.0, 1.0], [0.0, 1.0]])
    >>> found.first, found.second, found.cross
    (20.0, 1.0, 18.0)
    >>> found.reflector_helps, found.printed_condition
    (True, False)
    >>> round(found.reflector_gain, 4), round(found.orthonormal_gain, 4)
    (0.2722, 0.3505)
    """
    coded = code(Householder(np.zeros((0, 2))), Y, 1)
    with single_threaded_blas:
        M = coded.statistic
        one, best = one_more_reflector_of(coded, 0.0), procrustes_of(coded, 0.0)
        a, b, c = float(M[0, 0]), float(M[1, 1]), float(M[0, 1] + M[1, 0])
        half = float(np.hypot(a - b, c))
    helps = one.gain > 0
    return Plane(
        first=a,
        second=b,
        cross=c,
        eigenvalues=(a + b - half, a + b + half),
        reflector=np.asarray(one.vector) if helps else None,
        reflector_gain=one.relative_gain if helps else 0.0,
        orthonormal_gain=best.relative_gain,
        orthonormal=best.matrix,
        signals=np.array(Y, dtype=np.float64),
    )
