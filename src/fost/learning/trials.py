"""Short runs of learning on a sample, which choose the base and the start of a run.

1. ``base="auto"``: learn over each possible base for a few iterations on a sample of the signals,
   and choose the base with the smallest error.
2. ``n_init``: do the same with several starts over that base. Starts are random, or each is the
   result of the start before without its least useful half.
"""

from __future__ import annotations

from dataclasses import replace
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from fost._checkpoints import random_state_hash
from fost.coding.selection import SelectionRule
from fost.learning.state import LearningState
from fost.learning.statistics import error_from_energy
from fost.learning.structure import Problem, Structure
from fost.learning.training_data import TrainingData
from fost.transforms import DCT, Coder, Transform, Wavelet
from fost.transforms.bases import check_signal_shape

# Signals of a trial of bases, and signals and iterations of a trial of starts.
_SIGNALS = 4096
_START_SIGNALS, _START_ITERATIONS = 8192, 20
# Bases are compared after so many iterations; only those continue whose errors exceed the smallest
# one by less than this share. Some bases are worse at first and better later.
_BASE_ITERATIONS = (5, 30)
_MARGIN = 0.15


def choose_base(
    problem: Problem, structure: Structure, init: str, signal_shape: int | tuple[int, ...] | None
) -> Transform | None:
    """The best of no base, a DCT and a wavelet for a structure that wants a base."""
    few = problem.data.sample(_SIGNALS)
    bases = possible_bases(few, problem.rule, signal_shape)
    # A size that depends on the data is chosen over a base, so that all trials have equal sizes.
    trial = replace(problem, data=few, max_iter=_BASE_ITERATIONS[0], saved_gram=None)
    structure = structure.fit_to(replace(trial, base=bases[1]))
    trials = [replace(trial, base=base) for base in bases]
    runs = [(own, _begin(own, structure, init)) for own in trials]
    for n_iter in _BASE_ITERATIONS:
        for own, state in runs:
            _continue(own, structure, state, n_iter)
        best = min(state.best_error for _, state in runs)
        runs = [run for run in runs if run[1].best_error <= best * (1 + _MARGIN)]
        if len(runs) == 1:
            break
    return min(runs, key=lambda run: run[1].best_error)[0].base


def possible_bases(
    few: TrainingData, rule: SelectionRule, signal_shape: int | tuple[int, ...] | None
) -> list[Transform | None]:
    """No base, a DCT and, if possible, a wavelet.

    Without a shape, signals are one-dimensional or squares: the DCT with the smaller error decides.
    """
    n = few.n_features
    shapes = [check_signal_shape(signal_shape, n)]
    if signal_shape is None and isqrt(n) ** 2 == n > 1:
        shapes.append((isqrt(n), isqrt(n)))
    dcts = [DCT(shape) for shape in shapes]
    errors = [error_from_energy(few.statistic(None, dct, rule).energy, few.energy) for dct in dcts]
    dct = dcts[int(np.argmin(errors))]
    try:
        return [None, dct, Wavelet(dct.shape)]
    except (ImportError, ValueError):  # PyWavelets is not installed, or lengths are odd
        return [None, dct]


def choose_start(
    problem: Problem, structure: Structure, init: str, n_init: int
) -> tuple[Problem, Coder, NDArray[np.float64]]:
    """The best of `n_init` starts, the problem with its samples, and all errors.

    A start without random choices is not repeated. The next start is then the result of the start
    before without its least useful half, if `structure` can prune it.
    """
    few = problem.data.sample(_START_SIGNALS)
    found: list[tuple[float, Problem, Coder]] = []
    pruned: Coder | None = None
    while len(found) < n_init:
        own = replace(problem, data=problem.data.with_random(problem.random))
        before = random_state_hash(problem.random)
        coder = structure.initialise(own, init) if pruned is None else pruned
        is_random = random_state_hash(problem.random) != before
        trial = replace(own, data=few, saved_gram=None)
        state = LearningState.begin(trial, structure, coder)
        _continue(trial, structure, state, _START_ITERATIONS)
        found.append((state.best_error, own, coder if pruned is None else state.best))
        if not is_random:
            pruned = structure.prune(trial, state.best)
            if pruned is None:
                break
    errors = np.array([error for error, _, _ in found])
    _, own, coder = found[int(np.argmin(errors))]
    return own, coder, errors


def _begin(problem: Problem, structure: Structure, init: str) -> LearningState:
    return LearningState.begin(problem, structure, structure.initialise(problem, init))


def _continue(problem: Problem, structure: Structure, state: LearningState, n_iter: int) -> None:
    """Iterate until there were `n_iter` iterations, or until convergence."""
    while state.n_iter < n_iter and not state.converged(problem.tol):
        state.step(problem, structure)
