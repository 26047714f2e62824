"""Words for people that speak of programs, and lines that are too long, in docstrings, comments and pages.

python -m tests.words [PATH...]       each place, then the count for 1,000 words; all of the package and the pages by default
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent

WORDS_OF_PEOPLE = re.compile(
    r"\b(?:who|whom|whoever|nobody|somebody|everybody|anybody|noone|no one|someone)\b", re.IGNORECASE
)
"""A program is a thing: "the broker", "the caller", "a connection", "it"."""

RIDDLES = re.compile(
    r"\b(?:dear(?:er)?|forgiven|patience|patient(?:ly)?|rouse[sd]?|mends?|mended|waive[sd]?|be told|is told|are told|was told|"
    r"were told|lies? about|(?:its?|their|have|has|had|in) turns?|at rest|rests)\b",
    re.IGNORECASE,
)
"""Pictures where the field has a term: expensive, expired, time-out, wake, repair, skip, notify, is free, is scheduled, pause."""

LONGEST_LINE = 120


class Text(NamedTuple):
    """A line of prose: where it is, and what it says."""

    path: Path
    line: int
    words: str


class Hit(NamedTuple):
    """A word that should not be there."""

    text: Text
    word: str

    def __str__(self) -> str:
        return f"{self.text.path.relative_to(ROOT)}:{self.text.line}: {self.word!r} in: {self.text.words.strip()}"


def prose_of_module(path: Path) -> Iterator[Text]:
    """Docstrings (those of attributes, too) and comments."""
    source = path.read_text()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for at, words in enumerate(node.value.value.splitlines()):
                yield Text(path, node.lineno + at, words)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not re.match(r"# (?:noqa|type:|pragma)", token.string):
            yield Text(path, token.start[0], token.string)


def prose_of_page(path: Path) -> Iterator[Text]:
    """What stands outside of programs, commands and names in a fixed font."""
    is_code = False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.lstrip().startswith(("```", "~~~")):
            is_code = not is_code
        elif not is_code and not line.startswith("    "):
            yield Text(path, number, re.sub(r"`[^`]*`", "` `", line))


def prose(paths: list[Path]) -> Iterator[Text]:
    """The prose of modules and pages, and of those below directories."""
    for path in paths:
        if path.is_dir():
            yield from prose([*sorted(path.rglob("*.py")), *sorted(path.rglob("*.md"))])
        elif path.suffix == ".md":
            yield from prose_of_page(path)
        else:
            yield from prose_of_module(path)


def hits(texts: list[Text]) -> list[Hit]:
    """The words of people and the riddles among these lines."""
    return [
        Hit(text, match[0])
        for text in texts
        for words in (WORDS_OF_PEOPLE, RIDDLES)
        for match in words.finditer(text.words)
    ]


def per_thousand(found: int, texts: list[Text]) -> float:
    """How many that is in 1,000 words."""
    return 1000 * found / max(1, sum(len(re.findall(r"[A-Za-z]{2,}", text.words)) for text in texts))


def main() -> None:
    """Prints them all."""
    default = [ROOT / "kafkapy", ROOT / "docs", ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    texts = list(prose([Path(each).resolve() for each in sys.argv[1:]] or default))
    found = hits(texts)
    print(*found, sep="\n")
    people = [hit for hit in found if WORDS_OF_PEOPLE.fullmatch(hit.word)]
    print(
        f"{len(people)} words of people: {per_thousand(len(people), texts):.2f} in 1,000; {len(found) - len(people)} riddles"
    )


if __name__ == "__main__":
    main()
