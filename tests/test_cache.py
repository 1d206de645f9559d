"""Properties that are computed once per object."""

from __future__ import annotations

from threading import Barrier, Thread

from fost._cache import lazy_property


class Pair:
    """Two properties that are computed from those of another object."""

    def __init__(self) -> None:
        self.other: Pair = self
        self.barrier: Barrier | None = None
        self.count = 0

    @lazy_property
    def first(self) -> int:
        """The first property."""
        self.count += 1
        if self.barrier is not None:
            self.barrier.wait(10)
        return 1 if self.other is self else self.other.second

    @lazy_property
    def second(self) -> int:
        if self.barrier is not None:
            self.barrier.wait(10)
        return 2 if self.other is self else self.other.first


def test_values_are_computed_once() -> None:
    pair = Pair()
    assert (pair.first, pair.first, pair.count) == (1, 1, 1)
    assert Pair.first.__doc__ == "The first property."


def test_threads_in_opposite_order_do_not_wait_for_each_other() -> None:
    # With one lock per property, each thread holds the lock that the other one needs.
    barrier = Barrier(2)
    pairs = [Pair(), Pair()]
    for pair in pairs:
        pair.other, pair.barrier = Pair(), barrier
    threads = [
        Thread(target=lambda: pairs[0].first, daemon=True),
        Thread(target=lambda: pairs[1].second, daemon=True),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert not any(thread.is_alive() for thread in threads)
    assert vars(pairs[0])["first"] == 2
    assert vars(pairs[1])["second"] == 1
