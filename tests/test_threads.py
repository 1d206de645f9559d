from __future__ import annotations

import ctypes
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import fost
from fost import _core
from fost._threads import at_most, single_threaded_blas
from fost.coding import decode as decoding
from tests import cases

SetThreads = Callable[[int], None]
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


def results(transform: fost.Transform, Y: Any) -> dict[str, Any]:
    """Everything that a transform can make of signals."""
    n = transform.n_features
    codes = transform.encode(Y, 4)
    out = {
        "forward": transform.forward(Y),
        "inverse": transform.inverse(Y),
        "encode": codes,
        "encode, many": transform.encode(Y, 20),
        "decode": transform.decode(codes),
        "decode by stages": decoding.decode_by_stages(transform._plan, codes, n),
        "decode by atoms": decoding.decode_by_atoms(transform._atoms(Y.dtype), codes),
    }
    for s in (4, 20):
        M = np.empty((n, n))
        with single_threaded_blas:
            energy = transform._plan.accumulate(Y, s, M)
        out[f"statistic, s={s}"] = np.append(M, energy)
    return out


def assert_same(found: dict[str, Any], expected: dict[str, Any], case: str) -> None:
    for name, result in expected.items():
        same = cases.same_codes if name.startswith("encode") else cases.same_bits
        assert same(found[name], result), f"{name}: {case}"


# 20,000 signals are milliseconds of work, a thread is asked for every 0.3 ms.
@pytest.mark.parametrize("kind", cases.KINDS)
@pytest.mark.parametrize("dtype", cases.DTYPES)
def test_the_number_of_threads_does_not_change_a_bit(
    isa: str, set_threads: SetThreads, kind: str, dtype: Any
) -> None:
    rng = np.random.default_rng(0)
    transform = cases.make_transform(kind, 64, rng)
    Y = cases.make_signals("normal", 20_000, 64, dtype, rng)
    set_threads(1)
    expected = results(transform, Y)
    for n_threads in (2, 3):
        set_threads(n_threads)
        assert_same(results(transform, Y), expected, f"{n_threads} threads, {transform}")


# Dense matrices of more than 256 features go through BLAS.
@pytest.mark.parametrize("dtype", cases.DTYPES)
def test_the_number_of_threads_does_not_change_a_bit_of_blas(
    set_threads: SetThreads, dtype: Any
) -> None:
    rng = np.random.default_rng(0)
    transform = cases.make_transform("dense chain", 300, rng)
    assert transform._plan.uses_blas
    Y = cases.make_signals("normal", 4_000, 300, dtype, rng)
    set_threads(1)
    expected = results(transform, Y)
    for n_threads in (2, 3):
        set_threads(n_threads)
        assert_same(results(transform, Y), expected, f"{n_threads} threads, {transform}")


@pytest.mark.parametrize(("count", "n"), [(1003, 37), (3001, 200), (257, 700), (100_003, 5)])
def test_the_number_of_threads_does_not_change_a_bit_of_other_sizes(
    set_threads: SetThreads, count: int, n: int
) -> None:
    rng = np.random.default_rng(0)
    transform = fost.Chain([fost.DCT(n), fost.Householder(cases.random_vectors(rng, 3, n))])
    Y = cases.make_signals("integers", count, n, np.float32, rng)
    M = {}
    for n_threads in (1, 2, 3, 7):
        set_threads(n_threads)
        total = np.empty((n, n))
        energy = transform._plan.accumulate(Y, 3, total)
        M[n_threads] = transform.encode(Y, 3), np.append(total, energy)
        assert cases.same_codes(M[n_threads][0], M[1][0]), f"codes of {n_threads} threads"
        assert cases.same_bits(M[n_threads][1], M[1][1]), f"statistic of {n_threads} threads"


def test_nan_is_found_by_any_thread(set_threads: SetThreads) -> None:
    set_threads(3)
    transform = fost.DCT((8, 8))
    for row in (0, 9_999, 19_999):
        Y = np.ones((20_000, 64))
        Y[row, 63] = np.nan
        for call in (transform.forward, transform.inverse, lambda Y: transform.encode(Y, 4)):
            with pytest.raises(ValueError, match="contains NaN or infinity"):
                call(Y)
        assert np.isnan(transform._plan.accumulate(Y, 4, np.empty((64, 64))))


