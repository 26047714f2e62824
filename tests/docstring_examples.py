"""The examples in the package's docstrings (`>>>`), as doctests.

They are read from the source, since a compiled module has no docstrings. An example that names `localhost:9092` needs a
broker; one that runs Twisted's reactor needs a process of its own, since a reactor runs once.
"""

from __future__ import annotations

import ast
import doctest
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent

BROKER = "localhost:9092"
"""In place of this, an example is given the address of the tests' broker."""

REACTOR = "reactor.run()"

FLAGS = doctest.NORMALIZE_WHITESPACE


class Example(NamedTuple):
    """A docstring with doctests: of a class, a function or a module."""

    module: str
    name: str
    text: str
    line: int

    @property
    def needs_broker(self) -> bool:
        return BROKER in self.text or "KafkaCluster(" in self.text

    @property
    def whole_name(self) -> str:
        return f"{self.module}:{self.name}"

    def run(self, broker: str = BROKER) -> str:
        """Run it; returns a report of what differs, empty if nothing does."""
        if REACTOR in self.text and "--here" not in sys.argv:
            command = [sys.executable, "-m", "tests.docstring_examples", self.whole_name, broker, "--here"]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
            return "" if done.returncode == 0 else done.stdout + done.stderr
        names = {"__name__": self.module, **vars(import_module(self.module))}
        text = self.text.replace(BROKER, broker)
        test = doctest.DocTestParser().get_doctest(text, names, self.whole_name, self.module, self.line)
        report: list[str] = []
        doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append)
        return "".join(report)


@cache
def examples() -> list[Example]:
    """All of the package, in the order of its files."""
    return [example for path in sorted((ROOT / "kafkapy").rglob("*.py")) for example in _examples_of(path)]


def _examples_of(path: Path) -> Iterator[Example]:
    source = path.read_text(encoding="utf-8")
    if ">>> " not in source:
        return
    parts = path.relative_to(ROOT).with_suffix("").parts
    module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    for name, node in _documented(ast.parse(source), ""):
        text = ast.get_docstring(node)
        if text and ">>> " in text:
            yield Example(module, name, text, getattr(node, "lineno", 1))


def _documented(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.Module | ast.ClassDef | ast.FunctionDef]]:
    if isinstance(node, ast.Module):
        yield "", node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + child.name, child  # type: ignore[misc]
        yield from _documented(child, f"{prefix}{child.name}." if isinstance(child, ast.ClassDef) else prefix)


if __name__ == "__main__":
    wanted, address = sys.argv[1], sys.argv[2]
    differences = [example.run(address) for example in examples() if example.whole_name == wanted]
    print(*differences)
    sys.exit(1 if any(differences) or not differences else 0)
