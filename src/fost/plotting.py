"""Plots of results. Needs matplotlib, from the extra ``images``."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fost.estimators.auto import AutoDictionary
    from fost.model_selection import Candidate, Frontier

_LABELS = {
    "flops": "operations per signal",
    "bits": "bits of the parameters",
    "nanoseconds": "nanoseconds per signal",
}


def plot_frontier(estimator: AutoDictionary, ax: Axes | None = None) -> Axes:
    """Plot the held-out errors of the candidates of an `AutoDictionary` over their cost.

    Every candidate is a dot: held-out relative error over operations per signal, or over the cost
    that is the criterion of the estimator. A line joins the Pareto-optimal candidates. Stars mark
    the fixed base and the dense dictionary, and a ring marks the selected candidate.

    Parameters
    ----------
    estimator : AutoDictionary
        A fitted estimator.
    ax : matplotlib Axes, optional
        Axes for the plot; a new figure if None.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import fost, numpy as np
    >>> Y = np.cumsum(np.random.default_rng(0).standard_normal((400, 16)), axis=1)
    >>> auto = fost.AutoDictionary(2, max_flops=200, tol=1e-3, random_state=0).fit(Y)
    >>> fost.plot_frontier(auto).get_xlabel()
    'operations per signal'
    """
    import matplotlib.pyplot as plt
    from matplotlib import axes
    from sklearn.utils.validation import check_is_fitted

    from fost.estimators.auto import AutoDictionary

    if not isinstance(estimator, AutoDictionary):
        raise TypeError(f"estimator must be an AutoDictionary, got {type(estimator).__name__}")
    if not isinstance(ax, axes.Axes | None):
        raise TypeError(f"ax must be matplotlib Axes, got {type(ax).__name__}")
    check_is_fitted(estimator, "frontier_")
    if ax is None:
        _, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
    _draw_candidates(estimator.frontier_, ax)
    chosen = getattr(estimator, "chosen_", None)  # missing if no candidate meets the limits
    if chosen is not None:
        ax.plot(
            getattr(chosen, estimator.frontier_.cost),
            100 * chosen.held_out_error,
            "o",
            markersize=14,
            fillstyle="none",
            color="crimson",
            label=f"chosen: {chosen.structure}",
        )
    ax.margins(x=0.12, y=0.08)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_formatter("{x:g}")
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.set_xlabel(_LABELS[estimator.frontier_.cost])
    ax.set_ylabel("relative error on held-out signals (%)")
    ax.grid(True, which="both", alpha=0.2)
    ax.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1.0))  # beside the candidates
    return ax


def _draw_candidates(frontier: Frontier, ax: Axes) -> None:
    """Candidates of a family as dots, single candidates as named stars, and the Pareto front."""
    families: dict[str, list[Candidate]] = {}
    above = True  # labels of neighbours lie on different sides
    for row in frontier:
        if row.family != row.structure:
            families.setdefault(row.family, []).append(row)
            continue
        place = (getattr(row, frontier.cost), 100 * row.held_out_error)
        ax.plot(*place, "k*", markersize=11)
        ax.annotate(
            row.structure,
            place,
            (0, 9 if above else -16),
            textcoords="offset points",
            ha="center",
            fontsize=9,
        )
        above = not above
    for (name, rows), marker in zip(sorted(families.items()), cycle("osD^vP"), strict=False):
        ax.plot(*_curve(rows, frontier.cost), marker, markersize=5, alpha=0.8, label=name)
    ax.plot(
        *_curve(frontier.best, frontier.cost),
        color="0.4",
        linewidth=1,
        zorder=0,
        label="best for its cost",
    )


def _curve(rows: list[Candidate], cost: str) -> tuple[list[float], list[float]]:
    return [getattr(row, cost) for row in rows], [100 * row.held_out_error for row in rows]
