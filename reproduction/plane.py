"""The paper's example in R^2: reflectors and rotations for signals of two features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fost import Householder
from fost.diagnostics import one_more_reflector, procrustes

Numbers = NDArray[np.float64]

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#8a6d00")


@dataclass(frozen=True, eq=False)
class Plane:
    """Signals in R^2, the dictionary I, one entry per code (end of section IV of the paper).

    Attributes
    ----------
    first, second : float
        ||y_11||^2 and ||y_22||^2, the energy of the coefficients of both axes.
    cross : float
        y_11^T y_21 + y_22^T y_12, the off-diagonal entry of Z~.
    eigenvalues : tuple of float
        Of Z~ = X Y^T + Y X^T in ascending order; their product is 4 first second - cross^2.
    reflector : ndarray of shape (2,) or None
        u of the best reflector I - 2 u u^T; None if no reflector helps.
    reflector_gain, orthonormal_gain : float
        The gains of the best reflector and of the best orthonormal matrix for fixed codes,
        divided by ||Y||_F^2.
    orthonormal : ndarray of shape (2, 2)
        The best orthonormal matrix.
    signals : ndarray of shape (n_signals, 2)
    """

    first: float
    second: float
    cross: float
    eigenvalues: tuple[float, float]
    reflector: Numbers | None
    reflector_gain: float
    orthonormal_gain: float
    orthonormal: Numbers
    signals: Numbers

    @property
    def reflector_helps(self) -> bool:
        """Whether 2 ||y_11|| ||y_22|| < |y_11^T y_21 + y_22^T y_12|: Z~ is not semidefinite."""
        return self.reflector is not None

    @property
    def printed_condition(self) -> bool:
        """The paper's condition for "no reflector helps", with its inequalities as printed.

        2 ||y_11||^2 < cross and 2 ||y_22||^2 < cross. No signals meet it, since the cross term is
        at most the sum of the two squares.
        """
        return 2 * self.first < self.cross and 2 * self.second < self.cross

    @property
    def sentence(self) -> str:
        """The result in words."""
        if self.reflector is None:
            angle = "No reflector helps: Z~ is positive semidefinite. "
        else:
            degrees = np.degrees(np.arctan2(self.reflector[1], self.reflector[0])) % 180
            angle = (
                f"The reflector with u at {degrees:.0f} degrees lowers the error by "
                f"{100 * self.reflector_gain:.3g}% of the energy. "
            )
        return (
            angle
            + "The best orthonormal matrix "
            + (
                f"lowers it by {100 * self.orthonormal_gain:.3g}%."
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
    r"""The paper's example in R^2: when a reflector helps for Q = I and one entry per code.

    The code of a signal is its larger entry. The codes keep the parts y_11 and y_22 of the rows of
    Y, and drop y_21 and y_12. Then
    :math:`\tilde Z = [[2 \|y_{11}\|^2, c], [c, 2 \|y_{22}\|^2]]` with
    :math:`c = y_{11}^T y_{21} + y_{22}^T y_{12}`. No reflector helps if and only if
    :math:`\tilde Z` is positive semidefinite: :math:`2 \|y_{11}\| \|y_{22}\| \ge |c|`. The paper
    prints < instead of >=, which is impossible (see `printed_condition`), and says that
    :math:`\det \tilde Z` is never positive; it is positive exactly if no reflector helps.

    Parameters
    ----------
    Y : array-like of shape (n_signals, 2)
        Signals in rows.

    Returns
    -------
    Plane
        `first`, `second` and `cross`, the `eigenvalues` of Z~, the best `reflector` and
        `orthonormal` matrix with their gains, and the method `draw`.

    Examples
    --------
    >>> found = plane([[4.0, 4.0], [2.0, 1.0], [0.0, 1.0]])
    >>> found.first, found.second, found.cross
    (20.0, 1.0, 18.0)
    >>> found.reflector_helps, found.printed_condition
    (True, False)
    >>> round(found.reflector_gain, 4), round(found.orthonormal_gain, 4)
    (0.2722, 0.3505)
    """
    identity = Householder(np.zeros((0, 2)))
    one = one_more_reflector(identity, Y, 1, tol=0.0)
    best = procrustes(identity, Y, 1, tol=0.0)
    signals = np.array(Y, dtype=np.float64)
    M = identity.encode(signals, 1).T @ signals  # X Y^T
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
        signals=signals,
    )
