"""Is my dictionary a local minimum? Four dictionaries, asked in five ways.

For the codes that it gives, a dictionary may be improved by one more reflector (Remark 4), by a
better reflector in place of one that it has, or by any orthonormal matrix (Remarks 1 to 3).
The script asks all this of the DCT, of reflectors while they are being learned, of reflectors
that are done and of a dense dictionary. Then it adds the best reflector to the one that is done,
learns on, and compares what was predicted with what comes out.

Run as ``python examples/local_minimum.py [FOLDER]``; the figure goes to the folder.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from skimage import data

import fost

S = 4
M = 8


def main(folder: str = "examples/output") -> None:
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    Y = fost.restoration.patches(data.camera() / 255, 8)
    Y -= Y.mean(axis=1, keepdims=True)
    done = fost.learn(Y, fost.Reflectors(M), S, max_iter=300, tol=0).transform
    dictionaries = {
        "2-D DCT": fost.DCT((8, 8)),
        f"{M} reflectors, 2 iterations": fost.learn(Y, fost.Reflectors(M), S, max_iter=2).transform,
        f"{M} reflectors, done": done,
        "dense (Q-DLA), done": fost.learn(Y, fost.Orthonormal(), S, max_iter=1000, tol=0).transform,
    }
    compare(dictionaries, Y)
    print(f"\n\nThe report on {M} reflectors:\n")
    fost.diagnostics.report(done, Y, S)
    steps = grow(done, Y)
    draw(done, Y, steps, out / "local_minimum.png")
    print(f"\nThe figure is {out / 'local_minimum.png'}")


def compare(dictionaries: dict[str, fost.Transform], Y: np.ndarray) -> None:
    """What could be gained, in percent of the energy, with the codes as they are."""
    print("Gain that is possible with the codes as they are, in percent of the energy\n")
    print(f"{'':<28}{'error':>8}{'one more':>12}{'exchange':>12}{'any orthonormal':>18}")
    for name, transform in dictionaries.items():
        one_more = fost.diagnostics.one_more_reflector(transform, Y, S)
        procrustes = fost.diagnostics.procrustes(transform, Y, S)
        exchange = "-"
        if isinstance(transform, fost.Householder):
            exchange = gain(fost.diagnostics.each_reflector(transform, Y, S).gains.max())
        print(
            f"{name:<28}{one_more.error:>8.2%}{gain(one_more.relative_gain):>12}{exchange:>12}"
            f"{gain(procrustes.relative_gain):>18}"
        )
    print(
        "\nReflectors that are done cannot be exchanged for better ones, one at a time; for\n"
        "the dense dictionary no orthonormal matrix is better. Both are fixed points."
    )


def gain(share: float) -> str:
    return f"{100 * share:.4f}" if share > 1e-9 else "none"


def grow(transform: fost.Transform, Y: np.ndarray) -> list[tuple[str, float]]:
    """Add the best reflector, code again, learn on: the error after each step."""
    found = fost.diagnostics.one_more_reflector(transform, Y, S)
    better = found.add_to(transform)
    m = better.n_reflectors
    X = transform.encode(Y, S)
    fixed = float(np.sum((Y - better.decode(X)) ** 2) / np.sum(Y**2))
    learned = fost.learn(Y, fost.Reflectors(m), S, init=better)
    fresh = fost.learn(Y, fost.Reflectors(m), S)
    steps = [
        (f"{m - 1} reflectors", found.error),
        ("one more, predicted", found.error - found.relative_gain),
        ("one more, same codes", fixed),
        ("coded again", learned.start_error),
        ("learned on", learned.error),
        (f"{m} reflectors from scratch", fresh.error),
    ]
    print("\n\nOne more reflector: relative error\n")
    for name, error in steps:
        print(f"  {name:<28}{error:>10.4%}")
    print(
        "\nThe prediction is exact for the codes as they are. Most of what a reflector is worth\n"
        "comes later, when the codes and the other reflectors follow it: the gain of Remark 4 is\n"
        "a lower bound."
    )
    return steps


def draw(
    transform: fost.Transform, Y: np.ndarray, steps: list[tuple[str, float]], path: Path
) -> None:
    fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    each = fost.diagnostics.each_reflector(transform, Y, S)
    left.bar(np.arange(1, each.n_reflectors + 1), 100 * each.worth)
    left.set(
        title="What each reflector is worth",
        xlabel="reflector u_j",
        ylabel="error without it, points more",
    )
    right.plot([100 * error for _, error in steps], [name for name, _ in steps], "o-")
    right.invert_yaxis()
    right.grid(axis="x", alpha=0.3)
    right.set(title="One more reflector", xlabel="relative error (%)")
    fig.savefig(path, dpi=130)


if __name__ == "__main__":
    main(*sys.argv[1:2])
