"""The tables, figures and claims of the paper, computed again: ``python -m reproduction``."""
