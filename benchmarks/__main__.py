"""Run the benchmarks: ``python -m benchmarks [--quick] [NAME ...]``."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks import (
    bench_auto,
    bench_banks,
    bench_calls,
    bench_dct,
    bench_decode,
    bench_encode,
    bench_images,
    bench_learn,
    bench_memory,
    bench_pursuit,
    bench_reflectors,
    bench_roofline,
    bench_select,
    bench_unions,
)
from benchmarks.harness import Report, machine

BENCHMARKS = {
    "encode": bench_encode.run,
    "select": bench_select.run,
    "decode": bench_decode.run,
    "calls": bench_calls.run,
    "memory": bench_memory.run,
    "dct": bench_dct.run,
    "reflectors": bench_reflectors.run,
    "learn": bench_learn.run,
    "auto": bench_auto.run,
    "pursuit": bench_pursuit.run,
    "images": bench_images.run,
    "banks": bench_banks.run,
    "unions": bench_unions.run,
    "roofline": bench_roofline.run,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}")
    parser.add_argument("--quick", action="store_true", help="less data, to see that it runs")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(BENCHMARKS)
    if unknown:
        parser.error(
            f"no benchmark called {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}"
        )
    print(", ".join(f"{key} {value}" for key, value in machine().items()))
    report = Report()
    for name in arguments.names or BENCHMARKS:
        BENCHMARKS[name](report, quick=arguments.quick)
    report.verdicts()
    report.write(Path(__file__).parent / "results" / "benchmarks.json")


if __name__ == "__main__":
    main()
