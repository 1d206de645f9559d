"""Prose check of pages and docstrings: sentence length, banned phrases, undefined symbols.

``python tools/prose.py [PATH...]`` prints ``file:line: finding`` for each finding and exits with
code 1 if there is one. Without paths it reads README.md, CONTRIBUTING.md, CHANGELOG.md, the pages
and gallery under ``docs``, and the public docstrings and help texts of ``src/fost``, without
importing them.

Code, formulae, link targets, quotations and table cells do not count towards sentence length.
A symbol is a single letter in ``$...$`` or in backticks. A page defines it by a noun beside it
("the signal length $n$", "$s$ coefficients"), by "is" or "=" after it, or by a row of a table.
The table of symbols in ``docs/reference/glossary.md`` applies to all pages.
"""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST_WORDS = 25
GLOSSARY = ROOT / "docs" / "reference" / "glossary.md"
SKIPPED = {"_build", "auto_gallery", "generated", "conf.py"}
# Phrases that the style guide bans, and what to write instead.
BANNED = {
    r"[Pp]ictures?": "image",
    r"[Bb]y turns": "alternating, interleaved",
    r"at hand": "in memory, random access",
    r"[Ww]hat (is|was|are) (usual|expected|left|missing|observed|known|common)": "the noun",
    r"[Ww]hat (comes out|comes in|remains|counts|holds|there is|one|float32)": "the noun",
    r"[Ss]o many": "the number",
    r"of which": "a new sentence",
    r"[Tt]hose (that|which)": "the noun",
    r"(?:(?<=[.;] )|^)Of (a|an|the|all|each|these|those)": "subject first",
    r"Wiener's filter": "Wiener filter",
    r"learn(s|ed|ing|t)? by heart": "overfit",
    r"expectation and maximi[sz]ation": "EM",
    r"signals to (learn from|judge on)|signals (learned|judged) (from|on)": "training, held-out",
    r"passes that go beyond": "over-relaxation, momentum",
    r"told apart by": "content hash",
    r"order (that is )?(of )?their own": "canonical order",
    r"what one can mend": "user error",
    r"guess(es)?": "estimate, imputation",
    r"contest|ladder": "successive halving, candidates",
    r"pays? no more|no more pays?": "converges, no longer helps",
    r"weaves?|woven": "interleave",
    r"computing time": "CPU time",
    r"[Aa]t last|nobody had": "plain words",
}
# An end of a sentence: not after initials and abbreviations.
ENDS = re.compile(
    r"(?<!\b[A-Z])(?<!e\.g)(?<!i\.e)(?<!et al)(?<!vs)[.!?][\"')*_\]]*\s+"
    r"(?=[A-Z\"'(\[*_$\d]|fost\b|n_)"
)
# Parts of Markdown and of docstrings that are not prose.
NO_PROSE = {
    ".md": r"^ *(```+|~~~+).*?^ *\1 *$|\$\$.*?\$\$|<!--.*?-->|(?<=\n\n)(?: {4}.*\n|\n)+|^:::.*$",
    ".py": r"^ *>>>.*?(?:\n *\n|\Z)|^ *\*{0,2}\w[^\n]* : .*$|^ *=+ =[= ]*\n.*?(?:\n *\n|\Z)"
    r"|^ *``[^`\n]+``  .*?(?:\n *\n|\Z)|^ *(?:\.\. |[-=~]{3}).*$"
    r"|(?<=::\n\n)(?: {4}.*(?:\n|\Z)|\n)+",
}
STARTS = re.compile(r" *(?:[-*+]|\d+\.|#+) +| *\|")
NO_NOUN = (
    "and|but|for|from|with|that|than|over|where|when|then|each|into|only|has|have|the|all|most"
)


def clean(text: str) -> str:
    """Prose with one word for each code, formula, quotation and size, and no link targets."""
    text = re.sub(r"``[^`]+``(?!`)|`[^`]+`", "Code", text)
    text = re.sub(r"\$[^$]+\$", "Formula", text)
    text = re.sub(r"!?\[([^\]]*)\](\([^)]*\)|\{[^}]*\})", r"\1", text)
    text = re.sub(r"(?:\{[a-z:]+\}|:[a-z:]+:)(?=Code)|<[^<> ][^<>]*>|\bhttps?://\S+", "", text)
    text = re.sub(r"\"[^\"]+\"", "Quote", text)
    return re.sub(r"\d[\d,.]*( x \d[\d,.]*)+", "Size", text)


def blank(pattern: str, text: str) -> str:
    """The text without all matches, with the same line numbers."""
    flags = re.MULTILINE | re.DOTALL
    pattern = pattern.replace(".*$", "[^\n]*$").replace(" {4}.*", " {4}[^\n]*")
    return re.sub(pattern, lambda match: "\n" * match[0].count("\n"), text, flags=flags)


