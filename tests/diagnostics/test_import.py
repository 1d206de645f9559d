from __future__ import annotations

import subprocess
import sys


def test_diagnostics_come_when_they_are_asked_for() -> None:
    code = (
        "import sys, fost; assert 'fost.diagnostics' not in sys.modules; "
        "print(fost.diagnostics.costs(64, 1, 1).dense)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "8128\n"