@pytest.mark.parametrize("kind", ["chain", "dense chain"])
def test_one_transform_from_several_python_threads(set_threads: SetThreads, kind: str) -> None:
    set_threads(2)
    make = lambda: cases.make_transform(kind, 64, np.random.default_rng(0))  # noqa: E731
    Y = cases.make_signals("normal", 5_000, 64, np.float64, np.random.default_rng(1))
    expected = results(make(), Y)
    transform = make()  # its plan and its atoms are made by the threads below
    barrier = threading.Barrier(8)

    def work(k: int) -> dict[str, Any]:
        barrier.wait(timeout=60)
        return results(transform, Y)

    with ThreadPoolExecutor(8) as pool:
        for k, found in enumerate(pool.map(work, range(8))):
            assert_same(found, expected, f"Python thread {k}")


def run_in_fork(work: Callable[[], bool], seconds: float = 60) -> int | None:
    """Exit code of a forked child that says whether `work` succeeds; None where it hangs."""
    child = os.fork()
    if child == 0:
        code = 2
        try:
            code = 0 if work() else 1
        finally:
            os._exit(code)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("kind", ["chain", "dense", "dense chain"])
def test_transforms_work_after_a_fork(set_threads: SetThreads, kind: str) -> None:
    set_threads(2)
    rng = np.random.default_rng(0)
    transform = cases.make_transform(kind, 300, rng)
    Y = cases.make_signals("normal", 4_000, 300, np.float64, rng)
    expected = transform.encode(Y, 4)  # threads of the parent have run

    def same_as_parent() -> bool:
        return cases.same_codes(transform.encode(Y, 4), expected)

    def same_in_a_child() -> bool:
        return same_as_parent() and run_in_fork(same_as_parent) == 0

    code = run_in_fork(same_in_a_child)
    assert code is not None, "the child hangs"
    assert code == 0
    assert same_as_parent()


# Locks that another thread holds at the moment of a fork stay locked in the child: those of
# threadpoolctl and OpenBLAS where limits are changed, those of OpenBLAS in products, ours where
# work is shared.
@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("what", ["changes limits", "multiplies", "encodes"])
def test_a_fork_while_another_thread_works(set_threads: SetThreads, what: str) -> None:
    set_threads(2)
    rng = np.random.default_rng(0)
    transform = cases.make_transform("dense", 300, rng)
    Y = cases.make_signals("normal", 4_000, 300, np.float64, rng)
    few, expected = Y[:100], transform.encode(Y[:100], 4)
    stop = threading.Event()

    def keep_busy() -> None:
        while not stop.is_set():
            if what == "multiplies":
                transform.forward(Y)
            elif what == "encodes":  # asks for helpers again and again
                fost.DCT(300).encode(Y, 4)
            else:
                with single_threaded_blas:
                    pass

    others = [threading.Thread(target=keep_busy) for _ in range(2)]
    for other in others:
        other.start()
    try:
        for _ in range(25):
            code = run_in_fork(lambda: cases.same_codes(transform.encode(few, 4), expected))
            assert code is not None, "the child hangs"
            assert code == 0
    finally:
        stop.set()
        for other in others:
            other.join()


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_while_another_thread_learns() -> None:
    Y = cases.make_signals("normal", 100, 16, np.float64, np.random.default_rng(0))
    learn = lambda signals: fost.learn(signals, fost.Rotations(4), 2, max_iter=1)  # noqa: E731
    expected = learn(Y).transform
    reads, inside, leave = itertools.count(), threading.Event(), threading.Event()

    def blocks() -> Iterator[Any]:
        yield Y
        if next(reads) > 0:  # the first one is for the sizes, the second one for a cached property
            inside.set()
            leave.wait(60)

    other = threading.Thread(target=learn, args=(blocks,))
    other.start()
    try:
        assert inside.wait(60)
        code = run_in_fork(lambda: learn(Y).transform == expected, 20)
    finally:
        leave.set()
        other.join()
    assert code is not None, "the child hangs"
    assert code == 0


# A daemon thread inside the core when the interpreter ends.
EXIT = """
import threading
import numpy as np, fost
Y, inside = np.ones((100_000, 64)), threading.Event()

def work():
    while True:
        fost.DCT(64).{call}
        inside.set()

threading.Thread(target=work, daemon=True).start()
assert inside.wait(60)
"""


