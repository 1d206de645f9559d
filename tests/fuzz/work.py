"""A process that makes calls, one line about each: python -m tests.fuzz.work SEED FIRST STOP."""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import Any

import fost
from fost import _core
from tests.fuzz.judge import Fuzz, Refused, Wrong
from tests.fuzz.targets import TARGETS, name_of

# Seconds that a call may take, and bytes that it may ask for beyond what the process has.
SECONDS = 60
MEMORY = 3 * 2**30


def make(seed: int, number: int) -> dict[str, Any]:
    """The verdict on one call, as plain data."""
    name = name_of(number)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        fuzz = Fuzz(seed, number, Path(folder))
        # Whatever the result does not depend on.
        fost.set_num_threads(int(fuzz.rng.integers(1, 9)))
        _core.set_isa(fuzz.pick(_core.available_isas()))
        verdict, what, trace = "right", "", ""
        try:
            TARGETS[name](fuzz)
        except Refused as refused:
            verdict, what = "refused", str(refused)
        except Wrong as wrong:
            verdict, what, trace = "wrong", str(wrong), traceback.format_exc()
        except Exception as error:  # in a check, after the call
            what, trace = f"{type(error).__name__}: {str(error)[:300]}", traceback.format_exc()
            verdict = "wrong"
        said = sorted({_said(w) for w in warned if "/fost/" in w.filename})
        # These name the line that called fost.
        bugs = [_said(w) for w in warned if "this is a bug" in str(w.message)]
        if verdict != "wrong" and bugs:
            verdict, what = "wrong", bugs[0]
    found = {"number": number, "target": name, "verdict": verdict, "what": what, "warned": said}
    if verdict == "wrong":
        found |= {"call": fuzz.called, "bad": fuzz.bad, "doubtful": fuzz.doubtful, "trace": trace}
    return found


def _said(warned: warnings.WarningMessage) -> str:
    place = f"{Path(warned.filename).name}:{warned.lineno}"
    return f"{warned.category.__name__}: {str(warned.message)[:200]} ({place})"


def main(seed: int, first: int, stop: int) -> None:
    out = os.fdopen(os.dup(1), "w")
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - what calls print
    name_of(first)  # imports all targets
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    faulthandler.enable()
    for number in range(first, stop):
        # On a busy machine a call has a share of a processor only.
        share = min(1.0, (os.cpu_count() or 1) / max(os.getloadavg()[0], 1e-9))
        faulthandler.dump_traceback_later(SECONDS / share, exit=True)
        print(json.dumps(make(seed, number)), file=out, flush=True)
    faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))
