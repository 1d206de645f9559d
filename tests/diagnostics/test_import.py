from __future__ import annotations

import subprocess
import sys


def test_diagnostics_are_imported_lazily() -> None:
    code = (
        "import sys, fost; assert 'fost.diagnostics' not in sys.modules; "
        "print(fost.diagnostics.speed_ups(64, 1, 1).dense)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "8128\n"
