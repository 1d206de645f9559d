"""How many reflectors? What the spectrum suggests, and what learning then finds.

QH-DLA takes its reflectors from the eigenvectors of the negative eigenvalues of
Z~ = X Y^T + Y X^T, and without the one of eigenvalue -a the relative error is 2 a / ||Y||^2
higher as long as the codes stay as they are. So one spectrum predicts a whole curve, error
against number of reflectors. This script compares the prediction with the errors of
dictionaries that were learned with so many reflectors, and with what
``fost.Reflectors("auto")`` chooses.

Run as ``python examples/choose_m.py [FOLDER]``; the figure goes to the folder.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from skimage import data

import fost

S = 4
MS = (1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 32)


def study(name: str, curves: plt.Axes, eigenvalues: plt.Axes) -> None:
    Y = fost.restoration.patches(getattr(data, name)() / 255, 8)
    Y -= Y.mean(axis=1, keepdims=True)
    n = Y.shape[1]

    # One spectrum, of a dictionary with more reflectors than will be needed.
    start = fost.learn(Y, fost.Reflectors(n // 2, orthogonal=True), S)
    spectrum = fost.diagnostics.spectrum(start, Y, S)
    predicted = {m: start.error + spectrum.truncation_loss(m) for m in MS}

    # What learning finds with so many reflectors.
    learned = {
        kind: {m: fost.learn(Y, fost.Reflectors(m, orthogonal), S).error for m in MS}
        for kind, orthogonal in (("QH", True), ("H", False))
    }
    full = fost.learn(Y, fost.Orthonormal(), S).error
    suggested = spectrum.suggested_n_reflectors()
    auto = fost.learn(Y, fost.Reflectors("auto"), S).transform.n_reflectors

    print(f"\n{name}: {len(Y):,} patches of {n} pixels, {S} coefficients each\n")
    print(f"  {'m':>3} {'operations':>11} {'predicted':>10} {'QH':>8} {'H':>8}   relative error")
    for m in MS:
        errors = f"{predicted[m]:>10.1%} {learned['QH'][m]:>8.1%} {learned['H'][m]:>8.1%}"
        mark = "  <- near what the spectrum suggests" if m == _nearest(suggested) else ""
        counts = fost.diagnostics.speed_ups(n, m, S)
        print(f"  {m:>3} {counts.reflectors:>11,} {errors}{mark}")
    print(f"  any {counts.dense:>11,} {'':>10} {'':>8} {full:>8.1%}")
    enough = min(m for m in MS if learned["H"][m] <= learned["H"][MS[-1]] + 0.005)
    print("\n" + textwrap.fill(str(spectrum), 79, initial_indent="  ", subsequent_indent="  "))
    print(f'\n  The spectrum suggests m = {suggested}; Reflectors("auto") takes {auto}.')
    print(f"  H comes within half a point of its best at m = {enough}.")

    curves.plot(*zip(*predicted.items(), strict=True), "k:", label="predicted by the spectrum")
    for kind, marker in (("QH", "s-"), ("H", "o-")):
        curves.plot(
            *zip(*learned[kind].items(), strict=True), marker, ms=4, label=f"{kind}, learned"
        )
    curves.axhline(full, color="0.6", linewidth=1, label="Q-DLA, dense")
    curves.axvline(suggested, color="crimson", linewidth=1, label=f"suggested: m = {suggested}")
    curves.set(title=name, xlabel="number of reflectors m", ylabel="relative error")
    curves.set_ylim(0, 1.3 * learned["H"][1])
    curves.yaxis.set_major_formatter("{x:.0%}")
    curves.legend(fontsize=8)
    eigenvalues.plot(np.arange(1, n + 1), spectrum.normalised, ".-")
    eigenvalues.axhline(0, color="0.6", linewidth=1)
    eigenvalues.axvline(suggested + 0.5, color="crimson", linewidth=1)
    eigenvalues.set(xlabel="index", ylabel="normalised eigenvalues of Z~")


def _nearest(m: int) -> int:
    return min(MS, key=lambda other: abs(other - m))


def main(folder: str = "examples/output") -> None:
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    names = ("camera", "brick")
    fig, axes = plt.subplots(2, len(names), figsize=(10, 7), layout="constrained")
    for column, name in enumerate(names):
        study(name, *axes[:, column])
    fig.savefig(out / "choose_m.png", dpi=130)
    print(
        "\nThe prediction holds for the codes as they are. Learning with fewer reflectors finds\n"
        "other codes that suit them, so the real curves lie below it. Take the suggestion as the\n"
        "place to look, not as the answer."
    )
    print(f"\nThe figure is {out / 'choose_m.png'}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
