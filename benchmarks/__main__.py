"""Run the benchmarks: ``python -m benchmarks [--quick] [--isa ISA] [NAME ...]``."""

from __future__ import annotations

import argparse
import os
import sys

from numpy._core._multiarray_umath import __cpu_dispatch__

from benchmarks import (
    bench_auto,
    bench_banks,
    bench_calls,
    bench_dct,
    bench_decode,
    bench_encode,
    bench_images,
    bench_learn,
    bench_long,
    bench_memory,
    bench_pursuit,
    bench_reflectors,
    bench_roofline,
    bench_select,
    bench_unions,
)
from benchmarks.harness import Report, machine
from fost import _core

BENCHMARKS = {
    "encode": bench_encode.run,
    "select": bench_select.run,
    "decode": bench_decode.run,
    "calls": bench_calls.run,
    "memory": bench_memory.run,
    "dct": bench_dct.run,
    "reflectors": bench_reflectors.run,
    "learn": bench_learn.run,
    "long": bench_long.run,
    "auto": bench_auto.run,
    "pursuit": bench_pursuit.run,
    "images": bench_images.run,
    "banks": bench_banks.run,
    "unions": bench_unions.run,
    "roofline": bench_roofline.run,
}


# The kernels of OpenBLAS that a processor of an instruction set would run.
BLAS_KERNELS = {"avx512": "SkylakeX", "avx2": "Haswell", "baseline": "Prescott"}


def restricted_to(isa: str) -> dict[str, str]:
    """Environment variables that keep fost, OpenBLAS and NumPy to an instruction set.

    Those of NumPy are switched off as far as it has kernels for them; kernels that a package
    chose when it was compiled (SPAMS, SciPy's Fourier transforms) stay.
    """
    dispatched = set(__cpu_dispatch__)
    beyond = {name for name in dispatched if name == "X86_V4" or name.startswith("AVX512")}
    if isa == "baseline":
        beyond = dispatched
    return {
        "FOST_ISA": isa,
        "OPENBLAS_CORETYPE": BLAS_KERNELS[isa],
        "NPY_DISABLE_CPU_FEATURES": " ".join(sorted(beyond)) if isa != "avx512" else "",
    }


def restart_with(variables: dict[str, str]) -> None:
    """This process anew, if it runs without these environment variables."""
    if any(os.environ.get(name, "") != value for name, value in variables.items()):
        arguments = [sys.executable, "-m", "benchmarks", *sys.argv[1:]]
        os.execve(sys.executable, arguments, {**os.environ, **variables})


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}")
    parser.add_argument("--quick", action="store_true", help="less data, to see that it runs")
    parser.add_argument(
        "--isa",
        choices=_core.available_isas(),
        help="as a processor with nothing better would, fost and its competitors alike",
    )
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(BENCHMARKS)
    if unknown:
        parser.error(
            f"no benchmark called {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}"
        )
    if arguments.isa:
        restart_with(restricted_to(arguments.isa))
    print(", ".join(f"{key} {value}" for key, value in machine().items()))
    report = Report()
    for name in arguments.names or BENCHMARKS:
        BENCHMARKS[name](report, quick=arguments.quick)
    report.verdicts()
    if not arguments.quick:
        report.save()


if __name__ == "__main__":
    main()
