"""The number of threads of the kernels, and a context for single-threaded BLAS."""

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

    It is the environment variable ``FOST_NUM_THREADS`` if set, else the number of cores that this
    process may use, until `set_num_threads` changes it. Results are bit-identical for any number
    of threads.

    Examples
    --------
    >>> import fost
    >>> fost.get_num_threads() >= 1
    True
    """
    return _core.get_num_threads()


def set_num_threads(n_threads: int) -> None:
    """Set the number of threads that fost may use in this process.

    Small inputs always use one thread.

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
    """A context in which calls from this Python thread use at most `n_threads` threads.

    It is for callers that run fost on several threads themselves, as Dask does.
    """
    before = _core.limit_threads(check_integer(n_threads, "n_threads", 1, 1024))
    try:
        yield
    finally:
        _core.limit_threads(before)


class _SingleThreadedBlas(ContextDecorator):
    """A context, and a decorator, in which BLAS and LAPACK calls use one thread.

    All linear algebra of fost runs inside, for three reasons. Threads of fost call BLAS
    concurrently. The last bits of products and eigenvectors must not depend on the number of
    threads. On a busy machine waiting threads of OpenBLAS made an SVD of 1,024 x 1,024 twelve times
    slower.

    Several threads may be inside at once; the last one restores the limit.

    A fork waits until no thread is changing the limit. Otherwise the locks of threadpoolctl and
    OpenBLAS could stay locked in the child process.
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
