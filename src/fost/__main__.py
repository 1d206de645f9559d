"""``python -m fost`` is the command ``fost``."""

from fost.cli import main

if __name__ == "__main__":
    main()
