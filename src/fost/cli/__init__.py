"""The command line: ``fost``, or ``python -m fost``.

Results go to stdout, everything else to stderr. What the user can mend is one line and exit
code 2, Ctrl-C is exit code 130. Modules of this package import nothing heavy before a command
runs, so that help is there at once.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line with the arguments of this process."""
    try:
        from fost.cli.app import app

        app(prog_name="fost")
    except KeyboardInterrupt:  # before a command had begun
        print("fost: interrupted", file=sys.stderr)
        sys.exit(130)
