"""How many threads the kernels use, and keeping BLAS from adding its own."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import ContextDecorator, contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

from fost import _core
from fost._validation import check_integer


def get_num_threads() -> int:
    """The number of threads that fost may use.

    From the environment variable ``FOST_NUM_THREADS`` where it is set, else the number of
    cores that this process may run on, until `set_num_threads` changes it. The number never
    changes a result, not by a bit.

    Examples
    --------
    >>> import fost
    >>> fost.get_num_threads() >= 1
    True
    """
    return _core.get_num_threads()


def set_num_threads(n_threads: int) -> None:
    """Set the number of threads that fost may use, in this process.

    Small inputs stay on one thread whatever the number is.

    Examples
    --------
    >>> import fost
    >>> before = fost.get_num_threads()
    >>> fost.set_num_threads(1)
    >>> fost.get_num_threads()
    1
    >>> fost.set_num_threads(before)
    """
    _core.set_num_threads(check_integer(n_threads, "n_threads", 1, 1024))


@contextmanager
def at_most(n_threads: int) -> Iterator[None]:
    """A context in which calls from this Python thread use at most so many of fost's threads.

    Where somebody else runs fost on several threads already, as Dask does.
    """
    before = _core.limit_threads(check_integer(n_threads, "n_threads", 1, 1024))
    try:
        yield
    finally:
        _core.limit_threads(before)


class _SingleThreadedBlas(ContextDecorator):
    """A context, and a decorator, in which BLAS and LAPACK calls use one thread.

    fost's own threads call BLAS side by side; products and eigenvectors must not depend on the
    number of threads in their last bits; and on a busy machine waiting threads of OpenBLAS made
    an SVD of 1,024 x 1,024 twelve times slower. So all of fost's algebra runs inside.

    Safe to enter from several threads at once; the last to leave restores the limit.

    A fork waits until no thread is changing the limit: threadpoolctl and OpenBLAS have locks of
    their own for that, and one that is held while the process forks stays locked in the child.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a signal handler may fork, too
        self._reset()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._lock.acquire,
                after_in_parent=self._lock.release,
                after_in_child=self._after_fork,
            )

    def _reset(self) -> None:
        self._depth = 0
        self._before: list[int] = []

    def _after_fork(self) -> None:
        self._reset()
        self._lock.release()

    @staticmethod
    @cache
    def _libraries() -> list[Any]:
        return list(ThreadpoolController().select(user_api="blas").lib_controllers)

    @staticmethod
    def _set(library: Any, count: int) -> None:
        library.set_num_threads(count)
        # Newer versions of threadpoolctl let only the thread that set a limit change it; the
        # last thread to leave here may be another one.
        release = getattr(library, "clear_controlling_thread", None)
        if release:
            release()

    def __enter__(self) -> None:
        with self._lock:
            if self._depth == 0:
                self._before = [library.get_num_threads() for library in self._libraries()]
                for library in self._libraries():
                    self._set(library, 1)
            self._depth += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._depth = max(0, self._depth - 1)  # a fork inside the context begins at 0
            if self._depth == 0:
                for library, count in zip(self._libraries(), self._before, strict=False):
                    self._set(library, count)


single_threaded_blas = _SingleThreadedBlas()