@pytest.mark.parametrize("call", ["forward(Y)", "encode(Y, 4)"])
def test_daemon_threads_do_not_disturb_the_end_of_the_interpreter(call: str) -> None:
    program = [sys.executable, "-c", EXIT.format(call=call)]
    run = subprocess.run(program, capture_output=True, text=True, timeout=120)
    assert (run.returncode, run.stderr) == (0, "")


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_inside_the_limit() -> None:
    with single_threaded_blas:
        assert run_in_fork(lambda: set(blas_threads()) == {1}) == 0
    before = blas_threads()
    with single_threaded_blas:
        pass
    assert blas_threads() == before


def blas_threads() -> list[int]:
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_blas_uses_one_thread_inside_and_as_many_as_before_outside() -> None:
    before = blas_threads()
    with single_threaded_blas:
        assert set(blas_threads()) == {1}
        with single_threaded_blas:
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {1}
    assert blas_threads() == before
    with pytest.raises(KeyError), single_threaded_blas:
        raise KeyError
    assert blas_threads() == before


def test_blas_limit_from_several_threads() -> None:
    before = blas_threads()
    with single_threaded_blas:
        pass
    barrier = threading.Barrier(4)

    def work(_: int) -> set[int]:
        with single_threaded_blas:
            barrier.wait(timeout=60)
            inside = set(blas_threads())
            barrier.wait(timeout=60)
        return inside

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4))) == [{1}] * 4
    assert blas_threads() == before


def test_blas_limit_ends_with_the_last_thread() -> None:
    before = blas_threads()
    entered, leave = threading.Event(), threading.Event()

    def work() -> None:
        with single_threaded_blas:
            entered.set()
            leave.wait(timeout=60)

    other = threading.Thread(target=work)
    with single_threaded_blas:
        other.start()
        assert entered.wait(timeout=60)
    inside = set(blas_threads())
    leave.set()
    other.join()
    assert inside == {1}
    assert blas_threads() == before


def test_set_and_get(set_threads: SetThreads) -> None:
    for n_threads in (1, 2, 1024, np.int64(3)):
        set_threads(n_threads)
        assert fost.get_num_threads() == n_threads


@pytest.mark.parametrize(
    ("n_threads", "error", "message"),
    [
        (0, ValueError, "n_threads must be between 1 and 1024, got 0"),
        (-1, ValueError, "n_threads must be between 1 and 1024, got -1"),
        (1025, ValueError, "n_threads must be between 1 and 1024, got 1025"),
        (2**70, ValueError, "n_threads must be between 1 and 1024"),
        (1.5, TypeError, "n_threads must be an integer, got 1.5"),
        (2.0, TypeError, "n_threads must be an integer, got 2.0"),
        ("2", TypeError, "n_threads must be an integer, got '2'"),
        (None, TypeError, "n_threads must be an integer, got None"),
    ],
)
def test_bad_numbers_of_threads(
    set_threads: SetThreads, n_threads: Any, error: type[Exception], message: str
) -> None:
    set_threads(2)
    with pytest.raises(error, match=message):
        fost.set_num_threads(n_threads)
    assert fost.get_num_threads() == 2


def test_a_limit_is_of_one_python_thread() -> None:
    """`limit_threads` returns the limit before: 0 where there is none."""

    def limit_now() -> int:
        before = _core.limit_threads(0)
        _core.limit_threads(before)
        return before

    with at_most(3):
        with at_most(1):
            assert limit_now() == 1
            with ThreadPoolExecutor(1) as other:
                assert other.submit(limit_now).result() == 0
        assert limit_now() == 3
    assert limit_now() == 0


