"""The input, line by line, and what is in it by a direct count."""

from __future__ import annotations

import hashlib
import keyword
import os
import re
import sysconfig
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WORD = rb"[^ \t\n\x0b\f\r]+"
IDENTIFIER = rb"(?<![A-Za-z0-9_])[A-Za-z_][A-Za-z0-9_]*(?=[.(=\[])"
"""A name that something is done with, so that the words of comments stay out. Both expressions are such that Python and Java
(Spark's functions) understand them alike."""
NOT_COUNTED = frozenset(word.encode() for word in keyword.kwlist)

_words = re.compile(WORD)
_identifiers = re.compile(IDENTIFIER)

Digests = dict[str, tuple[int, str]]
"""file → (number of lines, SHA-256 over its lines in order)"""


class QuickstartError(Exception):
    """What went wrong and what mends it, in a sentence."""


@dataclass(frozen=True)
class SourceFile:
    path: Path
    name: str
    """The key of its lines: `package/rest/of/the/path.py`; without a slash it belongs to no package."""


def standard_library() -> list[SourceFile]:
    """Every source file of the Python that runs this, tests and installed packages left out."""
    root = Path(sysconfig.get_path("stdlib"))
    skipped = {"site-packages", "dist-packages", "__pycache__", "test", "tests", "idle_test"}
    paths = sorted(path for path in root.rglob("*.py") if not skipped & set(path.relative_to(root).parts[:-1]))
    return [SourceFile(path, path.relative_to(root).as_posix()) for path in paths]


def given(paths: Sequence[str]) -> list[SourceFile]:
    """The files of the command line; `QuickstartError` if one isn't there. A file's package is its directory."""
    files: dict[Path, SourceFile] = {}
    for text in paths:
        path = Path(text).absolute()
        if not path.is_file():
            what = "it is a directory" if path.is_dir() else "no such file"
            raise QuickstartError(f"{text}: {what}. Give files that exist and may be read.")
        if not os.access(path, os.R_OK):
            raise QuickstartError(f"{text} can't be read: permission denied. Give files that exist and may be read.")
        files[path] = SourceFile(path, path.as_posix())
    if files and not any(path.stat().st_size for path in files):
        raise QuickstartError("There is not one line in what was given. Give files with something in them.")
    if len({path.parent for path in files}) > 1:
        return list(files.values())
    return [SourceFile(path, f"{path.parent.name}/{path.name}") for path in files]


def package_of(name: str) -> str:
    """The directory a file lies in, of a relative name the topmost one; "(modules)" for a file without any."""
    if name.startswith("/"):
        return name.rsplit("/", 1)[0]
    return name.split("/", 1)[0] if "/" in name else "(modules)"


def lines(file: SourceFile) -> Iterator[bytes]:
    """Every line without its end; `QuickstartError` if the file can't be read."""
    try:
        with open(file.path, "rb") as source:
            for line in source:
                yield line.rstrip(b"\r\n")
    except OSError as error:
        raise QuickstartError(
            f"{file.path} can't be read: {error.strerror}. Give files that exist and may be read."
        ) from error


class Digester:
    """Counts and digests lines file by file, as they come."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[list[int], Any]] = {}

    def add(self, file: str, line: bytes) -> None:
        entry = self._files.get(file)
        if entry is None:
            entry = self._files[file] = ([0], hashlib.sha256())
        entry[0][0] += 1
        entry[1].update(len(line).to_bytes(4, "big"))
        entry[1].update(line)

    def result(self) -> Digests:
        return {file: (count[0], digest.hexdigest()) for file, (count, digest) in self._files.items()}


def combined(digests: Digests) -> str:
    """One digest over all files."""
    total = hashlib.sha256()
    for file in sorted(digests):
        total.update(f"{file}\0{digests[file][0]}\0{digests[file][1]}\n".encode())
    return total.hexdigest()


@dataclass
class Counts:
    """What is in the lines: by package, and of identifiers that are no keywords of Python."""

    packages: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    """package → (files, lines, words)"""
    identifiers: Counter[str] = field(default_factory=Counter)


def count_directly(files: Sequence[SourceFile]) -> Counts:
    """By reading the files, without Kafka or Spark."""
    counts = Counts()
    found: Counter[bytes] = Counter()
    for file in files:
        number = words = 0
        for line in lines(file):
            number += 1
            words += len(_words.findall(line))
            found.update(_identifiers.findall(line))
        if number:
            package = package_of(file.name)
            before = counts.packages.get(package, (0, 0, 0))
            counts.packages[package] = (before[0] + 1, before[1] + number, before[2] + words)
    for name in NOT_COUNTED:
        del found[name]
    counts.identifiers = Counter({name.decode(): number for name, number in found.items()})
    return counts
