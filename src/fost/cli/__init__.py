"""The command line: ``fost``, or ``python -m fost``.

Results go to stdout, everything else to stderr. A user error is one line and exit code 2, Ctrl-C
is exit code 130. Modules of this package import NumPy and other large packages only when a
command runs, so that help appears at once.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line with the arguments of this process."""
    try:
        from fost.cli.app import app

        app(prog_name="fost")
    except KeyboardInterrupt:  # before a command started
        print("fost: interrupted", file=sys.stderr)
        sys.exit(130)
