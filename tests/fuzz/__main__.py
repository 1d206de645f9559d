"""python -m tests.fuzz COUNT SEED [--first NUMBER] [--jobs N]: so many calls, and what was wrong.

Every call has a number and can be made again by itself.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.fuzz.targets import name_of

Verdict = dict[str, Any]


def calls(
    seed: int, first: int, stop: int, program: tuple[str, ...] = ("-m", "tests.fuzz.work")
) -> Iterator[Verdict]:
    """The verdicts on calls; where a process dies, the call that killed it is one too."""
    while first < stop:
        command = [sys.executable, *program, *map(str, (seed, first, stop))]
        with tempfile.TemporaryFile("w+") as errors:
            pipe = subprocess.PIPE
            with subprocess.Popen(command, stdout=pipe, stderr=errors, text=True) as worker:
                assert worker.stdout is not None
                for line in worker.stdout:
                    verdict = json.loads(line)
                    first = verdict["number"] + 1
                    yield verdict
            if worker.returncode == 0 and first >= stop:
                return
            errors.seek(0)
            said = errors.read()[-3000:]
        hung = "Timeout (" in said
        what = "hangs" if hung else f"ends the process, exit code {worker.returncode}"
        verdict = {"number": first, "target": name_of(first), "verdict": "wrong", "what": what}
        yield verdict | {"trace": said, "warned": [], "call": ""}
        first += 1


def without_numbers(text: str) -> str:
    """What failures of one kind have in common: not numbers, types and what was got."""
    text = re.sub(r"(, got .*|, not \w+|'[^']*')(?= names no|$)", "", text)
    text = re.sub(r"0x[0-9a-f]+|-?\d+(\.\d+)?(e[+-]?\d+)?", "#", text)
    return re.sub(r"([(\[]#(, #)*,?[)\]])", "(#)", text)[:160]


def run(count: int, seed: int, first: int, jobs: int) -> list[Verdict]:
    """All verdicts, with a line of progress now and then."""
    share = -(-count // jobs)
    starts = range(first, first + count, share)
    found: list[Verdict] = []
    begin = told = time.monotonic()

    def work(start: int) -> None:
        nonlocal told
        for verdict in calls(seed, start, min(start + share, first + count)):
            found.append(verdict)
            if verdict["verdict"] == "wrong":
                print(
                    f"call {verdict['number']}, {verdict['target']}: {verdict['what']}", flush=True
                )
            if time.monotonic() - told > 20:
                told = time.monotonic()
                wrong = sum(v["verdict"] == "wrong" for v in found)
                rate = len(found) / (told - begin)
                print(f"{len(found)} calls, {wrong} wrong, {rate:.0f} per second", flush=True)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(work, starts))
    return found


def summarise(found: list[Verdict], seed: int) -> int:
    """Calls by target and verdict, then the distinct failures; how many calls were wrong."""
    counts = Counter((v["target"], v["verdict"]) for v in found)
    print(f"{'target':<26}{'right':>8}{'refused':>9}{'wrong':>8}")
    for name in sorted({v["target"] for v in found}):
        row = [counts[name, verdict] for verdict in ("right", "refused", "wrong")]
        print(f"{name:<26}{row[0]:>8}{row[1]:>9}{row[2]:>8}")
    wrong = [v for v in found if v["verdict"] == "wrong"]
    groups: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in wrong:
        groups.setdefault((verdict["target"], without_numbers(verdict["what"])), []).append(verdict)
    for (name, _), group in sorted(groups.items(), key=lambda item: (item[0][0], -len(item[1]))):
        one = group[0]
        print(f"\n{name}, {len(group)} times: {one['what']}")
        print(f"  {one['call']}")
        if one.get("bad") or one.get("doubtful"):
            print(f"  bad: {one['bad']}, doubtful: {one['doubtful']}")
        print(f"  again: python -m tests.fuzz 1 {seed} --first {one['number']}")
        if len(found) == 1:
            print(one["trace"])
    warned = Counter(w for v in found for w in v["warned"])
    if warned:
        print("\nwarnings that passed:")
        for what, times in warned.most_common(30):
            print(f"  {times} times {what}")
    print(f"\n{len(found)} calls, {len(wrong)} wrong in {len(groups)} ways")
    return len(wrong)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("count", type=int, help="how many calls")
    parser.add_argument("seed", type=int, nargs="?", default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first call")
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side")
    options = parser.parse_args()
    found = run(options.count, options.seed, options.first, options.jobs)
    return 1 if summarise(found, options.seed) else 0


if __name__ == "__main__":
    sys.exit(main())
