"""Ctrl-C returns a result of `learn`, and ends a larger computation."""

from __future__ import annotations

import signal
import warnings
from typing import Any

import numpy as np
import pytest

import fost
from fost import restoration
from fost.learning import InterruptedWarning
from tests.learning.test_learn import correlated

pytestmark = pytest.mark.usefixtures("interruptible")


def interrupt(*_: Any) -> None:
    signal.raise_signal(signal.SIGINT)


@pytest.fixture
def interrupted_rotations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C during the learning of rotations."""
    update = fost.Rotations.update

    def interrupted(self: Any, *arguments: Any) -> Any:
        interrupt()
        return update(self, *arguments)

    monkeypatch.setattr(fost.Rotations, "update", interrupted)


def test_results_report_interrupts() -> None:
    Y = correlated(200, 8)
    with pytest.warns(InterruptedWarning):
        found = fost.learn(Y, fost.Orthonormal(), 2, tol=0, callback=interrupt)
    assert found.interrupted
    assert found.n_iter == 1
    assert not fost.learn(Y, fost.Orthonormal(), 2, max_iter=2).interrupted


def test_estimators_report_interrupts() -> None:
    Y = correlated(200, 8)
    estimators = [
        fost.OrthonormalDictionary(2, tol=0, callback=interrupt),
        fost.baselines.KSVD(10, 2, tol=0, callback=interrupt, random_state=0),
    ]
    for estimator in estimators:
        with pytest.warns(InterruptedWarning):
            estimator.fit(Y)
        assert estimator.interrupted_
        assert estimator.n_iter_ == 1
        estimator.set_params(callback=None, max_iter=2).fit(Y)
        assert not estimator.interrupted_


def test_a_search_reports_interrupts(monkeypatch: pytest.MonkeyPatch) -> None:
    Y = correlated(200, 16)
    auto = fost.AutoDictionary(2, max_flops=150, max_iter=2, verbose=False, random_state=0)
    assert not auto.fit(Y).interrupted_
    monkeypatch.setattr(fost.Reflectors, "update", interrupt)
    with pytest.warns(InterruptedWarning, match="interrupted after"):
        auto.fit(Y)
    assert auto.interrupted_


@pytest.mark.usefixtures("interrupted_rotations")
def test_an_interrupt_ends_the_restoration_of_a_picture() -> None:
    rows, columns = np.mgrid[:64, :64]
    clean = 120 + 60 * np.sin(rows / 5) * np.cos(columns / 7)
    noisy = clean + np.random.default_rng(0).standard_normal(clean.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no other warning is issued
        with pytest.raises(KeyboardInterrupt):
            restoration.denoise(noisy, 10.0)
        with pytest.raises(KeyboardInterrupt):
            restoration.inpaint(clean, np.random.default_rng(1).random(clean.shape) < 0.3)