def paragraphs(text: str, kind: str) -> Iterator[tuple[int, str]]:
    """Paragraphs, list items, headings and table rows with the numbers of their lines."""
    first, part, depth = 1, "", 0
    for number, row in enumerate([*blank(NO_PROSE[kind], text).splitlines(), ""], 1):
        start = STARTS.match(row)
        indent = len(start[0]) if start else len(row) - len(row.lstrip())
        if part and (not row.strip() or start or (kind == ".py" and indent != depth)):
            yield first, part
            part = ""
        if not part:
            first, depth = number, indent
        part = f"{part} {row[start.end() if start and '|' not in start[0] else 0 :]}".strip()


def findings_of_prose(text: str, kind: str) -> Iterator[tuple[int, str]]:
    """Long sentences and banned phrases."""
    for line, part in paragraphs(text, kind):
        cleaned = clean(part)
        for sentence in [] if part.startswith("|") else ENDS.split(cleaned):
            count = sum(bool(re.search(r"\w", word)) for word in sentence.split())
            if count > MOST_WORDS:
                yield line, f"{count} words: {' '.join(sentence.split()[:8])} ..."
        for phrase, instead in BANNED.items():
            for found in re.finditer(rf"(?<!\w)(?:{phrase})(?!\w)", cleaned):
                yield line, f"{found[0]!r}: {instead}"


def defined(text: str) -> set[str]:
    """Symbols with a noun, a verb, an equals sign or a table row beside them."""
    mark = r"[$`]([A-Za-z])(?:_\w|_\{\w+\})?"
    noun = rf"(?!(?:{NO_NOUN})\b)[a-z]{{3,}}"
    patterns = (
        rf"\b{noun} {mark}(?!\w)",
        rf"{mark}[$`],? (?:is|are|{noun}|the)\b",
        rf"{mark}[$`]? ?(?:\(|=|\\in|:)",
        rf"^\| *{mark}",
    )
    return {name for pattern in patterns for name in re.findall(pattern, text, re.MULTILINE)}


def findings_of_symbols(text: str, known: set[str]) -> Iterator[tuple[int, str]]:
    """Single letters in formulae and code that neither the page nor the glossary defines."""
    text = blank(r"^```.*?^```$", text)
    seen = known | defined(text)
    for span in re.finditer(r"(?<!`)`([A-Za-z])`(?!`)|\$\$?([^$`]+)\$\$?", text):
        formula = re.sub(r"\\(?:text|mathrm|operatorname)\{[^}]*\}|\\[A-Za-z]+", " ", span[0])
        formula = re.sub(r"\^\{?T\}?|_\{?[A-Za-z]\}?|\bO(?=\()", " ", formula)
        for letter in sorted({*re.findall(r"(?<![A-Za-z])[A-Za-z](?![A-Za-z])", formula)} - seen):
            seen.add(letter)
            yield text.count("\n", 0, span.start()) + 1, f"symbol {letter!r} is not defined"


def docstrings(node: ast.AST, deep: bool) -> Iterator[ast.Constant]:
    """Public docstrings and `help` texts of options; if not deep, the docstring of a module."""
    if (
        isinstance(node, ast.keyword)
        and node.arg == "help"
        and isinstance(node.value, ast.Constant)
    ):
        yield node.value
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
        yield node.body[0].value  # type: ignore[attr-defined]
    for child in ast.iter_child_nodes(node) if deep else ():
        if not str(getattr(child, "name", "")).startswith("_"):
            yield from docstrings(child, deep)


def parts_of(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """The docstrings of a file, and the text blocks of a gallery script, with their lines."""
    script = "gallery" in path.parts
    for constant in docstrings(ast.parse(text), not script):
        head, _, rest = str(constant.value).expandtabs().partition("\n")
        yield constant.lineno, f"{head}\n{textwrap.dedent(rest)}"
    for block in re.finditer(r"^# %%(.*(?:\n#.*)*)", text, re.MULTILINE) if script else ():
        yield text.count("\n", 0, block.start()) + 1, re.sub(r"^# ?", "", block[1], flags=re.M)


def check(path: Path) -> list[tuple[int, str]]:
    """All findings of one file, by line."""
    text = path.read_text("utf-8")
    if path.suffix == ".md":
        known = defined(GLOSSARY.read_text("utf-8")) if GLOSSARY.exists() else set()
        return sorted({*findings_of_prose(text, ".md"), *findings_of_symbols(text, known)})
    return sorted(
        {
            (first + line - 1, finding)
            for first, part in parts_of(path, text)
            for line, finding in findings_of_prose(part, ".py")
        }
    )


def main(paths: list[str]) -> int:
    names = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs", "src/fost")
    count = 0
    for root in [Path(path).resolve() for path in paths] or [ROOT / name for name in names]:
        inside = [root] if root.is_file() else sorted({*root.rglob("*.md"), *root.rglob("*.py")})
        for path in inside:
            if SKIPPED & set(path.parts):
                continue
            shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
            for line, finding in check(path):
                print(f"{shown}:{line}: {finding}")
                count += 1
    return int(count > 0)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
