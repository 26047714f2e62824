"""What the pages name: files, commands, modules, extras, links and identifiers.

`python -m tests.pages.references` prints each that does not exist.
"""

from __future__ import annotations

import configparser
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]

SUFFIXES = ("cfg", "json", "md", "properties", "py", "pyi", "service", "sh", "toml", "yml")
TOP = ("benchmarks", "bin", "config", "docs", "examples", "kafkapy", "system_tests", "tests")

SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
PATH = re.compile(rf"(?:[\w.-]+/)+(?:[\w-]+\.(?:{'|'.join(SUFFIXES)}))?")
MODULE_FILE = re.compile(r"\w+\.py")
SCRIPT = re.compile(r"(?<![\w./-])(?:bin/)?((?:kafka|kafkapy|zookeeper|schema-registry)-[a-z-]+|[a-z-]+)\.sh\b")
COMMAND = re.compile(r"(?<![\w./@-])(?:kafka|kafkapy|zookeeper|schema-registry)-[a-z]+(?:-[a-z]+)*(?![\w./-])")
MODULE = re.compile(r"(?<![\w-])-m ((?:benchmarks|kafkapy|system_tests|tests)[\w.]*\w)")
EXTRA = re.compile(r"kafkapy\[([\w,-]+)\]")
IDENTIFIER = re.compile(r"[A-Za-z_][\w]*(?:\.[A-Za-z_]\w*)*")

STRICT = ("architecture", "decisions")
"""Folders of pages in which every path and every identifier is one of this repository."""

NOT_HERE = {
    "kafka-python",
    "kafkapy-spark-decisions",  # a topic
    "kafka-streams-application-reset",  # a tool of Apache's that is said to be missing
    "kafkapy/protocol/messages/frob_topics.py",  # the example of a new API
    # the examples of a new tool, codec and connector
    "kafkapy-count-records",
    "count_records.py",
    "bzip2_stream.py",
    "kafkapy/sqlite/",
    "tests/sqlite/",
}
"""Names that look like paths or commands of this repository."""


class Reference(NamedTuple):
    """What a page names."""

    page: Path
    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}: {self.kind} {self.name}"


def pages() -> list[Path]:
    """All pages for readers of the repository."""
    top = [path for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md") if (path := ROOT / name).exists()]
    return [*top, *sorted((ROOT / ".github").rglob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


@cache
def setup() -> configparser.ConfigParser:
    """setup.cfg."""
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg")
    return parser


@cache
def commands() -> set[str]:
    """The names of the installed commands, and those of the scripts in bin/."""
    installed = setup()["options.entry_points"]["console_scripts"].split("\n")
    return {line.partition("=")[0].strip() for line in installed} | {path.stem for path in (ROOT / "bin").glob("*.sh")}


@cache
def words_of_sources() -> set[str]:
    """All identifiers in the package and what stands beside it."""
    found: set[str] = set()
    for folder in ("kafkapy", "benchmarks", "tests", "system_tests"):
        for path in (ROOT / folder).rglob("*.py"):
            found.update(re.findall(r"\w+", path.read_text()))
    return found


def references(page: Path) -> Iterator[Reference]:
    """Those of one page."""
    text = page.read_text()
    prose = FENCE.sub("", text)
    spans = SPAN.findall(prose)
    code = spans + FENCE.findall(text)
    for link in LINK.findall(SPAN.sub("` `", prose)):
        if not link.startswith(("http://", "https://", "mailto:")):
            yield Reference(page, "link", link)
    for span in spans:
        if PATH.fullmatch(span):
            yield Reference(page, "path", span)
        if MODULE_FILE.fullmatch(span):
            yield Reference(page, "file", span)
    for part in code:
        yield from (Reference(page, "script", name) for name in SCRIPT.findall(part))
        yield from (Reference(page, "module", name) for name in MODULE.findall(part))
        yield from (Reference(page, "extra", name) for names in EXTRA.findall(part) for name in names.split(","))
    for span in spans:
        yield from (Reference(page, "command", name) for name in COMMAND.findall(span.partition(" ")[0]))
        if page.parent.name in STRICT and IDENTIFIER.fullmatch(span):
            yield Reference(page, "identifier", span)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as mkdocs and GitHub make them."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def exists(reference: Reference) -> bool:
    """Is there what the page names?"""
    return reference.name in NOT_HERE or CHECKS[reference.kind](reference)


def _link_exists(reference: Reference) -> bool:
    path, _, anchor = reference.name.partition("#")
    target = reference.page.parent / path if path else reference.page
    return target.exists() and (not anchor or anchor in anchors(target))


def _path_exists(reference: Reference) -> bool:
    name = reference.name
    first = name.partition("/")[0]
    may_be_elsewhere = first not in TOP and not (ROOT / "kafkapy" / first).is_dir()
    if may_be_elsewhere and reference.page.parent.name not in STRICT:
        return True
    folders = (ROOT, ROOT / "kafkapy", reference.page.parent)
    return any((folder / name).exists() for folder in folders)


def _module_exists(reference: Reference) -> bool:
    path = ROOT / reference.name.replace(".", "/")
    return path.with_suffix(".py").exists() or (path / "__main__.py").exists()


@cache
def _names_of_files() -> set[str]:
    return {path.name for folder in TOP for path in (ROOT / folder).rglob("*.py")} | {"setup.py"}


def _identifier_exists(reference: Reference) -> bool:
    return all(part in words_of_sources() for part in reference.name.split("."))


CHECKS = {
    "link": _link_exists,
    "path": _path_exists,
    "script": lambda reference: (ROOT / "bin" / f"{reference.name}.sh").exists(),
    "command": lambda reference: reference.name in commands(),
    "file": lambda reference: reference.name in _names_of_files(),
    "module": _module_exists,
    "extra": lambda reference: reference.name in setup()["options.extras_require"],
    "identifier": _identifier_exists,
}


def missing() -> list[Reference]:
    """What pages name and the repository lacks."""
    return [reference for page in pages() for reference in references(page) if not exists(reference)]


if __name__ == "__main__":
    print(*missing(), sep="\n")
