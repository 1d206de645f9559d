"""How Sphinx builds the site; ``make docs`` runs it."""

from __future__ import annotations

import os
import re
import sys
import zlib
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks import results

# Figures are drawn without a window.
os.environ["MPLBACKEND"] = "Agg"

project = "fost"
author = "the fost developers"
copyright = "the fost developers"
release = metadata.version("fost")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    # Copies MathJax into the site, so that formulae need no network.
    "sphinx-mathjax-offline",
    "sphinx_design",
    "sphinxext.opengraph",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
nitpicky = False
# Quotes alone: two dashes are the beginning of an option.
smartquotes_action = "q"
# What docstrings have in single backquotes: a link where it is a name of fost.
default_role = "py:obj"

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# Names of other projects that docstrings mention, with the address of their pages. The build writes
# an inventory for each project, so that links need no network.
_PROJECTS = {
    "numpy": (
        "https://numpy.org/doc/stable/reference/generated/",
        ("ndarray", "memmap", "where", "asarray", "packbits", "random.Generator"),
    ),
    "scipy": (
        "https://docs.scipy.org/doc/scipy/reference/generated/",
        ("sparse.csr_array", "sparse.save_npz", "sparse.load_npz", "sparse.linalg.LinearOperator"),
    ),
    "sklearn": (
        "https://scikit-learn.org/stable/modules/generated/",
        (
            "decomposition.DictionaryLearning",
            "impute.IterativeImputer",
            "impute.MissingIndicator",
        ),
    ),
    "dask": ("https://docs.dask.org/en/stable/generated/", ("array.Array",)),
    "python": ("https://docs.python.org/3/", ()),
}
# What numpydoc links in the types of parameters, besides.
_TERMS = {
    "numpy": ("array_like std:term -1 ../../glossary.html#term-$ -",),
    "python": (
        *(
            f"{name} py:class 1 library/{page}.html#{name} -"
            for page, names in {
                "functions": ("int", "float"),
                "stdtypes": ("str", "list", "tuple", "dict"),
            }.items()
            for name in names
        ),
        "callable py:function 1 library/functions.html#callable -",
        *(
            f"{name} py:data 1 library/constants.html#{name} -"
            for name in ("None", "True", "False")
        ),
        "iterable std:term -1 glossary.html#term-$ -",
        "sequence std:term -1 glossary.html#term-$ -",
        "bltin-boolean-values std:label -1 library/stdtypes.html#$ bool",
    ),
}
_INVENTORIES = Path(__file__).parent / "_build" / "inventories"
_INVENTORIES.mkdir(parents=True, exist_ok=True)
intersphinx_mapping = {}
for _project, (_url, _names) in _PROJECTS.items():
    _file = _INVENTORIES / f"{_project}.inv"
    _rows = [f"{_project}.{name} py:class 1 {_project}.{name}.html -" for name in _names]
    _file.write_bytes(
        f"# Sphinx inventory version 2\n# Project: {_project}\n# Version:\n# zlib\n".encode()
        + zlib.compress("\n".join([*_rows, *_TERMS.get(_project, ())]).encode())
    )
    intersphinx_mapping[_project] = (_url, str(_file))
# Types of parameters are links too.
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"
numpydoc_xref_aliases = {
    "ndarray": "numpy.ndarray",
    "csr_array": "scipy.sparse.csr_array",
    "Generator": "numpy.random.Generator",
    "LinearOperator": "scipy.sparse.linalg.LinearOperator",
    **{name: f"fost.{name}" for name in ("Bank", "Circulant", "Structure", "Transform", "Union")},
}

sphinx_gallery_conf = {
    "examples_dirs": ["gallery"],
    "gallery_dirs": ["auto_gallery"],
    # The example of PyTorch runs where it is installed; its tests run it as well.
    "filename_pattern": r"\.py$" if find_spec("torch") else r"(?<!torch)\.py$",
    "ignore_pattern": r"__init__\.py",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "abort_on_example_error": True,
    "image_scrapers": ("matplotlib",),
    "remove_config_comments": True,
    # Examples print what they want to be read.
    "capture_repr": ("_repr_html_",),
}

html_theme = "pydata_sphinx_theme"
html_title = "fost"
html_static_path = ["_static"]
html_css_files = ["fost.css"]
html_favicon = "_static/favicon.png"
# Set FOST_DOCS_URL where the site is published: social cards need an address.
html_baseurl = ogp_site_url = os.environ.get("FOST_DOCS_URL", "")
ogp_site_name = "fost: fast dictionary learning"
ogp_image = "_static/social.png"
ogp_social_cards = {"enable": False}
html_show_sourcelink = False
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "header_links_before_dropdown": 5,
    "logo": {"text": "fost"},
}
html_sidebars = {"index": []}


def as_plain_text(
    app: Any, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Docstrings are read in terminals first: bars and trailing underscores are meant as such."""
    for k, line in enumerate(lines):
        if line.lstrip().startswith((">>>", "..")):
            continue
        # A name with its type, of which the name stays as it is; so does what is in backquotes.
        name_of, colon, rest = line.partition(" : ")
        if not colon or not re.fullmatch(r"\s*\w+", name_of):
            name_of, colon, rest = "", "", line
        parts = re.split(r"(`+[^`]*`+)", rest)
        parts[::2] = [re.sub(r"(\||(?<=\w)_(?!\w))", r"\\\1", part) for part in parts[::2]]
        lines[k] = name_of + colon + "".join(parts)


def show_results(app: Any, name: str, source: list[str]) -> None:
    """Tables of benchmarks instead of the comments that name them."""
    source[0] = results.shown(source[0])


def setup(app: Any) -> None:
    app.connect("source-read", show_results)
    app.connect("autodoc-process-docstring", as_plain_text, priority=400)
