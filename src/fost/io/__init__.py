"""File formats: opening, checking and writing them, one module per kind of content.

The library and the command line share these functions. Errors are of three kinds: an ``OSError``
where the system refuses a file, a ``ValueError`` where its content is wrong, and an
``ImportError`` where a format needs a package that is not installed.
"""
