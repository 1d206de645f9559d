"""The rules of ``tools/prose.py``: plain text passes, and each kind of bad example is found."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[1] / "tools" / "prose.py"


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("prose", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


prose = load_script()
WORDS = "one two three four five six seven eight nine ten eleven twelve "
LONG = WORDS * 2 + "more words."  # 26 words

GOOD_PAGES = {
    "two sentences": f"{WORDS}end. {WORDS.capitalize()}end.\n",
    "a sentence that begins with fost or with code": f"{WORDS}end. fost {WORDS}. `a b` {WORDS}.\n",
    "a wrapped list": f"- {WORDS}\n  end\n- {WORDS}\n",
    "a table": f"| {LONG} |\n|---|\n| {LONG} |\n",
    "code": f"Text.\n\n```python\n{LONG} pictures\n```\n\n    {LONG}\n",
    "a fence inside a fence": f"````markdown\n```\n{LONG}\n```\n````\n",
    "a formula": f"$$\n\\text{{{LONG}}}\n$$\n",
    "a comment": f"<!-- {LONG} -->\n",
    "inline code, a title and a target": f'[link](a/b) `{LONG}` "{LONG[:-1]}", $n = 3$, {WORDS}.\n',
    "symbols with a noun": (
        "The signal length $n$ and $s$ coefficients. $U$ is a matrix, $U^T U = I$, $O(n)$. "
        "`I` is the identity.\n"
    ),
    "symbols of a table": (
        "| symbol | meaning |\n|---|---|\n| $Q$ | matrix |\n\nSo $Q x_i$, with the signal $x$.\n"
    ),
}
BAD_PAGES = {
    "a long sentence": (LONG, 1, "26 words"),
    "a long list item": (f"Text:\n\n- short\n- {LONG}", 4, "26 words"),
    "a sentence after code": (f"```\ncode\n```\n\n{LONG}", 5, "26 words"),
    "a banned word": ("Some pictures.", 1, "'pictures': image"),
    "a banned word of a table": ("| a |\n|---|\n| picture |", 3, "'picture': image"),
    "a headless clause": ("It keeps what is usual.", 1, "'what is usual'"),
    "a fronted genitive": ("Text. Of a bank the member counts.", 1, "'Of a': subject first"),
    "learning by heart": ("It learned by heart.", 1, "overfit"),
    "an undefined symbol of a formula": ("Text.\n\nThen $q + 1$ follows.", 3, "symbol 'q'"),
    "an undefined symbol of code": ("It has no more than `q`.", 1, "symbol 'q'"),
}


@pytest.mark.parametrize("text", GOOD_PAGES.values(), ids=GOOD_PAGES)
def test_plain_pages_pass(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prose, "GLOSSARY", tmp_path / "none.md")
    (tmp_path / "page.md").write_text(text, "utf-8")
    assert prose.check(tmp_path / "page.md") == []


@pytest.mark.parametrize(("text", "line", "said"), BAD_PAGES.values(), ids=BAD_PAGES)
def test_bad_pages_have_one_finding(
    text: str, line: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prose, "GLOSSARY", tmp_path / "none.md")
    (tmp_path / "page.md").write_text(text + "\n", "utf-8")
    ((found, message),) = prose.check(tmp_path / "page.md")
    assert found == line
    assert said in message


def test_the_glossary_defines_symbols(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prose, "GLOSSARY", tmp_path / "glossary.md")
    (tmp_path / "glossary.md").write_text("| symbol | |\n|---|---|\n| $q$ | size |\n", "utf-8")
    (tmp_path / "page.md").write_text("At most `q`, and $q^2$.\n", "utf-8")
    assert prose.check(tmp_path / "page.md") == []


MODULE = '''"""First line."""


def _hidden():
    """Pictures."""


class Transform:
    """A transform.

    Parameters
    ----------
    a : int or float with a type that is long, so long that it has very many words, and then some \
more of these words, until there are many
        Short.
    b
        {parameter}

    Examples
    --------
    >>> pictures = 3
    pictures
    """

    option = Option(help="{help}")

    def encode(self):
        """{method}"""
'''


@pytest.mark.parametrize(
    ("place", "text", "line"),
    [("parameter", LONG, 16), ("help", "Pictures.", 24), ("method", "What is left.", 27)],
)
def test_docstrings(place: str, text: str, line: int, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    good = {"parameter": "Short.", "help": "Short.", "method": "Short."}
    path.write_text(MODULE.format(**good), "utf-8")
    assert prose.check(path) == []
    path.write_text(MODULE.format(**{**good, place: text}), "utf-8")
    ((found, _),) = prose.check(path)
    assert found == line


def test_texts_of_gallery_scripts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "gallery"
    folder.mkdir()
    (folder / "good.py").write_text('"""\nTitle\n=====\n"""\n# pictures\n', "utf-8")
    assert prose.main([str(tmp_path)]) == 0
    (folder / "bad.py").write_text('"""\nTitle\n=====\n"""\nx = 1\n# %%\n# Pictures.\n', "utf-8")
    assert prose.main([str(tmp_path)]) == 1
    assert capsys.readouterr().out.endswith("bad.py:7: 'Pictures': image\n")
