"""What `fost learn` says about what it has learned."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fost.cli import options
from fost.cli.console import show

if TYPE_CHECKING:
    from fost.cli.plan import Learned
    from fost.cli.signals import Signals
    from fost.selection import Rule
    from fost.transforms import Coder

# Signals from which the usage of a bank's members is told.
_JUDGED = 65536


def usage_of(coder: Coder, signals: Signals, rule: Rule) -> list[float] | None:
    """The share of signals that each member of a bank is used for, from some of them."""
    import numpy as np

    from fost.transforms import Bank

    if not isinstance(coder, Bank):
        return None
    rows = signals.source.sample(_JUDGED).rows()
    gaps = None if signals.missing is None else "nan"
    members = coder.chosen(coder.encode(rows, rule.s, threshold=rule.threshold, missing=gaps))
    counts = np.bincount(members, minlength=coder.n_members)
    return [float(count) / len(rows) for count in counts]


def report(
    learned: Learned,
    fixed: float | None,
    signals: Signals,
    inputs: list[Path],
    output: Path,
    seconds: float,
    as_json: bool,
    quiet: bool,
) -> None:
    from fost.transforms.orthonormal import dense_flops

    transform, n = learned.transform, learned.transform.n_features
    share = transform.flops / dense_flops(n)
    shape = f" ({options.format_patch(signals.patch)} patches)" if signals.patch else ""
    compared = "" if fixed is None else f" (the DCT alone: {fixed:.4%})"
    stopped = {True: ", converged", False: ", not converged", None: ""}[learned.converged]
    lines = {
        "learned": repr(transform),
        "from": f"{signals.n_signals:,} signals of {n} entries{shape}",
        "relative error": f"{learned.error:.4%}" + compared,
        "iterations": f"{learned.n_iter}{stopped}",
        "operations": f"{transform.flops:,} per signal ({share:.1%} of a dense matrix)",
        "time": f"{seconds:.1f} s",
        "written": str(output),
    }
    data = {
        "output": output,
        "inputs": inputs,
        "transform": repr(transform),
        "n_signals": signals.n_signals,
        "n_features": n,
        "patch": signals.patch,
        "relative_error": learned.error,
        "dct_relative_error": fixed,
        "n_iter": learned.n_iter,
        "converged": learned.converged,
        "flops": transform.flops,
        "n_parameters": transform.n_parameters,
        "seconds": seconds,
    }
    show(lines, data, as_json=as_json, quiet=quiet)