# Counts the threads that a process of its own has more of after passes; they stay for the next.
COUNT_THREADS = """
import os, sys
import numpy as np, fost
from fost._threads import at_most
fost.set_num_threads(4)
Y = np.random.default_rng(0).standard_normal((200_000, 64))
count = lambda: len(os.listdir("/proc/self/task"))
fost.DCT(64).encode(Y[:10], 4)  # SciPy and its threads
before = count()
for _ in range(3):
    with at_most(int(sys.argv[1])):
        fost.DCT(64).encode(Y, 4)
print(count() - before)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="threads, by Linux")
def test_a_limit_keeps_threads_from_being_started() -> None:
    def helpers(limit: int) -> int:
        code = [sys.executable, "-c", COUNT_THREADS, str(limit)]
        return int(subprocess.run(code, stdout=subprocess.PIPE, check=True, timeout=300).stdout)

    assert helpers(1) == 0, "only the one that calls"
    assert helpers(3) == 2, "and they are kept"


# Signals that are for the process: SIGINT, SIGTERM and SIGALRM, as bits of a mask.
def blocked_signals(thread: str) -> int:
    """The signal mask of a thread of this process."""
    with open(f"/proc/self/task/{thread}/status", encoding="utf-8") as lines:
        (mask,) = (line.split()[1] for line in lines if line.startswith("SigBlk"))
    return int(mask, 16)


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="threads, by Linux")
def test_signals_are_delivered_to_other_threads(set_threads: SetThreads) -> None:
    set_threads(1)
    before = set(os.listdir("/proc/self/task"))
    set_threads(64)  # more than any test before had
    fost.DCT(64).encode(np.ones((500_000, 64), np.float32), 4)
    helpers = set(os.listdir("/proc/self/task")) - before
    assert helpers
    own = sum(1 << (number - 1) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM))
    fatal = 1 << (signal.SIGSEGV - 1)
    for helper in helpers:
        # The C library blocks all signals while a thread starts, which takes long on busy cores.
        for _ in range(1000):
            mask = blocked_signals(helper)
            if not mask & fatal:
                break
            time.sleep(0.01)
        assert mask & own == own
        assert not mask & fatal, "which would end the process unseen"


@pytest.mark.skipif(sys.platform != "linux", reason="rounding, by the C library of Linux")
def test_helpers_round_as_the_caller_does(set_threads: SetThreads) -> None:
    library = ctypes.CDLL(None)
    if not hasattr(library, "fesetround"):
        library = ctypes.CDLL("libm.so.6")
    transform = fost.DCT((8, 8))
    Y = cases.make_signals("normal", 50_000, 64, np.float64, np.random.default_rng(0))
    expected = transform.forward(Y)
    downward = {"x86_64": 0x400, "aarch64": 0x800000}.get(os.uname().machine)
    if downward is None:
        pytest.skip("the rounding modes of this processor")
    found = []
    nearest = library.fegetround()
    for n_threads in (1, 3):
        set_threads(n_threads)
        assert library.fesetround(downward) == 0
        try:
            found.append(transform.forward(Y))
        finally:
            library.fesetround(nearest)
    assert cases.same_bits(*found)
    assert not cases.same_bits(found[0], expected), "the mode had no effect"
    assert cases.same_bits(transform.forward(Y), expected)


def learned(Y: Any, structure: Any) -> Any:
    return fost.learn(Y, structure, 4, max_iter=2, tol=0).transform.matrix


def learned_online(Y: Any) -> Any:
    dictionary = fost.HouseholderDictionary("auto", 4)
    return dictionary.partial_fit(Y).partial_fit(Y[::-1]).components_


def diagnosed(Y: Any) -> Any:
    found = fost.diagnostics.spectrum(fost.DCT(Y.shape[1]), Y, 4)
    return found.eigenvalues


# Beyond 256 features LAPACK's own threads would begin to change last bits.
ALGEBRA: dict[str, Callable[[Any], Any]] = {
    "Q": lambda Y: learned(Y, fost.Orthonormal()),
    "QH": lambda Y: learned(Y, fost.Reflectors(100, orthogonal=True)),
    "H": lambda Y: learned(Y, fost.Reflectors(3)),
    "H, auto": lambda Y: learned(Y, fost.Reflectors("auto")),
    "rotations": lambda Y: learned(Y, fost.Rotations(20)),
    "bank": lambda Y: learned(Y, fost.BankOf(fost.Orthonormal(), 2)),
    "online": learned_online,
    "omp": lambda Y: fost.omp(Y, Y[:400], 4).toarray(),
    "K-SVD": lambda Y: fost.baselines.KSVD(320, 4, max_iter=1, random_state=0).fit(Y).components_,
    "diagnostics": diagnosed,
}


@pytest.mark.parametrize("name", ALGEBRA)
def test_threads_of_blas_do_not_change_a_bit(set_threads: SetThreads, name: str) -> None:
    Y = np.random.default_rng(0).standard_normal((600, 320))
    results = []
    for n_threads in (1, 4):
        set_threads(n_threads)
        with threadpool_limits(n_threads, "blas"):
            results.append(ALGEBRA[name](Y))
    assert cases.same_bits(*results)
