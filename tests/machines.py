"""The numerical tests as other machines would run them: ``python -m tests.machines [NAME ...]``.

A machine is more than its processor. The kernels of OpenBLAS, its threads and ours, the instruction
set, the language, the order of the tests and the examples that hypothesis draws: what one machine
computes differs from another in its last bits, and a test that is true of one machine only fails
on one of these. Each value of each setting occurs in one of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from fost import _core

ROOT = Path(__file__).resolve().parents[1]
# What computes; the command line, the page and files of strangers are the same everywhere, and
# the tests of threads set these themselves.
NUMERICAL = (
    *("tests/transforms", "tests/learning", "tests/diagnostics", "tests/baselines"),
    *("tests/coding", "tests/estimators", "tests/imputation", "tests/restoration"),
    "tests/reproduction/test_paper_images.py",
    *("tests/model_selection", "tests/test_core.py", "tests/test_images.py"),
    "tests/test_numbers.py",
    *(f"src/fost/{folder}" for folder in (
        "baselines", "coding", "diagnostics", "estimators", "imputation", "learning",
        "transforms")),
    # Parts of arrays in files and on clusters: what is computed of them is tested by the others.
    *(f"--ignore=tests/{name}.py" for name in (
        "learning/test_training_data", "restoration/test_docs", "restoration/test_dask_arrays",
        "restoration/test_tiling")),
)  # fmt: skip


@dataclass(frozen=True)
class Machine:
    """How a machine computes, as far as environment variables can say it."""

    blas: str  # a processor that OpenBLAS knows
    needs: str  # what that processor can do, as Linux calls it
    blas_threads: int
    isa: str
    threads: int
    seed: int
    locale: str

    @property
    def runs_here(self) -> bool:
        flags = Path("/proc/cpuinfo").read_text("utf-8")
        return self.needs in flags.split() and self.isa in ("", *_core.available_isas())

    @property
    def environment(self) -> dict[str, str]:
        chosen = {"FOST_ISA": self.isa} if self.isa else {}
        return {
            **os.environ,
            **chosen,
            "OPENBLAS_CORETYPE": self.blas,
            "OPENBLAS_NUM_THREADS": str(self.blas_threads),
            "FOST_NUM_THREADS": str(self.threads),
            "FOST_TEST_ORDER": str(self.seed),
            "FOST_TEST_ROUNDING": str(self.seed),
            "HYPOTHESIS_PROFILE": "random",
            "LC_ALL": self.locale,
            "PYTHONUTF8": "0",
            "PYTHONCOERCECLOCALE": "0",
        }


def machines(seed: int) -> dict[str, Machine]:
    """All that are simulated; examples and order follow from the seed."""
    return {
        "prescott": Machine("Prescott", "sse2", 3, "baseline", 1, seed, "C"),
        "sandybridge": Machine("Sandybridge", "avx", 1, "baseline", 8, seed + 1, "C.UTF-8"),
        "haswell": Machine("Haswell", "avx2", 3, "avx2", 8, seed + 2, "C"),
        "skylakex": Machine("SkylakeX", "avx512vl", 1, "avx512", 1, seed + 3, "C.UTF-8"),
    }


def run(machine: Machine, tests: tuple[str, ...]) -> int:
    command = [sys.executable, "-m", "pytest", "-q", f"--hypothesis-seed={machine.seed}", *tests]
    return subprocess.run(command, cwd=ROOT, env=machine.environment).returncode


def main(names: list[str]) -> int:
    seed = int(os.environ.get("SEED", "0"))
    known = machines(seed)
    if unknown := set(names) - set(known):
        print(f"there are {', '.join(known)}; not {', '.join(sorted(unknown))}")
        return 2
    failed = []
    for name in names or known:
        machine = known[name]
        if not machine.runs_here:
            print(f"{name}: not on this processor", flush=True)
            continue
        print(f"{name}: {machine}", flush=True)
        begin = time.monotonic()
        if run(machine, NUMERICAL):
            failed.append(name)
        print(f"{name}: {(time.monotonic() - begin) / 60:.1f} minutes", flush=True)
    if failed:
        print(f"failed as {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
