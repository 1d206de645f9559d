"""File formats: opening, checking and writing them, one module per kind of content.

The library and the command line share these functions. They raise three kinds of errors.
``OSError``: the system refuses a file. ``ValueError``: its content is wrong. ``ImportError``: its
format needs a package that is not installed.
"""
